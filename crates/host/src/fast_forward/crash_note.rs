//! Records a running fast-forward in a note file, so that an interrupted one can be finished.
//!
//! A crash or a full disk can interrupt git. It writes the files one by one and moves the branch
//! last, so the files it left look like uncommitted changes of the user. The note in the checkout's
//! git directory says that a fast-forward was started. A file that changed after the note and holds
//! the commit's version, or the beginning of it, was written by git: completing it loses nothing.

#![expect(clippy::disallowed_methods, reason = "only this module writes and removes the note")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::git::private_index::{IndexEntry, set_index_entries};
use crate::git::{Git, GitError, is_hash};

/// Name of the note file in the git directory of a checkout.
const NOTE: &str = "mow-follow";
/// How often, and how long at most, to poll until the clock of file times has advanced.
const TICK: Duration = Duration::from_micros(500);
const TICK_MAX: Duration = Duration::from_secs(2);
/// Git modes that are not files: deleted, and submodule.
const NON_FILE_MODES: [&str; 2] = ["000000", "160000"];

/// A fast-forward that was started and not finished, as the note records it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnfinishedFastForward {
    /// The commit of the branch before the fast-forward.
    pub(super) from: String,
    /// The commit to fast-forward to.
    pub(super) to: String,
    /// The branch, without `refs/heads/`.
    pub(super) branch: String,
}

/// Returns the unfinished fast-forward of a checkout, if the note is for the checked-out branch.
pub(super) fn read_note(checkout: &Git) -> Result<Option<UnfinishedFastForward>, GitError> {
    let text = fs::read_to_string(note_path(checkout)?).unwrap_or_default();
    let words: Vec<_> = text.split_whitespace().collect();
    let [from, to, branch] = words[..] else { return Ok(None) };
    let is_valid = [from, to].iter().all(|word| is_hash(word.as_bytes()))
        && checkout.current_branch()?.as_deref() == Some(branch)
        && checkout.commit_of(to)?.is_some();
    let [from, to, branch] = [from, to, branch].map(str::to_owned);
    Ok(is_valid.then_some(UnfinishedFastForward { from, to, branch }))
}

/// Writes the note before a fast-forward starts.
pub(super) fn write_note(
    checkout: &Git,
    branch: &str,
    (from, to): (&str, &str),
) -> Result<(), GitError> {
    let path = note_path(checkout)?;
    let text = format!("{from} {to} {branch}\n");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        wait_for_clock_tick(&path, &file)
    });
    // If the disk is full, the fast-forward itself fails and reports it.
    written.or_else(|_| fs::remove_file(&path)).ok();
    Ok(())
}

/// Waits until newly written files get a later change time than the note.
///
/// The clock of file times ticks slowly. A file that the user wrote in the same tick as the note
/// must not look as if git had written it.
fn wait_for_clock_tick(note: &Path, file: &File) -> io::Result<()> {
    let probe = note.with_extension("probe");
    let noted_at = change_time(&file.metadata()?);
    let end = Instant::now() + TICK_MAX;
    while Instant::now() < end {
        let is_later = change_time(&File::create(&probe)?.metadata()?) > noted_at;
        fs::remove_file(&probe)?;
        if is_later {
            break;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

/// Returns whether git has written any of the commit's files since the note.
///
/// Git checks for files in its way before it writes any, so a written file means that it found
/// none.
pub(super) fn has_written_files(checkout: &Git) -> Result<bool, GitError> {
    let Some(unfinished) = read_note(checkout)? else { return Ok(false) };
    let noted_at = note_time(checkout)?;
    let is_later = |(_, entry): &(String, IndexEntry)| changed_at(checkout, &entry.path) > noted_at;
    Ok(changed_files(checkout, &unfinished)?.iter().any(is_later))
}

/// Returns the change time of the note; the latest possible time if there is none.
fn note_time(checkout: &Git) -> Result<(i64, i64), GitError> {
    let metadata = fs::metadata(note_path(checkout)?);
    Ok(metadata.map_or((i64::MAX, 0), |file| change_time(&file)))
}

/// Returns the change time of a file; the earliest possible time if it does not exist.
fn changed_at(checkout: &Git, path: &[u8]) -> (i64, i64) {
    let metadata = checkout.dir().join(OsStr::from_bytes(path)).symlink_metadata();
    metadata.map_or((i64::MIN, 0), |file| change_time(&file))
}

fn change_time(file: &Metadata) -> (i64, i64) {
    (file.ctime(), file.ctime_nsec())
}

/// Removes the note when nothing of the fast-forward is left to finish.
pub(super) fn remove_note(checkout: &Git) -> Result<(), GitError> {
    fs::remove_file(note_path(checkout)?).ok();
    Ok(())
}

fn note_path(checkout: &Git) -> Result<PathBuf, GitError> {
    Ok(checkout.git_dir()?.join(NOTE))
}

/// Stages the files that git wrote, after completing the ones it wrote only in part.
///
/// Returns their paths. Files that the user staged, and files with any other content, are left
/// alone.
pub(super) fn stage_written_files(
    git: &Git,
    unfinished: &UnfinishedFastForward,
) -> Result<Vec<Vec<u8>>, GitError> {
    let staged =
        git.run(&["diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
    let staged: BTreeSet<_> = names(&staged.stdout).map(<[u8]>::to_vec).collect();
    let (noted_at, mut present) = (note_time(git)?, changed_files(git, unfinished)?);
    // A file that did not change after the note was not written by git.
    present.retain(|(_, entry)| {
        !staged.contains(&entry.path) && changed_at(git, &entry.path) > noted_at
    });
    let hashes = hash_files(git, present.iter().map(|(_, entry)| entry.path.as_slice()))?;
    let (mut written, mut torn) = (Vec::new(), Vec::new());
    for (before, entry) in present {
        match hashes.get(&entry.path) {
            Some(hash) if *hash == entry.object => written.push(entry),
            Some(hash) if *hash == before => {}
            _ if is_truncated_copy(git, &unfinished.to, &entry.path)? => torn.push(entry),
            _ => {}
        }
    }
    if !torn.is_empty() {
        let list: Vec<u8> =
            torn.iter().flat_map(|entry| [&entry.path[..], b"\0"].concat()).collect();
        let source = format!("--source={}", unfinished.to);
        let restore = ["--literal-pathspecs", "restore", "--worktree", &source];
        let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        git.run_with(&[&restore[..], &from].concat(), &list)?;
        written.append(&mut torn);
    }
    set_index_entries(git, &written)?;
    Ok(written.into_iter().map(|entry| entry.path).collect())
}

/// Lists the files that the fast-forward adds or changes, each with its object hash before.
fn changed_files(
    git: &Git,
    unfinished: &UnfinishedFastForward,
) -> Result<Vec<(String, IndexEntry)>, GitError> {
    let diff = ["diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
    let listing = git.run(&[&diff[..], &[&unfinished.from, &unfinished.to]].concat())?.stdout;
    let records: Vec<_> = names(&listing).collect();
    // Format: `:<mode before> <mode after> <object before> <object after> <letter>`, then the name.
    let entry = |pair: &[&[u8]]| {
        let header = String::from_utf8_lossy(pair[0]);
        let words: Vec<_> = header.split(' ').collect();
        let [_, mode, before, object, _] = words[..] else { return None };
        let [mode, before, object] = [mode, before, object].map(str::to_owned);
        let is_file = !NON_FILE_MODES.contains(&mode.as_str());
        is_file.then(|| (before, IndexEntry { path: pair[1].to_vec(), mode, object }))
    };
    Ok(records.chunks_exact(2).filter_map(entry).collect())
}

/// Returns git's object hashes of the files that exist, by path.
///
/// Names with a newline are skipped: `hash-object --stdin-paths` reads one name per line.
fn hash_files<'a>(
    git: &Git,
    paths: impl Iterator<Item = &'a [u8]>,
) -> Result<BTreeMap<Vec<u8>, String>, GitError> {
    let (mut all, mut files) = (BTreeMap::new(), Vec::new());
    for path in paths {
        let absolute = git.dir().join(OsStr::from_bytes(path));
        match fs::read_link(&absolute) {
            Ok(target) => {
                let target = target.as_os_str().as_bytes();
                let hash = git.run_with(&["hash-object", "--stdin"], target)?.text();
                all.insert(path.to_vec(), hash);
            }
            Err(_) if absolute.is_file() && !path.contains(&b'\n') => files.push(path),
            Err(_) => {}
        }
    }
    if files.is_empty() {
        return Ok(all);
    }
    let list: Vec<u8> = files.iter().flat_map(|path| [path, &b"\n"[..]].concat()).collect();
    let listing = git.run_with(&["hash-object", "--stdin-paths"], &list)?.text();
    all.extend(files.into_iter().map(<[u8]>::to_vec).zip(listing.lines().map(str::to_owned)));
    Ok(all)
}

/// Returns whether a file holds the beginning of the commit's version and nothing else.
fn is_truncated_copy(git: &Git, commit: &str, path: &[u8]) -> Result<bool, GitError> {
    let Ok(name) = std::str::from_utf8(path) else { return Ok(false) };
    let whole = git.ask(&["cat-file", "--filters", &format!("{commit}:{name}")])?;
    let path = git.dir().join(name);
    if path.is_symlink() || !path.is_file() {
        return Ok(false);
    }
    let current: io::Result<Vec<u8>> = fs::read(path);
    Ok(whole.success && current.is_ok_and(|current| whole.stdout.starts_with(&current)))
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

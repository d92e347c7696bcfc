//! A fast-forward that was begun and perhaps cut off: by a death, or by a disk without room.
//!
//! Git writes files one by one and moves the branch last, so what it left looks like files of the user
//! that stand in its way. A note in the checkout's own git directory tells that it was begun. With it,
//! files that hold what the commit has, or the beginning of that, are git's: no byte is lost when they
//! are written to their end.

#![expect(clippy::disallowed_methods, reason = "the note is made and removed here alone")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::git::index::{Entry, put};
use crate::git::{Git, GitError, is_hash};

/// The note, in the git directory of a checkout.
const NOTE: &str = "mow-follow";
/// How often it is looked whether the clock of files has gone on, and how long at most.
const TICK: Duration = Duration::from_micros(500);
const TICK_MAX: Duration = Duration::from_secs(2);
/// How git writes the kinds of what is no file.
const NO_FILES: [&str; 2] = ["000000", "160000"];

/// A fast-forward that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    /// Where the branch stood.
    pub(super) from: String,
    /// Where it goes.
    pub(super) to: String,
    /// The branch.
    pub(super) branch: String,
}

/// Returns what was begun in a checkout, with the branch that it has now, and has not come to its end.
pub(super) fn begun(checkout: &Git) -> Result<Option<Begun>, GitError> {
    let text = fs::read_to_string(note(checkout)?).unwrap_or_default();
    let words: Vec<_> = text.split_whitespace().collect();
    let [from, to, branch] = words[..] else { return Ok(None) };
    let is_there = [from, to].iter().all(|word| is_hash(word.as_bytes()))
        && checkout.current_branch()?.as_deref() == Some(branch)
        && checkout.commit_of(to)?.is_some();
    let [from, to, branch] = [from, to, branch].map(str::to_owned);
    Ok(is_there.then_some(Begun { from, to, branch }))
}

/// Notes that a fast-forward begins.
pub(super) fn begin(
    checkout: &Git,
    branch: &str,
    (from, to): (&str, &str),
) -> Result<(), GitError> {
    let path = note(checkout)?;
    let text = format!("{from} {to} {branch}\n");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        pass_by(&path, &file)
    });
    // Without room for it the fast-forward will say so itself.
    written.or_else(|_| fs::remove_file(&path)).ok();
    Ok(())
}

/// Waits until whatever is written gets a later time than the note has: the clock of files ticks slowly,
/// and what the user wrote in the same tick must not look as if git had.
fn pass_by(note: &Path, file: &File) -> io::Result<()> {
    let probe = note.with_extension("probe");
    let noted = times(&file.metadata()?);
    let end = Instant::now() + TICK_MAX;
    while Instant::now() < end {
        let is_later = times(&File::create(&probe)?.metadata()?) > noted;
        fs::remove_file(&probe)?;
        if is_later {
            break;
        }
        thread::sleep(TICK);
    }
    Ok(())
}

/// Returns whether git has written any of the files since this was noted. It looks for what stands in
/// its way before that, so then there was nothing.
pub(super) fn has_written(checkout: &Git) -> Result<bool, GitError> {
    let Some(begun) = begun(checkout)? else { return Ok(false) };
    let noted = noted_at(checkout)?;
    let is_later = |(_, entry): &(String, Entry)| changed_at(checkout, &entry.path) > noted;
    Ok(changed_files(checkout, &begun)?.iter().any(is_later))
}

/// Returns when it was noted; after everything if it is not.
fn noted_at(checkout: &Git) -> Result<(i64, i64), GitError> {
    let about = fs::metadata(note(checkout)?);
    Ok(about.map_or((i64::MAX, 0), |about| times(&about)))
}

/// Returns when a file was changed; before everything if it is not there.
fn changed_at(checkout: &Git, path: &[u8]) -> (i64, i64) {
    let about = checkout.dir().join(OsStr::from_bytes(path)).symlink_metadata();
    about.map_or((i64::MIN, 0), |about| times(&about))
}

fn times(about: &Metadata) -> (i64, i64) {
    (about.ctime(), about.ctime_nsec())
}

/// Notes that nothing is left of it.
pub(super) fn end(checkout: &Git) -> Result<(), GitError> {
    fs::remove_file(note(checkout)?).ok();
    Ok(())
}

fn note(checkout: &Git) -> Result<PathBuf, GitError> {
    Ok(checkout.git_dir()?.join(NOTE))
}

/// Stages the files that git has written, and writes those to their end that it had only begun;
/// returns which these are. What the user has staged, and any other content, is left alone.
pub(super) fn stage_written(git: &Git, begun: &Begun) -> Result<Vec<Vec<u8>>, GitError> {
    let staged =
        git.run(&["diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
    let staged: BTreeSet<_> = names(&staged.stdout).map(<[u8]>::to_vec).collect();
    let (noted, mut present) = (noted_at(git)?, changed_files(git, begun)?);
    // What nobody has changed since is as it was.
    present
        .retain(|(_, entry)| !staged.contains(&entry.path) && changed_at(git, &entry.path) > noted);
    let hashes = contents(git, present.iter().map(|(_, entry)| entry.path.as_slice()))?;
    let (mut written, mut torn) = (Vec::new(), Vec::new());
    for (before, entry) in present {
        match hashes.get(&entry.path) {
            Some(hash) if *hash == entry.object => written.push(entry),
            Some(hash) if *hash == before => {}
            _ if is_beginning(git, &begun.to, &entry.path)? => torn.push(entry),
            _ => {}
        }
    }
    if !torn.is_empty() {
        let list: Vec<u8> = torn.iter().flat_map(|one| [&one.path[..], b"\0"].concat()).collect();
        let source = format!("--source={}", begun.to);
        let restore = ["--literal-pathspecs", "restore", "--worktree", &source];
        let from = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        git.run_with(&[&restore[..], &from].concat(), &list)?;
        written.append(&mut torn);
    }
    put(git, &written)?;
    Ok(written.into_iter().map(|entry| entry.path).collect())
}

/// Lists the files that are new or other ones in the commit, each with what it was before.
fn changed_files(git: &Git, begun: &Begun) -> Result<Vec<(String, Entry)>, GitError> {
    let diff = ["diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
    let listing = git.run(&[&diff[..], &[&begun.from, &begun.to]].concat())?.stdout;
    let records: Vec<_> = names(&listing).collect();
    // `:<mode before> <mode after> <object before> <object after> <letter>`, then the name
    let entry = |pair: &[&[u8]]| {
        let about = String::from_utf8_lossy(pair[0]);
        let words: Vec<_> = about.split(' ').collect();
        let [_, mode, before, object, _] = words[..] else { return None };
        let [mode, before, object] = [mode, before, object].map(str::to_owned);
        let is_file = !NO_FILES.contains(&mode.as_str());
        is_file.then(|| (before, Entry { path: pair[1].to_vec(), mode, object }))
    };
    Ok(records.chunks_exact(2).filter_map(entry).collect())
}

/// Returns what git would call the contents of files below a worktree's top, as far as they are there;
/// names with a line's end cannot be asked for.
fn contents<'a>(
    git: &Git,
    paths: impl Iterator<Item = &'a [u8]>,
) -> Result<BTreeMap<Vec<u8>, String>, GitError> {
    let (mut all, mut files) = (BTreeMap::new(), Vec::new());
    for path in paths {
        let there = git.dir().join(OsStr::from_bytes(path));
        match fs::read_link(&there) {
            Ok(target) => {
                let target = target.as_os_str().as_bytes();
                let hash = git.run_with(&["hash-object", "--stdin"], target)?.text();
                all.insert(path.to_vec(), hash);
            }
            Err(_) if there.is_file() && !path.contains(&b'\n') => files.push(path),
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

/// Returns whether a file holds the beginning of what a commit has there, and no more.
fn is_beginning(git: &Git, commit: &str, path: &[u8]) -> Result<bool, GitError> {
    let Ok(name) = std::str::from_utf8(path) else { return Ok(false) };
    let whole = git.ask(&["cat-file", "--filters", &format!("{commit}:{name}")])?;
    let path = git.dir().join(name);
    if path.is_symlink() || !path.is_file() {
        return Ok(false);
    }
    let here: io::Result<Vec<u8>> = fs::read(path);
    Ok(whole.success && here.is_ok_and(|here| whole.stdout.starts_with(&here)))
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

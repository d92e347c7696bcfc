//! A fast-forward that was begun and perhaps cut off: by a death, or by a disk without room.
//!
//! Git writes files one by one and moves the branch last, so what it left looks like files of the user
//! that stand in its way. A note in the checkout's own git directory tells that it was begun. With it,
//! files that hold what the commit has, or the beginning of that, are git's: no byte is lost when they
//! are written to their end.

#![expect(clippy::disallowed_methods, reason = "the note is made and removed here alone")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::git::index::{Entry, put};
use crate::git::{Git, GitError, is_hash};

/// The note, in the git directory of a checkout.
const NOTE: &str = "mow-follow";
/// How git writes the kinds of what is no file to read.
const NO_FILES: [&str; 3] = ["000000", "120000", "160000"];

/// A fast-forward that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Where the branch stood.
    pub from: String,
    /// Where it goes.
    pub to: String,
}

/// Returns what was begun in a checkout and has not come to its end.
pub fn begun(checkout: &Git) -> Result<Option<Begun>, GitError> {
    let text = fs::read_to_string(note(checkout)?).unwrap_or_default();
    let words: Vec<_> = text.split_whitespace().collect();
    let [from, to] = words[..] else { return Ok(None) };
    let is_whole = [from, to].iter().all(|word| is_hash(word.as_bytes()));
    Ok(is_whole.then(|| Begun { from: from.to_owned(), to: to.to_owned() }))
}

/// Notes that a fast-forward begins.
pub(super) fn begin(checkout: &Git, (from, to): (&str, &str)) -> Result<(), GitError> {
    let path = note(checkout)?;
    let text = format!("{from} {to}\n");
    let written = File::create(&path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    // Without room for it the fast-forward will say so itself.
    written.or_else(|_| fs::remove_file(&path)).ok();
    Ok(())
}

/// Returns whether git has written any of the files since this was noted. It looks for what stands in
/// its way before that, so then there was nothing.
pub(super) fn has_written(checkout: &Git) -> Result<bool, GitError> {
    let at = |about: fs::Metadata| (about.ctime(), about.ctime_nsec());
    let (Some(begun), Ok(noted)) = (begun(checkout)?, fs::metadata(note(checkout)?).map(at)) else {
        return Ok(false);
    };
    let is_later = |entry: &Entry| {
        let path = checkout.dir().join(OsStr::from_bytes(&entry.path));
        path.symlink_metadata().is_ok_and(|about| at(about) >= noted)
    };
    Ok(changed_files(checkout, &begun)?.iter().any(is_later))
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
    let mut present = changed_files(git, begun)?;
    present.retain(|entry| !staged.contains(&entry.path) && is_file(git, &entry.path));
    let hashes = hashes(git, &present)?;
    let (mut written, mut torn) = (Vec::new(), Vec::new());
    for entry in present {
        if hashes.get(&entry.path) == Some(&entry.object) {
            written.push(entry);
        } else if is_beginning(git, &begun.to, &entry.path)? {
            torn.push(entry);
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

/// Lists the files that are new or other ones in the commit.
fn changed_files(git: &Git, begun: &Begun) -> Result<Vec<Entry>, GitError> {
    let diff = ["diff-tree", "-r", "--raw", "--no-abbrev", "--no-renames", "-z"];
    let listing = git.run(&[&diff[..], &[&begun.from, &begun.to]].concat())?.stdout;
    let records: Vec<_> = names(&listing).collect();
    // `:<mode before> <mode after> <object before> <object after> <letter>`, then the name
    let entry = |pair: &[&[u8]]| {
        let about = String::from_utf8_lossy(pair[0]);
        let words: Vec<_> = about.split(' ').collect();
        let (mode, object) = ((*words.get(1)?).to_owned(), (*words.get(3)?).to_owned());
        let is_file = !NO_FILES.contains(&mode.as_str());
        is_file.then(|| Entry { path: pair[1].to_vec(), mode, object })
    };
    Ok(records.chunks_exact(2).filter_map(entry).collect())
}

fn is_file(git: &Git, path: &[u8]) -> bool {
    let about = git.dir().join(OsStr::from_bytes(path)).symlink_metadata();
    about.is_ok_and(|about| about.is_file())
}

/// Returns what git would call the contents of files; names with a line's end cannot be asked for.
fn hashes(git: &Git, entries: &[Entry]) -> Result<BTreeMap<Vec<u8>, String>, GitError> {
    let paths: Vec<_> =
        entries.iter().map(|one| &one.path).filter(|path| !path.contains(&b'\n')).collect();
    let list: Vec<u8> = paths.iter().flat_map(|path| [&path[..], b"\n"].concat()).collect();
    let listing = git.run_with(&["hash-object", "--stdin-paths"], &list)?.text();
    Ok(paths.into_iter().cloned().zip(listing.lines().map(str::to_owned)).collect())
}

/// Returns whether a file holds the beginning of what a commit has there, and no more.
fn is_beginning(git: &Git, commit: &str, path: &[u8]) -> Result<bool, GitError> {
    let Ok(name) = std::str::from_utf8(path) else { return Ok(false) };
    let whole = git.ask(&["cat-file", "--filters", &format!("{commit}:{name}")])?;
    let here: io::Result<Vec<u8>> = fs::read(git.dir().join(name));
    Ok(whole.success && here.is_ok_and(|here| whole.stdout.starts_with(&here)))
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

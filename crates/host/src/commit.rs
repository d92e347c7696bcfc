//! Commits in a worktree, and the trailers that tell later what was committed.
//!
//! These are commits of the user's code, so the user's hooks and signing take part, and their
//! refusal is an error with all they said. A caller that may have been here before asks
//! [`has_trailer`] first; without changes nothing is committed.

mod undo;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::git::index::PrivateIndex;
use crate::git::plain::{Plain, Ready};
use crate::git::{Answer, Git, GitError, has_lfs, is_below};
use crate::history::{History, Trailed, find_trailers};

pub use undo::{put_back, restore, undo};

/// How much of what git and its hooks said is kept.
const OUTPUT_BYTES_MAX: usize = 8192;
/// How many entries a folder may have that is committed without asking what is new in it.
const FOLDER_MAX: usize = 1_000;
/// How long somebody else may keep the worktree's index locked, and how often that is looked at.
const INDEX_WITHIN: Duration = Duration::from_secs(10);
const INDEX_AGAIN: Duration = Duration::from_millis(20);
/// What files begin with that stand for content in Git LFS.
const LFS_POINTER: &[u8] = b"version https://git-lfs";
/// How often a commit is tried because somebody else's came in between.
const BESIDE_TRIES_MAX: usize = 10;

/// Why nothing was committed.
#[derive(Debug, Error)]
pub enum CommitError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The repository has no commit to build on.
    #[error("the repository at {dir} has no commits yet")]
    NoCommits {
        /// Where git looked.
        dir: PathBuf,
    },
    /// Git does not know in whose name to commit.
    #[error("git does not know your name and address: {said}")]
    NoIdentity {
        /// What git said.
        said: String,
    },
    /// Git, a hook or the signing program did not let it pass.
    #[error("the commit was refused: {output}")]
    Refused {
        /// The end of what they said, line by line.
        output: String,
    },
    /// A file belongs to Git LFS, and would be committed as it is.
    #[error(
        "{path} belongs to Git LFS by .gitattributes, and its program is not there; install git-lfs"
    )]
    NoLfs {
        /// The file.
        path: String,
    },
    /// It was made and taken back, for a hook took away what it is known by later.
    #[error(
        "a hook changed the message of a commit: its last paragraph has no line `{line}` any more, by \
         which mow knows it; let commit-msg and prepare-commit-msg leave that paragraph alone"
    )]
    Altered {
        /// What is missing.
        line: String,
    },
}

/// What to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paths {
    /// All changes and all new files that are not ignored.
    All,
    /// Only these files, or those below these directories, relative to the worktree.
    Only(Vec<String>),
    /// All changes and new files but those below this directory.
    AllBut(String),
    /// Only what is below this directory, which the caller has just written to.
    Folder(String),
}

/// Returns the last commit of a worktree.
pub fn head(worktree: &Git) -> Result<String, CommitError> {
    let none = || CommitError::NoCommits { dir: worktree.dir().to_path_buf() };
    worktree.commit_of("HEAD")?.ok_or_else(none)
}

/// Fails when git does not know in whose name to commit.
pub fn identity_ok(git: &Git) -> Result<(), CommitError> {
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        let answer = git.ask(&["var", who])?;
        if !answer.success {
            return Err(CommitError::NoIdentity { said: answer.complaint() });
        }
    }
    Ok(())
}

/// Returns whether a person has told git who they are; an address that git makes up of the machine's
/// name does not count.
pub fn has_identity(git: &Git) -> Result<bool, GitError> {
    let ask = |who| git.ask(&["-c", "user.useConfigOnly=true", "var", who]);
    Ok(ask("GIT_AUTHOR_IDENT")?.success && ask("GIT_COMMITTER_IDENT")?.success)
}

/// Commits changes; `None` when there are none.
///
/// With [`Paths::Only`] nothing else goes in, even when it is staged.
pub fn commit_paths(
    worktree: &Git,
    paths: &Paths,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<Option<String>, CommitError> {
    let before = head(worktree)?;
    let message = with_trailers(message, trailers);
    let made = commit_in(worktree, worktree.plain().as_ref(), paths, (&before, &message))?;
    if made.is_some() {
        failpoint::reach("commit.made");
    }
    Ok(made)
}

/// Commits changes in our own process, as far as that can be, or with git.
fn commit_in(
    worktree: &Git,
    plain: Option<&Plain>,
    paths: &Paths,
    (before, message): (&str, &str),
) -> Result<Option<String>, CommitError> {
    let Some(staged) = stage(worktree, plain, paths, message)? else { return Ok(None) };
    failpoint::reach("commit.staged");
    match staged {
        Staged::Added(changed) => commit_added(worktree, paths, &changed, (before, message)),
        Staged::Here(ready) => match ready.make() {
            Some(commit) => Ok(Some(commit)),
            None => commit_in(worktree, None, paths, (before, message)),
        },
    }
}

/// What is to be committed.
enum Staged<'a> {
    /// All but the last step is done in our own process.
    Here(Box<Ready<'a>>),
    /// Git has added these paths.
    Added(Vec<u8>),
}

/// Finds out what is to be committed, and stages it; `None` when that is nothing.
fn stage<'a>(
    worktree: &Git,
    plain: Option<&'a Plain>,
    paths: &Paths,
    message: &str,
) -> Result<Option<Staged<'a>>, CommitError> {
    let ready = |changed: &[&[u8]]| plain.and_then(|plain| plain.ready(changed, message));
    match plain.and_then(|plain| plain.changed(paths)) {
        Some(found) if found.is_empty() => return Ok(None),
        Some(found) => {
            let found: Vec<_> = found.iter().map(|path| path.as_slice()).collect();
            if let Some(ready) = ready(&found) {
                return Ok(Some(Staged::Here(Box::new(ready))));
            }
        }
        None => {}
    }
    if let Some(whole) = whole_folder(worktree, paths)
        && worktree.ask_with(&add(), &whole)?.success
    {
        return Ok(Some(Staged::Added(whole)));
    }
    let Changed { all, to_add } = changed(worktree, paths)?;
    if all.is_empty() {
        return Ok(None);
    }
    // All that is staged as removed is to be removed, also where the file is still there.
    let is_as_it_lies = *paths != Paths::All || all == to_add;
    if is_as_it_lies && let Some(ready) = ready(&names(&all)) {
        return Ok(Some(Staged::Here(Box::new(ready))));
    }
    if let Some(path) = without_lfs(worktree, &to_add)? {
        return Err(CommitError::NoLfs { path });
    }
    if !to_add.is_empty() {
        worktree.run_with(&add(), &to_add)?;
    }
    Ok(Some(Staged::Added(all)))
}

/// Returns a file whose content belongs to Git LFS, where that is not there to take it; its pointers
/// are files like any other.
fn without_lfs(worktree: &Git, list: &[u8]) -> Result<Option<String>, GitError> {
    if has_lfs() || list.is_empty() {
        return Ok(None);
    }
    let answer = worktree.run_with(&["check-attr", "-z", "--stdin", "filter"], list)?.stdout;
    // The path, the attribute and its value.
    let words: Vec<_> = answer.split(|byte| *byte == 0).collect();
    let of_lfs = words.chunks_exact(3).filter(|three| three[2] == b"lfs").map(|three| three[0]);
    let is_content = |path: &&[u8]| {
        let text = fs::read(worktree.dir().join(OsStr::from_bytes(path)));
        text.is_ok_and(|text| !text.starts_with(LFS_POINTER) && !text.is_empty())
    };
    let Some(path) = of_lfs.into_iter().find(is_content) else { return Ok(None) };
    // We switch it off ourselves; what is asked is whether anybody switched it on.
    let required = worktree.ask(&["config", "--get-all", "filter.lfs.required"])?.text();
    let is_required = required.lines().any(|value| value == "true");
    Ok(is_required.then(|| String::from_utf8_lossy(path).into_owned()))
}

/// How paths are given to git: as a list, for there may be more of them than arguments can be.
const FROM_LIST: [&str; 2] = ["--pathspec-from-file=-", "--pathspec-file-nul"];

fn add() -> Vec<&'static str> {
    [&["--literal-pathspecs", "add", "--all", "--sparse"], &FROM_LIST[..]].concat()
}

/// Lets git commit what was added.
fn commit_added(
    worktree: &Git,
    paths: &Paths,
    changed: &[u8],
    (before, message): (&str, &str),
) -> Result<Option<String>, CommitError> {
    let mut args =
        vec!["--literal-pathspecs", "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit"];
    args.extend(["--quiet", "--cleanup=whitespace", "--no-edit", "--message", message]);
    // Git refuses a part of the changes while a merge is in progress, but not all of them.
    let answer = if *paths == Paths::All {
        worktree.ask(&args)?
    } else {
        args.extend(["--only"].iter().chain(&FROM_LIST));
        worktree.ask_with(&args, &without_folders(worktree, changed))?
    };
    if answer.success {
        return own_since(worktree, before, message).map(Some);
    }
    // Why it failed is only asked now: it hardly ever does.
    if nothing_differs(worktree, changed)? {
        return Ok(None);
    }
    Err(refused(worktree, &answer)?)
}

/// Returns the commit with a message of ours that was made since another one: agents beside, and hooks,
/// may have committed on top of it.
///
/// One that a hook took our trailers from is taken back.
fn own_since(worktree: &Git, before: &str, message: &str) -> Result<String, CommitError> {
    let last = message.lines().rev().take_while(|line| !line.is_empty());
    let ours: Vec<_> = last.filter(|line| line.starts_with("Mow-")).collect();
    let (git, now) = (worktree.plumbing(), head(worktree)?);
    let has = |one: &Trailed, line: &str| {
        one.trailers.iter().any(|(key, value)| line == format!("{key}: {value}"))
    };
    // The oldest: a later one may be a copy.
    let since = History::load(&git, before, &now)?.commits;
    let mut since = since.iter().rev();
    if let Some(own) = since.find(|one| ours.iter().all(|line| has(one, line))) {
        return Ok(own.commit.clone());
    }
    let there = git.run(&["log", "-1", "--format=%P%n%(trailers:only,unfold)", &now])?.text();
    if there.lines().next() == Some(before) {
        // Nobody would know it again; the work in it is uncommitted once more.
        git.run(&["update-ref", "-m", "mow: taken back", "HEAD", before, &now])?;
    }
    let missing = ours.iter().find(|line| !there.lines().any(|one| one == **line));
    let line = missing.or(ours.first()).copied().unwrap_or_default().to_owned();
    Err(CommitError::Altered { line })
}

/// Returns whether there is nothing to commit, where that can be told without git.
pub fn is_clean(worktree: &Git, paths: &Paths) -> Option<bool> {
    Some(worktree.plain()?.changed(paths)?.is_empty())
}

/// Returns why a commit failed.
fn refused(worktree: &Git, answer: &Answer) -> Result<CommitError, CommitError> {
    identity_ok(worktree)?;
    Ok(CommitError::Refused { output: said(answer) })
}

/// Commits the changes of some paths while others work in the same worktree.
///
/// The worktree's own index may hold what they staged, so another one is used: neither the commit
/// nor the user's hooks see anything but these paths. The caller lets one commit be made at a time.
pub fn commit_beside(
    worktree: &Git,
    paths: &[String],
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<Option<String>, CommitError> {
    let paths = Paths::Only(paths.to_vec());
    let mut tries = 1;
    loop {
        let before = head(worktree)?;
        let index = PrivateIndex::of_worktree(worktree)?;
        let made = match commit_paths(index.git(), &paths, message, trailers) {
            // Somebody else's commit came in between.
            Err(CommitError::Refused { .. })
                if tries < BESIDE_TRIES_MAX && head(worktree)? != before =>
            {
                tries += 1;
                continue;
            }
            made => made?,
        };
        if let Some(commit) = &made {
            refresh(worktree, commit)?;
            failpoint::reach("commit.indexed");
        }
        return Ok(made);
    }
}

/// Brings the worktree's own index up to what a commit changed.
fn refresh(worktree: &Git, commit: &str) -> Result<(), GitError> {
    let names = ["diff-tree", "--no-commit-id", "--name-only", "--no-renames", "-r", "-z", commit];
    let changed = worktree.plumbing().run(&names)?.stdout;
    let reset = [&["--literal-pathspecs", "reset", "--quiet"], &FROM_LIST[..]].concat();
    let end = Instant::now() + INDEX_WITHIN;
    // An agent's git may have the index locked for a moment.
    while !worktree.plumbing().ask_with(&reset, &changed)?.success {
        if Instant::now() >= end {
            return worktree.plumbing().run_with(&reset, &changed).map(drop);
        }
        thread::sleep(INDEX_AGAIN);
    }
    Ok(())
}

/// Makes a commit without changes, as a mark.
pub fn commit_mark(
    worktree: &Git,
    message: &str,
    trailers: &[(&str, &str)],
) -> Result<String, CommitError> {
    let (before, message) = (head(worktree)?, with_trailers(message, trailers));
    // The user's hooks check changes, and give messages their form; here is nothing of either.
    let args = ["commit", "--quiet", "--allow-empty", "--only", "--cleanup=whitespace"];
    let answer = worktree.plumbing().ask(&[&args[..], &["--message", &message]].concat())?;
    if !answer.success {
        return Err(refused(worktree, &answer)?);
    }
    failpoint::reach("commit.marked");
    own_since(worktree, &before, &message)
}

/// Returns the newest commit after `base` that carries a trailer.
pub fn has_trailer(
    worktree: &Git,
    base: &str,
    key: &str,
    value: &str,
) -> Result<Option<String>, CommitError> {
    let range = format!("{base}..HEAD");
    Ok(find_trailers(worktree, &[&range], &[(key, value)])?)
}

/// Returns a message with trailers as its last paragraph.
pub fn with_trailers(message: &str, trailers: &[(&str, &str)]) -> String {
    let mut text = format!("{}\n", message.trim_end());
    for (at, (key, value)) in trailers.iter().enumerate() {
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        let gap = if at == 0 { "\n" } else { "" };
        text.push_str(&format!("{gap}{key}: {value}\n"));
    }
    text
}

/// Paths that have something to commit, each with a NUL byte behind it.
#[derive(Default)]
struct Changed {
    all: Vec<u8>,
    /// Those that are not staged as removed: git does not find these any more.
    to_add: Vec<u8>,
}

/// Lists the paths that have something to commit.
fn changed(worktree: &Git, paths: &Paths) -> Result<Changed, GitError> {
    let mut args = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames"];
    args.extend(["--untracked-files=all", "--"]);
    match paths {
        Paths::Only(paths) if paths.is_empty() => return Ok(Changed::default()),
        Paths::Only(paths) => args.extend(paths.iter().map(String::as_str)),
        Paths::Folder(dir) => args.push(dir),
        Paths::All | Paths::AllBut(_) => {}
    }
    let output = worktree.run(&args)?.stdout;
    let mut changed = Changed::default();
    let is_left = |path: &[u8]| match paths {
        Paths::AllBut(dir) => is_below(path, dir.as_bytes()),
        _ => false,
    };
    // Two letters and a space stand before each path. A path with a slash at its end is a
    // repository of its own, which is none of our files.
    for line in output.split(|byte| *byte == 0).filter(|line| line.len() > 3) {
        if line.ends_with(b"/") || is_left(&line[3..]) {
            continue;
        }
        let path = [&line[3..], b"\0"].concat();
        changed.all.extend_from_slice(&path);
        if !line.starts_with(b"D ") {
            changed.to_add.extend(path);
        }
    }
    Ok(changed)
}

/// Returns the paths of a list.
fn names(list: &[u8]) -> Vec<&[u8]> {
    list.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect()
}

/// Leaves out what was a file and is a folder now: git would look for a repository there, and what
/// lies in the folder takes the place of the file anyway.
fn without_folders(worktree: &Git, list: &[u8]) -> Vec<u8> {
    let names: BTreeSet<_> = names(list).into_iter().collect();
    let is_folder = |name: &[u8]| {
        let inside = [name, b"/"].concat();
        let next = names.range(inside.as_slice()..).next();
        let path = worktree.dir().join(OsStr::from_bytes(name));
        next.is_some_and(|next| next.starts_with(&inside)) && path.is_dir() && !path.is_symlink()
    };
    let kept = names.iter().filter(|name| !is_folder(name));
    kept.flat_map(|name| [*name, b"\0"].concat()).collect()
}

/// Returns whether the staged paths are the same as in the last commit after all.
fn nothing_differs(worktree: &Git, paths: &[u8]) -> Result<bool, GitError> {
    let staged = worktree.run(&["diff", "--cached", "--name-only", "--no-renames", "-z"])?.stdout;
    let (staged, paths) = (names(&staged), BTreeSet::from_iter(names(paths)));
    let is_meant = |name: &&[u8]| {
        paths.contains(name) || (paths.len() == 1 && paths.iter().any(|dir| is_below(name, dir)))
    };
    Ok(!staged.iter().any(is_meant))
}

/// Returns a folder as a list of one path, if it can be committed as a whole: it holds a few files,
/// and no repository of its own.
fn whole_folder(worktree: &Git, paths: &Paths) -> Option<Vec<u8>> {
    let Paths::Folder(dir) = paths else { return None };
    let (mut left, mut count) = (vec![worktree.dir().join(dir)], 0);
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).ok()? {
            let entry = entry.ok()?;
            count += 1;
            if entry.file_name() == ".git" || count > FOLDER_MAX {
                return None;
            }
            if entry.file_type().ok()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    (count > 0).then(|| [dir.as_bytes(), b"\0"].concat())
}

fn said(answer: &Answer) -> String {
    let both = [&answer.stdout[..], &answer.stderr[..]].concat();
    let from = both.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(&both[from..]).trim().to_owned()
}

#[cfg(test)]
mod tests;

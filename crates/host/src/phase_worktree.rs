//! The worktree of a phase: made, found again, mended, and removed.
//!
//! [`prepare`] looks at what is there and does only what is missing, so it can be called again after
//! a crash at any point:
//!
//! | what is found                              | what happens                                 |
//! |--------------------------------------------|----------------------------------------------|
//! | a worktree on the branch                   | it is used again                             |
//! | the same, half made                        | it is finished                               |
//! | the same, on another commit or branch      | that is kept under a rescue reference, and   |
//! |                                            | the branch is checked out                    |
//! | git's entry, but no directory              | the entry is dropped, the worktree is made   |
//! | a directory with nothing in it but a link  | it is removed, the worktree is made          |
//! | a directory with anything else in it       | refused                                      |
//! | the branch without a worktree              | the worktree is made on it                   |
//! | nothing                                    | branch and worktree are made                 |
//!
//! Nobody else may be at work in the worktree meanwhile. Hooks do not take part.

#![expect(clippy::disallowed_methods, reason = "worktrees are made and removed here")]

mod entries;
mod remove;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::git::index::PrivateIndex;
use crate::git::{Git, GitError, Worktree, is_hash, locks};
use crate::rescue::{self, RescueError, Rescued};

use entries::{discard, forget, is_empty_but_for_link};

pub use entries::clear_unfinished;
pub use remove::{Remove, Removed, remove};

/// What git notes in a worktree that it has not finished making.
const UNFINISHED: &str = "initializing";

/// Why there is no worktree.
#[derive(Debug, Error)]
pub enum WorktreeError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Work could not be kept, so nothing was changed.
    #[error(transparent)]
    Rescue(#[from] RescueError),
    /// There is no such commit to start from.
    #[error("{base} is no commit")]
    NoBase {
        /// The name that was given.
        base: String,
    },
    /// Such a branch cannot be.
    #[error("{branch:?} is no name for a branch")]
    BadBranch {
        /// The name that was given.
        branch: String,
    },
    /// Somebody works on the branch in another place.
    #[error("branch {branch} is checked out in {path}")]
    Elsewhere {
        /// The branch.
        branch: String,
        /// The other worktree.
        path: PathBuf,
    },
    /// There are files that are not ours.
    #[error("{path} is in the way: it is no worktree of this repository")]
    InTheWay {
        /// The directory.
        path: PathBuf,
    },
    /// A git that was started before does not finish.
    #[error("git is busy with {path}: processes {pids:?}")]
    Busy {
        /// The worktree.
        path: PathBuf,
        /// The processes.
        pids: Vec<u32>,
    },
    /// A file or directory could not be changed.
    #[error("cannot change {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The worktree that a phase needs.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// Where it is to be.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit that it starts from.
    pub base: String,
}

/// A worktree that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Where it is.
    pub path: PathBuf,
    /// The commit it stands at.
    pub head: String,
    /// Whether it was there already.
    pub reused: bool,
    /// Whether its branch is new.
    pub created_branch: bool,
    /// Whether it has commits of its own and lacks some of the base, which the caller has to decide
    /// about.
    pub behind: bool,
    /// What was put aside to get there.
    pub rescued: Vec<Rescued>,
}

/// Makes a phase's worktree, or finds it again.
pub fn prepare(root: &Path, job: &Prepare) -> Result<Prepared, WorktreeError> {
    let prepared = begin(root, job)?;
    fill(&prepared)?;
    Ok(prepared)
}

/// Writes the files of a worktree that [`begin`] made. That takes most of the time, and nobody else
/// needs to wait for it.
pub fn fill(prepared: &Prepared) -> Result<(), WorktreeError> {
    if !prepared.reused && prepared.created_branch {
        let git = Git::at_top(&prepared.path).plumbing();
        if git.plain().and_then(|plain| plain.checkout(&git)).is_none() {
            git.run(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])?;
        }
        failpoint::reach("worktree.filled");
    }
    Ok(())
}

/// Makes a phase's worktree, or finds it again; one on a new branch has no files yet.
///
/// One that stays so, because its maker died, is finished by whoever prepares it next.
pub fn begin(root: &Path, prepare: &Prepare) -> Result<Prepared, WorktreeError> {
    let git = Git::new(root).plumbing();
    let is_hash = is_hash(prepare.base.as_bytes());
    let mut base = if is_hash { prepare.base.clone() } else { base_of(&git, prepare)? };
    check_branch(&git, &prepare.branch)?;
    ignore(&git, root, &prepare.path)?;
    let busy = locks::wait_until_quiet(&prepare.path);
    if !busy.is_empty() {
        return Err(WorktreeError::Busy { path: prepare.path.clone(), pids: busy });
    }
    clear_unfinished(root)?;
    let mut rescued = Vec::new();
    let reused = clear_the_way(&git, prepare)?;
    // Git itself finds out whether there is such a commit when it makes a branch there.
    if is_hash && (reused || git.branch_exists(&prepare.branch)?) {
        base = base_of(&git, prepare)?;
    }
    let created_branch = match reused {
        true => mend(&git, prepare, &base, &mut rescued)?,
        false => add(&git, prepare, &base)?,
    };
    let worktree = Git::at_top(&prepare.path).plumbing();
    let behind = !catch_up(&worktree, prepare, &base, &mut rescued)?;
    let head = worktree.commit_of("HEAD")?.unwrap_or_default();
    Ok(Prepared { path: prepare.path.clone(), head, reused, created_branch, behind, rescued })
}

impl Prepare {
    /// The name under which work of this worktree is kept.
    fn rescue_name(&self) -> &str {
        &self.branch
    }
}

fn check_branch(git: &Git, branch: &str) -> Result<(), WorktreeError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !branch.is_empty() && !branch.starts_with('-') && branch.chars().all(is_plain) {
        return Ok(());
    }
    let full = format!("refs/heads/{branch}");
    if branch.starts_with('-') || !git.ask(&["check-ref-format", &full])?.success {
        return Err(WorktreeError::BadBranch { branch: branch.to_owned() });
    }
    Ok(())
}

/// Returns whether a worktree is there to be used; otherwise makes room for a new one.
fn clear_the_way(git: &Git, prepare: &Prepare) -> Result<bool, WorktreeError> {
    let worktrees = git.worktrees()?;
    let on_branch = worktrees.iter().filter(|one| one.branch_name() == Some(&prepare.branch));
    for other in on_branch.filter(|one| !is_at(one, &prepare.path)) {
        if other.path.exists() || (other.locked && other.lock_reason != UNFINISHED) {
            let (branch, path) = (prepare.branch.clone(), other.path.clone());
            return Err(WorktreeError::Elsewhere { branch, path });
        }
        forget(git, &other.path)?;
    }
    if !prepare.path.exists() {
        if worktrees.iter().any(|worktree| is_at(worktree, &prepare.path)) {
            forget(git, &prepare.path)?;
        }
        return Ok(false);
    }
    if is_empty_but_for_link(&prepare.path) && !is_whole(&prepare.path) {
        discard(git, &prepare.path)?;
        return Ok(false);
    }
    // The link may be missing, or point to where the repository was before it was moved.
    if !is_whole(&prepare.path) {
        git.ask(&["worktree".as_ref(), "repair".as_ref(), prepare.path.as_os_str()])?;
    }
    let is_ours = git.worktrees()?.iter().any(|worktree| is_at(worktree, &prepare.path));
    if is_ours && is_whole(&prepare.path) {
        return Ok(true);
    }
    Err(WorktreeError::InTheWay { path: prepare.path.clone() })
}

fn is_at(worktree: &Worktree, path: &Path) -> bool {
    if worktree.path == path {
        return true;
    }
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    // A directory that is there is no other one than one that is not; that is quickly told.
    worktree.path.exists() == path.exists() && real(&worktree.path) == real(path)
}

/// Returns whether git takes the directory for the top of a worktree with a commit.
fn is_whole(path: &Path) -> bool {
    let git = Git::at_top(path);
    let head = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    head.is_ok_and(|answer| answer.success)
}

/// Returns the commit to start from.
fn base_of(git: &Git, prepare: &Prepare) -> Result<String, WorktreeError> {
    let no_base = || WorktreeError::NoBase { base: prepare.base.clone() };
    git.commit_of(&prepare.base)?.ok_or_else(no_base)
}

/// Makes the worktree; returns whether its branch is new.
fn add(git: &Git, prepare: &Prepare, base: &str) -> Result<bool, WorktreeError> {
    let is_new = !git.branch_exists(&prepare.branch)?;
    if is_new {
        locks::clear_reference(git, &format!("refs/heads/{}", prepare.branch))?;
    }
    // In English, so that the note about an unfinished worktree can be recognised.
    let git = git.with_env("LC_ALL", "C");
    let path = prepare.path.as_os_str();
    let branch = prepare.branch.as_ref();
    let words = ["worktree", "add", "--quiet"].map(AsRef::as_ref);
    let rest = if is_new {
        let words = ["--no-checkout", "--no-track", "-b"].map(AsRef::as_ref);
        [&words[..], &[branch, path, base.as_ref()]].concat()
    } else {
        vec![path, branch]
    };
    failpoint::reach("worktree.add.before");
    let plain = git.plain().filter(|_| is_new);
    if plain.and_then(|plain| plain.add_worktree(&prepare.path, &prepare.branch, base)).is_none()
        && let Err(error) = git.run(&[&words[..], &rest].concat())
    {
        base_of(&git, prepare)?;
        return Err(error.into());
    }
    failpoint::reach("worktree.added");
    Ok(is_new)
}

/// Brings a worktree that is there onto its branch; returns whether that is new.
fn mend(
    git: &Git,
    prepare: &Prepare,
    base: &str,
    rescued: &mut Vec<Rescued>,
) -> Result<bool, WorktreeError> {
    let worktree = Git::at_top(&prepare.path).plumbing();
    locks::clear_stale(&worktree)?;
    finish(git, &worktree, prepare, rescued)?;
    if worktree.current_branch()?.as_deref() == Some(prepare.branch.as_str()) {
        return Ok(false);
    }
    let name = prepare.rescue_name();
    rescued.extend(rescue::reset_to(&worktree, name, "HEAD")?);
    let head = worktree.run(&["rev-parse", "HEAD"])?.text();
    let is_new = !git.branch_exists(&prepare.branch)?;
    let start = if is_new { base } else { &prepare.branch };
    if !worktree.is_ancestor(&head, start)? {
        rescued.push(rescue::keep(&worktree, name, &head)?);
    }
    rescued.extend(rescue::keep_ignored(&worktree, name, start)?);
    let mut args = vec!["checkout", "--quiet", "--force", "--no-track"];
    match is_new {
        true => args.extend(["-b", &prepare.branch, base]),
        false => args = vec!["checkout", "--quiet", "--force", &prepare.branch, "--"],
    }
    failpoint::reach("worktree.mend.before");
    worktree.run(&args)?;
    Ok(is_new)
}

/// Finishes what git was making when it was killed.
fn finish(
    git: &Git,
    worktree: &Git,
    prepare: &Prepare,
    rescued: &mut Vec<Rescued>,
) -> Result<(), WorktreeError> {
    let worktrees = git.worktrees()?;
    let entry = worktrees.iter().find(|worktree| is_at(worktree, &prepare.path));
    let is_unfinished = entry.is_some_and(|entry| entry.lock_reason == UNFINISHED);
    // Git writes the index last.
    if !worktree.git_dir()?.join("index").exists() {
        if holds_more_than_head(worktree)? {
            rescued.extend(rescue::rescue(worktree, prepare.rescue_name())?);
        }
        worktree.run(&["reset", "--quiet", "--hard"])?;
    }
    if is_unfinished {
        git.run(&["worktree".as_ref(), "unlock".as_ref(), prepare.path.as_os_str()])?;
    }
    Ok(())
}

/// Returns whether a directory holds other files than some of the last commit's.
fn holds_more_than_head(worktree: &Git) -> Result<bool, GitError> {
    let index = PrivateIndex::empty(worktree)?;
    index.read_tree("HEAD")?;
    // Fails when files are missing, which is what is expected here.
    index.git().ask(&["update-index", "-q", "--refresh"])?;
    let changed = index.git().run(&["diff-files", "--name-only", "--diff-filter=d", "-z"])?;
    let new = index.git().run(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    Ok(!changed.stdout.is_empty() || !new.stdout.is_empty())
}

/// Moves a worktree without commits of its own to the base; returns whether it has the base now.
fn catch_up(
    worktree: &Git,
    prepare: &Prepare,
    base: &str,
    rescued: &mut Vec<Rescued>,
) -> Result<bool, WorktreeError> {
    let head = worktree.commit_of("HEAD")?.unwrap_or_else(|| "HEAD".to_owned());
    if worktree.is_ancestor(base, &head)? {
        return Ok(true);
    }
    if !worktree.is_ancestor(&head, base)? {
        return Ok(false);
    }
    rescued.extend(rescue::reset_to(worktree, prepare.rescue_name(), base)?);
    failpoint::reach("worktree.caught_up");
    Ok(true)
}

/// Keeps the home of the worktrees out of git without touching the user's files.
fn ignore(git: &Git, root: &Path, path: &Path) -> Result<(), WorktreeError> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let home = path.parent().unwrap_or(path);
    let home = fs::canonicalize(home).unwrap_or_else(|_| home.to_path_buf());
    let Some(inside) = home.strip_prefix(&root).ok().and_then(Path::to_str) else { return Ok(()) };
    if inside.is_empty() {
        return Ok(());
    }
    let line = format!("/{inside}/");
    let file = git.common_dir()?.join("info/exclude");
    let failed = |source| WorktreeError::Io { path: file.clone(), source };
    let old = match fs::read(&file) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    // With or without the slash in front, it is the same home.
    let is_there = |own: &[u8]| own.strip_prefix(b"/").unwrap_or(own) == &line.as_bytes()[1..];
    if old.split(|byte| *byte == b'\n').any(|own| is_there(own.trim_ascii())) {
        return Ok(());
    }
    fs::create_dir_all(file.parent().unwrap_or(&file)).map_err(failed)?;
    // A line that a crash cut short stays one by itself.
    let close = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let mut exclude =
        fs::OpenOptions::new().append(true).create(true).open(&file).map_err(failed)?;
    exclude.write_all(format!("{close}{line}\n").as_bytes()).map_err(failed)?;
    failpoint::reach("worktree.ignored");
    Ok(())
}

#[cfg(test)]
mod tests;

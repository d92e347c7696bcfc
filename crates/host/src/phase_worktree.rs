//! Creates, reuses, repairs and removes the git worktree of a phase.
//!
//! [`prepare`] inspects the current state and does only what is missing, so it can be called again
//! after a crash at any point:
//!
//! | state found                                | action                                       |
//! |--------------------------------------------|----------------------------------------------|
//! | a worktree on the branch                   | it is reused                                 |
//! | the same, incomplete                       | it is completed                              |
//! | the same, on another commit or branch      | that is kept under a rescue ref, and         |
//! |                                            | the branch is checked out                    |
//! | git's entry, but no directory              | the entry is dropped, the worktree created   |
//! | a directory with only a `.git` link        | it is removed, the worktree created          |
//! | a directory with anything else in it       | error                                        |
//! | the branch without a worktree              | the worktree is created on it                |
//! | nothing                                    | branch and worktree are created              |
//!
//! No other process may work in the worktree during a call. Git hooks do not run.

#![expect(clippy::disallowed_methods, reason = "this module creates and removes worktrees")]

mod git_entries;
mod remove;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::git::private_index::PrivateIndex;
use crate::git::{Git, GitError, GitWorktree, is_hash, locks};
use crate::rescue::{self, RescueError, RescueRef};

use git_entries::{drop_entry, is_empty_but_for_link, remove_link_directory};

pub use git_entries::clear_unfinished;
pub use remove::{RemovalOutcome, WorktreeRemoval, remove};

/// Git's lock reason for a worktree that it has not finished creating.
const UNFINISHED: &str = "initializing";

/// A failure to create or remove a worktree.
#[derive(Debug, Error)]
pub enum WorktreeError {
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Work could not be saved, so nothing was changed.
    #[error(transparent)]
    Rescue(#[from] RescueError),
    /// The base is not a commit.
    #[error("{base} is not a commit")]
    NoBase {
        /// The name as the caller gave it.
        base: String,
    },
    /// Git does not allow this branch name.
    #[error("{branch:?} is not a valid branch name")]
    BadBranch {
        /// The name as the caller gave it.
        branch: String,
    },
    /// Another worktree has the branch checked out.
    #[error("branch {branch} is checked out in {path}")]
    BranchInUse {
        /// The branch, without `refs/heads/`.
        branch: String,
        /// The other worktree.
        path: PathBuf,
    },
    /// The path holds files that do not belong to a worktree of this repository.
    #[error("{path} is in the way: it is not a worktree of this repository")]
    PathOccupied {
        /// The occupied path.
        path: PathBuf,
    },
    /// An earlier git process still works in the worktree.
    #[error("git is busy with {path}: processes {pids:?}")]
    GitBusy {
        /// The worktree.
        path: PathBuf,
        /// The ids of the git processes.
        pids: Vec<u32>,
    },
    /// A file or directory could not be changed.
    #[error("cannot change {path}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}

/// The worktree that a phase needs.
#[derive(Clone, Debug)]
pub struct WorktreeSpec {
    /// The directory of the worktree.
    pub path: PathBuf,
    /// Its branch, without `refs/heads/`.
    pub branch: String,
    /// The commit, or a name of it, from which a new branch starts.
    pub base: String,
    /// A file, relative to the worktree, that is always uncommitted. While git does not track it,
    /// it is neither rescued nor removed.
    pub live_file: Option<String>,
}

/// A worktree that [`prepare`] created or found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreparedWorktree {
    /// The directory of the worktree.
    pub path: PathBuf,
    /// The commit of HEAD.
    pub head: String,
    /// Whether the worktree existed already.
    pub reused: bool,
    /// Whether its branch was created.
    pub created_branch: bool,
    /// Whether the branch has commits of its own and lacks commits of the base; the caller must
    /// decide what to do about it.
    pub is_behind_base: bool,
    /// Work that was saved under rescue refs on the way.
    pub rescued: Vec<RescueRef>,
}

/// Creates a phase's worktree, or reuses the existing one.
pub fn prepare(root: &Path, spec: &WorktreeSpec) -> Result<PreparedWorktree, WorktreeError> {
    let prepared = create_without_files(root, spec)?;
    write_files(&prepared)?;
    Ok(prepared)
}

/// Writes the files of a worktree that [`create_without_files`] created.
///
/// This takes most of the time and needs no lock on the repository.
pub fn write_files(prepared: &PreparedWorktree) -> Result<(), WorktreeError> {
    if !prepared.reused && prepared.created_branch {
        let git = Git::at_top(&prepared.path).plumbing();
        if git.in_process().and_then(|repo| repo.checkout(&git)).is_none() {
            git.run(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])?;
        }
        failpoint::reach("worktree.filled");
    }
    Ok(())
}

/// Creates a phase's worktree, or reuses the existing one; on a new branch it has no files yet.
///
/// If the process dies before [`write_files`], the next call of [`prepare`] completes the worktree.
pub fn create_without_files(
    root: &Path,
    spec: &WorktreeSpec,
) -> Result<PreparedWorktree, WorktreeError> {
    let git = Git::new(root).plumbing();
    let is_hash = is_hash(spec.base.as_bytes());
    let mut base = if is_hash { spec.base.clone() } else { base_commit(&git, spec)? };
    check_branch(&git, &spec.branch)?;
    exclude_from_git(&git, root, &spec.path)?;
    let busy = locks::wait_for_running_git(&spec.path);
    if !busy.is_empty() {
        return Err(WorktreeError::GitBusy { path: spec.path.clone(), pids: busy });
    }
    clear_unfinished(root)?;
    let mut rescued = Vec::new();
    let reused = find_or_make_room(&git, spec)?;
    // For a new branch git itself checks that the commit exists.
    if is_hash && (reused || git.branch_exists(&spec.branch)?) {
        base = base_commit(&git, spec)?;
    }
    let created_branch = match reused {
        true => repair(&git, spec, &base, &mut rescued)?,
        false => add_worktree(&git, spec, &base)?,
    };
    let worktree = Git::at_top(&spec.path).plumbing();
    let is_behind_base = !advance_to_base(&worktree, spec, &base, &mut rescued)?;
    let head = worktree.commit_of("HEAD")?.unwrap_or_default();
    Ok(PreparedWorktree {
        path: spec.path.clone(),
        head,
        reused,
        created_branch,
        is_behind_base,
        rescued,
    })
}

impl WorktreeSpec {
    /// Returns the rescue name for work of this worktree.
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

/// Returns whether a usable worktree exists; otherwise makes room for a new one.
fn find_or_make_room(git: &Git, spec: &WorktreeSpec) -> Result<bool, WorktreeError> {
    let worktrees = git.worktrees()?;
    let on_branch =
        worktrees.iter().filter(|worktree| worktree.branch_name() == Some(&spec.branch));
    for other in on_branch.filter(|worktree| !is_at(worktree, &spec.path)) {
        if other.path.exists() || (other.locked && other.lock_reason != UNFINISHED) {
            let (branch, path) = (spec.branch.clone(), other.path.clone());
            return Err(WorktreeError::BranchInUse { branch, path });
        }
        drop_entry(git, &other.path)?;
    }
    if !spec.path.exists() {
        if worktrees.iter().any(|worktree| is_at(worktree, &spec.path)) {
            drop_entry(git, &spec.path)?;
        }
        return Ok(false);
    }
    if is_empty_but_for_link(&spec.path) && !is_usable(&spec.path) {
        remove_link_directory(git, &spec.path)?;
        return Ok(false);
    }
    // The `.git` link may be missing, or point to where the repository was before it was moved.
    if !is_usable(&spec.path) {
        git.ask(&["worktree".as_ref(), "repair".as_ref(), spec.path.as_os_str()])?;
    }
    let is_ours = git.worktrees()?.iter().any(|worktree| is_at(worktree, &spec.path));
    if is_ours && is_usable(&spec.path) {
        return Ok(true);
    }
    Err(WorktreeError::PathOccupied { path: spec.path.clone() })
}

fn is_at(worktree: &GitWorktree, path: &Path) -> bool {
    if worktree.path == path {
        return true;
    }
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    // Comparing existence first avoids resolving most paths.
    worktree.path.exists() == path.exists() && real(&worktree.path) == real(path)
}

/// Returns whether git sees the directory as the top of a worktree whose HEAD is a commit.
fn is_usable(path: &Path) -> bool {
    let git = Git::at_top(path);
    let head = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    head.is_ok_and(|answer| answer.success)
}

/// Resolves the base to a commit.
fn base_commit(git: &Git, spec: &WorktreeSpec) -> Result<String, WorktreeError> {
    let no_base = || WorktreeError::NoBase { base: spec.base.clone() };
    git.commit_of(&spec.base)?.ok_or_else(no_base)
}

/// Creates the worktree; returns whether it created the branch too.
fn add_worktree(git: &Git, spec: &WorktreeSpec, base: &str) -> Result<bool, WorktreeError> {
    let is_new = !git.branch_exists(&spec.branch)?;
    if is_new {
        locks::remove_stale_ref_lock(git, &format!("refs/heads/{}", spec.branch))?;
    }
    // The C locale makes git write the lock reason that `UNFINISHED` matches.
    let git = git.with_env("LC_ALL", "C");
    let path = spec.path.as_os_str();
    let branch = spec.branch.as_ref();
    let words = ["worktree", "add", "--quiet"].map(AsRef::as_ref);
    let rest = if is_new {
        let words = ["--no-checkout", "--no-track", "-b"].map(AsRef::as_ref);
        [&words[..], &[branch, path, base.as_ref()]].concat()
    } else {
        vec![path, branch]
    };
    failpoint::reach("worktree.add.before");
    let in_process = git.in_process().filter(|_| is_new);
    if in_process.and_then(|repo| repo.add_worktree(&spec.path, &spec.branch, base)).is_none()
        && let Err(error) = git.run(&[&words[..], &rest].concat())
    {
        base_commit(&git, spec)?;
        return Err(error.into());
    }
    failpoint::reach("worktree.added");
    Ok(is_new)
}

/// Checks out the branch in an existing worktree; returns whether it created the branch.
fn repair(
    git: &Git,
    spec: &WorktreeSpec,
    base: &str,
    rescued: &mut Vec<RescueRef>,
) -> Result<bool, WorktreeError> {
    let worktree = Git::at_top(&spec.path).plumbing();
    locks::remove_stale_locks(&worktree)?;
    finish_creation(git, &worktree, spec, rescued)?;
    if worktree.current_branch()?.as_deref() == Some(spec.branch.as_str()) {
        return Ok(false);
    }
    let name = spec.rescue_name();
    rescued.extend(rescue::reset_to(&worktree, name, "HEAD")?);
    let head = worktree.run(&["rev-parse", "HEAD"])?.text();
    let is_new = !git.branch_exists(&spec.branch)?;
    let start = if is_new { base } else { &spec.branch };
    if !worktree.is_ancestor(&head, start)? {
        rescued.push(rescue::keep_commit(&worktree, name, &head)?);
    }
    rescued.extend(rescue::rescue_before_checkout(&worktree, name, start)?);
    let mut args = vec!["checkout", "--quiet", "--force", "--no-track"];
    match is_new {
        true => args.extend(["-b", &spec.branch, base]),
        false => args = vec!["checkout", "--quiet", "--force", &spec.branch, "--"],
    }
    failpoint::reach("worktree.mend.before");
    worktree.run(&args)?;
    Ok(is_new)
}

/// Completes a worktree that a killed git was creating.
fn finish_creation(
    git: &Git,
    worktree: &Git,
    spec: &WorktreeSpec,
    rescued: &mut Vec<RescueRef>,
) -> Result<(), WorktreeError> {
    let worktrees = git.worktrees()?;
    let entry = worktrees.iter().find(|worktree| is_at(worktree, &spec.path));
    let is_unfinished = entry.is_some_and(|entry| entry.lock_reason == UNFINISHED);
    // Git writes the index last, so without one the files may be incomplete.
    if !worktree.git_dir()?.join("index").exists() {
        if has_files_beyond_head(worktree)? {
            rescued.extend(rescue::rescue_uncommitted(worktree, spec.rescue_name())?);
        }
        worktree.run(&["reset", "--quiet", "--hard"])?;
    }
    if is_unfinished {
        git.run(&["worktree".as_ref(), "unlock".as_ref(), spec.path.as_os_str()])?;
    }
    Ok(())
}

/// Returns whether a directory holds files that differ from HEAD or are new; missing files do not
/// count.
fn has_files_beyond_head(worktree: &Git) -> Result<bool, GitError> {
    let index = PrivateIndex::empty(worktree)?;
    index.read_tree("HEAD")?;
    // This fails when files are missing, as is expected here.
    index.git().ask(&["update-index", "-q", "--refresh"])?;
    let changed = index.git().run(&["diff-files", "--name-only", "--diff-filter=d", "-z"])?;
    let new = index.git().run(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    Ok(!changed.stdout.is_empty() || !new.stdout.is_empty())
}

/// Resets a worktree without commits of its own to the base; returns whether HEAD contains the
/// base.
fn advance_to_base(
    worktree: &Git,
    spec: &WorktreeSpec,
    base: &str,
    rescued: &mut Vec<RescueRef>,
) -> Result<bool, WorktreeError> {
    let head = worktree.commit_of("HEAD")?.unwrap_or_else(|| "HEAD".to_owned());
    if worktree.is_ancestor(base, &head)? {
        return Ok(true);
    }
    if !worktree.is_ancestor(&head, base)? {
        return Ok(false);
    }
    let live = match &spec.live_file {
        Some(file) if worktree.run(&["ls-files", "--", file])?.stdout.is_empty() => Some(&**file),
        _ => None,
    };
    rescued.extend(rescue::reset_to_except(worktree, spec.rescue_name(), base, live)?);
    failpoint::reach("worktree.caught_up");
    Ok(true)
}

/// Adds the parent directory of the worktrees to `info/exclude`, so that no file of the user
/// changes.
fn exclude_from_git(git: &Git, root: &Path, path: &Path) -> Result<(), WorktreeError> {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
    let parent = path.parent().unwrap_or(path);
    let parent = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_path_buf());
    let Some(inside) = parent.strip_prefix(&root).ok().and_then(Path::to_str) else {
        return Ok(());
    };
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
    // The user may have written the line without the slash in front.
    let is_equal = |rule: &[u8]| rule.strip_prefix(b"/").unwrap_or(rule) == &line.as_bytes()[1..];
    if old.split(|byte| *byte == b'\n').any(|rule| is_equal(rule.trim_ascii())) {
        return Ok(());
    }
    fs::create_dir_all(file.parent().unwrap_or(&file)).map_err(failed)?;
    // A last line without a newline, such as after a crash, must stay a line of its own.
    let separator = if old.is_empty() || old.ends_with(b"\n") { "" } else { "\n" };
    let mut exclude =
        fs::OpenOptions::new().append(true).create(true).open(&file).map_err(failed)?;
    exclude.write_all(format!("{separator}{line}\n").as_bytes()).map_err(failed)?;
    failpoint::reach("worktree.ignored");
    Ok(())
}

#[cfg(test)]
mod tests;

//! Lists and restores work that mow saved before it reset or removed a worktree.
//!
//! Saved work is a commit under `refs/mow/rescue/`. Restoring never overwrites anything, and the
//! commit stays until somebody deletes its ref.

use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::git::{Git, parse_names};
use mow_host::merge::LEFT_OUT_SUBJECT;
use mow_host::rescue::{RESCUE_REF_PREFIX, UNCOMMITTED_SUBJECT};
use mow_store::worktree_home::WorktreeHome;

use super::{Caller, Client, PersonRequest, Refusal};
use crate::EngineError;
use crate::run_context;

/// A commit of saved work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RescueEntry {
    /// The name, without the prefix of the ref.
    pub name: String,
    /// The commit.
    pub commit: String,
    /// The phase, if the name says it.
    pub phase: Option<PhaseNumber>,
    /// Whether the work was uncommitted; else it is commits that a branch lost.
    pub uncommitted: bool,
    /// Whether a merge left it out: changes of a phase to planning files of others.
    pub left_out: bool,
    /// When it was saved, in milliseconds since 1970.
    pub at: u64,
    /// The files that it changes.
    pub files: Vec<String>,
    /// The commit that the work is based on; `None` without a common ancestor.
    base: Option<String>,
}

/// Restores saved work: into the current checkout if nothing is overwritten, else into a new
/// worktree.
#[derive(Clone, Debug)]
pub struct RestoreRequest<'a> {
    /// The name of the saved work, with or without the prefix of the ref.
    pub name: &'a str,
    /// Create a worktree in this directory instead of changing the checkout.
    pub into: Option<PathBuf>,
}

/// Where saved work was restored.
#[derive(Clone, Debug)]
pub struct RestoreReceipt {
    /// The saved work.
    pub entry: RescueEntry,
    /// The directory of the new worktree; `None` if the current checkout was changed.
    pub worktree: Option<PathBuf>,
    /// Why the current checkout was not changed; `None` if it was, or was not asked for.
    pub reason: Option<NotAppliedReason>,
}

/// Why saved work does not fit into a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAppliedReason {
    /// It has no common ancestor with the branch.
    NoCommonAncestor,
    /// Some of its files have uncommitted changes.
    LocalChanges,
    /// Its files have changed since it was saved.
    FilesChanged,
}

impl PersonRequest for RestoreRequest<'_> {
    type Receipt = RestoreReceipt;

    fn carry_out(self, client: &Client<'_>, _: &Caller) -> Result<RestoreReceipt, Refusal> {
        let Some(repository) = &client.project.repository else {
            return Err(Refusal::NoRepository);
        };
        let git = Git::new(&client.project.cwd);
        let all = list_rescues(&git)?;
        let name = self.name.strip_prefix(RESCUE_REF_PREFIX).unwrap_or(self.name).to_owned();
        let Some(entry) = all.iter().find(|entry| entry.name == name).cloned() else {
            let known = all.into_iter().map(|entry| entry.name).collect();
            return Err(Refusal::UnknownRescue { name, known });
        };
        let (dir, reason) = match self.into {
            Some(dir) => (dir, None),
            None => match apply(&Git::new(&repository.top), &entry)? {
                None => return Ok(RestoreReceipt { entry, worktree: None, reason: None }),
                reason => {
                    let name = format!("rescue-{}", name.replace('/', "-"));
                    (worktree_home(client)?.path().join(name), reason)
                }
            },
        };
        let worktree = Some(check_out(&git, &entry, &dir)?);
        Ok(RestoreReceipt { entry, worktree, reason })
    }
}

/// Returns the directory that holds the worktrees of the project.
fn worktree_home(client: &Client<'_>) -> Result<WorktreeHome, Refusal> {
    let project = client.project.in_main_worktree().map_err(EngineError::from)?;
    let config = run_context::config(&project)?;
    Ok(WorktreeHome::resolve(project.top(), &config, &project.tag())?)
}

/// Loads all saved work, the newest first.
pub fn list_rescues(git: &Git) -> Result<Vec<RescueEntry>, EngineError> {
    let format = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)";
    let answer = git.run(&["for-each-ref", "--sort=-committerdate", format, RESCUE_REF_PREFIX])?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let (reference, commit, seconds, subject) = (next(), next(), next(), next());
        let Some(name) = reference.strip_prefix(RESCUE_REF_PREFIX) else { continue };
        let left_out = subject.starts_with(LEFT_OUT_SUBJECT);
        let uncommitted = left_out || subject.starts_with(UNCOMMITTED_SUBJECT);
        let base = base(git, commit, uncommitted)?;
        all.push(RescueEntry {
            name: name.to_owned(),
            commit: commit.to_owned(),
            phase: phase_in(name),
            uncommitted,
            left_out,
            at: seconds.parse::<u64>().unwrap_or_default() * 1_000,
            files: files(git, base.as_deref(), commit)?,
            base,
        });
    }
    Ok(all)
}

/// Returns the commit that saved work is based on; `None` without a common ancestor.
fn base(git: &Git, commit: &str, uncommitted: bool) -> Result<Option<String>, EngineError> {
    if uncommitted {
        return Ok(git.commit_of(&format!("{commit}^1"))?);
    }
    let answer = git.ask(&["merge-base", "HEAD", commit])?;
    Ok(answer.success.then(|| answer.text()))
}

fn files(git: &Git, base: Option<&str>, commit: &str) -> Result<Vec<String>, EngineError> {
    let answer = match base {
        Some(base) => git.run(&["diff", "--name-only", "--no-renames", "-z", base, commit])?,
        None => git.run(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", commit])?,
    };
    Ok(parse_names(&answer.stdout))
}

/// Parses the phase from a name such as `<run>/03-…/1` or `phase-03/1`.
fn phase_in(name: &str) -> Option<PhaseNumber> {
    let parts = name.split('/').filter_map(|part| {
        let part = part.strip_prefix("phase-").unwrap_or(part);
        // A run's id is longer than any phase number.
        let number = part.split('-').next().filter(|number| number.len() < 8)?;
        PhaseNumber::parse(number)
    });
    // The last part is a counter.
    let all: Vec<_> = parts.collect();
    all.split_last().and_then(|(_, before)| before.last().copied())
}

/// Applies the work to a checkout; returns the reason when that would overwrite something.
fn apply(git: &Git, entry: &RescueEntry) -> Result<Option<NotAppliedReason>, EngineError> {
    let Some(base) = &entry.base else { return Ok(Some(NotAppliedReason::NoCommonAncestor)) };
    let patch =
        git.run(&["diff", "--binary", "--full-index", "--no-renames", base, &entry.commit])?.stdout;
    if patch.is_empty() {
        return Ok(None);
    }
    let mut status = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--ignored", "--"];
    status.extend(entry.files.iter().map(String::as_str));
    if !git.run(&status)?.stdout.is_empty() {
        return Ok(Some(NotAppliedReason::LocalChanges));
    }
    // Git applies a patch completely or not at all.
    let applied = git.ask_with(&["apply", "--whitespace=nowarn", "-"], &patch)?;
    Ok((!applied.success).then_some(NotAppliedReason::FilesChanged))
}

/// Creates a worktree with the work; work that was uncommitted is uncommitted there.
fn check_out(git: &Git, entry: &RescueEntry, dir: &Path) -> Result<PathBuf, Refusal> {
    let is_free =
        std::fs::read_dir(dir).map_or(!dir.exists(), |mut entries| entries.next().is_none());
    if !is_free {
        return Err(Refusal::DirectoryExists { dir: dir.display().to_string() });
    }
    let words = ["worktree", "add", "--quiet", "--detach"].map(Path::new);
    git.run(&[&words[..], &[dir, Path::new(&entry.commit)]].concat())?;
    if entry.uncommitted && entry.base.is_some() {
        Git::at_top(dir).run(&["reset", "--quiet", "HEAD^1"])?;
    }
    Ok(std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf()))
}

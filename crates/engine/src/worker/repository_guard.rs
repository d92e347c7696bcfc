//! Protects the repository from agents: takes a snapshot before an agent runs, and checks
//! afterwards that the agent kept to its own branch, its own files and the plan.
//!
//! Anything beyond that is kept under a rescue ref, and the worktree is rolled back to the
//! snapshot.

use mow_core::worker::Input;
use mow_host::git::{Git, Refs};
use mow_host::rescue;
use mow_host::tamper_detection::{
    GitSettings, IndexStamp, branches_moved_by, find_lost_commits, index_stamp, list_held_commits,
    moved_without_message, moved_without_reflog, reflog_length,
};

use super::frozen_plans::FrozenPlans;
use super::phase_workspace::PhaseWorkspace;
use super::text::{history_rewritten, list_names, short};
use crate::EngineError;
use crate::git_integrity;

/// The beginning of every reflog entry that an agent makes.
pub(super) const AGENT_REFLOG_PREFIX: &str = "mow ";

/// The state of the repository before an agent ran.
#[derive(Clone, Debug)]
pub(super) struct RepositorySnapshot {
    pub(super) head: String,
    settings: GitSettings,
    /// `None` if the main worktree has no branch checked out.
    main_branch: Option<MainBranch>,
    /// What each reference pointed to.
    refs: Refs,
    index: IndexStamp,
}

/// The branch that is checked out in the main worktree.
#[derive(Clone, Debug)]
struct MainBranch {
    name: String,
    commit: Option<String>,
    /// The length of its reflog in bytes.
    reflog_length: u64,
}

/// Detects what agents and checks did to the repository, and undoes it.
#[derive(Clone, Copy)]
pub(super) struct RepositoryGuard<'a> {
    workspace: &'a PhaseWorkspace,
    frozen_plans: FrozenPlans<'a>,
}

impl<'a> RepositoryGuard<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, frozen_plans: FrozenPlans::new(workspace) }
    }

    /// Records the state of the repository before an agent or a check runs.
    pub(super) fn snapshot(&self) -> Result<RepositorySnapshot, EngineError> {
        let git = self.workspace.git();
        let main_branch = match Git::new(self.workspace.ctx.top()).current_branch()? {
            Some(name) => Some(MainBranch {
                commit: git.commit_of(&format!("refs/heads/{name}"))?,
                reflog_length: reflog_length(&git, &name)?,
                name,
            }),
            None => None,
        };
        let (head, settings) = (self.workspace.head()?, git_integrity::load_settings(&git)?);
        let (refs, index) = (list_held_commits(&git)?, index_stamp(&git)?);
        Ok(RepositorySnapshot { head, settings, main_branch, refs, index })
    }

    /// Returns how the branch moved since the last commit of this worker, if it did.
    pub(super) fn branch_moved(&self) -> Result<Option<String>, EngineError> {
        let last = self.workspace.trusted().head.clone();
        let now = self.workspace.head()?;
        Ok(last.filter(|last| *last != now).map(|last| {
            let [last, now] = [&last, &now].map(|commit| short(commit));
            let branch = &self.workspace.branch;
            format!("{branch} moved from {last} to {now} between two tasks, not by this worker")
        }))
    }

    /// Returns the first rule that an agent broke since the snapshot.
    pub(super) fn violation(
        &self,
        before: &RepositorySnapshot,
    ) -> Result<Option<String>, EngineError> {
        let (worktree, branch) = (&self.workspace.worktree, &self.workspace.branch);
        if !worktree.join(".git").exists() {
            let message = format!("{} is gone, or is no worktree any more", worktree.display());
            return Err(EngineError::refused(message, "`mow run` creates it again"));
        }
        let tampering = self.git_tampering(before)?;
        let (git, head) = (self.workspace.git(), self.workspace.head()?);
        let current = git.current_branch()?.unwrap_or_else(|| "no branch".to_owned());
        if current != *branch {
            return Ok(Some(format!("it left the branch {branch} and is on {current}")));
        }
        let has_committed = head != before.head;
        if has_committed && !git.is_ancestor(&before.head, &head)? {
            return Ok(Some(history_rewritten(&before.head, branch)));
        }
        if let Some(text) = self.stray_commit(has_committed.then_some(head.as_str()), before)? {
            return Ok(Some(text));
        }
        match tampering {
            None => self.frozen_plans.altered(),
            some => Ok(some),
        }
    }

    /// Returns what changed in git's own settings. Rescues the commits of deleted references.
    pub(super) fn git_tampering(
        &self,
        before: &RepositorySnapshot,
    ) -> Result<Option<String>, EngineError> {
        self.rescue_deleted(&before.refs)?;
        self.doubt_changed_index(before.index)?;
        git_integrity::detect_tampering(&self.workspace.git(), &before.settings)
    }

    /// Stops trusting the index's file entries if the index changed since the snapshot.
    fn doubt_changed_index(&self, before: IndexStamp) -> Result<(), EngineError> {
        if index_stamp(&self.workspace.git())? != before {
            self.workspace.trusted().index_doubted = true;
        }
        Ok(())
    }

    /// Rescues the commits of deleted references and notes it. Git does not say who deleted them.
    fn rescue_deleted(&self, before: &Refs) -> Result<(), EngineError> {
        let git = self.workspace.git();
        let lost = find_lost_commits(&git, before)?;
        let name = self.workspace.rescue_name("deleted");
        for one in &lost {
            let rescued = rescue::keep_commit(&git, &name, &one.commit);
            rescued?;
        }
        if !lost.is_empty() {
            let names = list_names(lost.iter().map(|one| &*one.holder));
            let text = format!("deleted while an agent worked, and kept: {names}");
            self.workspace.send(Input::Noted { text: format!("{text} (see `mow rescue list`)") });
        }
        Ok(())
    }

    /// Returns the protected branch that an agent put a commit on, and rescues that commit.
    fn stray_commit(
        &self,
        head: Option<&str>,
        before: &RepositorySnapshot,
    ) -> Result<Option<String>, EngineError> {
        let (git, reflog_prefix) = (self.workspace.git(), self.workspace.reflog_prefix());
        let protected = self.protected_branches()?;
        let mut stray = branches_moved_by(&git, &reflog_prefix, &protected)?;
        if let Some(MainBranch { name, commit, reflog_length }) = &before.main_branch {
            let from = (name.as_str(), commit.as_deref());
            let moved = match moved_without_message(&git, name, *reflog_length)? {
                None => moved_without_reflog(&git, &reflog_prefix, from)?,
                some => some,
            };
            stray.extend(moved.map(|commit| (name.clone(), commit)));
        }
        if let Some(head) = head {
            let args = ["for-each-ref", "--format=%(refname)", "--contains", head];
            let names = git.run(&[&args[..], &["refs/heads", "refs/mow/run"]].concat())?;
            let text = names.text();
            let short = text.lines().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
            let is_protected = |name: &&str| {
                name.starts_with("refs/mow/run/") || protected.iter().any(|own| own == name)
            };
            stray.extend(short.filter(is_protected).map(|at| (at.to_owned(), head.to_owned())));
        }
        let Some((branch, commit)) = stray.first() else { return Ok(None) };
        let name = self.workspace.rescue_name("strayed");
        rescue::keep_commit(&git, &name, commit)?;
        let commit = short(commit);
        Ok(Some(format!("it put {commit} on {branch}, which is not its branch; check that branch")))
    }

    /// Returns the branches that agents of this phase must not move: the branch of the main
    /// worktree and those of other phases.
    fn protected_branches(&self) -> Result<Vec<String>, EngineError> {
        let ctx = &self.workspace.ctx;
        let mut all: Vec<_> = Git::new(ctx.top()).current_branch()?.into_iter().collect();
        if let Some(manifest) = ctx.manifest(&ctx.home()?)?.as_ref() {
            all.extend(manifest.worktrees.iter().filter_map(|(_, entry)| entry.text("branch")));
        }
        all.retain(|branch| *branch != self.workspace.branch);
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    /// Resets the worktree to the snapshot. Returns a clause that says where the rest is kept.
    pub(super) fn roll_back(&self, before: &RepositorySnapshot) -> Result<String, EngineError> {
        let name = self.workspace.rescue_name("set-back");
        let to = [self.workspace.branch.as_str(), &before.head];
        let planning = self.workspace.planning_below_top();
        let rescued = rescue::restore_branch(&self.workspace.git(), &name, to, &planning)?;
        self.frozen_plans.restore()?;
        self.workspace.trusted().head = None;
        let kept = "; its changes are kept (see `mow rescue list`)";
        Ok(if rescued.is_empty() { String::new() } else { kept.to_owned() })
    }
}

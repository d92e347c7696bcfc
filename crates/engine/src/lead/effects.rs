//! Runs the effects of the lead, each in its own thread, and reports their outcomes to the main
//! loop.
//!
//! An error is an outcome, never a panic. Changes to the repository are serialised by
//! [`RepositoryAccess`].

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use mow_core::lead::{Effect, Outcome};
use mow_core::money::AgentSpending;
use mow_core::phase::PhaseNumber;
use mow_core::report::Brief;
use mow_host::git::Git;

use super::merge::PhaseMerge;
use super::merge_preview::{PreviewJob, preview_merges};
use super::run_ref::RunRef;
use super::wake_reason::WakeReason;
use crate::EngineError;
use crate::link::{LocalLink, LocalWorktree, run_link_effect};
use crate::repository_lock::RepositoryLock;
use crate::run_context::RunContext;

/// Starts the threads that run effects.
pub(super) struct EffectRunner {
    ctx: Arc<RunContext>,
    sender: SyncSender<WakeReason>,
    repository: Arc<RepositoryAccess>,
    link: LocalLink,
}

impl EffectRunner {
    pub(super) fn new(
        ctx: Arc<RunContext>,
        sender: SyncSender<WakeReason>,
    ) -> Result<Self, EngineError> {
        let repository = Arc::new(RepositoryAccess::new(&ctx, sender.clone()));
        let (lock, wake) = (Arc::clone(&repository.lock), sender.clone());
        let link = LocalLink::new(Arc::clone(&ctx), lock, move || {
            // If the queue is full, the loop runs and polls the link anyway.
            wake.try_send(WakeReason::WorkerChanged).ok();
        })?;
        Ok(Self { ctx, sender, repository, link })
    }

    /// Returns the link to the workers.
    pub(super) fn link(&self) -> LocalLink {
        self.link.clone()
    }

    /// Starts an effect; its outcome arrives as a [`WakeReason`]. `planning_files` are committed by
    /// [`Effect::CommitPlanningFiles`], and empty for others.
    pub(super) fn start(
        &self,
        id: u64,
        effect: Effect,
        planning_files: Vec<(String, Vec<u8>)>,
    ) -> Result<(), EngineError> {
        let (ctx, sender) = (Arc::clone(&self.ctx), self.sender.clone());
        let (repository, mut link) = (Arc::clone(&self.repository), self.link.clone());
        let act = move || {
            let mut act = || run_effect((&ctx, &mut link), &effect, &planning_files, &repository);
            let done = match effect {
                // A merge locks the repository itself, but not while an agent or a check runs.
                // Preparing a worktree does so, too, but not while its files are checked out.
                Effect::Start { .. }
                | Effect::KillWorker { .. }
                | Effect::Merge { .. }
                | Effect::Prepare { .. } => act(),
                _ => repository.exclusively(act),
            };
            let outcome = done.unwrap_or_else(|error| Outcome::Failed { reason: error.sentence() });
            sender.send(WakeReason::EffectFinished(id, outcome)).ok();
        };
        let thread = std::thread::Builder::new().name("mow-effect".to_owned()).spawn(act);
        thread.map(drop).map_err(EngineError::io("start a thread"))
    }

    /// Makes worktrees for phases that start soon, while the repository is not locked.
    ///
    /// Errors are ignored: the worktree is made, and errors are reported, when the phase starts.
    pub(super) fn make_worktrees_ahead(&self, phases: Vec<PhaseNumber>, base: String) {
        let link = self.link.clone();
        let act = move || {
            for phase in phases {
                link.make_worktree_ahead(&phase, &base).ok();
            }
        };
        std::thread::Builder::new().name("mow-ahead".to_owned()).spawn(act).ok();
    }

    /// Previews the merges of complete phases; expected conflicts arrive as
    /// [`WakeReason::PhaseNote`].
    pub(super) fn preview_merges(&self, job: PreviewJob) {
        let (ctx, sender) = (Arc::clone(&self.ctx), self.sender.clone());
        let act = move || {
            for (phase, text) in preview_merges(&ctx, job).unwrap_or_default() {
                sender.send(WakeReason::PhaseNote(phase, text)).ok();
            }
        };
        std::thread::Builder::new().name("mow-preview".to_owned()).spawn(act).ok();
    }
}

/// Serialises changes to the repository, and reports what happened to it to the main loop.
pub(super) struct RepositoryAccess {
    lock: Arc<RepositoryLock>,
    pub(super) run_ref: RunRef,
    /// The main loop, which records notices and spending.
    sender: SyncSender<WakeReason>,
}

impl RepositoryAccess {
    pub(super) fn new(ctx: &RunContext, sender: SyncSender<WakeReason>) -> Self {
        let lock = Arc::new(RepositoryLock::new(&ctx.project));
        Self { lock, run_ref: RunRef::default(), sender }
    }

    /// Moves the run's ref back if somebody else moved it, and reports that.
    pub(super) fn restore_run_ref(
        &self,
        ctx: &RunContext,
        git: &Git,
        onto: &str,
    ) -> Result<(), EngineError> {
        if let Some(text) = self.run_ref.check(ctx, git, onto)? {
            self.sender.send(WakeReason::Notice(text)).ok();
        }
        Ok(())
    }

    /// Reports what an agent of the lead used.
    pub(super) fn report_spending(&self, phase: PhaseNumber, spent: AgentSpending) {
        self.sender.send(WakeReason::Spent(phase, spent)).ok();
    }

    /// Runs a function while this process holds the repository lock.
    pub(super) fn exclusively<T>(
        &self,
        act: impl FnOnce() -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.lock.exclusively(act)
    }
}

/// Runs an effect to its end.
fn run_effect(
    (ctx, link): (&RunContext, &mut LocalLink),
    effect: &Effect,
    planning_files: &[(String, Vec<u8>)],
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    match effect {
        Effect::CollectLookahead { phase, attempt, through } => {
            let key = (*phase, *attempt).into();
            super::look_ahead_files::collect(ctx, link, key, *through)
        }
        Effect::Merge { phase, attempt, commit, onto, spent, alone } => {
            let phase = PhaseMerge::new(ctx, phase, *attempt, *spent)?.without_agents(*alone);
            super::merge::merge(&phase, [commit, onto], repository)
        }
        Effect::FastForward { target, commit, from } => {
            super::user_branch::fast_forward_branch(ctx, target, [from, commit], repository)
        }
        Effect::CommitPlanningFiles { target, commit } => {
            super::merge::commit_final_state(ctx, (target, commit), planning_files, repository)
        }
        Effect::Prepare { .. }
        | Effect::Start { .. }
        | Effect::SendMessage { .. }
        | Effect::KillWorker { .. } => {
            if let Effect::Start { brief } = effect {
                note_start(ctx, brief, repository)?;
            }
            run_link_effect(link, effect).unwrap_or(Ok(Outcome::Done))
        }
    }
}

/// Records that the run's ref contains no commit of a worker that is about to start.
///
/// Only a branch without commits of earlier attempts is certainly not merged yet.
fn note_start(
    ctx: &RunContext,
    brief: &Brief,
    repository: &RepositoryAccess,
) -> Result<(), EngineError> {
    let branch = LocalWorktree::new(ctx, &brief.phase)?.branch().to_owned();
    let tip = Git::new(ctx.top()).commit_of(&format!("refs/heads/{branch}"))?;
    if tip.as_ref() == Some(&brief.base) {
        repository.run_ref.worker_starts(brief.phase, brief.attempt);
    }
    Ok(())
}

//! Runs the effects of the lead, each in its own thread, and reports their outcomes to the main
//! loop.
//!
//! An error is an outcome, never a panic. Changes to the repository are serialised by
//! [`RepositoryAccess`].

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mow_core::lead::{Effect, Outcome};
use mow_core::money::AgentSpending;
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::process;
use mow_store::disk::Lock;
use mow_store::worktree_home::worktrees_lock;

use super::merge::PhaseMerge;
use super::merge_preview::{PreviewJob, preview_merges};
use super::run_ref::RunRef;
use super::wake_reason::WakeReason;
use crate::EngineError;
use crate::run_context::RunContext;

/// How long processes may take to end after SIGTERM.
pub(super) const END_GRACE: Duration = Duration::from_secs(5);

/// How long to wait for another mow process that changes the repository.
pub(super) const REPOSITORY_LOCK_WAIT: Duration = Duration::from_secs(600);

/// Starts the threads that run effects.
pub(super) struct EffectRunner {
    ctx: Arc<RunContext>,
    sender: Sender<WakeReason>,
    repository: Arc<RepositoryAccess>,
}

impl EffectRunner {
    pub(super) fn new(ctx: Arc<RunContext>, sender: Sender<WakeReason>) -> Self {
        let repository = Arc::new(RepositoryAccess::new(&ctx, sender.clone()));
        Self { ctx, sender, repository }
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
        let repository = Arc::clone(&self.repository);
        let act = move || {
            let act = || run_effect(&ctx, &effect, &planning_files, &repository);
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
        let (ctx, repository) = (Arc::clone(&self.ctx), Arc::clone(&self.repository));
        let act = move || {
            for phase in phases {
                let act = || super::prepare::make_worktree_ahead(&ctx, &phase, &base);
                repository.exclusively(act).ok();
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

/// Serialises changes to the repository: against other threads of this lead, against leads of other
/// projects in the repository, and against commands that make worktrees.
pub(super) struct RepositoryAccess {
    /// Serialises the threads of this process.
    threads: Mutex<()>,
    /// The lock file that serialises processes.
    lock_path: PathBuf,
    pub(super) run_ref: RunRef,
    /// The main loop, which records notices and spending.
    sender: Sender<WakeReason>,
}

impl RepositoryAccess {
    pub(super) fn new(ctx: &RunContext, sender: Sender<WakeReason>) -> Self {
        let (threads, lock_path) = (Mutex::default(), worktrees_lock(&ctx.project));
        Self { threads, lock_path, run_ref: RunRef::default(), sender }
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
        let _threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let _processes = Lock::acquire(&self.lock_path, REPOSITORY_LOCK_WAIT)?;
        act()
    }
}

/// Runs an effect to its end.
fn run_effect(
    ctx: &RunContext,
    effect: &Effect,
    planning_files: &[(String, Vec<u8>)],
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    match effect {
        Effect::Prepare { phase, attempt, base, renew } => {
            super::prepare::prepare(ctx, phase, *attempt, (base, *renew), repository)
        }
        Effect::CollectLookahead { phase, through, .. } => {
            super::look_ahead_files::collect(ctx, phase, *through)
        }
        Effect::Start { brief } => super::start_worker::start_worker(ctx, brief, repository),
        Effect::SendMessage { .. } => Ok(Outcome::Done),
        Effect::KillWorker { phase, attempt } => {
            let token = ctx.token(phase, *attempt);
            process::end_with_token(&token, END_GRACE).map_err(|e| EngineError::Host(e.into()))?;
            Ok(Outcome::Done)
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
    }
}

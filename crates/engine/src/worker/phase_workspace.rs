//! The shared context of all effects of one phase attempt: worktree, project, branch, brief, stop
//! signal, commit lock, trusted state, and the channel for records.
//!
//! Holds no workflow. The types that run tasks, roles and checks borrow a [`PhaseWorkspace`].

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mow_core::money::Spending;
use mow_core::report::Brief;
use mow_core::worker::{Input, Role};
use mow_host::git::Git;
use mow_host::launch::AttemptMarks;
use mow_host::rescue::{self, RescueRef};
use mow_host::stop_signal::StopSignal;
use mow_host::stuck_detector::ActivityChange;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::phase_documents::DocumentHeader;
use mow_store::project::Project;

use super::repository_guard::AGENT_REFLOG_PREFIX;
use super::status_board::StatusBoard;
use super::task_runner::TaskId;
use super::trusted_state::TrustedState;
use crate::EngineError;
use crate::activity::{ActivityStream, ActivityWriter};
use crate::agent_config::{self, AgentConfig};
use crate::run_context::RunContext;
use crate::sealed_commits::{AttemptJournal, SealedCommits};
use crate::status_file::StatusFile;

/// What the effects of one phase attempt share.
///
/// Each effect has its own clone with its own stop signal and activity callback.
#[derive(Clone)]
pub(super) struct PhaseWorkspace {
    pub(super) ctx: RunContext,
    pub(super) brief: Brief,
    /// The root of the phase's git worktree.
    pub(super) worktree: PathBuf,
    /// The project inside the worktree, not the one in the main worktree.
    pub(super) project: Project,
    /// The name of the phase's directory, `NN-slug`.
    pub(super) dir_name: String,
    /// Whether phase documents are committed.
    pub(super) commits_docs: bool,
    /// The branch of the phase, without `refs/heads/`.
    pub(super) branch: String,
    pub(super) stop: StopSignal,
    on_activity: ActivityCallback,
    trusted: Arc<Mutex<TrustedState>>,
    usage: Arc<Mutex<Spending>>,
    /// Set once by the worker's event loop.
    pub(super) channel: Arc<OnceLock<WorkerChannel>>,
    /// Held while a commit is made, so that commits happen one at a time.
    pub(super) commit_lock: Arc<Mutex<()>>,
    activity: ActivityWriter,
    /// The phase's STATUS.md.
    pub(super) status: Arc<StatusBoard>,
}

/// Sends an input to the worker's event loop, which records it in the journal. The loop confirms
/// the record if it is given a sender.
pub(super) type WorkerChannel = Box<dyn Fn(Input, Option<SyncSender<()>>) + Send + Sync>;

type ActivityCallback = Arc<dyn Fn(ActivityChange) + Send + Sync>;

impl PhaseWorkspace {
    pub(super) fn new(
        ctx: RunContext,
        brief: &Brief,
        trusted: TrustedState,
    ) -> Result<Self, EngineError> {
        let place = ctx.worktree(&brief.phase)?;
        let (worktree, branch) = (place.path, place.branch);
        let root = worktree.join(ctx.below_top());
        let mut project = Project::find_or_cwd(&worktree)?;
        (project.planning, project.root) = (root.join(".planning"), root);
        project.planned = true;
        let dir_name = ctx.phase_dir_name(&project.planning, &brief.phase, &brief.name);
        ctx.set_ignored(brief.ignored);
        // The lead copies the documents of a look-ahead into place itself.
        let commits_docs = brief.through.is_none() && ctx.commits_docs()?;
        let (brief, stop) =
            (brief.clone(), StopSignal::new().map_err(EngineError::io("make a pipe"))?);
        let trusted = Arc::new(Mutex::new(trusted));
        let activity = ActivityWriter::new(&ctx.run, &brief.phase, brief.attempt);
        let on_activity: ActivityCallback = Arc::new(|_| {});
        let commit_lock = Arc::<Mutex<()>>::default();
        let file = StatusFile::new(&ctx, project.clone(), &dir_name, (&brief.phase, &brief.name));
        let status = Arc::new(StatusBoard::new(file, Arc::clone(&commit_lock)));
        Ok(Self {
            ctx,
            brief,
            worktree,
            project,
            dir_name,
            commits_docs,
            branch,
            stop,
            on_activity,
            trusted,
            usage: Arc::default(),
            channel: Arc::default(),
            commit_lock,
            activity,
            status,
        })
    }

    /// Returns a clone for one effect, with its own stop signal and activity callback.
    pub(super) fn for_effect(
        &self,
        stop: StopSignal,
        on_activity: impl Fn(ActivityChange) + Send + Sync + 'static,
    ) -> Self {
        Self { stop, on_activity: Arc::new(on_activity), ..self.clone() }
    }

    /// Locks the state that no agent can forge.
    pub(super) fn trusted(&self) -> MutexGuard<'_, TrustedState> {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the sum of what the agents of this attempt have used.
    pub(super) fn usage(&self) -> MutexGuard<'_, Spending> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends an input to the event loop while the effect is still running.
    pub(super) fn send(&self, input: Input) {
        if let Some(channel) = self.channel.get() {
            channel(input, None);
        }
    }

    /// Sends an input to the event loop and waits until the journal has the record on disk.
    pub(super) fn record(&self, input: Input) -> Result<(), EngineError> {
        let Some(channel) = self.channel.get() else { return Ok(()) };
        let (sender, receiver) = mpsc::sync_channel(1);
        channel(input, Some(sender));
        receiver.recv().map_err(|_| {
            EngineError::refused("the worker ended before it wrote a record", "mow resume")
        })
    }

    /// Records a note for people.
    pub(super) fn note(&self, text: &str) {
        self.send(Input::Noted { text: text.to_owned() });
    }

    /// Returns the stream that shows people what an agent or a command does.
    pub(super) fn activity_stream(&self, role: &str, task: Option<TaskId<'_>>) -> ActivityStream {
        self.activity.stream(role, task).within(&self.worktree)
    }

    /// Reports whether the running command is stuck or active again.
    pub(super) fn report_activity(&self, activity: ActivityChange) {
        (self.on_activity)(activity);
    }

    /// Reports that the command has ended and so is no longer stuck.
    pub(super) fn report_active(&self) {
        self.report_activity(ActivityChange::Active);
    }

    pub(super) fn git(&self) -> Git {
        // If the worktree has lost its link to the repository, git must not find a checkout above.
        Git::at_top(&self.worktree)
    }

    /// Returns the commit that the worktree's HEAD points to.
    pub(super) fn head(&self) -> Result<String, EngineError> {
        self.git().commit_of("HEAD")?.ok_or_else(|| {
            let message = format!("{} has no commit", self.worktree.display());
            EngineError::refused(message, "`mow run` creates it again")
        })
    }

    /// Reads which tasks and plans are committed. Cached by HEAD, so git reads each commit once.
    pub(super) fn sealed_commits(&self) -> Result<SealedCommits, EngineError> {
        // Without the lock, a commit that is made but not yet noted would look forged.
        let _no_commit = self.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut trusted = self.trusted();
        let head = self.head()?;
        if let Some((_, sealed)) = trusted.sealed_commits.as_ref().filter(|(at, _)| *at == head) {
            return Ok(sealed.clone());
        }
        let range = [self.brief.base.as_str(), &head];
        let phase = (&self.ctx.run, &self.brief.phase);
        let sealed = SealedCommits::load(&self.git(), range, phase, &mut trusted.journals)?;
        trusted.sealed_commits = Some((head, sealed.clone()));
        Ok(sealed)
    }

    /// Reads the journals of the earlier attempts, newest first.
    pub(super) fn earlier_journals(&self) -> Result<Vec<AttemptJournal>, EngineError> {
        let mut all = Vec::new();
        for attempt in (1..self.brief.attempt).rev() {
            all.push(AttemptJournal::load(&self.ctx.run, &self.brief.phase, attempt)?);
        }
        Ok(all)
    }

    /// Returns the directory of the phase in the worktree.
    pub(super) fn phase_dir(&self) -> PathBuf {
        self.project.planning.join("phases").join(&self.dir_name)
    }

    /// Returns the padded phase number that the names of phase documents begin with.
    pub(super) fn file_prefix(&self) -> String {
        self.brief.phase.padded()
    }

    /// Returns the path of a phase document: `NN-KIND.md` in the phase's directory.
    pub(super) fn document(&self, kind: &str) -> PathBuf {
        self.phase_dir().join(format!("{}-{kind}.md", self.file_prefix()))
    }

    /// Writes a file into the phase's directory.
    pub(super) fn write_phase_file(&self, file: &str, bytes: &[u8]) -> Result<(), EngineError> {
        let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
        writer.create_dir(&self.phase_dir())?;
        writer.replace(&self.phase_dir().join(file), bytes)?;
        Ok(())
    }

    /// Returns the values that the header of every phase document names.
    pub(super) fn document_header<'a>(
        &'a self,
        number: &'a str,
        goal: &'a str,
        now: &'a str,
    ) -> DocumentHeader<'a> {
        DocumentHeader { number, dir: &self.dir_name, name: &self.brief.name, goal, now }
    }

    /// Returns the planning directory, relative to the top of the repository.
    pub(super) fn planning_below_top(&self) -> String {
        self.ctx.project.planning_below_top()
    }

    /// Returns a path relative to the worktree.
    pub(super) fn below_worktree(&self, path: &Path) -> String {
        path.strip_prefix(&self.worktree).unwrap_or(path).display().to_string()
    }

    /// Returns the marks of every process of this attempt.
    pub(super) fn marks(&self) -> AttemptMarks {
        self.ctx.marks(&self.brief.phase, self.brief.attempt)
    }

    /// Returns the file that the lead writes its messages to.
    pub(super) fn inbox_file(&self) -> PathBuf {
        self.ctx.run.worker_inbox(&self.brief.phase, self.brief.attempt)
    }

    /// Returns the log file of a script or an agent of this attempt.
    pub(super) fn log_file(&self, label: &str) -> PathBuf {
        let log = self.ctx.run.log(&self.brief.phase, self.brief.attempt);
        let stem = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        log.with_file_name(format!("{stem}-{label}.log"))
    }

    /// Returns how long the lead may leave records unacknowledged before the worker notes it.
    pub(super) fn ack_timeout_ms(&self) -> u64 {
        let value = self.ctx.config().ok().and_then(|c| c.lookup("messages.ack_timeout_s"));
        value.and_then(|value| value.as_u64()).unwrap_or(30) * 1_000
    }

    /// Returns the agent configured for a role; `None` where a command or nothing is configured.
    pub(super) fn agent_for(&self, role: Role) -> Result<Option<AgentConfig>, EngineError> {
        Ok(agent_config::agent_for_role(&self.ctx.config()?, role.name()))
    }

    /// Returns the shell command configured for a role.
    pub(super) fn role_command(&self, role: Role) -> Option<String> {
        let config = self.ctx.config().ok()?;
        let key = format!("roles.{}.command", role.name());
        let value = config.value(&key).and_then(|value| value.as_str().map(str::to_owned));
        value.filter(|command| !command.trim().is_empty())
    }

    /// Returns the text that begins every reflog entry made by an agent of this attempt.
    pub(super) fn reflog_prefix(&self) -> String {
        format!("{AGENT_REFLOG_PREFIX}{}", self.ctx.token(&self.brief.phase, self.brief.attempt))
    }

    /// Rescues all uncommitted work except STATUS.md, which is never clean while the worker runs.
    pub(super) fn rescue_uncommitted(&self, name: &str) -> Result<Option<RescueRef>, EngineError> {
        let status = self.below_worktree(&self.document("STATUS"));
        // Git must not see temporary files of STATUS.md.
        let _no_write = self.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(rescue::rescue_uncommitted_except(&self.git(), name, &status)?)
    }

    /// Returns the name of a rescue ref of this phase.
    pub(super) fn rescue_name(&self, label: &str) -> String {
        format!("{}/{}-{label}", self.ctx.run.run(), self.file_prefix())
    }
}

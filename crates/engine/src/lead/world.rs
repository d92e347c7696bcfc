//! The inputs and outputs of a lead: its journal, the link to its workers, commands, signals, and
//! threads.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, SystemTime};

use mow_core::lead::{
    Effect, Event, Hold, Input, Lead, Outcome, PhaseState, QueuedCommand, RunStatus, Status,
    drop_taken_back,
};
use mow_core::phase::PhaseNumber;
use mow_store::journal::{Journal, JournalReader};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::closing::Closing;
use super::effects::EffectRunner;
use super::merge_preview::MergePreview;
use super::notify::Notifier;
use super::phase_selection::{self, PhaseSelection, PlanFileCache};
use super::projection_writer::ProjectionWriter;
use super::run_change::{RunChange, RunObserver, event_views};
use super::wake_reason::{QUEUE_MAX, WakeReason};
use crate::EngineError;
use crate::clock::Clock;
use crate::drive::World;
use crate::link::{LinkCall, LinkIntake, LocalLink, WorkerLink, make_call};
use crate::run_context::RunContext;
use crate::watch::{self, FileWatch, POLL_INTERVAL, WakeFlag};

/// How long a lead that resumes a run waits for reports of workers that seem stuck.
const STUCK_GRACE_MS: u64 = 6_000;
/// How long a phase must be missing in the roadmap before it is dropped.
const PHASE_LOSS_MS: u64 = 2_000;

pub(super) struct LeadWorld<'a> {
    ctx: Arc<RunContext>,
    journal: Journal,
    last_seq_and_time: (u64, u64),
    selection: PhaseSelection,
    /// Inputs that the next wait returns at once.
    begin: Vec<Input>,
    observer: &'a mut dyn RunObserver,
    /// Whether to keep running when only a person can move the run on.
    pub(super) stay: bool,
    /// How to close the run when nothing can move any more; `None` for a usual lead.
    pub(super) closing: Option<Closing>,
    pub(super) clock: Clock,
    flag: WakeFlag,
    _file_watch: FileWatch,
    sender: SyncSender<WakeReason>,
    receiver: Receiver<WakeReason>,
    commands: JournalReader,
    link: LocalLink,
    intake: LinkIntake,
    effects: EffectRunner,
    projection: ProjectionWriter,
    /// Phases whose worktree was made before their start.
    ahead: BTreeSet<PhaseNumber>,
    merge_preview: MergePreview,
    /// When the run was resumed, in milliseconds since 1970.
    resumed_at: u64,
    roadmap_seen: Option<(SystemTime, u64)>,
    plans: PlanFileCache,
    /// Since when waiting phases are missing in the roadmap.
    lost_since: Option<u64>,
    interrupts: u32,
    notifier: Notifier,
    /// The warnings that were shown.
    warned: BTreeSet<String>,
    /// Whether the roadmap has not been read yet.
    is_first_read: bool,
}

impl<'a> LeadWorld<'a> {
    pub(super) fn new(
        ctx: RunContext,
        journal: Journal,
        selection: PhaseSelection,
        begin: Vec<Input>,
        observer: &'a mut dyn RunObserver,
    ) -> Result<Self, EngineError> {
        let (sender, receiver) = mpsc::sync_channel(QUEUE_MAX);
        let ctx = Arc::new(ctx);
        let commands = JournalReader::new(&ctx.run.commands());
        let effects = EffectRunner::new(Arc::clone(&ctx), sender.clone())?;
        Ok(Self {
            projection: ProjectionWriter::new(Arc::clone(&ctx), sender.clone()),
            ctx,
            journal,
            last_seq_and_time: (0, 0),
            selection,
            begin,
            observer,
            stay: false,
            closing: None,
            clock: Clock::default(),
            flag: WakeFlag::default(),
            _file_watch: FileWatch::default(),
            sender,
            receiver,
            commands,
            link: effects.link(),
            intake: LinkIntake::default(),
            effects,
            ahead: BTreeSet::new(),
            merge_preview: MergePreview::default(),
            resumed_at: 0,
            roadmap_seen: None,
            plans: PlanFileCache::default(),
            lost_since: None,
            interrupts: 0,
            notifier: Notifier::default(),
            warned: BTreeSet::new(),
            is_first_read: true,
        })
    }

    /// Starts or resumes a run: watches files and signals, adopts workers, restarts open effects.
    pub(super) fn resume(&mut self, lead: &Lead) -> Result<(), EngineError> {
        let wake = self.sender.clone();
        let concerns = |name: &str| {
            name == "ROADMAP.md" || name == "commands.ndjson" || LocalLink::is_relevant_file(name)
        };
        let dirs = [self.ctx.run.path(), self.ctx.project.planning.as_path()];
        self._file_watch = watch::watch_files(&dirs, concerns, self.flag.clone(), move || {
            // If the queue is full, the loop runs and polls the files anyway.
            wake.try_send(WakeReason::FilesChanged).ok();
        });
        let wake = self.sender.clone();
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(EngineError::io("listen for signals"))?;
        let listen = move || signals.forever().all(|_| wake.send(WakeReason::Interrupted).is_ok());
        std::thread::Builder::new()
            .name("mow-signals".to_owned())
            .spawn(listen)
            .map_err(EngineError::io("start a thread"))?;
        // A run that was done has written its planning files; people have changed them since.
        if !self.closing.as_ref().is_some_and(|closing| closing.was_done) {
            self.projection.start_run(lead)?;
        }
        self.resumed_at = self.clock.now();
        let config = self.ctx.config()?;
        let stopped_max =
            crate::run_context::minutes_setting(&config, "multi_phase.stuck_after_min");
        self.intake.set_stopped_max(stopped_max);
        for call in self.intake.resume(lead) {
            make_call(&mut self.link, call)?;
            if let LinkCall::Open { .. } = call {
                failpoint::reach("lead.adopted");
            }
        }
        for (id, effect) in &lead.effects.open {
            self.release(lead, (*id, effect.clone()))?;
            failpoint::reach("lead.reopened");
        }
        Ok(())
    }

    /// Shows a warning once.
    fn warn(&mut self, text: String) {
        if !self.warned.contains(&text) {
            self.observer.warn(&text);
            self.warned.insert(text);
        }
    }

    /// Passes the events of the workers to the intake.
    fn poll_workers(&mut self, lead: &Lead) -> Result<(), EngineError> {
        let now = self.clock.now();
        for event in self.link.poll()? {
            self.intake.accept(lead, event, now);
        }
        for text in self.intake.take_warnings() {
            self.warn(text);
        }
        Ok(())
    }

    /// Returns an error if somebody has removed the files of the run.
    pub(super) fn removed_error(&self) -> Option<EngineError> {
        let message = || format!("{} is gone, and with it the run", self.ctx.run.path().display());
        let is_gone = !self.ctx.run.journal().exists();
        is_gone.then(|| EngineError::refused(message(), "mow run begins a new one"))
    }

    /// Polls all files: commands, reports of workers, and the roadmap.
    fn poll_files(&mut self, lead: &Lead, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.flag.reset();
        if let Some(gone) = self.removed_error() {
            return Err(gone);
        }
        let commands = self.commands.poll().unwrap_or_else(|error| {
            self.warn(format!("cannot read commands: {}", EngineError::from(error).sentence()));
            Vec::new()
        });
        let commands = commands.iter().filter_map(|r| Some((r.seq, r.parse().ok()?))).collect();
        for (seq, QueuedCommand { command, origin }) in drop_taken_back(commands) {
            inputs.push(Input::Command { seq, command, origin });
            failpoint::reach("command.heard");
        }
        self.poll_workers(lead)?;
        inputs.append(&mut self.intake.take_reports());
        let path = self.ctx.project.planning.join("ROADMAP.md");
        let seen = fs::metadata(&path).ok().and_then(|m| Some((m.modified().ok()?, m.len())));
        if seen != self.roadmap_seen || self.is_first_read {
            self.read_roadmap(lead, seen, inputs);
        }
        Ok(())
    }

    /// Adds the current roadmap as an input.
    ///
    /// A file that has just lost phases may be half written, so it is used only if they are still
    /// missing after [`PHASE_LOSS_MS`].
    fn read_roadmap(
        &mut self,
        lead: &Lead,
        seen: Option<(SystemTime, u64)>,
        inputs: &mut Vec<Input>,
    ) {
        if self.closing.is_some() {
            // The phases of a run that is being closed stay as they are.
            (self.roadmap_seen, self.is_first_read) = (seen, false);
            return;
        }
        let (project, plans) = (&self.ctx.project, &mut self.plans);
        let (scope, phases) = match phase_selection::reread(project, lead, &self.selection, plans) {
            Ok(read) => read,
            Err(why) => {
                (self.roadmap_seen, self.is_first_read) = (seen, false);
                return self.warn(format!("changes in ROADMAP.md are ignored: {why}"));
            }
        };
        let listed: BTreeSet<_> = phases.iter().map(|spec| spec.number).collect();
        let is_open =
            |state: &&PhaseState| state.status == Status::Waiting || lead.awaits_done_answer(state);
        let mut open = lead.phases.values().filter(is_open);
        let lost = open.any(|state| !listed.contains(&state.spec.number));
        let now = self.clock.now();
        let since = *self.lost_since.get_or_insert(now);
        if lost && !self.is_first_read && now < since + PHASE_LOSS_MS {
            return;
        }
        (self.roadmap_seen, self.is_first_read, self.lost_since) = (seen, false, None);
        inputs.push(Input::Roadmap { scope, phases });
    }

    fn interrupt(&mut self, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.interrupts += 1;
        match self.interrupts {
            1 => inputs.push(Input::Hold(Hold::Draining)),
            2 => inputs.push(Input::Hold(Hold::Stopping)),
            _ => {
                return Err(EngineError::refused(
                    "stopped; the workers continue without the lead",
                    "mow run continues the run",
                ));
            }
        }
        Ok(())
    }

    fn next_wake(&mut self, until: Option<u64>) -> Option<WakeReason> {
        let now = self.clock.now();
        let draw = self.projection.deadline();
        let lost = self.lost_since.map(|since| since + PHASE_LOSS_MS);
        let merge_preview = self.merge_preview.due();
        let until = until.into_iter().chain(draw).chain(lost).chain(merge_preview).min();
        let left = until.map_or(POLL_INTERVAL, |at| Duration::from_millis(at.saturating_sub(now)));
        match self.receiver.recv_timeout(left.min(POLL_INTERVAL)) {
            Ok(wake) => Some(wake),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this world holds a sender"),
        }
    }

    /// Warns if the planning files could not be written; the run does not depend on them.
    fn warn_if_unwritten(&mut self, written: Result<(), EngineError>) {
        if let Err(error) = written {
            self.warn(format!("cannot write the planning files: {}", error.sentence()));
        }
    }

    /// Writes the planning files a last time.
    pub(super) fn finish(&mut self, lead: &Lead) {
        let written = self.projection.write_last(lead, self.clock.now());
        self.warn_if_unwritten(written);
    }

    /// Starts making worktrees for the phases that start next.
    fn make_worktrees_ahead(&mut self, lead: &Lead) {
        let soon: Vec<_> =
            lead.next_to_start().into_iter().filter(|number| self.ahead.insert(*number)).collect();
        if !soon.is_empty() {
            self.effects.make_worktrees_ahead(soon, lead.target.tip.clone());
        }
    }
}

impl World<Lead> for LeadWorld<'_> {
    type Error = EngineError;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, lead: &Lead, until: Option<u64>) -> Result<Vec<Input>, EngineError> {
        let mut inputs = std::mem::take(&mut self.begin);
        if !inputs.is_empty() {
            return Ok(inputs);
        }
        let mut next = if self.is_first_read { None } else { self.next_wake(until) };
        let mut is_written = false;
        while let Some(wake) = next {
            match wake {
                WakeReason::FilesChanged | WakeReason::WorkerChanged => {}
                WakeReason::EffectFinished(id, outcome) => {
                    // The files of the look-ahead are in the root now.
                    if matches!(lead.effects.open.get(&id), Some(Effect::CollectLookahead { .. })) {
                        self.roadmap_seen = None;
                    }
                    inputs.push(Input::Finished { id, outcome });
                }
                WakeReason::Interrupted => self.interrupt(&mut inputs)?,
                WakeReason::ProjectionWritten => is_written = true,
                WakeReason::Notice(text) => inputs.push(Input::Announced { text }),
                WakeReason::Spent(phase, spent) => inputs.push(Input::Spent { phase, spent }),
                WakeReason::PhaseNote(phase, text) => {
                    inputs.extend(self.merge_preview.note(phase, text));
                }
            }
            next = self.receiver.try_recv().ok();
        }
        if is_written || self.projection.has_finished() {
            let written = self.projection.wait(self.clock.now());
            self.warn_if_unwritten(written);
        }
        self.poll_files(lead, &mut inputs)?;
        let now = self.clock.now();
        inputs.append(&mut self.intake.take_changes(lead, now));
        if let Some(job) = self.merge_preview.take(lead, self.clock.now()) {
            self.effects.preview_merges(job);
        }
        Ok(inputs)
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), EngineError> {
        // One record, so that a crash leaves the whole decision or nothing.
        self.last_seq_and_time = (self.journal.append(now, &[events])?, now);
        Ok(())
    }

    fn release(&mut self, lead: &Lead, (id, effect): (u64, Effect)) -> Result<(), EngineError> {
        let mut planning_files = Vec::new();
        match &effect {
            Effect::SendMessage { phase, attempt, n, note } => {
                self.link.tell((*phase, *attempt).into(), *n, note)?;
                self.begin.push(Input::Finished { id, outcome: Outcome::Done });
                return Ok(());
            }
            // The commit contains the planning files with the final state.
            Effect::CommitPlanningFiles { target, commit } => {
                let now = self.clock.now();
                let (files, written) = self.projection.write_final(lead, (target, commit), now)?;
                self.warn_if_unwritten(written);
                planning_files = files;
            }
            _ => {}
        }
        self.effects.start(id, effect, planning_files)
    }

    fn finish_batch(&mut self, lead: &Lead, events: &[Event]) -> Result<bool, EngineError> {
        if !events.is_empty() {
            let views = event_views(events, self.last_seq_and_time);
            let at = self.last_seq_and_time.1;
            self.projection.add_events(lead, (events, &views), at);
            self.notifier.notify_questions(&self.ctx, events);
            self.make_worktrees_ahead(lead);
            self.merge_preview.schedule(events, self.clock.now());
            for call in self.intake.after_batch(lead, events) {
                make_call(&mut self.link, call)?;
            }
            self.observer.show(&RunChange::new(lead, &views, self.last_seq_and_time));
        }
        self.projection.start_if_due(lead, self.clock.now());
        if self.is_first_read || !self.begin.is_empty() {
            return Ok(true);
        }
        let goes_on = match lead.status() {
            RunStatus::Moving => true,
            RunStatus::Done => false,
            RunStatus::Waiting | RunStatus::Failed => {
                // Workers that seemed stuck to an earlier lead get time to report activity.
                let is_new = self.clock.now() < self.resumed_at + STUCK_GRACE_MS;
                let stays = self.stay && !lead.is_named_work_over();
                (stays || is_new && lead.live_in_scope().next().is_some()) && self.interrupts == 0
            }
        };
        if goes_on {
            return Ok(true);
        }
        let close = self.closing.take().and_then(|closing| closing.input(&self.ctx, lead));
        self.begin.extend(close);
        Ok(!self.begin.is_empty())
    }
}

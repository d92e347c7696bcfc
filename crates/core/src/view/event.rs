//! An event as every screen shows it: one line of a log.
//!
//! The kinds are words for scripts. They are part of the JSON output and independent of the names in
//! journals: a record may be stored in another form later, its kind stays.

use super::state_text::Tone;
use super::{bounded, message};
use crate::inbox::QuestionKind;
use crate::lead::{Command, Event, Lead, RunStatus, Status};
use crate::machine::Machine;
use crate::phase::PhaseNumber;
use crate::report::Report;
use crate::stage::Stage;
use crate::worker;

/// Declares the kinds with their meanings and names.
macro_rules! event_kinds {
    ($(#[doc = $meaning:literal] $kind:ident = $name:literal,)*) => {
        /// What happened, as a stable word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $(#[doc = $meaning] $kind,)*
        }

        impl EventKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the name that JSON output uses.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Returns what the kind means, for the documentation.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning.trim_ascii(),)* }
            }
        }
    };
}

event_kinds! {
    /// The run began.
    RunBegun = "run_begun",
    /// A lead process took up the run.
    LeadStarted = "lead_started",
    /// The most workers that run at a time changed.
    WorkersSet = "workers_set",
    /// The roadmap was read.
    RoadmapRead = "roadmap_read",
    /// Planning files of phases changed.
    PlanningFilesChanged = "planning_files_changed",
    /// The lead or a worker starts something: a worktree, a merge, a task.
    EffectStarted = "effect_started",
    /// Something that was started has ended.
    EffectFinished = "effect_finished",
    /// The status of a phase changed.
    StatusChanged = "status_changed",
    /// A worker is told to stop early.
    StopRequested = "stop_requested",
    /// A worker that was told to stop may continue.
    StopWithdrawn = "stop_withdrawn",
    /// A worker process runs.
    WorkerStarted = "worker_started",
    /// A worker exited without a last report.
    WorkerDied = "worker_died",
    /// A worker ended its attempt: complete, failed, ahead or parked.
    WorkerEnded = "worker_ended",
    /// A worker stopped early: paused, cancelled or out of time.
    WorkerStopped = "worker_stopped",
    /// A worker enters a stage.
    Stage = "stage",
    /// A worker counted its plans.
    PlansCounted = "plans_counted",
    /// A worker knows which files its plans change.
    FilesPlanned = "files_planned",
    /// A plan started.
    PlanStarted = "plan_started",
    /// A plan was written.
    PlanCreated = "plan_created",
    /// A task started.
    TaskStarted = "task_started",
    /// A task is done.
    TaskDone = "task_done",
    /// A plan is done.
    PlanDone = "plan_done",
    /// Agents reported what they decided or left for later.
    Decided = "decided",
    /// A plan is blocked.
    PlanBlocked = "plan_blocked",
    /// A check was run on a commit.
    CheckRan = "check_ran",
    /// Work seems stuck.
    Stuck = "stuck",
    /// Stuck work is active again.
    ActiveAgain = "active_again",
    /// A worker does not hear from the lead.
    LeadSilent = "lead_silent",
    /// A worker asks a question; `question_asked` follows when it is in the inbox.
    QuestionReported = "question_reported",
    /// The lead has acknowledged a blocker that the worker waits for.
    BlockerAcknowledged = "blocker_acknowledged",
    /// A question was put into the inbox.
    QuestionAsked = "question_asked",
    /// A question was answered.
    QuestionAnswered = "question_answered",
    /// A question no longer matters.
    QuestionWithdrawn = "question_withdrawn",
    /// An agent used tokens.
    Spent = "spent",
    /// A model is unavailable for a while.
    Throttled = "throttled",
    /// No agent can work before a person has acted.
    AgentsDenied = "agents_denied",
    /// An agent sent a message.
    AgentMessage = "agent_message",
    /// A remark for people.
    Note = "note",
    /// A command of a person was processed.
    Command = "command",
    /// The circuit breaker opened.
    BreakerOpened = "breaker_opened",
    /// The circuit breaker was closed.
    BreakerClosed = "breaker_closed",
    /// Starts were forbidden or allowed.
    Hold = "hold",
    /// A person closed the run.
    RunClosed = "run_closed",
    /// A record that this version cannot read.
    Unreadable = "unreadable",
}

/// An event of a run as every screen shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventView {
    /// The number of the journal record; all events of one decision share it.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// What happened.
    pub kind: EventKind,
    /// Whether the event repeats what a worker reported.
    pub is_report: bool,
    /// The phase; `None` for the whole run.
    pub phase: Option<PhaseNumber>,
    /// The attempt of the phase.
    pub attempt: Option<u32>,
    /// The new status of the phase.
    pub status: Option<Status>,
    /// The stage that begins or ends.
    pub stage: Option<Stage>,
    /// The plan.
    pub plan: Option<String>,
    /// The number of the question.
    pub question: Option<u32>,
    /// The kind of the question that was put.
    pub question_kind: Option<QuestionKind>,
    /// The event in one line for people; `None` where another event says it better.
    pub text: Option<String>,
    /// The same without the name of the phase, for a line that shows the phase beside it.
    pub detail: Option<String>,
    /// The tone of the line.
    pub tone: Tone,
    /// Whether one of its contract messages is a milestone.
    pub is_milestone: bool,
}

impl EventView {
    /// Returns the view of an event of the lead.
    ///
    /// `before` is the state before the event. It adds details; a live screen has only the state after
    /// the event, and does without.
    pub fn of(event: &Event, before: Option<&Lead>, (seq, at): (u64, u64)) -> Self {
        let text = match before {
            Some(before) => event.describe(before),
            None => event.sentence(),
        };
        let detail = detail(event).or_else(|| text.clone());
        let mut view = Self {
            text: text.map(|text| bounded::text(&text, bounded::TEXT_MAX)),
            detail: detail.map(|text| bounded::text(&text, bounded::TEXT_MAX)),
            phase: before.map_or_else(|| event.phase(), |before| phase_of(event, before)),
            tone: tone(event),
            is_milestone: message::is_milestone(event),
            ..Self::blank(kind(event), (seq, at))
        };
        match event {
            Event::Reported { attempt, report, .. } => {
                (view.attempt, view.is_report) = (Some(*attempt), true);
                view.add_report(report);
            }
            Event::StatusChanged { attempt, to, .. } => {
                (view.attempt, view.status) = (Some(*attempt), Some(*to));
            }
            Event::Asked { item } => {
                (view.question, view.question_kind) = (Some(item.id), Some(item.ask.kind));
            }
            Event::Answered { item, .. }
            | Event::Withdrawn { item }
            | Event::Commanded { command: Command::Answer { item, .. }, .. } => {
                view.question = Some(*item);
            }
            Event::Spent { spent, .. } => view.plan.clone_from(&spent.plan),
            _ => {}
        }
        view
    }

    /// Returns the view of an event in the journal of a worker.
    pub fn of_worker(
        event: &worker::Event,
        (phase, attempt): (PhaseNumber, u32),
        (seq, at): (u64, u64),
    ) -> Self {
        let text = event.sentence().map(|text| bounded::text(&text, bounded::TEXT_MAX));
        let mut view = Self {
            phase: Some(phase),
            attempt: Some(attempt),
            detail: text.clone(),
            text,
            tone: if event.is_failure() { Tone::Bad } else { Tone::Plain },
            ..Self::blank(worker_kind(event), (seq, at))
        };
        if let worker::Event::Reported(report) = event {
            view.add_report(report);
        }
        view
    }

    /// Returns a line for people about a journal of a worker that cannot be read.
    pub fn unreadable(
        text: String,
        tone: Tone,
        (phase, attempt): (PhaseNumber, u32),
        place: (u64, u64),
    ) -> Self {
        let (detail, text) = (Some(text.clone()), Some(text));
        let (phase, attempt) = (Some(phase), Some(attempt));
        Self { phase, attempt, text, detail, tone, ..Self::blank(EventKind::Unreadable, place) }
    }

    fn blank(kind: EventKind, (seq, at): (u64, u64)) -> Self {
        Self {
            seq,
            at,
            kind,
            is_report: false,
            phase: None,
            attempt: None,
            status: None,
            stage: None,
            plan: None,
            question: None,
            question_kind: None,
            text: None,
            detail: None,
            tone: Tone::Plain,
            is_milestone: false,
        }
    }

    fn add_report(&mut self, report: &Report) {
        match report {
            Report::Stage { to, .. } => self.stage = Some(*to),
            Report::LookaheadDone { through } => self.stage = Some(*through),
            Report::PlanStarted { plan, .. }
            | Report::PlanCreated { plan }
            | Report::TaskStarted { plan, .. }
            | Report::TaskDone { plan, .. }
            | Report::PlanDone { plan, .. }
            | Report::Blocked { plan, .. } => self.plan = Some(plan.clone()),
            Report::Spent(spent) => self.plan.clone_from(&spent.plan),
            Report::Asked { ask } => self.question_kind = Some(ask.kind),
            _ => {}
        }
    }
}

/// Folds the events of a journal, and makes the view of each.
#[derive(Debug, Default)]
pub struct EventFold {
    lead: Lead,
}

impl EventFold {
    /// Applies an event; returns its view.
    pub fn read(&mut self, event: &Event, (seq, at): (u64, u64)) -> EventView {
        let view = EventView::of(event, Some(&self.lead), (seq, at));
        self.lead.apply(event, at);
        view
    }

    /// Returns whether the run is done.
    pub fn is_over(&self) -> bool {
        self.lead.closed || !self.lead.phases.is_empty() && self.lead.status() == RunStatus::Done
    }
}

fn kind(event: &Event) -> EventKind {
    match event {
        Event::Begun { .. } => EventKind::RunBegun,
        Event::LeadStarted { .. } => EventKind::LeadStarted,
        Event::WorkersSet { .. } => EventKind::WorkersSet,
        Event::RoadmapRead { .. } => EventKind::RoadmapRead,
        Event::Observed { .. } => EventKind::PlanningFilesChanged,
        Event::Intended { .. } => EventKind::EffectStarted,
        Event::Finished { .. } => EventKind::EffectFinished,
        Event::Reported { report, .. } => report_kind(report),
        Event::StatusChanged { .. } => EventKind::StatusChanged,
        Event::Halted { .. } => EventKind::StopRequested,
        Event::Unhalted { .. } => EventKind::StopWithdrawn,
        Event::WorkerDied { .. } => EventKind::WorkerDied,
        Event::Announced { .. } | Event::Noted { .. } => EventKind::Note,
        Event::Spent { .. } => EventKind::Spent,
        Event::Asked { .. } => EventKind::QuestionAsked,
        Event::Answered { .. } => EventKind::QuestionAnswered,
        Event::Withdrawn { .. } => EventKind::QuestionWithdrawn,
        Event::Commanded { .. } => EventKind::Command,
        Event::Breaker { open: true } => EventKind::BreakerOpened,
        Event::Breaker { open: false } => EventKind::BreakerClosed,
        Event::Held { .. } => EventKind::Hold,
        Event::Closed { .. } => EventKind::RunClosed,
    }
}

fn report_kind(report: &Report) -> EventKind {
    match report {
        Report::Started { .. } => EventKind::WorkerStarted,
        Report::Stage { .. } => EventKind::Stage,
        Report::Plans { .. } => EventKind::PlansCounted,
        Report::PlanStarted { .. } => EventKind::PlanStarted,
        Report::PlanCreated { .. } => EventKind::PlanCreated,
        Report::TaskStarted { .. } => EventKind::TaskStarted,
        Report::TaskDone { .. } => EventKind::TaskDone,
        Report::PlanDone { .. } => EventKind::PlanDone,
        Report::Decisions { .. } => EventKind::Decided,
        Report::Blocked { .. } => EventKind::PlanBlocked,
        Report::Asked { .. } => EventKind::QuestionReported,
        Report::QuestionObsolete { .. } => EventKind::QuestionWithdrawn,
        Report::Note { .. } | Report::Agents { .. } => EventKind::Note,
        Report::AgentMessage { .. } => EventKind::AgentMessage,
        Report::Spent(_) => EventKind::Spent,
        Report::Throttled { .. } => EventKind::Throttled,
        Report::Denied { .. } => EventKind::AgentsDenied,
        Report::Planned { .. } => EventKind::FilesPlanned,
        Report::LookaheadDone { .. }
        | Report::Parked
        | Report::Complete { .. }
        | Report::Failed { .. } => EventKind::WorkerEnded,
        Report::Stopped { .. } => EventKind::WorkerStopped,
    }
}

fn worker_kind(event: &worker::Event) -> EventKind {
    match event {
        worker::Event::Briefed { .. } | worker::Event::Sealed { .. } => EventKind::WorkerStarted,
        worker::Event::Intended { .. } => EventKind::EffectStarted,
        worker::Event::Finished { .. } => EventKind::EffectFinished,
        worker::Event::Halted(_) | worker::Event::Interrupted => EventKind::StopRequested,
        worker::Event::AgentsSet { .. } => EventKind::Note,
        worker::Event::Stuck { .. } => EventKind::Stuck,
        worker::Event::ActiveAgain { .. } => EventKind::ActiveAgain,
        worker::Event::Decided { .. } => EventKind::QuestionAnswered,
        worker::Event::LeadSilent { .. } | worker::Event::BlockerUnanswered { .. } => {
            EventKind::LeadSilent
        }
        worker::Event::BlockerAcknowledged => EventKind::BlockerAcknowledged,
        worker::Event::CheckRan(_) => EventKind::CheckRan,
        worker::Event::TaskReported(_) => EventKind::Decided,
        worker::Event::Reported(report) => report_kind(report),
    }
}

fn tone(event: &Event) -> Tone {
    match event {
        Event::StatusChanged { to: Status::Failed, .. } | Event::WorkerDied { .. } => Tone::Bad,
        Event::StatusChanged { to: Status::Merged, .. } => Tone::Good,
        Event::Asked { .. } | Event::Breaker { open: true } => Tone::Attention,
        _ => Tone::Plain,
    }
}

/// Returns the text of an event without the name of its phase; `None` if its sentence has none.
fn detail(event: &Event) -> Option<String> {
    match event {
        Event::Reported { report, .. } => report.sentence(),
        Event::StatusChanged { why, .. } => Some(why.to_string()),
        Event::Asked { item } => Some(item.ask.question.clone()),
        Event::Noted { text, .. } => Some(text.clone()),
        Event::Spent { spent, .. } => Some(spent.sentence()),
        _ => None,
    }
}

/// Returns the phase of an event; some events name it only by a number in the state before.
fn phase_of(event: &Event, before: &Lead) -> Option<PhaseNumber> {
    let about = |item: &u32| before.inbox.items.get(item)?.phase;
    match event {
        Event::Finished { id, .. } => before.effects.open.get(id)?.phase(),
        Event::Answered { item, .. } | Event::Withdrawn { item } => about(item),
        Event::Commanded { command, .. } => match command {
            Command::Pause { phase }
            | Command::Resume { phase }
            | Command::Cancel { phase, .. } => *phase,
            Command::Answer { item, .. } | Command::TakeBack { item } => about(item),
            Command::SetWorkers { .. } => None,
        },
        event => event.phase(),
    }
}

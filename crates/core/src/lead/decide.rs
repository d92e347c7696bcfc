//! Decides about inputs: turns each input into events and effects.
//!
//! Duplicate or late inputs, and inputs of older attempts, are ignored: they cause no event.

use super::agent_shares;
use super::{
    Effect, Event, FailureCause, Hold, Input, Lead, MergeProblem, Outcome, PhaseState, Reason,
    Status,
};
use crate::inbox::{
    InboxAnswer, InboxItem, InboxQuestion, QuestionKind, QuestionTopic, STUCK_CHOICES,
};
use crate::machine::Decision;
use crate::phase::PhaseNumber;
use crate::report::{Brief, HaltOrder, HaltOrigin, HaltReason, LeadMessage, Report};

/// The answers to a failed phase: another attempt, or none. Stored in journals.
pub(super) const RETRY: &str = "retry";
pub(super) const GIVE_UP: &str = "give up";
/// The answers to an open circuit breaker. Stored in journals.
pub const CONTINUE: &str = "continue";
pub(super) const STOP: &str = "stop";

/// Collects the events and effects of one decision.
pub(super) struct DecisionBuilder<'a> {
    pub(super) lead: &'a Lead,
    pub(super) events: Vec<Event>,
    effects: Vec<(u64, Effect)>,
    asked: u32,
}

pub(super) fn decide(lead: &Lead, input: &Input, _now: u64) -> Decision<Event, (u64, Effect)> {
    let mut builder = DecisionBuilder::new(lead);
    match input {
        Input::Begin { run, target, tip } if lead.run.is_empty() => {
            let (run, target, tip) = (run.clone(), target.clone(), tip.clone());
            builder.events.push(Event::Begun { run, target, tip });
        }
        Input::Begin { .. } => {}
        Input::LeadStarted { settings } => {
            builder.events.push(Event::LeadStarted { settings: settings.clone() });
        }
        Input::Roadmap { scope, phases } => builder.read_roadmap(*scope, phases),
        Input::Report { phase, attempt, seq, report } => {
            builder.on_report(*phase, *attempt, *seq, report);
        }
        Input::WorkerExited { phase, attempt } => builder.worker_exited(*phase, *attempt),
        Input::WorkerHung { phase, attempt, signs } => builder.worker_hung(*phase, *attempt, signs),
        Input::WorkerActive { phase, attempt } => {
            if builder.running(*phase, *attempt).is_some() {
                builder.withdraw_if(*phase, |item| item.ask.kind == QuestionKind::Hung);
            }
        }
        Input::Finished { id, outcome } => builder.finish(*id, outcome),
        Input::Command { seq, command, origin } => builder.on_command(*seq, command, origin),
        Input::Hold(hold) => builder.hold(*hold),
        Input::Close { by } => builder.close_run(by),
        Input::Announced { text } => builder.events.push(Event::Announced { text: text.clone() }),
        Input::Noted { phase, text } => builder.note(*phase, text),
        Input::Spent { phase, spent } => builder.count_lead_spending(*phase, spent),
    }
    builder.decision()
}

impl<'a> DecisionBuilder<'a> {
    pub(super) fn new(lead: &'a Lead) -> Self {
        Self { lead, events: Vec::new(), effects: Vec::new(), asked: 0 }
    }

    pub(super) fn decision(self) -> Decision<Event, (u64, Effect)> {
        Decision { events: self.events, effects: self.effects }
    }

    /// Adds an effect, and the event that records it before it is released.
    pub(super) fn intend(&mut self, effect: Effect) {
        let id = self.lead.effects.next_id + self.effects.len() as u64;
        self.events.push(Event::Intended { id, effect: effect.clone() });
        self.effects.push((id, effect));
    }

    /// Changes the status of a phase, if the transition is allowed.
    pub(super) fn move_to(&mut self, phase: PhaseNumber, to: Status, why: Reason) {
        let Some(state) = self.lead.phases.get(&phase) else { return };
        if state.status.may_become(to) {
            let attempt = state.attempt;
            self.events.push(Event::StatusChanged { phase, attempt, to, why, ahead: None });
        }
    }

    pub(super) fn ask(&mut self, phase: Option<PhaseNumber>, ask: InboxQuestion) {
        if self.lead.inbox.has_key(&ask.key) {
            return;
        }
        self.asked += 1;
        let last = self.lead.inbox.last_id();
        let item = InboxItem { id: last + self.asked, phase, ask, answer: None };
        self.events.push(Event::Asked { item });
    }

    pub(super) fn answer(&mut self, item: u32, text: &str) {
        self.events.push(Event::Answered { item, text: text.to_owned() });
    }

    /// Records a remark about a phase that waits for its merge.
    fn note(&mut self, phase: PhaseNumber, text: &str) {
        let state = self.lead.phases.get(&phase);
        if state.is_some_and(|state| state.status == Status::Complete) {
            self.events.push(Event::Noted { phase, text: text.to_owned() });
        }
    }

    fn on_report(&mut self, phase: PhaseNumber, attempt: u32, seq: u64, report: &Report) {
        let Some(state) = self.lead.phases.get(&phase) else { return };
        let is_current = state.attempt == attempt
            && matches!(state.status, Status::Starting | Status::Running | Status::Ending)
            && state.read_through.is_none_or(|through| through < seq);
        if !is_current {
            return;
        }
        self.events.push(Event::Reported { phase, attempt, seq, report: report.clone() });
        match report {
            Report::Asked { ask } => self.ask(Some(phase), ask.clone()),
            Report::Denied { reason } => {
                self.open_breaker(|time| QuestionTopic::AgentsDenied { time }, reason, phase);
            }
            Report::Spent(spent) => {
                if let Some(why) = self.exceeds_budget(spent, phase) {
                    self.halt(
                        phase,
                        &HaltOrder::new(HaltReason::Paused, HaltOrigin::Breaker { why }),
                    );
                }
            }
            Report::QuestionObsolete { key } => {
                self.withdraw_if(phase, |item| item.ask.key == *key);
            }
            _ => {}
        }
    }

    /// Returns a phase if this attempt is its running one.
    fn running(&self, phase: PhaseNumber, attempt: u32) -> Option<&'a PhaseState> {
        let state = self.lead.phases.get(&phase)?;
        (state.attempt == attempt && state.status == Status::Running).then_some(state)
    }

    /// Asks what to do about a worker that is alive and shows no activity.
    fn worker_hung(&mut self, phase: PhaseNumber, attempt: u32, signs: &str) {
        let Some(state) =
            self.running(phase, attempt).filter(|_| self.open_hung_question(phase).is_none())
        else {
            return;
        };
        let own = self.lead.questions_about(phase);
        let time = own.filter(|item| is_about_hung(item, attempt)).count() + 1;
        let key = QuestionTopic::Hung { attempt, time }.of_phase(phase);
        let question = format!(
            "Phase {phase} ({}): the worker is stuck: {signs}. Wait, kill it and retry, \
             or give up the phase?",
            state.spec.name
        );
        let ask = InboxQuestion::new(key, QuestionKind::Hung, question);
        self.ask(Some(phase), ask.with_choices(STUCK_CHOICES));
    }

    /// Returns the open question about a hanging worker.
    pub(super) fn open_hung_question(&self, phase: PhaseNumber) -> Option<&'a InboxItem> {
        let mut own = self.lead.questions_about(phase);
        own.find(|item| item.answer.is_none() && item.ask.kind == QuestionKind::Hung)
    }

    /// Kills a worker. The next step is decided when it has exited.
    pub(super) fn end(&mut self, phase: PhaseNumber, why: Reason) {
        self.move_to(phase, Status::Ending, why);
        let attempt = self.lead.phases[&phase].attempt;
        self.intend(Effect::KillWorker { phase, attempt });
    }

    fn worker_exited(&mut self, phase: PhaseNumber, attempt: u32) {
        let Some(state) = self.lead.phases.get(&phase) else { return };
        let was_live = matches!(state.status, Status::Running | Status::Ending);
        if state.attempt != attempt || !was_live || state.collecting_lookahead {
            return;
        }
        // Nothing of an exited worker is stuck.
        self.withdraw_if(phase, |item| item.ask.kind.may_settle());
        if let Some(goal) = state.through {
            return self.collect_lookahead(state, goal);
        }
        let given_up = |item: &InboxItem| item.is_refused() && is_about_hung(item, attempt);
        let is_given_up = self.lead.questions_about(phase).any(given_up);
        match &state.last_report {
            // A cancellation wins over any last report.
            _ if state.halt_reason() == Some(HaltReason::Cancelled) => {
                self.stop_as_told(phase, HaltReason::Cancelled);
                self.withdraw_items(phase);
            }
            Some(Report::Complete { .. }) => {
                self.move_to(phase, Status::Complete, Reason::PlansDone);
            }
            Some(Report::Failed { reason }) => {
                self.fail(state, FailureCause::Reported(reason.clone()));
            }
            Some(Report::Stopped { how: HaltReason::Timeout }) => {
                self.fail(state, FailureCause::TimeLimit);
            }
            Some(Report::Stopped { .. }) if state.halt.is_none() => {
                self.restart_or_park(phase, Reason::Resumed);
            }
            Some(Report::Stopped { how }) => self.stop_as_told(phase, *how),
            Some(Report::Planned { .. }) => match state.halt_reason() {
                Some(how) => self.stop_as_told(phase, how),
                None => {
                    let why = self.reason_to_wait_before_execute(state);
                    self.move_to(phase, Status::Waiting, why);
                }
            },
            Some(Report::Parked) if self.waits_for_answer(phase) => {
                self.move_to(phase, Status::Parked, Reason::AwaitsAnswer);
            }
            _ if is_given_up => self.fail(state, FailureCause::Hung),
            last => self.worker_died(state, matches!(last, Some(Report::Parked))),
        }
    }

    /// Returns why a phase whose plans are written does not execute them at once.
    fn reason_to_wait_before_execute(&self, state: &PhaseState) -> Reason {
        match self.lead.blocking_phase(state) {
            Some((by, path)) => Reason::FileTaken { path: path.to_owned(), by },
            None => Reason::FilesFree,
        }
    }

    /// Sets the status of a phase whose attempt was paused or cancelled.
    pub(super) fn stop_as_told(&mut self, phase: PhaseNumber, how: HaltReason) {
        match how {
            HaltReason::Cancelled => self.move_to(phase, Status::Cancelled, Reason::Cancelled),
            _ => self.move_to(phase, Status::Paused, Reason::Paused),
        }
    }

    /// Returns whether a phase cannot continue before a question is answered.
    fn waits_for_answer(&self, phase: PhaseNumber) -> bool {
        let mut own = self.lead.questions_about(phase);
        own.any(|item| item.answer.is_none() && !item.ask.kind.may_settle())
    }

    /// Decides about a phase whose worker exited without a final result.
    fn worker_died(&mut self, state: &PhaseState, parked: bool) {
        let phase = state.spec.number;
        if let Some(how) = state.halt_reason() {
            return self.stop_as_told(phase, how);
        }
        if self.waits_for_answer(phase) {
            return self.move_to(phase, Status::Parked, Reason::AwaitsAnswer);
        }
        if parked && state.questions_asked > 0 {
            return self.move_to(phase, Status::Waiting, Reason::Answered);
        }
        self.events.push(Event::WorkerDied { phase });
        if state.deaths >= self.lead.settings.restarts_max {
            return self.fail(state, FailureCause::Deaths(state.deaths + 1));
        }
        self.move_to(phase, Status::Waiting, Reason::WorkerDied);
    }

    /// Tells all running phases but one to stop after their current task.
    pub(super) fn halt_running_except(&mut self, but: Option<PhaseNumber>, origin: HaltOrigin) {
        let live: Vec<_> =
            self.lead.index.live.iter().copied().filter(|n| Some(*n) != but).collect();
        let order = HaltOrder::new(HaltReason::Paused, origin);
        for phase in live {
            self.halt(phase, &order);
        }
    }

    pub(super) fn halt(&mut self, phase: PhaseNumber, order: &HaltOrder) {
        let state = &self.lead.phases[&phase];
        if !order.exceeds(state.halt.as_ref()) {
            return;
        }
        self.events.push(Event::Halted { phase, order: order.clone() });
        if state.status == Status::Running {
            self.send_message(state, LeadMessage::Halt(order.clone()));
        }
    }

    pub(super) fn send_message(&mut self, state: &PhaseState, note: LeadMessage) {
        let (phase, attempt, n) = (state.spec.number, state.attempt, state.messages_sent + 1);
        self.intend(Effect::SendMessage { phase, attempt, n, note });
    }

    fn hold(&mut self, hold: Hold) {
        if self.lead.starts.hold != hold {
            self.events.push(Event::Held { hold });
        }
        if hold == Hold::Stopping {
            self.halt_running_except(None, HaltOrigin::Interrupt);
        }
    }

    fn finish(&mut self, id: u64, outcome: &Outcome) {
        let lead = self.lead;
        let Some(effect) = lead.effects.open.get(&id) else { return };
        self.events.push(Event::Finished { id, outcome: outcome.clone() });
        let state = |phase: &PhaseNumber| lead.phases.get(phase);
        match effect {
            Effect::Prepare { phase, attempt, .. } => {
                let current = state(phase).filter(|t| t.attempt == *attempt);
                if let Some(state) = current.filter(|t| t.status == Status::Preparing) {
                    self.prepared(state, outcome);
                }
            }
            Effect::Start { brief } => {
                let current = state(&brief.phase).filter(|t| t.attempt == brief.attempt);
                if let Some(state) = current.filter(|t| t.status == Status::Starting) {
                    self.started(state, outcome);
                }
            }
            Effect::CollectLookahead { phase, attempt, .. } => {
                let current = state(phase).filter(|t| t.attempt == *attempt);
                if let Some(state) = current.filter(|t| t.status == Status::Ending) {
                    self.lookahead_collected(state, outcome);
                }
            }
            Effect::Merge { phase, .. } => {
                if let Some(state) = state(phase) {
                    self.merged(state, outcome);
                }
            }
            Effect::KillWorker { phase, attempt } => {
                let current = state(phase).filter(|t| t.attempt == *attempt);
                let ending = current.filter(|t| t.status == Status::Ending);
                if let (Outcome::Failed { reason }, Some(state)) = (outcome, ending) {
                    // Nobody waits any more for a worker that is given up.
                    self.withdraw_if(*phase, |item| item.ask.kind.may_settle());
                    self.fail(state, FailureCause::NotKilled(reason.clone()));
                }
            }
            Effect::SendMessage { .. }
            | Effect::FastForward { .. }
            | Effect::CommitPlanningFiles { .. } => {}
        }
    }

    fn prepared(&mut self, state: &PhaseState, outcome: &Outcome) {
        let phase = state.spec.number;
        match (outcome, state.halt_reason()) {
            (Outcome::Prepared { .. }, Some(how)) => self.stop_as_told(phase, how),
            (Outcome::Prepared { .. }, None) if state.is_left_out() => {
                self.move_to(phase, Status::Waiting, Reason::Chosen);
            }
            (Outcome::Prepared { base }, None) => {
                self.move_to(phase, Status::Starting, Reason::WorktreeReady);
                let brief = self.brief(state, base);
                self.intend(Effect::Start { brief });
            }
            (Outcome::Failed { reason }, _) if state.through.is_some() => {
                self.drop_lookahead(state, reason);
            }
            (Outcome::Failed { reason }, _) => {
                self.fail(state, FailureCause::NoWorktree(reason.clone()));
            }
            _ => self.fail(state, FailureCause::NoWorktree("git returned no result".to_owned())),
        }
    }

    fn brief(&self, state: &PhaseState, base: &str) -> Brief {
        let phase = state.spec.number;
        let own = self.lead.questions_about(phase).filter(|item| self.lead.inbox.is_put(item));
        let own = own.filter(|item| !item.ask.kind.may_settle());
        let answers = own.filter_map(|item| {
            let text = item.answer.clone()?;
            Some(InboxAnswer {
                key: item.ask.key.clone(),
                question: item.ask.question.clone(),
                text,
            })
        });
        Brief {
            run: self.lead.run.clone(),
            phase,
            name: state.spec.name.clone(),
            attempt: state.attempt,
            base: base.to_owned(),
            answers: answers.collect(),
            agents: agent_shares::share(self.lead, phase),
            through: state.through,
            after: state.through.map_or_else(Vec::new, |_| state.spec.depends_on.clone()),
            clear: self.lead.cleared_files(state),
            spent: state.spent,
            checked: state.plans_checked,
            ignored: None,
        }
    }

    fn started(&mut self, state: &PhaseState, outcome: &Outcome) {
        let phase = state.spec.number;
        if let (Outcome::Failed { reason }, Some(_)) = (outcome, state.through) {
            return self.drop_lookahead(state, reason);
        }
        if let Outcome::Failed { reason } = outcome {
            return self.fail(state, FailureCause::NotStarted(reason.clone()));
        }
        self.move_to(phase, Status::Running, Reason::WorkerRunning);
        if let Some(order) = &state.halt {
            self.send_message(state, LeadMessage::Halt(order.clone()));
        }
    }

    fn merged(&mut self, state: &PhaseState, outcome: &Outcome) {
        let phase = state.spec.number;
        let problem = match outcome {
            Outcome::Merged { .. } => {
                return self.move_to(phase, Status::Merged, Reason::Merged);
            }
            // A new attempt has to correct this; another merge would not help.
            Outcome::Refuted { reason } => {
                return self.fail(state, FailureCause::Refuted(reason.clone()));
            }
            Outcome::Conflict { files, settle } => {
                MergeProblem::Conflict { files: files.clone(), settle: settle.clone() }
            }
            Outcome::Failed { reason } => MergeProblem::Failed(reason.clone()),
            _ => MergeProblem::NoResult,
        };
        self.move_to(phase, Status::Parked, Reason::MergeFailed(problem.clone()));
        let earlier =
            self.lead.questions_about(phase).filter(|item| item.ask.kind == QuestionKind::Conflict);
        let key = QuestionTopic::Conflict { time: earlier.count() + 1 }.of_phase(phase);
        let question = format!("Phase {phase} cannot be merged: {problem}");
        let ask = InboxQuestion::new(key, QuestionKind::Conflict, question);
        self.ask(Some(phase), ask.with_choices([RETRY, GIVE_UP]));
    }
}

/// Returns whether a question is about the hanging worker of an attempt.
fn is_about_hung(item: &InboxItem, attempt: u32) -> bool {
    matches!(item.ask.key.topic(), QuestionTopic::Hung { attempt: of, .. } if *of == attempt)
}

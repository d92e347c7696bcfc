//! What an input means for a run.
//!
//! What comes twice, late or from an older attempt means nothing: it leaves no event behind.

use super::schedule;
use super::{Effect, Event, Hold, Input, Lead, Outcome, Status, Track};
use crate::item::{Answer, Ask, DENIED, Item, ItemKind, STUCK_CHOICES};
use crate::machine::Decision;
use crate::phase::PhaseNumber;
use crate::report::{Brief, Halt, Note, Report};

/// The answers that make a phase be tried again, and leave it.
pub(super) const RETRY: &str = "retry";
pub(super) const GIVE_UP: &str = "give up";
/// The answers to the breaker.
pub(super) const CONTINUE: &str = "continue";
pub(super) const STOP: &str = "stop";

/// A decision in the making.
pub(super) struct Draft<'a> {
    pub(super) lead: &'a Lead,
    pub(super) events: Vec<Event>,
    effects: Vec<(u64, Effect)>,
    asked: u32,
}

pub(super) fn decide(lead: &Lead, input: &Input, _now: u64) -> Decision<Event, (u64, Effect)> {
    let mut draft = Draft::new(lead);
    match input {
        Input::Begin { run, target, tip } if lead.run.is_empty() => {
            let (run, target, tip) = (run.clone(), target.clone(), tip.clone());
            draft.events.push(Event::Begun { run, target, tip });
        }
        Input::Begin { .. } => {}
        Input::TakeUp { settings } => {
            draft.events.push(Event::TakenUp { settings: settings.clone() });
        }
        Input::Roadmap { scope, phases } => draft.read_roadmap(*scope, phases),
        Input::Report { phase, attempt, seq, report } => {
            draft.hear(*phase, *attempt, *seq, report);
        }
        Input::Gone { phase, attempt } => draft.part_from(*phase, *attempt),
        Input::Hung { phase, attempt, signs } => draft.notice_hung(*phase, *attempt, signs),
        Input::Awake { phase, attempt } => {
            if draft.running(*phase, *attempt).is_some() {
                draft.withdraw_if(*phase, |item| item.ask.kind == ItemKind::Hung);
            }
        }
        Input::Finished { id, outcome } => draft.finish(*id, outcome),
        Input::Command { seq, command } => draft.obey(*seq, command),
        Input::Hold(hold) => draft.hold(*hold),
        Input::Told { text } => draft.events.push(Event::Told { text: text.clone() }),
        Input::Noted { phase, text } => draft.note(*phase, text),
        Input::Spent { phase, spent } => draft.pay(*phase, spent),
    }
    draft.decision()
}

impl<'a> Draft<'a> {
    pub(super) fn new(lead: &'a Lead) -> Self {
        Self { lead, events: Vec::new(), effects: Vec::new(), asked: 0 }
    }

    pub(super) fn decision(self) -> Decision<Event, (u64, Effect)> {
        Decision { events: self.events, effects: self.effects }
    }

    /// Adds an effect that is written down before it is released.
    pub(super) fn intend(&mut self, effect: Effect) {
        let id = self.lead.next_effect + self.effects.len() as u64;
        self.events.push(Event::Intended { id, effect: effect.clone() });
        self.effects.push((id, effect));
    }

    /// Gives a phase another status, if it may have it.
    pub(super) fn move_to(&mut self, phase: PhaseNumber, to: Status, why: &str) {
        let Some(track) = self.lead.phases.get(&phase) else { return };
        if track.status.may_become(to) {
            let (attempt, why) = (track.attempt, why.to_owned());
            self.events.push(Event::Moved { phase, attempt, to, why, ahead: None });
        }
    }

    pub(super) fn ask(&mut self, phase: Option<PhaseNumber>, ask: Ask) {
        if self.lead.asked.contains_key(&ask.key) {
            return;
        }
        self.asked += 1;
        let last = self.lead.items.last_key_value().map_or(0, |(id, _)| *id);
        let item = Item { id: last + self.asked, phase, ask, answer: None };
        self.events.push(Event::Asked { item });
    }

    pub(super) fn answer(&mut self, item: u32, text: &str) {
        self.events.push(Event::Answered { item, text: text.to_owned() });
    }

    /// Writes down what people should know of a phase that waits for its merge.
    fn note(&mut self, phase: PhaseNumber, text: &str) {
        let track = self.lead.phases.get(&phase);
        if track.is_some_and(|track| track.status == Status::Complete) {
            self.events.push(Event::Noted { phase, text: text.to_owned() });
        }
    }

    fn hear(&mut self, phase: PhaseNumber, attempt: u32, seq: u64, report: &Report) {
        let Some(track) = self.lead.phases.get(&phase) else { return };
        let is_current = track.attempt == attempt
            && matches!(track.status, Status::Starting | Status::Running | Status::Ending)
            && track.read_through.is_none_or(|through| through < seq);
        if !is_current {
            return;
        }
        self.events.push(Event::Reported { phase, attempt, seq, report: report.clone() });
        match report {
            Report::Asked { ask } => self.ask(Some(phase), ask.clone()),
            Report::Denied { reason } => self.stop_starts(DENIED, reason, phase),
            Report::Spent(spent) if self.count(spent, phase) => self.halt(phase, Halt::Paused),
            Report::Settled { key } => self.withdraw_if(phase, |item| item.ask.key == *key),
            _ => {}
        }
    }

    /// Returns a phase if an attempt at it is the one that is at work.
    fn running(&self, phase: PhaseNumber, attempt: u32) -> Option<&'a Track> {
        let track = self.lead.phases.get(&phase)?;
        (track.attempt == attempt && track.status == Status::Running).then_some(track)
    }

    /// Asks what to do about a worker that lives and shows no sign of it.
    fn notice_hung(&mut self, phase: PhaseNumber, attempt: u32, signs: &str) {
        let Some(track) = self.running(phase, attempt).filter(|_| self.hung(phase).is_none())
        else {
            return;
        };
        let of_attempt = format!("{phase}/hung/{attempt}#");
        let own = self.lead.items_of(phase);
        let earlier = own.filter(|item| item.ask.key.starts_with(&of_attempt)).count();
        self.ask(
            Some(phase),
            Ask {
                key: format!("{of_attempt}{}", earlier + 1),
                kind: ItemKind::Hung,
                question: format!(
                    "Phase {phase} ({}): its worker hangs: {signs}. Wait, end it and try again, \
                     or give the phase up?",
                    track.spec.name
                ),
                choices: STUCK_CHOICES.iter().map(|word| (*word).to_owned()).collect(),
            },
        );
    }

    /// Returns the open question about a worker that hangs.
    pub(super) fn hung(&self, phase: PhaseNumber) -> Option<&'a Item> {
        let mut own = self.lead.items_of(phase);
        own.find(|item| item.answer.is_none() && item.ask.kind == ItemKind::Hung)
    }

    /// Ends a worker at once and by force; what follows is decided when it is gone.
    pub(super) fn end(&mut self, phase: PhaseNumber, why: &str) {
        self.move_to(phase, Status::Ending, why);
        let attempt = self.lead.phases[&phase].attempt;
        self.intend(Effect::End { phase, attempt });
    }

    fn part_from(&mut self, phase: PhaseNumber, attempt: u32) {
        let Some(track) = self.lead.phases.get(&phase) else { return };
        let was_live = matches!(track.status, Status::Running | Status::Ending);
        if track.attempt != attempt || !was_live || track.gathering {
            return;
        }
        // Nothing of it is stuck any more.
        self.withdraw_if(phase, |item| item.ask.kind.may_settle());
        if let Some(goal) = track.through {
            return self.gather(track, goal);
        }
        let hung = format!("{phase}/hung/{attempt}#");
        let given_up = |item: &Item| item.is_refused() && item.ask.key.starts_with(&hung);
        let is_given_up = self.lead.items_of(phase).any(given_up);
        match &track.last {
            // Whatever it still came to: nobody wants it any more.
            _ if track.halt == Some(Halt::Cancelled) => {
                self.rest(phase, Halt::Cancelled);
                self.withdraw_items(phase);
            }
            Some(Report::Complete { .. }) => {
                self.move_to(phase, Status::Complete, "all its plans are done and checked");
            }
            Some(Report::Failed { reason }) => self.fail(track, reason),
            Some(Report::Stopped { how: Halt::Timeout }) => {
                self.fail(track, "it took longer than allowed; its work may be incomplete");
            }
            Some(Report::Stopped { .. }) if track.halt.is_none() => {
                self.go_on_or_wait(phase, "it was resumed");
            }
            Some(Report::Stopped { how }) => self.rest(phase, *how),
            Some(Report::Planned { .. }) => match track.halt {
                Some(how) => self.rest(phase, how),
                None => self.move_to(phase, Status::Waiting, &self.before_execute(track)),
            },
            Some(Report::Parked) if self.waits(phase) => {
                self.move_to(phase, Status::Parked, "it waits for an answer");
            }
            _ if is_given_up => self.fail(track, "its worker hung, and a person gave it up"),
            last => self.mourn(track, matches!(last, Some(Report::Parked))),
        }
    }

    /// Says why a phase whose plans are made does not execute them at once.
    fn before_execute(&self, track: &Track) -> String {
        match self.lead.in_the_way(track) {
            Some((other, path)) => {
                format!("its plans change {path}, and so does phase {other}, which is merged first")
            }
            None => "its plans are made, and nobody else changes these files".to_owned(),
        }
    }

    /// Ends the attempt of a phase that was told to.
    pub(super) fn rest(&mut self, phase: PhaseNumber, how: Halt) {
        match how {
            Halt::Cancelled => self.move_to(phase, Status::Cancelled, "it was cancelled"),
            _ => self.move_to(phase, Status::Paused, "it was paused"),
        }
    }

    /// Returns whether a phase cannot go on before a question is answered.
    fn waits(&self, phase: PhaseNumber) -> bool {
        let mut own = self.lead.items_of(phase);
        own.any(|item| item.answer.is_none() && !item.ask.kind.may_settle())
    }

    /// Decides about a phase whose worker is gone without having come to an end.
    fn mourn(&mut self, track: &Track, parked: bool) {
        let phase = track.spec.number;
        if let Some(how) = track.halt {
            return self.rest(phase, how);
        }
        if self.waits(phase) {
            return self.move_to(phase, Status::Parked, "it waits for an answer");
        }
        if parked && track.asked > 0 {
            return self.move_to(phase, Status::Waiting, "it was answered");
        }
        self.events.push(Event::Died { phase });
        if track.deaths >= self.lead.settings.restarts_max {
            let reason = format!("its worker died {} times without progress", track.deaths + 1);
            return self.fail(track, &reason);
        }
        self.move_to(phase, Status::Waiting, "its worker died");
    }

    /// Lets all live phases but one end after what they are doing.
    pub(super) fn halt_live(&mut self, but: Option<PhaseNumber>) {
        let live: Vec<_> = self.lead.live.iter().copied().filter(|n| Some(*n) != but).collect();
        for phase in live {
            self.halt(phase, Halt::Paused);
        }
    }

    pub(super) fn halt(&mut self, phase: PhaseNumber, how: Halt) {
        let track = &self.lead.phases[&phase];
        if track.halt == Some(how) || track.halt == Some(Halt::Cancelled) {
            return;
        }
        self.events.push(Event::Halted { phase, how });
        if track.status == Status::Running {
            self.tell(track, Note::Halt { how });
        }
    }

    pub(super) fn tell(&mut self, track: &Track, note: Note) {
        let (phase, attempt, n) = (track.spec.number, track.attempt, track.told + 1);
        self.intend(Effect::Tell { phase, attempt, n, note });
    }

    fn hold(&mut self, hold: Hold) {
        if self.lead.hold != hold {
            self.events.push(Event::Held { hold });
        }
        if hold == Hold::Stopping {
            self.halt_live(None);
        }
    }

    fn finish(&mut self, id: u64, outcome: &Outcome) {
        let lead = self.lead;
        let Some(effect) = lead.open.get(&id) else { return };
        self.events.push(Event::Finished { id, outcome: outcome.clone() });
        let track = |phase: &PhaseNumber| lead.phases.get(phase);
        match effect {
            Effect::Prepare { phase, attempt, .. } => {
                let current = track(phase).filter(|t| t.attempt == *attempt);
                if let Some(track) = current.filter(|t| t.status == Status::Preparing) {
                    self.prepared(track, outcome);
                }
            }
            Effect::Start { brief } => {
                let current = track(&brief.phase).filter(|t| t.attempt == brief.attempt);
                if let Some(track) = current.filter(|t| t.status == Status::Starting) {
                    self.started(track, outcome);
                }
            }
            Effect::Gather { phase, attempt, .. } => {
                let current = track(phase).filter(|t| t.attempt == *attempt);
                if let Some(track) = current.filter(|t| t.status == Status::Ending) {
                    self.gathered(track, outcome);
                }
            }
            Effect::Merge { phase, .. } => {
                if let Some(track) = track(phase) {
                    self.merged(track, outcome);
                }
            }
            Effect::End { phase, attempt } => {
                let current = track(phase).filter(|t| t.attempt == *attempt);
                let ending = current.filter(|t| t.status == Status::Ending);
                if let (Outcome::Failed { reason }, Some(track)) = (outcome, ending) {
                    self.fail(track, &format!("its worker cannot be ended: {reason}"));
                }
            }
            Effect::Tell { .. } | Effect::Follow { .. } | Effect::Close { .. } => {}
        }
    }

    fn prepared(&mut self, track: &Track, outcome: &Outcome) {
        let phase = track.spec.number;
        match (outcome, track.halt) {
            (Outcome::Prepared { .. }, Some(how)) => self.rest(phase, how),
            (Outcome::Prepared { base }, None) => {
                self.move_to(phase, Status::Starting, "its worktree is ready");
                let brief = self.brief(track, base);
                self.intend(Effect::Start { brief });
            }
            (Outcome::Failed { reason }, _) if track.through.is_some() => {
                self.drop_ahead(track, reason);
            }
            (Outcome::Failed { reason }, _) => {
                self.fail(track, &format!("no worktree: {reason}"));
            }
            _ => self.fail(track, "no worktree: git gave no answer"),
        }
    }

    fn brief(&self, track: &Track, base: &str) -> Brief {
        let phase = track.spec.number;
        let own = self.lead.items_of(phase).filter(|item| self.lead.is_put(item));
        let own = own.filter(|item| !item.ask.kind.may_settle());
        let answers = own.filter_map(|item| {
            let text = item.answer.clone()?;
            Some(Answer { key: item.ask.key.clone(), question: item.ask.question.clone(), text })
        });
        Brief {
            run: self.lead.run.clone(),
            phase,
            name: track.spec.name.clone(),
            attempt: track.attempt,
            base: base.to_owned(),
            answers: answers.collect(),
            agents: schedule::share(self.lead, phase),
            through: track.through,
            after: track.through.map_or_else(Vec::new, |_| track.spec.depends_on.clone()),
            clear: self.lead.clear_for(track),
            spent: track.spent,
            checked: track.checked,
            ignored: None,
        }
    }

    fn started(&mut self, track: &Track, outcome: &Outcome) {
        let phase = track.spec.number;
        if let (Outcome::Failed { reason }, Some(_)) = (outcome, track.through) {
            return self.drop_ahead(track, reason);
        }
        if let Outcome::Failed { reason } = outcome {
            return self.fail(track, &format!("its worker cannot be started: {reason}"));
        }
        self.move_to(phase, Status::Running, "its worker is at work");
        if let Some(how) = track.halt {
            self.tell(track, Note::Halt { how });
        }
    }

    fn merged(&mut self, track: &Track, outcome: &Outcome) {
        let phase = track.spec.number;
        let problem = match outcome {
            Outcome::Merged { .. } => {
                return self.move_to(phase, Status::Merged, "its work is in the target");
            }
            // Whatever it is, a new attempt has to do it; merging again would not help.
            Outcome::Refuted { reason } => return self.fail(track, reason),
            Outcome::Conflict { files, settle } => {
                let files: Vec<_> = files.iter().map(ToString::to_string).collect();
                format!("conflicts in {}; {settle}", files.join(", "))
            }
            Outcome::Failed { reason } => reason.clone(),
            _ => "git gave no answer".to_owned(),
        };
        self.move_to(phase, Status::Parked, &format!("its merge did not work: {problem}"));
        let earlier = self.lead.items_of(phase).filter(|item| item.ask.kind == ItemKind::Conflict);
        self.ask(
            Some(phase),
            Ask {
                key: format!("{phase}/conflict#{}", earlier.count() + 1),
                kind: ItemKind::Conflict,
                question: format!("Phase {phase} cannot be merged: {problem}"),
                choices: vec![RETRY.to_owned(), GIVE_UP.to_owned()],
            },
        );
    }
}

//! Simulates people: they answer, sometimes twice or wrongly, and they pause, resume and cancel.

use mow_core::inbox::{InboxItem, QuestionKind};
use mow_core::lead::{Command, Hold, Input, RunScope, Status};
use mow_core::phase::PhaseNumber;

use super::agents::is_agent_question;
use super::disk::Disk;
use super::world::{Sim, SimEvent};

impl Sim {
    /// Queues the faults that do not depend on what the run does.
    pub(crate) fn queue_faults(&mut self) {
        for _ in 0..self.scenario.faults.interventions {
            let after = self.rng.below(self.scenario.horizon);
            self.after(after, SimEvent::Intervene);
        }
        for _ in 0..self.scenario.faults.roadmap {
            let after = self.rng.below(self.scenario.horizon);
            self.after(after, SimEvent::Roadmap);
        }
        for _ in 0..self.link.faults.as_ref().map_or(0, |faults| faults.cuts) {
            let after = self.rng.below(self.scenario.horizon);
            self.after(after, SimEvent::CutLink);
        }
        for _ in 0..self.scenario.faults.stops {
            let after = self.rng.below(self.scenario.horizon);
            self.after(after, SimEvent::Hold);
        }
    }

    /// Queues the answer to a new question, sometimes twice.
    pub(crate) fn queue_answer(&mut self, item: &InboxItem) {
        let times = if self.scenario.silent { 0 } else { 1 + self.rng.below(8) / 7 };
        for _ in 0..times {
            let after = self.delay(40_000);
            self.after(after, SimEvent::Answer { item: item.id });
        }
    }

    pub(crate) fn answer(&mut self, id: u32) {
        let item = self.invariants.lead.inbox.items[&id].clone();
        let is_late = item.answer.is_some();
        if !is_late && self.rng.below(10) == 0 {
            let item = Command::Answer { item: id, text: "  ".to_owned() };
            self.command(item);
        }
        let refuses = self.scenario.faults.refusals > 0 && self.rng.below(8) == 0;
        let text = match item.ask.verdict(!refuses) {
            Some(_) if item.ask.kind.may_settle() || is_agent_question(item.ask.kind) => {
                self.choose(&item.ask.labels())
            }
            Some(_) if item.ask.kind == QuestionKind::MarkedDone => {
                item.ask.choices[1].label.clone()
            }
            Some(choice) => choice.to_owned(),
            None => "as you like".to_owned(),
        };
        match item.ask.kind {
            QuestionKind::Breaker => self.raise_budget(),
            QuestionKind::Failed => {
                item.phase.into_iter().for_each(|phase| self.raise_phase_budget(phase));
            }
            _ => {}
        }
        if let (Some(phase), false) = (item.phase, is_late) {
            if item.ask.kind == QuestionKind::Plans {
                self.scenario.disks.get_mut(&phase).unwrap().write_plans();
            }
            // A refusal to a worker is final; everything else can be resumed.
            let is_refused = InboxItem { answer: Some(text.clone()), ..item.clone() }.is_refused();
            if is_refused && !item.ask.kind.may_settle() {
                self.given_up.insert(phase);
            }
        }
        if refuses && !is_late {
            self.scenario.faults.refusals -= 1;
        }
        self.command(Command::Answer { item: id, text });
    }

    fn choose(&mut self, choices: &[&str]) -> String {
        choices[usize::try_from(self.rng.below(choices.len() as u64)).unwrap()].to_owned()
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.commands.push(command);
        let (generation, after) = (self.generation, self.read_delay(2_000));
        self.after(after, SimEvent::ReadCommands { generation });
    }

    fn any_phase(&mut self) -> PhaseNumber {
        let count = self.scenario.specs.len() as u64;
        PhaseNumber::whole(u32::try_from(1 + self.rng.below(count)).unwrap())
    }

    /// Pauses, resumes or cancels something.
    pub(crate) fn intervene(&mut self) {
        let number = self.any_phase();
        let phase = (self.rng.below(4) > 0).then_some(number);
        let command = match self.rng.below(4) {
            0 | 1 => Command::Pause { phase },
            2 => Command::Resume { phase },
            _ => Command::Cancel { phase: Some(number), now: self.rng.below(2) == 0 },
        };
        let undo = Command::Resume { phase: Some(number) };
        self.command(command);
        if self.rng.below(3) == 0 {
            self.command(undo);
        }
    }

    pub(crate) fn hold(&mut self) {
        let hold = if self.rng.below(2) == 0 { Hold::Draining } else { Hold::Stopping };
        self.inbox.push(Input::Hold(hold));
        let (generation, after) = (self.generation, self.delay(60_000));
        self.after(after, SimEvent::Restart { generation });
    }

    /// Changes the roadmap, or makes the lead reread it unchanged.
    pub(crate) fn change_roadmap(&mut self) {
        if self.rng.below(3) > 0 {
            let Self { scenario, rng, .. } = self;
            scenario.add(rng, |rng| Disk::roll(rng, 0));
        }
        if self.rng.below(3) == 0 {
            let number = self.any_phase();
            // A phase is wrongly ticked as done, or unticked. The lead believes it for a new phase.
            let is_known = self.invariants.lead.phases.contains_key(&number);
            if !self.scenario.ticked.remove(&number) && is_known {
                self.scenario.ticked.insert(number);
            }
        }
        let mut phases = self.scenario.specs_now();
        if self.rng.below(3) == 0 {
            // A phase is missing for a while, as in the middle of an edit.
            let count = phases.len() as u64;
            phases.remove(usize::try_from(self.rng.below(count)).unwrap());
            let (generation, input, after) = (self.generation, self.roadmap(), self.delay(9_000));
            self.after(after, SimEvent::Deliver { generation, input });
        }
        self.inbox.push(Input::Roadmap { scope: RunScope::All, phases });
    }

    pub(crate) fn roadmap(&self) -> Input {
        Input::Roadmap { scope: RunScope::All, phases: self.scenario.specs_now() }
    }

    /// Undoes what people did to a run that rests; returns whether there was anything to undo.
    pub(crate) fn undo_interventions(&mut self) -> bool {
        let lead = &self.invariants.lead;
        let stopped = |item: &&InboxItem| item.ask.kind == QuestionKind::Breaker;
        if lead.starts.breaker_open {
            let newest = lead.inbox.items.values().rfind(stopped).cloned();
            let command = match newest {
                Some(item) if item.answer.is_none() => {
                    Command::Answer { item: item.id, text: "continue".to_owned() }
                }
                Some(_) => Command::Resume { phase: None },
                None => {
                    self.broken = Some("the breaker is open and nobody was asked".to_owned());
                    return false;
                }
            };
            self.command(command);
            return true;
        }
        let rests = |status| matches!(status, Status::Paused | Status::Failed | Status::Cancelled);
        let wanted: Vec<_> = (lead.phases.values())
            .filter(|track| rests(track.status) && !self.given_up.contains(&track.spec.number))
            .map(|track| track.spec.number)
            .collect();
        for phase in &wanted {
            self.raise_phase_budget(*phase);
            self.command(Command::Resume { phase: Some(*phase) });
        }
        !wanted.is_empty()
    }
}

//! Simulated people: they answer, now and then twice or nonsense, and they meddle.

use mow_core::item::{Item, ItemKind};
use mow_core::lead::{Command, Hold, Input, Scope, Status};
use mow_core::phase::PhaseNumber;

use super::agents::is_of_agent;
use super::disk::Disk;
use super::world::{Happening, Sim};

impl Sim {
    /// Sends the trouble that comes at its own time.
    pub(crate) fn plan_trouble(&mut self) {
        for _ in 0..self.script.faults.meddling {
            let after = self.dice.below(self.script.horizon);
            self.after(after, Happening::Meddle);
        }
        for _ in 0..self.script.faults.roadmap {
            let after = self.dice.below(self.script.horizon);
            self.after(after, Happening::Roadmap);
        }
        for _ in 0..self.script.faults.stops {
            let after = self.dice.below(self.script.horizon);
            self.after(after, Happening::Hold);
        }
    }

    /// Sees a question and will answer it, perhaps twice.
    pub(crate) fn see(&mut self, item: &Item) {
        let times = if self.script.silent { 0 } else { 1 + self.dice.below(8) / 7 };
        for _ in 0..times {
            let after = self.delay(40_000);
            self.after(after, Happening::Answer { item: item.id });
        }
    }

    pub(crate) fn answer(&mut self, id: u32) {
        let item = self.ledger.lead.items[&id].clone();
        let is_late = item.answer.is_some();
        if !is_late && self.dice.below(10) == 0 {
            let item = Command::Answer { item: id, text: "  ".to_owned() };
            self.command(item);
        }
        let refuses = self.script.faults.refusals > 0 && self.dice.below(8) == 0;
        let text = match item.ask.verdict(!refuses) {
            Some(_) if item.ask.kind.may_settle() || is_of_agent(item.ask.kind) => {
                self.choose(&item.ask.choices)
            }
            Some(_) if item.ask.kind == ItemKind::Ticked => item.ask.choices[1].clone(),
            Some(choice) => choice.to_owned(),
            None => "as you like".to_owned(),
        };
        match item.ask.kind {
            ItemKind::Breaker => self.raise_budget(),
            ItemKind::Failed => item.phase.into_iter().for_each(|phase| self.fill_purse(phase)),
            _ => {}
        }
        if let (Some(phase), false) = (item.phase, is_late) {
            if item.ask.kind == ItemKind::Plans {
                self.script.disks.get_mut(&phase).unwrap().write_plans();
            }
            // What a worker is refused it is refused for good; the rest can be resumed.
            let is_refused = Item { answer: Some(text.clone()), ..item.clone() }.is_refused();
            if is_refused && !item.ask.kind.may_settle() {
                self.given_up.insert(phase);
            }
        }
        if refuses && !is_late {
            self.script.faults.refusals -= 1;
        }
        self.command(Command::Answer { item: id, text });
    }

    fn choose(&mut self, choices: &[String]) -> String {
        choices[usize::try_from(self.dice.below(choices.len() as u64)).unwrap()].clone()
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.commands.push(command);
        let (generation, after) = (self.generation, self.until_heard(2_000));
        self.after(after, Happening::ReadCommands { generation });
    }

    fn any_phase(&mut self) -> PhaseNumber {
        let count = self.script.specs.len() as u64;
        PhaseNumber::whole(u32::try_from(1 + self.dice.below(count)).unwrap())
    }

    /// Pauses, resumes or cancels something.
    pub(crate) fn meddle(&mut self) {
        let number = self.any_phase();
        let phase = (self.dice.below(4) > 0).then_some(number);
        let command = match self.dice.below(4) {
            0 | 1 => Command::Pause { phase },
            2 => Command::Resume { phase },
            _ => Command::Cancel { phase: Some(number) },
        };
        let undo = Command::Resume { phase: Some(number) };
        self.command(command);
        if self.dice.below(3) == 0 {
            self.command(undo);
        }
    }

    pub(crate) fn hold(&mut self) {
        let hold = if self.dice.below(2) == 0 { Hold::Draining } else { Hold::Stopping };
        self.inbox.push(Input::Hold(hold));
        let (generation, after) = (self.generation, self.delay(60_000));
        self.after(after, Happening::Restart { generation });
    }

    /// Changes the roadmap, or has it read once more as it is.
    pub(crate) fn change_roadmap(&mut self) {
        if self.dice.below(3) > 0 {
            let Self { script, dice, .. } = self;
            script.add(dice, |dice| Disk::roll(dice, 0));
        }
        if self.dice.below(3) == 0 {
            let number = self.any_phase();
            // The lie is told, or taken back. What is new to the run is believed.
            let is_known = self.ledger.lead.phases.contains_key(&number);
            if !self.script.ticked.remove(&number) && is_known {
                self.script.ticked.insert(number);
            }
        }
        let mut phases = self.script.specs_now();
        if self.dice.below(3) == 0 {
            // One is lost for a while, as when somebody is in the middle of an edit.
            let count = phases.len() as u64;
            phases.remove(usize::try_from(self.dice.below(count)).unwrap());
            let (generation, input, after) = (self.generation, self.roadmap(), self.delay(9_000));
            self.after(after, Happening::Deliver { generation, input });
        }
        self.inbox.push(Input::Roadmap { scope: Scope::All, phases });
    }

    pub(crate) fn roadmap(&self) -> Input {
        Input::Roadmap { scope: Scope::All, phases: self.script.specs_now() }
    }

    /// When nothing moves any more, puts right what people did; returns whether there was any.
    pub(crate) fn put_right(&mut self) -> bool {
        let lead = &self.ledger.lead;
        let stopped = |item: &&Item| item.ask.kind == ItemKind::Breaker;
        if lead.breaker {
            let newest = lead.items.values().rfind(stopped).cloned();
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
            self.fill_purse(*phase);
            self.command(Command::Resume { phase: Some(*phase) });
        }
        !wanted.is_empty()
    }
}

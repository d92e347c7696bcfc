//! Checks a journal against the rules that the lead decides by; it decides nothing itself.
//!
//! A journal that was written by the lead never breaks them. One that does was changed by somebody,
//! or shows a mistake in the lead.

#[cfg(test)]
mod tests;

use super::schedule::list;
use super::{Event, Lead, Status};
use crate::phase::PhaseNumber;

impl Lead {
    /// Checks that an event may come next; returns what it breaks, in one sentence.
    pub fn check(&self, event: &Event) -> Result<(), String> {
        match event {
            Event::Begun { .. } if !self.run.is_empty() => {
                Err("the run begins for the second time".to_owned())
            }
            Event::Begun { .. } => Ok(()),
            _ if self.run.is_empty() => Err("something happens before the run begins".to_owned()),
            Event::Intended { id, .. } if *id < self.next_effect => {
                Err(format!("effect {id} is begun for the second time"))
            }
            Event::Finished { id, .. } if !self.open.contains_key(id) => {
                Err(format!("effect {id} ends and was not under way"))
            }
            Event::Answered { item, .. } if !self.items.contains_key(item) => {
                Err(format!("question {item} is answered and was never asked"))
            }
            Event::Withdrawn { item } if !self.items.contains_key(item) => {
                Err(format!("question {item} is withdrawn and was never asked"))
            }
            Event::Asked { item } if self.items.contains_key(&item.id) => {
                Err(format!("question {} is asked for the second time", item.id))
            }
            Event::Commanded { seq, .. } if self.commands_through >= Some(*seq) => {
                Err(format!("command {seq} is obeyed for the second time"))
            }
            Event::Moved { phase, attempt, to, ahead, .. } => {
                self.check_move(*phase, *attempt, *to)?;
                let begins = *to == Status::Preparing;
                if begins { self.check_start(*phase, ahead.is_some()) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn check_move(&self, phase: PhaseNumber, attempt: u32, to: Status) -> Result<(), String> {
        let Some(track) = self.phases.get(&phase) else {
            return Err(format!("phase {phase} is none of the run's"));
        };
        let from = track.status;
        if !from.may_become(to) {
            let (from, to) = (from.name(), to.name());
            return Err(format!("phase {phase} goes from {from} to {to}, which it must not"));
        }
        let wanted = track.attempt + u32::from(to == Status::Preparing);
        if attempt != wanted {
            return Err(format!("phase {phase} has attempt {attempt} instead of {wanted}"));
        }
        Ok(())
    }

    fn check_start(&self, phase: PhaseNumber, ahead: bool) -> Result<(), String> {
        let track = &self.phases[&phase];
        let is_open = |number: &&PhaseNumber| {
            self.phases.get(number).is_some_and(|other| other.status != Status::Merged)
        };
        let open: Vec<_> = track.spec.depends_on.iter().filter(is_open).copied().collect();
        if ahead && open.is_empty() {
            return Err(format!("phase {phase} looks ahead and waits for nothing"));
        }
        if !open.is_empty() && !ahead {
            let open = list(&open);
            return Err(format!("phase {phase} starts before {open}, which it depends on"));
        }
        if self.live.len() >= self.settings.max_workers.max(1) {
            return Err(format!("phase {phase} starts without a free slot"));
        }
        if let Some((other, path)) = self.in_the_way(track).filter(|_| !ahead) {
            return Err(format!("phase {phase} starts beside {other}, which changes {path}, too"));
        }
        Ok(())
    }
}

//! Checks a journal against the rules of the lead. Decides nothing.
//!
//! A journal that the lead wrote never breaks them. One that does was edited, or shows a bug in the
//! lead.

#[cfg(test)]
mod tests;

use super::schedule::list;
use super::{Event, Lead, Status};
use crate::phase::PhaseNumber;

impl Lead {
    /// Checks that an event may come next; returns the broken rule in one sentence.
    pub fn check(&self, event: &Event) -> Result<(), String> {
        match event {
            Event::Begun { .. } if !self.run.is_empty() => {
                Err("the run begins a second time".to_owned())
            }
            Event::Begun { .. } => Ok(()),
            _ if self.run.is_empty() => {
                Err("an event is recorded before the run begins".to_owned())
            }
            Event::Intended { id, .. } if *id < self.effects.next_id => {
                Err(format!("effect {id} is begun a second time"))
            }
            Event::Finished { id, .. } if !self.effects.open.contains_key(id) => {
                Err(format!("effect {id} ends but was not running"))
            }
            Event::Answered { item, .. } if !self.inbox.items.contains_key(item) => {
                Err(format!("question {item} is answered but was never asked"))
            }
            Event::Withdrawn { item } if !self.inbox.items.contains_key(item) => {
                Err(format!("question {item} is withdrawn but was never asked"))
            }
            Event::Asked { item } if self.inbox.items.contains_key(&item.id) => {
                Err(format!("question {} is asked a second time", item.id))
            }
            Event::Commanded { seq, .. } if self.commands_through >= Some(*seq) => {
                Err(format!("command {seq} is carried out a second time"))
            }
            Event::StatusChanged { phase, attempt, to, ahead, .. } => {
                self.check_move(*phase, *attempt, *to)?;
                let begins = *to == Status::Preparing;
                if begins { self.check_start(*phase, ahead.is_some()) } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    fn check_move(&self, phase: PhaseNumber, attempt: u32, to: Status) -> Result<(), String> {
        let Some(state) = self.phases.get(&phase) else {
            return Err(format!("phase {phase} does not belong to the run"));
        };
        let from = state.status;
        if !from.may_become(to) {
            let (from, to) = (from.name(), to.name());
            return Err(format!("phase {phase} goes from {from} to {to}, which is not allowed"));
        }
        let wanted = state.attempt + u32::from(to == Status::Preparing);
        if attempt != wanted {
            return Err(format!("phase {phase} has attempt {attempt} instead of {wanted}"));
        }
        Ok(())
    }

    fn check_start(&self, phase: PhaseNumber, ahead: bool) -> Result<(), String> {
        let state = &self.phases[&phase];
        let is_open = |number: &&PhaseNumber| {
            self.phases.get(number).is_some_and(|other| other.status != Status::Merged)
        };
        let open: Vec<_> = state.spec.depends_on.iter().filter(is_open).copied().collect();
        if ahead && open.is_empty() {
            return Err(format!("phase {phase} looks ahead but has no open dependency"));
        }
        if !open.is_empty() && !ahead {
            let open = list(&open);
            return Err(format!("phase {phase} starts before {open}, which it depends on"));
        }
        if self.index.live.len() >= self.settings.max_workers.max(1) {
            return Err(format!("phase {phase} starts without a free slot"));
        }
        if let Some((other, path)) = self.blocking_phase(state).filter(|_| !ahead) {
            return Err(format!(
                "phase {phase} starts at the same time as {other}, which also changes {path}"
            ));
        }
        Ok(())
    }
}

//! What must hold after every batch of the lead, whatever happened before.

use std::collections::BTreeSet;

use mow_core::lead::{Effect, Event, Lead, Status};
use mow_core::machine::Machine as _;
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;

use super::agents::REST_MAX;
use super::fleet::Key;

/// What the lead has written down so far, followed event by event.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The lead that the journal gives.
    pub(crate) lead: Lead,
    /// Phases that are done and not merged yet.
    pub(crate) unmerged: BTreeSet<PhaseNumber>,
    reported: BTreeSet<(Key, u64)>,
    commands: u64,
    keys: BTreeSet<String>,
    /// Why nothing may be started before a person has decided.
    stopped: Option<&'static str>,
    /// Until when nothing may be started.
    not_before: u64,
}

impl Ledger {
    /// Takes in one event, as it was read back from the journal.
    pub(crate) fn take_in(&mut self, event: &Event, at: u64) -> Result<(), String> {
        match event {
            Event::Moved { phase, to, attempt, .. } => {
                self.check_move(*phase, *to, *attempt)?;
                match to {
                    Status::Complete | Status::Merging => self.unmerged.insert(*phase),
                    _ => self.unmerged.remove(phase),
                };
            }
            Event::Reported { phase, attempt, seq, .. } => {
                let track = &self.lead.phases[phase];
                if track.attempt != *attempt {
                    return Err(format!("phase {phase}: heard attempt {attempt} after its end"));
                }
                if !self.reported.insert(((*phase, *attempt), *seq)) {
                    return Err(format!("phase {phase}-{attempt}: record {seq} counted twice"));
                }
            }
            Event::Commanded { seq, .. } => {
                if *seq != self.commands + 1 {
                    return Err(format!("command {seq} after command {}", self.commands));
                }
                self.commands = *seq;
            }
            Event::Asked { item } => {
                let is_new = !self.lead.items.contains_key(&item.id);
                if !is_new || !self.keys.insert(item.ask.key.clone()) {
                    return Err(format!("question {} was put twice: {}", item.id, item.ask.key));
                }
            }
            Event::Answered { item, .. } if self.lead.items[item].answer.is_some() => {
                return Err(format!("question {item} was answered twice"));
            }
            Event::Withdrawn { item } => {
                self.keys.remove(&self.lead.items[item].ask.key);
            }
            Event::Intended { effect: Effect::Merge { phase, .. }, .. } => {
                let other = self.lead.open.values().find(|e| matches!(e, Effect::Merge { .. }));
                if other.is_some() {
                    return Err(format!("phase {phase} is merged while another merge is open"));
                }
            }
            _ => {}
        }
        self.check_start(event, at)?;
        self.lead.check(event)?;
        self.lead.apply(event, at);
        let longest = at + REST_MAX;
        match self.lead.not_before {
            Some(until) if until > longest.max(self.not_before) => {
                Err(format!("nothing is started for {} ms", until - at))
            }
            _ => Ok(()),
        }
    }

    /// Checks that nobody is started whom agents or money keep from work.
    fn check_start(&mut self, event: &Event, at: u64) -> Result<(), String> {
        match event {
            Event::Reported { report: Report::Throttled { until, .. }, .. } => {
                self.not_before = self.not_before.max((*until).min(at + REST_MAX));
            }
            Event::Reported { report: Report::Denied { .. }, .. } => {
                self.stopped = Some("agents cannot log in");
            }
            Event::Reported { report: Report::Spent(spent), .. } => {
                let mut all = self.lead.spent;
                all += spent.money;
                if self.lead.settings.budget.exceeded(&all).is_some() {
                    self.stopped = Some("the money is spent");
                }
            }
            Event::Breaker { open: false } => self.stopped = None,
            Event::Intended { effect: Effect::Prepare { phase, .. }, .. }
                if at < self.not_before =>
            {
                return Err(format!("phase {phase} is started {} ms early", self.not_before - at));
            }
            Event::Intended { effect: Effect::Prepare { .. } | Effect::Start { .. }, .. } => {
                if let Some(why) = self.stopped {
                    return Err(format!("something is started although {why}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check_move(&self, phase: PhaseNumber, to: Status, attempt: u32) -> Result<(), String> {
        let track = &self.lead.phases[&phase];
        let begins = u32::from(to == Status::Preparing);
        if !track.status.may_become(to) || attempt != track.attempt + begins {
            let (from, was) = (track.status, track.attempt);
            return Err(format!("phase {phase} went {from:?}/{was} -> {to:?}/{attempt}"));
        }
        Ok(())
    }

    /// Returns whether the lead counts on an attempt.
    pub(crate) fn is_live(&self, (phase, attempt): Key) -> bool {
        let track = self.lead.phases.get(&phase);
        track.is_some_and(|track| track.attempt == attempt && track.status.holds_slot())
    }

    /// Returns whether a record was read.
    pub(crate) fn has_heard(&self, key: Key, seq: u64) -> bool {
        self.reported.contains(&(key, seq))
    }

    /// Compares a lead with its journal, and its lists with its phases.
    pub(crate) fn check(&self, lead: &Lead) -> Result<(), String> {
        if self.lead != *lead {
            return Err("the journal gives another lead".to_owned());
        }
        let holds = lead.phases.values().filter(|track| track.status.holds_slot()).count();
        if holds > lead.settings.max_workers.max(1) {
            return Err(format!("{holds} of {} workers", lead.settings.max_workers));
        }
        let agents: usize = lead.live().map(|track| track.agents.max(1)).sum();
        if agents > lead.settings.max_agents {
            return Err(format!("{agents} of {} agents", lead.settings.max_agents));
        }
        lead.check_indices()
    }
}

//! Checks the invariants of the lead after every batch.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::inbox::{InboxItem, QuestionKey};
use mow_core::lead::{Effect, Event, Lead, Status};
use mow_core::machine::Machine as _;
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;

use super::agents::REST_MAX;
use super::worker_processes::Key;

/// The state that follows from the recorded events, to check each new event against.
#[derive(Debug, Default)]
pub(crate) struct RunInvariants {
    /// The lead as replayed from its journal.
    pub(crate) lead: Lead,
    /// Phases that are complete and not merged yet.
    pub(crate) unmerged: BTreeSet<PhaseNumber>,
    /// The records of each worker that were counted.
    reported: BTreeMap<Key, Vec<u64>>,
    /// The questions about each phase.
    questions: BTreeMap<PhaseNumber, Vec<u32>>,
    commands: u64,
    keys: BTreeSet<QuestionKey>,
    /// Why nothing may start before a person has decided.
    stopped: Option<&'static str>,
    /// The time before which nothing may start.
    not_before: u64,
}

impl RunInvariants {
    /// Checks and applies one event, as it was read back from the journal.
    pub(crate) fn apply_checked(&mut self, event: &Event, at: u64) -> Result<(), String> {
        match event {
            Event::StatusChanged { phase, to, attempt, .. } => {
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
                let counted = self.reported.entry((*phase, *attempt)).or_default();
                if counted.last().is_some_and(|last| last >= seq) {
                    return Err(format!("phase {phase}-{attempt}: record {seq} counted twice"));
                }
                counted.push(*seq);
            }
            Event::Commanded { seq, .. } => {
                if *seq != self.commands + 1 {
                    return Err(format!("command {seq} after command {}", self.commands));
                }
                self.commands = *seq;
            }
            Event::Asked { item } => {
                let is_new = !self.lead.inbox.items.contains_key(&item.id);
                if !is_new || !self.keys.insert(item.ask.key.clone()) {
                    return Err(format!("question {} was put twice: {}", item.id, item.ask.key));
                }
                if let Some(phase) = item.phase {
                    self.questions.entry(phase).or_default().push(item.id);
                }
            }
            Event::Answered { item, .. } if self.lead.inbox.items[item].answer.is_some() => {
                return Err(format!("question {item} was answered twice"));
            }
            Event::Withdrawn { item } => {
                self.keys.remove(&self.lead.inbox.items[item].ask.key);
            }
            Event::Intended { effect: Effect::Merge { phase, .. }, .. } => {
                let other =
                    self.lead.effects.open.values().find(|e| matches!(e, Effect::Merge { .. }));
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
        match self.lead.starts.not_before {
            Some(until) if until > longest.max(self.not_before) => {
                Err(format!("nothing is started for {} ms", until - at))
            }
            _ => Ok(()),
        }
    }

    /// Checks that no worker starts while agents are denied, throttled, or the budget is used up.
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

    /// Returns whether an attempt is the live one of its phase.
    pub(crate) fn is_live(&self, (phase, attempt): Key) -> bool {
        let track = self.lead.phases.get(&phase);
        track.is_some_and(|track| track.attempt == attempt && track.status.holds_slot())
    }

    /// Returns whether the lead has read a record of a worker.
    pub(crate) fn has_read(&self, key: Key, seq: u64) -> bool {
        self.reported.get(&key).is_some_and(|counted| counted.binary_search(&seq).is_ok())
    }

    /// Returns all questions about a phase, in the order in which they were put.
    pub(crate) fn questions_about(&self, phase: PhaseNumber) -> impl Iterator<Item = &InboxItem> {
        let ids = self.questions.get(&phase).into_iter().flatten();
        ids.map(|id| &self.lead.inbox.items[id])
    }

    /// Compares a lead with the replay of its journal, and its indexes with its phases.
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

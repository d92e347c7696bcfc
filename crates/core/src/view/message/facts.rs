//! What the contract messages need to know of earlier events.

use std::collections::BTreeMap;

use super::NONE;
use crate::lead::{Event, Lead, Status};
use crate::phase::PhaseNumber;
use crate::report::Report;

/// The facts about a run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunHistory {
    phases: BTreeMap<PhaseNumber, PhaseHistory>,
    /// The open questions that are about a phase.
    questions: BTreeMap<u32, PhaseNumber>,
}

/// The facts about a phase.
#[derive(Clone, Debug)]
pub(super) struct PhaseHistory {
    pub(super) status: Status,
    /// When the first full attempt began, in milliseconds since 1970.
    started: Option<u64>,
    /// The number of complete plans.
    pub(super) plans_done: usize,
    /// The plan that began last and is not complete.
    open_plan: Option<String>,
}

impl Default for PhaseHistory {
    fn default() -> Self {
        Self { status: Status::Waiting, started: None, plans_done: 0, open_plan: None }
    }
}

impl PhaseHistory {
    /// Returns the plan that is being carried out, or a dash.
    pub(super) fn plan(&self) -> &str {
        self.open_plan.as_deref().unwrap_or(NONE)
    }

    /// Returns the duration of the phase in minutes.
    pub(super) fn minutes(&self, now: u64) -> u64 {
        now.saturating_sub(self.started.unwrap_or(now)) / 60_000
    }
}

impl RunHistory {
    /// Returns the facts in a state of the lead.
    pub(super) fn of(lead: &Lead) -> Self {
        let phases = lead.phases.iter().map(|(number, state)| {
            let facts = PhaseHistory {
                status: state.status,
                started: state.started,
                plans_done: state.plans.0,
                open_plan: state.open_plans.keys().next().cloned(),
            };
            (*number, facts)
        });
        let questions = lead.inbox.open().filter_map(|item| Some((item.id, item.phase?)));
        Self { phases: phases.collect(), questions: questions.collect() }
    }

    /// Returns the facts about a phase.
    pub(super) fn phase(&self, number: PhaseNumber) -> PhaseHistory {
        self.phases.get(&number).cloned().unwrap_or_default()
    }

    /// Returns whether a question about the phase is open.
    pub(super) fn has_question(&self, phase: PhaseNumber) -> bool {
        self.questions.values().any(|about| *about == phase)
    }

    /// Returns the phase of a question if that is its only open one.
    pub(super) fn phase_of_last_question(&self, item: u32) -> Option<PhaseNumber> {
        let phase = *self.questions.get(&item)?;
        let count = self.questions.values().filter(|about| **about == phase).count();
        (count == 1).then_some(phase)
    }

    pub(super) fn apply(&mut self, event: &Event, at: u64) {
        match event {
            Event::StatusChanged { phase, to, ahead, .. } => {
                let facts = self.phases.entry(*phase).or_default();
                facts.status = *to;
                if *to == Status::Preparing {
                    facts.open_plan = None;
                    if ahead.is_none() {
                        facts.started.get_or_insert(at);
                    }
                }
            }
            Event::Reported { phase, report, .. } => {
                self.phases.entry(*phase).or_default().apply(report);
            }
            Event::Asked { item } => {
                self.questions.extend(item.phase.map(|phase| (item.id, phase)));
            }
            Event::Answered { item, .. } | Event::Withdrawn { item } => {
                self.questions.remove(item);
            }
            _ => {}
        }
    }
}

impl PhaseHistory {
    fn apply(&mut self, report: &Report) {
        match report {
            Report::Plans { done, .. } => self.plans_done = *done,
            Report::PlanStarted { plan, .. } => self.open_plan = Some(plan.clone()),
            Report::PlanDone { plan, .. } if self.open_plan.as_ref() == Some(plan) => {
                self.open_plan = None;
            }
            _ => {}
        }
    }
}

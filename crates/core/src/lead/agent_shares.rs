//! Divides the agents of a run among its workers.
//!
//! A worker is given its share when it starts. The share changes while the worker runs: a phase that
//! can start and finds no free agent gets one of a worker that has several, and a worker whose plans
//! could use more agents gets those that no phase wants. A worker gives an agent back only when one
//! of its tasks has ended, so the lead counts the larger number until the worker confirms.

use std::collections::BTreeSet;

use super::{Lead, PhaseState, Settings, Status, lookahead, schedule};
use crate::phase::PhaseNumber;

/// Returns how many agents the worker of a phase may run: an equal share of the free ones, divided
/// among all workers that may start while it runs. A look-ahead needs only one agent.
pub(super) fn share(lead: &Lead, phase: PhaseNumber) -> usize {
    if lead.phases.get(&phase).is_some_and(|state| state.through.is_some()) {
        return 1;
    }
    let free = lead.settings.max_agents.saturating_sub(lead.index.agents.given);
    let (wanting, look_aheads) = others_wanting_agents(lead, phase);
    // The phase itself is one of those that are starting.
    let sharing = lead.index.agents.starting.max(1) + wanting;
    (free.saturating_sub(look_aheads) / sharing).max(1)
}

/// Returns how many phases may want a free slot while a phase runs, and how many look-aheads could
/// begin in the other free slots.
fn others_wanting_agents(lead: &Lead, phase: PhaseNumber) -> (usize, usize) {
    let slots = lead.settings.max_workers.max(1).saturating_sub(lead.index.live.len());
    let own_dependents = lead.index.dependents.get(&phase);
    let is_free = |number: &&PhaseNumber| own_dependents.is_none_or(|own| !own.contains(number));
    let others = lead.index.live.iter().filter(|other| **other != phase);
    let dependents = others.filter_map(|other| lead.index.dependents.get(other)).flatten();
    let is_next = |number: &&PhaseNumber| lead.phases[*number].status == Status::Waiting;
    let ready = lead.index.ready.iter().map(|(_, number)| number);
    let soon: BTreeSet<_> =
        dependents.filter(is_next).filter(is_free).chain(ready).take(slots).collect();
    (soon.len(), lookahead::wanting(lead, slots - soon.len()))
}

/// Returns the next worker to tell a new number of agents, and this number.
pub(super) fn next_change(lead: &Lead) -> Option<(PhaseNumber, usize)> {
    if !lead.starts.is_open() || lead.live().any(|state| is_pending(lead, state)) {
        return None;
    }
    let Settings { max_agents, max_workers, .. } = lead.settings;
    match max_agents.saturating_sub(lead.agents_taken()) {
        0 if lead.index.live.len() < max_workers.max(1) => agent_to_give_back(lead),
        free => agents_to_add(lead, free),
    }
}

/// Returns whether a worker has yet to confirm its number of agents. A stuck worker may never do so.
fn is_pending(lead: &Lead, state: &PhaseState) -> bool {
    state.agents_told.is_some() && !lead.is_stuck(state.spec.number)
}

/// Returns whether a worker can be told a new number of agents.
fn can_change(lead: &Lead, state: &PhaseState) -> bool {
    state.status == Status::Running
        && state.through.is_none()
        && state.last_report.is_none()
        && state.halt.is_none()
        && state.agents_told.is_none()
        && !lead.is_stuck(state.spec.number)
}

/// Takes an agent from the worker that has most, for a phase that could start otherwise.
fn agent_to_give_back(lead: &Lead) -> Option<(PhaseNumber, usize)> {
    schedule::next_ready(lead).or_else(|| Some(lookahead::next(lead)?.0))?;
    let rich = lead.live().filter(|state| state.agents > 1 && can_change(lead, state));
    let richest = rich.max_by_key(|state| state.agents)?;
    Some((richest.spec.number, richest.agents - 1))
}

/// Gives agents that no other phase wants to the worker that has most plans without an agent.
fn agents_to_add(lead: &Lead, free: usize) -> Option<(PhaseNumber, usize)> {
    let can_use = |state: &PhaseState| {
        let (done, all) = state.plans;
        // A worker with one open plan has the agent that it needs.
        (all - done.min(all)).saturating_sub(state.agents)
    };
    let poor = lead.live().filter(|state| can_use(state) > 0 && can_change(lead, state));
    let poorest = poor.max_by_key(|state| can_use(state))?;
    let (wanting, look_aheads) = others_wanting_agents(lead, poorest.spec.number);
    let more = free.saturating_sub(wanting + look_aheads).min(can_use(poorest));
    (more > 0).then(|| (poorest.spec.number, poorest.agents + more))
}

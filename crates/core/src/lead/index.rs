//! Keeps the derived lists of a run up to date: which phases are ready, which waves are closed.
//!
//! Each change updates only the lists that it affects, so the cost of an event does not grow with the
//! number of phases. [`check_indices`] compares them with lists that are computed anew.

use std::collections::{BTreeMap, BTreeSet};

use super::lookahead;
use super::startable::{ReadyKey, StartablePhases};
use super::state::AgentShares;
use super::{Effect, Lead, PhaseSpec, PhaseState, Status};
use crate::file_scope::FileOwners;
use crate::phase::PhaseNumber;

/// Returns when the running worker of a phase is killed; `None` when it need not be.
pub(super) fn kill_time(lead: &Lead, phase: PhaseNumber) -> Option<u64> {
    lead.phases.get(&phase).filter(|state| state.status == Status::Running)?.kill_at
}

/// Computes all lists anew from the phases.
pub(super) fn rebuild(lead: &mut Lead) {
    lead.index.dependents = BTreeMap::new();
    let numbers: Vec<_> = lead.phases.keys().copied().collect();
    for number in &numbers {
        for dependency in lead.phases[number].spec.depends_on.clone() {
            if lead.phases.contains_key(&dependency) {
                lead.index.dependents.entry(dependency).or_default().push(*number);
            }
        }
    }
    let specs = lead.phases.values().map(|state| &state.spec);
    let waves = waves(specs.collect());
    for (number, wave) in waves {
        let counts = lead.phases[&number].spec.depends_on.iter().filter_map(|dependency| {
            lead.phases.get(dependency).map(|state| state.status != Status::Merged)
        });
        let unmet = counts.filter(|is_open| *is_open).count();
        let state = lead.phases.get_mut(&number).expect("the number comes from the map");
        (state.wave, state.unmet_dependencies, state.halted_dependencies) = (wave, unmet, 0);
    }
    let of_status = |status: Status| {
        let of = lead.phases.values().filter(move |state| state.status == status);
        of.map(|state| state.spec.number).collect::<BTreeSet<_>>()
    };
    lead.index.over_count = lead.phases.values().filter(|state| state.status.is_over()).count();
    let complete = of_status(Status::Complete).into_iter();
    let complete = complete.filter(|number| !lead.phases[number].is_left_out());
    lead.index.to_merge = complete.map(|number| (lead.phases[&number].wave, number)).collect();
    let dues = numbers.iter().filter_map(|number| Some((kill_time(lead, *number)?, *number)));
    lead.index.kill_times = dues.collect();
    let live = lead.phases.values().filter(|state| state.status.holds_slot());
    lead.index.live = live.map(|state| state.spec.number).collect();
    let ready = lead.phases.values().filter(|state| is_ready(state));
    lead.index.ready = ready.map(ready_key).collect();
    rebuild_files(lead);
    lead.index.agents = AgentShares::default();
    for state in lead.phases.values() {
        lead.index.agents.set(state.spec.number, agent_share(state));
    }
    let unblocked = lead.phases.values().filter(|state| is_unblocked(state));
    lead.index.unblocked = unblocked.map(|state| state.spec.number).collect();
    let pending = lead.phases.values().filter(|state| lookahead::is_pending(state));
    lead.index.lookahead_waiting = pending.map(|state| state.spec.number).collect();
    let is_halted = |state: &PhaseState| state.status.is_halted() || state.is_held();
    let halted: Vec<_> = numbers.iter().filter(|number| is_halted(&lead.phases[number])).collect();
    for number in halted {
        propagate_halt(lead, *number, true);
    }
    let candidates = lead.phases.values().filter(|state| lookahead::is_candidate(state));
    lead.index.lookahead_candidates =
        candidates.map(|state| (state.wave, state.spec.number)).collect();
    lead.index.open_phases_by_wave = BTreeMap::new();
    for state in lead.phases.values() {
        *lead.index.open_phases_by_wave.entry(state.wave).or_default() +=
            usize::from(!no_longer_blocks_wave(state));
    }
    lead.index.closed_waves = BTreeSet::new();
    for wave in lead.index.open_phases_by_wave.keys().copied().collect::<Vec<_>>() {
        update_closed_wave(lead, wave);
    }
}

/// Computes anew which files are claimed and wanted, and which ready phases can start.
fn rebuild_files(lead: &mut Lead) {
    let index = &mut lead.index;
    (index.claimed_files, index.wanted_files) = (FileOwners::default(), FileOwners::default());
    for state in lead.phases.values() {
        index.claimed_files.set(state.spec.number, state.claimed_files());
        index.wanted_files.set(state.spec.number, wanted(state));
    }
    index.startable = StartablePhases::default();
    for state in lead.phases.values().filter(|state| is_ready(state)) {
        index.startable.insert(ready_key(state), wanted(state), &index.claimed_files);
    }
}

/// Updates whether a wave is closed and has something to merge.
fn update_closed_wave(lead: &mut Lead, wave: usize) {
    let first = PhaseNumber::whole(0);
    let has_complete = lead.index.to_merge.range((wave, first)..(wave + 1, first)).next().is_some();
    let is_closed = lead.index.open_phases_by_wave.get(&wave).is_none_or(|count| *count == 0);
    set_membership(&mut lead.index.closed_waves, wave, has_complete && is_closed);
}

/// Returns the wave of each phase: one more than the latest wave of its dependencies.
///
/// Phases that depend on each other in a cycle, which a run refuses, get wave 1.
pub(super) fn waves(specs: Vec<&PhaseSpec>) -> BTreeMap<PhaseNumber, usize> {
    let mut waves: BTreeMap<_, _> = specs.iter().map(|spec| (spec.number, 1)).collect();
    let mut left = BTreeMap::new();
    let mut dependents: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for spec in specs {
        let dependencies = spec.depends_on.iter().filter(|number| waves.contains_key(number));
        left.insert(spec.number, dependencies.clone().count());
        for dependency in dependencies {
            dependents.entry(*dependency).or_default().push(spec.number);
        }
    }
    let mut free: Vec<_> = left.iter().filter(|(_, n)| **n == 0).map(|(n, _)| *n).collect();
    while let Some(number) = free.pop() {
        let next = waves[&number] + 1;
        for dependent in dependents.get(&number).into_iter().flatten() {
            let wave = waves.get_mut(dependent).expect("dependents are among the phases");
            *wave = next.max(*wave);
            let count = left.get_mut(dependent).expect("dependents are among the phases");
            *count -= 1;
            if *count == 0 {
                free.push(*dependent);
            }
        }
    }
    waves
}

/// Compares all derived values with values that are computed anew, and describes a difference.
pub(super) fn check_indices(lead: &Lead) -> Result<(), String> {
    let mut fresh = lead.clone();
    rebuild(&mut fresh);
    for state in fresh.phases.values_mut() {
        let is_own = |effect: &Effect| matches!(effect, Effect::CollectLookahead { phase, .. } if *phase == state.spec.number);
        state.collecting_lookahead = lead.effects.open.values().any(is_own);
    }
    fresh.effects.fast_forwarding =
        lead.effects.open.values().any(|effect| matches!(effect, Effect::FastForward { .. }));
    for state in fresh.phases.values_mut() {
        state.open_questions = 0;
        state.question_ids = Vec::new();
    }
    for (id, phase) in lead.inbox.items.values().filter_map(|item| Some((item.id, item.phase?))) {
        fresh.phases.entry(phase).and_modify(|state| state.question_ids.push(id));
    }
    for phase in lead.inbox.open().filter_map(|item| item.phase) {
        fresh.phases.entry(phase).and_modify(|state| state.open_questions += 1);
    }
    let mut merging = fresh.phases.values().filter(|state| state.status == Status::Merging);
    fresh.effects.merging = merging.next().map(|state| state.spec.number);
    if let Some(second) = merging.next() {
        return Err(format!(
            "phase {} is being merged at the same time as another",
            second.spec.number
        ));
    }
    fresh.inbox.open =
        lead.inbox.items.values().filter(|it| it.answer.is_none()).map(|it| it.id).collect();
    if fresh == *lead {
        return lead.index.startable.check(&lead.index.claimed_files, &lead.index.wanted_files);
    }
    let odd = fresh.phases.iter().find(|(number, state)| lead.phases.get(number) != Some(state));
    Err(format!(
        "the derived lists differ from computed ones: {:?}; ready {:?}/{:?}, live {:?}/{:?}, \
         to merge {:?}/{:?}, unsettled {:?}/{:?}, over {}/{}, merging {:?}/{:?}",
        odd.map(|(number, state)| (&lead.phases[number], state)),
        lead.index.ready,
        fresh.index.ready,
        lead.index.live,
        fresh.index.live,
        lead.index.to_merge,
        fresh.index.to_merge,
        lead.index.open_phases_by_wave,
        fresh.index.open_phases_by_wave,
        lead.index.over_count,
        fresh.index.over_count,
        lead.effects.merging,
        fresh.effects.merging,
    ))
}

fn is_ready(state: &PhaseState) -> bool {
    state.status == Status::Waiting && state.unmet_dependencies == 0 && !state.is_held()
}

/// Returns whether no dependency keeps a phase from starting that has something left to do.
fn is_unblocked(state: &PhaseState) -> bool {
    state.unmet_dependencies == 0 && !state.status.is_over() && !state.is_held()
}

/// Returns how many agents the worker of a phase may run; `None` if the phase holds no slot.
fn agent_share(state: &PhaseState) -> Option<usize> {
    state.status.holds_slot().then_some(state.agents)
}

/// Returns the files that a ready phase would change.
fn wanted(state: &PhaseState) -> &[String] {
    state.files().filter(|_| is_ready(state)).unwrap_or_default()
}

/// Returns the sort key among the ready phases: phases that have executed come first.
fn ready_key(state: &PhaseState) -> ReadyKey {
    (!state.has_executed, state.spec.number)
}

/// Updates in which lists a phase is: ready, look-ahead candidates, files claimed and wanted.
pub(super) fn update_memberships(lead: &mut Lead, number: PhaseNumber) {
    let state = &lead.phases[&number];
    let index = &mut lead.index;
    set_membership(&mut index.ready, ready_key(state), is_ready(state));
    set_membership(&mut index.unblocked, number, is_unblocked(state));
    let candidate = (state.wave, number);
    set_membership(&mut index.lookahead_candidates, candidate, lookahead::is_candidate(state));
    set_membership(&mut index.lookahead_waiting, number, lookahead::is_pending(state));
    index.agents.set(number, agent_share(state));
    index.wanted_files.set(number, wanted(state));
    if index.claimed_files.set(number, state.claimed_files()) {
        index.startable.claim_changed(number, &index.claimed_files, &index.wanted_files);
    }
    match is_ready(state) {
        true => index.startable.insert(ready_key(state), wanted(state), &index.claimed_files),
        false => index.startable.remove(ready_key(state)),
    }
}

/// Returns whether the wave of a phase may close: the phase is complete or cannot continue.
fn no_longer_blocks_wave(state: &PhaseState) -> bool {
    match state.status {
        _ if state.is_held() => true,
        Status::Complete | Status::Merging | Status::Merged => true,
        Status::Waiting => state.halted_dependencies > 0,
        status => status.is_halted(),
    }
}

/// Returns whether the dependents of a phase wait for something that only a person can move.
fn blocks_dependents(state: &PhaseState) -> bool {
    let waits = state.status == Status::Waiting && state.halted_dependencies > 0;
    state.status.is_halted() || waits || state.is_held()
}

pub(super) fn set_status(lead: &mut Lead, number: PhaseNumber, to: Status) {
    let Some(state) = lead.phases.get_mut(&number) else { return };
    let (from, was_halting, was_settled) =
        (state.status, blocks_dependents(state), no_longer_blocks_wave(state));
    state.status = to;
    let (is_halting, wave) = (blocks_dependents(state), state.wave);
    let may_merge = to == Status::Complete && !state.is_left_out();
    update_memberships(lead, number);
    set_membership(&mut lead.index.live, number, to.holds_slot());
    set_worker_number(lead, number);
    set_membership(&mut lead.index.to_merge, (wave, number), may_merge);
    recount_wave(lead, number, was_settled);
    if to == Status::Failed && from != Status::Failed {
        lead.starts.failures += 1;
    }
    if was_halting != is_halting {
        propagate_halt(lead, number, is_halting);
    }
    lead.index.over_count =
        lead.index.over_count + usize::from(to.is_over()) - usize::from(from.is_over());
    if from.is_over() && !to.is_over() {
        lead.target.is_closed = false;
    }
    if to == Status::Merged && from != Status::Merged {
        for dependent in lead.index.dependents.get(&number).cloned().unwrap_or_default() {
            if let Some(state) = lead.phases.get_mut(&dependent) {
                state.unmet_dependencies = state.unmet_dependencies.saturating_sub(1);
                update_memberships(lead, dependent);
            }
        }
    }
}

/// Gives a phase with a worker the lowest free number, and takes the number of one without.
fn set_worker_number(lead: &mut Lead, number: PhaseNumber) {
    let taken: BTreeSet<_> = lead.live().filter_map(|state| state.worker_number).collect();
    let Some(state) = lead.phases.get_mut(&number) else { return };
    state.worker_number = match state.worker_number {
        _ if !state.status.holds_slot() => None,
        None => (1..).find(|free| !taken.contains(free)),
        given => given,
    };
}

fn set_membership<T: Ord>(set: &mut BTreeSet<T>, member: T, is_in: bool) {
    if is_in {
        set.insert(member);
    } else {
        set.remove(&member);
    }
}

/// Updates the count of open phases of a wave after a phase changed.
fn recount_wave(lead: &mut Lead, number: PhaseNumber, was_settled: bool) {
    let state = &lead.phases[&number];
    let wave = state.wave;
    let count = lead.index.open_phases_by_wave.entry(wave).or_default();
    match (was_settled, no_longer_blocks_wave(state)) {
        (false, true) => *count = count.saturating_sub(1),
        (true, false) => *count += 1,
        _ => {}
    }
    update_closed_wave(lead, wave);
}

/// Updates all transitive dependents after a phase halted or continued.
fn propagate_halt(lead: &mut Lead, number: PhaseNumber, halting: bool) {
    let mut queue = vec![number];
    while let Some(number) = queue.pop() {
        for dependent in lead.index.dependents.get(&number).cloned().unwrap_or_default() {
            let Some(state) = lead.phases.get_mut(&dependent) else { continue };
            let (was_halting, was_settled) =
                (blocks_dependents(state), no_longer_blocks_wave(state));
            state.halted_dependencies = if halting {
                state.halted_dependencies + 1
            } else {
                state.halted_dependencies.saturating_sub(1)
            };
            if blocks_dependents(state) != was_halting {
                queue.push(dependent);
            }
            recount_wave(lead, dependent, was_settled);
            update_memberships(lead, dependent);
        }
    }
}

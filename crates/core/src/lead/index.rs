//! The lists that scheduling asks for, kept up to date with each change: which phases are ready, which
//! wave is closed. So the cost of an event does not grow with the number of phases.

use std::collections::{BTreeMap, BTreeSet};

use super::ahead;
use super::{Effect, Lead, PhaseSpec, Status, Track};
use crate::phase::PhaseNumber;
use crate::touch::Owners;

/// Returns when the worker of a phase is ended by force, if it is at work.
pub(super) fn due(lead: &Lead, phase: PhaseNumber) -> Option<u64> {
    lead.phases.get(&phase).filter(|track| track.status == Status::Running)?.due
}

/// Computes all lists from the phases themselves.
pub(super) fn reindex(lead: &mut Lead) {
    lead.dependents = BTreeMap::new();
    let numbers: Vec<_> = lead.phases.keys().copied().collect();
    for number in &numbers {
        for dependency in lead.phases[number].spec.depends_on.clone() {
            if lead.phases.contains_key(&dependency) {
                lead.dependents.entry(dependency).or_default().push(*number);
            }
        }
    }
    let specs = lead.phases.values().map(|track| &track.spec);
    let waves = waves(specs.collect());
    for (number, wave) in waves {
        let counts = lead.phases[&number].spec.depends_on.iter().filter_map(|dependency| {
            lead.phases.get(dependency).map(|track| track.status != Status::Merged)
        });
        let unmet = counts.filter(|is_open| *is_open).count();
        let track = lead.phases.get_mut(&number).expect("the number comes from the map");
        (track.wave, track.unmet, track.halted_deps) = (wave, unmet, 0);
    }
    let of_status = |status: Status| {
        let of = lead.phases.values().filter(move |track| track.status == status);
        of.map(|track| track.spec.number).collect::<BTreeSet<_>>()
    };
    lead.over = lead.phases.values().filter(|track| track.status.is_over()).count();
    let complete = of_status(Status::Complete).into_iter();
    lead.to_merge = complete.map(|number| (lead.phases[&number].wave, number)).collect();
    let dues = numbers.iter().filter_map(|number| Some((due(lead, *number)?, *number)));
    lead.dues = dues.collect();
    let live = lead.phases.values().filter(|track| track.status.holds_slot());
    lead.live = live.map(|track| track.spec.number).collect();
    let ready = lead.phases.values().filter(|track| is_ready(track));
    lead.ready = ready.map(ready_key).collect();
    (lead.claims, lead.wants) = (Owners::default(), Owners::default());
    for track in lead.phases.values() {
        lead.claims.set(track.spec.number, track.claim());
        lead.wants.set(track.spec.number, wanted(track));
    }
    let pending = lead.phases.values().filter(|track| ahead::is_pending(track));
    lead.pending = pending.map(|track| track.spec.number).collect();
    let halted: Vec<_> = numbers.iter().filter(|n| lead.phases[n].status.is_halted()).collect();
    for number in halted {
        spread_halt(lead, *number, true);
    }
    let candidates = lead.phases.values().filter(|track| ahead::is_candidate(track));
    lead.candidates = candidates.map(|track| (track.wave, track.spec.number)).collect();
    lead.unsettled = BTreeMap::new();
    for track in lead.phases.values() {
        *lead.unsettled.entry(track.wave).or_default() += usize::from(!is_settled(track));
    }
    lead.closed_waves = BTreeSet::new();
    for wave in lead.unsettled.keys().copied().collect::<Vec<_>>() {
        close_wave(lead, wave);
    }
}

/// Keeps in mind whether a wave is closed and has something to merge.
fn close_wave(lead: &mut Lead, wave: usize) {
    let first = PhaseNumber::whole(0);
    let has_complete = lead.to_merge.range((wave, first)..(wave + 1, first)).next().is_some();
    let is_closed = lead.unsettled.get(&wave).is_none_or(|count| *count == 0);
    set_member(&mut lead.closed_waves, wave, has_complete && is_closed);
}

/// Returns the wave of each phase: one more than the latest wave of what it depends on.
///
/// Phases in a circle, which a run refuses, have wave 1.
pub(super) fn waves(specs: Vec<&PhaseSpec>) -> BTreeMap<PhaseNumber, usize> {
    let mut waves: BTreeMap<_, _> = specs.iter().map(|spec| (spec.number, 1)).collect();
    let mut left = BTreeMap::new();
    let mut dependents: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for spec in specs {
        let known = spec.depends_on.iter().filter(|number| waves.contains_key(number));
        left.insert(spec.number, known.clone().count());
        for dependency in known {
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

/// Compares everything that is kept up to date with what it would be if it were computed anew.
pub(super) fn check_indices(lead: &Lead) -> Result<(), String> {
    let mut fresh = lead.clone();
    reindex(&mut fresh);
    for track in fresh.phases.values_mut() {
        let is_own = |effect: &Effect| matches!(effect, Effect::Gather { phase, .. } if *phase == track.spec.number);
        track.gathering = lead.open.values().any(is_own);
    }
    fresh.following = lead.open.values().any(|effect| matches!(effect, Effect::Follow { .. }));
    for track in fresh.phases.values_mut() {
        track.open_items = 0;
        track.items = Vec::new();
    }
    for (id, phase) in lead.items.values().filter_map(|item| Some((item.id, item.phase?))) {
        fresh.phases.entry(phase).and_modify(|track| track.items.push(id));
    }
    for phase in lead.open_items().filter_map(|item| item.phase) {
        fresh.phases.entry(phase).and_modify(|track| track.open_items += 1);
    }
    let mut merging = fresh.phases.values().filter(|track| track.status == Status::Merging);
    fresh.merging = merging.next().map(|track| track.spec.number);
    if let Some(second) = merging.next() {
        return Err(format!("phase {} is being merged besides another", second.spec.number));
    }
    if fresh == *lead {
        return Ok(());
    }
    let odd = fresh.phases.iter().find(|(number, track)| lead.phases.get(number) != Some(track));
    Err(format!(
        "kept lists differ from computed ones: {:?}; ready {:?}/{:?}, live {:?}/{:?}, \
         to merge {:?}/{:?}, unsettled {:?}/{:?}, over {}/{}, merging {:?}/{:?}",
        odd.map(|(number, track)| (&lead.phases[number], track)),
        lead.ready,
        fresh.ready,
        lead.live,
        fresh.live,
        lead.to_merge,
        fresh.to_merge,
        lead.unsettled,
        fresh.unsettled,
        lead.over,
        fresh.over,
        lead.merging,
        fresh.merging,
    ))
}

fn is_ready(track: &Track) -> bool {
    track.status == Status::Waiting && track.unmet == 0
}

/// Returns the files that a phase would change if it were let start.
fn wanted(track: &Track) -> &[String] {
    track.touches().filter(|_| is_ready(track)).unwrap_or_default()
}

/// Returns where a phase stands among those that may start.
fn ready_key(track: &Track) -> (bool, PhaseNumber) {
    (!track.executed, track.spec.number)
}

/// Keeps in mind whether a phase may start, could be taken ahead, or keeps files for itself.
pub(super) fn relist(lead: &mut Lead, number: PhaseNumber) {
    let track = &lead.phases[&number];
    set_member(&mut lead.ready, ready_key(track), is_ready(track));
    let candidate = (track.wave, number);
    set_member(&mut lead.candidates, candidate, ahead::is_candidate(track));
    set_member(&mut lead.pending, number, ahead::is_pending(track));
    lead.claims.set(number, track.claim());
    lead.wants.set(number, wanted(track));
}

/// Whether a phase keeps its wave open no longer: it is through, or it waits in vain.
fn is_settled(track: &Track) -> bool {
    match track.status {
        Status::Complete | Status::Merging | Status::Merged => true,
        Status::Waiting => track.halted_deps > 0,
        status => status.is_halted(),
    }
}

/// Whether the phases that depend on this one wait in vain.
fn halts_others(track: &Track) -> bool {
    track.status.is_halted() || (track.status == Status::Waiting && track.halted_deps > 0)
}

pub(super) fn set_status(lead: &mut Lead, number: PhaseNumber, to: Status) {
    let Some(track) = lead.phases.get_mut(&number) else { return };
    let (from, was_halting, was_settled) = (track.status, halts_others(track), is_settled(track));
    track.status = to;
    let (is_halting, wave) = (halts_others(track), track.wave);
    relist(lead, number);
    set_member(&mut lead.live, number, to.holds_slot());
    set_member(&mut lead.to_merge, (wave, number), to == Status::Complete);
    settle(lead, number, was_settled);
    if to == Status::Failed && from != Status::Failed {
        lead.failures += 1;
    }
    if was_halting != is_halting {
        spread_halt(lead, number, is_halting);
    }
    lead.over = lead.over + usize::from(to.is_over()) - usize::from(from.is_over());
    if from.is_over() && !to.is_over() {
        lead.closed = false;
    }
    if to == Status::Merged && from != Status::Merged {
        for dependent in lead.dependents.get(&number).cloned().unwrap_or_default() {
            if let Some(track) = lead.phases.get_mut(&dependent) {
                track.unmet = track.unmet.saturating_sub(1);
                relist(lead, dependent);
            }
        }
    }
}

fn set_member<T: Ord>(set: &mut BTreeSet<T>, member: T, is_in: bool) {
    if is_in {
        set.insert(member);
    } else {
        set.remove(&member);
    }
}

/// Corrects the count of a phase's wave after a change.
fn settle(lead: &mut Lead, number: PhaseNumber, was_settled: bool) {
    let track = &lead.phases[&number];
    let wave = track.wave;
    let count = lead.unsettled.entry(wave).or_default();
    match (was_settled, is_settled(track)) {
        (false, true) => *count = count.saturating_sub(1),
        (true, false) => *count += 1,
        _ => {}
    }
    close_wave(lead, wave);
}

/// Tells the phases behind a phase that it halts, or that it does not any more.
fn spread_halt(lead: &mut Lead, number: PhaseNumber, halting: bool) {
    let mut queue = vec![number];
    while let Some(number) = queue.pop() {
        for dependent in lead.dependents.get(&number).cloned().unwrap_or_default() {
            let Some(track) = lead.phases.get_mut(&dependent) else { continue };
            let (was_halting, was_settled) = (halts_others(track), is_settled(track));
            track.halted_deps =
                if halting { track.halted_deps + 1 } else { track.halted_deps.saturating_sub(1) };
            if halts_others(track) != was_halting {
                queue.push(dependent);
            }
            settle(lead, dependent, was_settled);
            relist(lead, dependent);
        }
    }
}

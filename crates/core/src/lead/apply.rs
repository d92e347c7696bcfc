//! Makes events part of the state. Nothing here can fail, and nothing decides.
//!
//! What scheduling asks for is kept up to date with each change (which phases are ready, which wave
//! is closed), so that the cost of an event does not grow with the number of phases.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Event, Hold, Lead, Outcome, PhaseSpec, Status, Track};
use crate::item::Item;
use crate::phase::PhaseNumber;
use crate::report::{Halt, Report};

/// How long a worker may take to end after its last word.
const EXIT_GRACE_MS: u64 = 10_000;
/// How long a worker may take to end after it was cancelled.
const CANCEL_GRACE_MS: u64 = 30_000;

pub(super) fn apply(lead: &mut Lead, event: &Event, at: u64) {
    let phase = event.phase();
    let before = phase.and_then(|phase| due(lead, phase));
    change(lead, event, at);
    let after = phase.and_then(|phase| due(lead, phase));
    if let Some(phase) = phase.filter(|_| before != after) {
        before.map(|due| lead.dues.remove(&(due, phase)));
        after.map(|due| lead.dues.insert((due, phase)));
    }
}

/// Returns when the worker of a phase is ended by force, if it is at work.
fn due(lead: &Lead, phase: PhaseNumber) -> Option<u64> {
    lead.phases.get(&phase).filter(|track| track.status == Status::Running)?.due
}

fn change(lead: &mut Lead, event: &Event, at: u64) {
    match event {
        Event::Begun { run, target, tip } => {
            lead.run.clone_from(run);
            lead.target.clone_from(target);
            lead.tip.clone_from(tip);
            lead.followed = Some(tip.clone());
        }
        Event::TakenUp { settings } => {
            lead.settings.clone_from(settings);
            lead.hold = Hold::None;
        }
        Event::Planned { scope, phases } => {
            lead.scope = *scope;
            plan(lead, phases, at);
        }
        Event::Intended { id, effect } => intend(lead, *id, effect, at),
        Event::Finished { id, outcome } => finish(lead, *id, outcome),
        Event::Reported { phase, seq, report, .. } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.read_through = Some(*seq);
                note(track, report, at);
            }
        }
        Event::Moved { phase, attempt, to, why } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                begin_attempt(track, *attempt);
                track.why.clone_from(why);
                track.since = at;
                set_status(lead, *phase, *to);
            }
        }
        Event::Halted { phase, how } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.halt = Some(*how);
                if *how == Halt::Cancelled && track.last.is_none() {
                    track.due = Some(at + CANCEL_GRACE_MS);
                }
            }
        }
        Event::Unhalted { phase } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.halt = None;
                track.due = track.due.filter(|_| track.last.is_some());
            }
        }
        Event::Died { phase } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.deaths += 1;
            }
        }
        Event::Noted { .. } => {}
        Event::Asked { item } => ask(lead, item),
        Event::Answered { item, text } => answer(lead, *item, text),
        Event::Withdrawn { item } => withdraw(lead, *item),
        Event::Commanded { seq, .. } => lead.commands_through = Some(*seq),
        Event::Breaker { open } => {
            lead.breaker = *open;
            lead.failures = 0;
        }
        Event::Held { hold } => lead.hold = *hold,
    }
}

/// Forgets what belonged to an older attempt.
fn begin_attempt(track: &mut Track, attempt: u32) {
    if attempt != track.attempt {
        track.attempt = attempt;
        track.last = None;
        track.halt = None;
        track.read_through = None;
        track.told = 0;
        track.due = None;
        track.at = None;
        track.asked = 0;
        track.commit = None;
    }
}

fn note(track: &mut Track, report: &Report, at: u64) {
    match report {
        Report::Stage { to, .. } => track.stage = Some(*to),
        Report::Plans { done, total } => track.plans = (*done, *total),
        Report::PlanStarted { plan, tasks } => track.at = Some((plan.clone(), 0, *tasks)),
        Report::TaskDone { task, .. } => {
            track.deaths = 0;
            if let Some((_, done, _)) = &mut track.at {
                *done = *task;
            }
        }
        Report::PlanDone { .. } => track.deaths = 0,
        _ => {}
    }
    if report.is_last() {
        track.last = Some(report.clone());
        track.due = Some(at + EXIT_GRACE_MS);
        if let Report::Complete { commit } = report {
            track.commit = Some(commit.clone());
        }
    }
}

fn intend(lead: &mut Lead, id: u64, effect: &Effect, at: u64) {
    lead.next_effect = id + 1;
    lead.open.insert(id, effect.clone());
    match effect {
        Effect::Prepare { phase, .. } => {
            lead.last_start = Some(at);
            if let Some(track) = lead.phases.get_mut(phase) {
                track.started.get_or_insert(at);
            }
        }
        Effect::Tell { phase, n, .. } => {
            if let Some(track) = lead.phases.get_mut(phase) {
                track.told = *n;
            }
        }
        Effect::Merge { phase, .. } => lead.merging = Some(*phase),
        Effect::Follow { .. } => lead.following = true,
        _ => {}
    }
}

fn finish(lead: &mut Lead, id: u64, outcome: &Outcome) {
    let effect = lead.open.remove(&id);
    lead.following &= !matches!(effect, Some(Effect::Follow { .. }));
    match (effect, outcome) {
        (Some(Effect::Merge { .. }), outcome) => {
            lead.merging = None;
            if let Outcome::Merged { commit, .. } = outcome {
                lead.tip.clone_from(commit);
                lead.follow_refused = None;
                lead.closed = false;
            }
        }
        (Some(Effect::Follow { commit, .. }), Outcome::Refused { reason, command }) => {
            lead.followed = Some(commit);
            lead.follow_refused = Some((reason.clone(), command.clone()));
        }
        (Some(Effect::Follow { commit, .. }), Outcome::Failed { reason }) => {
            lead.followed = Some(commit);
            lead.follow_refused = Some((reason.clone(), String::new()));
        }
        // The branch had moved by itself, and what it has is part of the run now.
        (Some(Effect::Follow { .. }), Outcome::Merged { commit, .. }) => {
            lead.tip.clone_from(commit);
            lead.followed = Some(commit.clone());
            lead.follow_refused = None;
        }
        (Some(Effect::Follow { commit, .. }), _) => {
            lead.followed = Some(commit);
            lead.follow_refused = None;
        }
        (Some(Effect::Close { .. }), outcome) => {
            lead.closed = true;
            if let Outcome::Merged { commit, .. } = outcome {
                lead.tip.clone_from(commit);
            }
        }
        _ => {}
    }
}

fn ask(lead: &mut Lead, item: &Item) {
    if let Some(track) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        track.items.push(item.id);
        track.open_items += 1;
        track.asked += 1;
    }
    lead.asked.insert(item.ask.key.clone(), item.id);
    lead.items.insert(item.id, item.clone());
}

fn answer(lead: &mut Lead, id: u32, text: &str) {
    let Some(item) = lead.items.get_mut(&id).filter(|item| item.answer.is_none()) else { return };
    item.answer = Some(text.to_owned());
    if let Some(track) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        track.open_items = track.open_items.saturating_sub(1);
    }
}

/// Closes a question so that nobody takes it for answered, and that it can be put again.
fn withdraw(lead: &mut Lead, id: u32) {
    answer(lead, id, "no longer asked");
    if let Some(item) = lead.items.get(&id) {
        lead.asked.remove(&item.ask.key);
    }
}

/// Takes over what the roadmap says about the phases, and builds the lists anew.
fn plan(lead: &mut Lead, specs: &[PhaseSpec], at: u64) {
    for spec in specs {
        let fresh = || Track {
            spec: spec.clone(),
            status: Status::Waiting,
            why: "chosen for this run".to_owned(),
            since: at,
            started: None,
            attempt: 0,
            deaths: 0,
            stage: None,
            plans: (0, 0),
            at: None,
            last: None,
            halt: None,
            commit: None,
            wave: 1,
            read_through: None,
            told: 0,
            due: None,
            unmet: 0,
            halted_deps: 0,
            items: Vec::new(),
            open_items: 0,
            asked: 0,
        };
        lead.phases.entry(spec.number).or_insert_with(fresh).spec = spec.clone();
    }
    lead.closed = false;
    reindex(lead);
}

/// Computes all lists from the phases themselves.
fn reindex(lead: &mut Lead) {
    lead.dependents = BTreeMap::new();
    let numbers: Vec<_> = lead.phases.keys().copied().collect();
    for number in &numbers {
        for dependency in lead.phases[number].spec.depends_on.clone() {
            if lead.phases.contains_key(&dependency) {
                lead.dependents.entry(dependency).or_default().push(*number);
            }
        }
    }
    let waves = waves(lead, &numbers);
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
    lead.ready = ready.map(|track| track.spec.number).collect();
    let halted: Vec<_> = numbers.iter().filter(|n| lead.phases[n].status.is_halted()).collect();
    for number in halted {
        spread_halt(lead, *number, true);
    }
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
fn waves(lead: &Lead, numbers: &[PhaseNumber]) -> BTreeMap<PhaseNumber, usize> {
    let in_run = |number: &PhaseNumber| {
        let known = lead.phases[number].spec.depends_on.iter();
        known.filter(|dependency| lead.phases.contains_key(dependency)).count()
    };
    let mut left: BTreeMap<_, _> = numbers.iter().map(|n| (*n, in_run(n))).collect();
    let mut waves: BTreeMap<_, _> = numbers.iter().map(|n| (*n, 1)).collect();
    let mut free: Vec<_> = numbers.iter().copied().filter(|n| left[n] == 0).collect();
    while let Some(number) = free.pop() {
        let next = waves[&number] + 1;
        for dependent in lead.dependents.get(&number).into_iter().flatten() {
            let wave = waves.get_mut(dependent).expect("dependents are phases of the run");
            *wave = next.max(*wave);
            let count = left.get_mut(dependent).expect("dependents are phases of the run");
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

fn set_status(lead: &mut Lead, number: PhaseNumber, to: Status) {
    let Some(track) = lead.phases.get_mut(&number) else { return };
    let (from, was_halting, was_settled) = (track.status, halts_others(track), is_settled(track));
    track.status = to;
    let (is_halting, is_ready, wave) = (halts_others(track), is_ready(track), track.wave);
    set_member(&mut lead.live, number, to.holds_slot());
    set_member(&mut lead.ready, number, is_ready);
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
                let now_ready = self::is_ready(track);
                set_member(&mut lead.ready, dependent, now_ready);
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
        }
    }
}

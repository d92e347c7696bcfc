//! What may happen next: starts, merges, following, closing. One thing at a time, until at rest.

use std::collections::BTreeSet;

use super::ahead;
use super::decide::Draft;
use super::{Effect, Event, Hold, Lead, Settings, Status};
use crate::machine::Decision;
use crate::phase::PhaseNumber;
use crate::stage::Stage;

/// How often the target branch follows while phases are at work.
const FOLLOW_EVERY_MS: u64 = 1_000;

/// One thing that may happen next.
enum Next {
    /// A worker does not end by itself.
    End(PhaseNumber),
    Merge(PhaseNumber),
    Start(PhaseNumber),
    LookAhead(PhaseNumber, Stage),
    /// It would be started, and the roadmap calls it done.
    Doubt(PhaseNumber),
    Close,
    Follow,
}

pub(super) fn follow_up(lead: &Lead, now: u64) -> Decision<Event, (u64, Effect)> {
    let mut draft = Draft::new(lead);
    match next(lead, now) {
        Some(Next::End(phase)) => {
            draft.move_to(phase, Status::Ending, "its worker did not end by itself");
            let attempt = lead.phases[&phase].attempt;
            draft.intend(Effect::End { phase, attempt });
        }
        Some(Next::Merge(phase)) => {
            let track = &lead.phases[&phase];
            let why = if lead.settings.merge_at_once {
                "it is complete".to_owned()
            } else if lead.closed_waves.contains(&track.wave) {
                format!("wave {} is closed", track.wave)
            } else {
                "another phase that changes the same files waits for it".to_owned()
            };
            draft.move_to(phase, Status::Merging, &why);
            let commit = track.commit.clone().unwrap_or_default();
            let (attempt, onto) = (track.attempt, lead.tip.clone());
            let (spent, alone) = (track.spent, lead.breaker);
            draft.intend(Effect::Merge { phase, attempt, commit, onto, spent, alone });
        }
        Some(Next::Start(phase)) => start(&mut draft, phase),
        Some(Next::LookAhead(phase, through)) => draft.look_ahead(phase, through),
        Some(Next::Doubt(phase)) => draft.doubt(&lead.phases[&phase]),
        Some(Next::Close) => {
            let (target, commit) = (lead.target.clone(), lead.tip.clone());
            draft.intend(Effect::Close { target, commit });
        }
        Some(Next::Follow) => {
            let (target, commit) = (lead.target.clone(), lead.tip.clone());
            let from = lead.stands_at.clone();
            draft.intend(Effect::Follow { target, commit, from });
        }
        None => {}
    }
    draft.decision()
}

fn start(draft: &mut Draft<'_>, phase: PhaseNumber) {
    let track = &draft.lead.phases[&phase];
    let attempt = track.attempt + 1;
    let why = match track.spec.depends_on.as_slice() {
        _ if track.started.is_some() => track.why.clone(),
        [] => "it depends on nothing".to_owned(),
        all => format!("merged before it: {}", list(all)),
    };
    // What was only planned so far moves to the newest base; what has executed stays on its own.
    let (base, renew) = (draft.lead.tip.clone(), !track.executed);
    draft.events.push(Event::Moved { phase, attempt, to: Status::Preparing, why, ahead: None });
    draft.intend(Effect::Prepare { phase, attempt, base, renew });
}

/// Names phases: `1, 2`.
pub(super) fn list(numbers: &[PhaseNumber]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns phases that wait only for phases at work: those whose worktree is needed next.
pub(super) fn soon(lead: &Lead) -> Vec<PhaseNumber> {
    let behind = lead.live.iter().filter_map(|number| lead.dependents.get(number)).flatten();
    let is_near = |number: &&PhaseNumber| {
        let track = &lead.phases[*number];
        track.status == Status::Waiting && track.started.is_none() && track.halted_deps == 0
    };
    let mut soon: Vec<_> = behind.filter(is_near).copied().collect();
    soon.sort_unstable();
    soon.dedup();
    soon.truncate(lead.settings.max_workers);
    soon
}

/// Returns whether anything is about to happen, now or after a while.
pub(super) fn has_next(lead: &Lead) -> bool {
    next(lead, u64::MAX).is_some()
}

fn next(lead: &Lead, now: u64) -> Option<Next> {
    if let Some((due, phase)) = lead.dues.first()
        && *due <= now
    {
        return Some(Next::End(*phase));
    }
    if let Some(phase) = next_merge(lead) {
        return Some(Next::Merge(phase));
    }
    if start_due(lead).is_none_or(|due| due <= now)
        && let Some(next) = next_start(lead)
    {
        return Some(next);
    }
    if lead.merging.is_some() || !lead.run_is_begun() {
        return None;
    }
    if closes(lead) {
        return lead.open.is_empty().then_some(Next::Close);
    }
    follow_due(lead).is_some_and(|due| due <= now).then_some(Next::Follow)
}

/// Returns whether all that is left is to close the run.
fn closes(lead: &Lead) -> bool {
    lead.is_over() && !lead.closed
}

/// Returns when the target branch is to follow; `None` when it need not.
///
/// Each time costs a checkout of what is new, so merges that come quickly are followed together. Once
/// nobody is at work it follows at once.
fn follow_due(lead: &Lead) -> Option<u64> {
    let behind = lead.followed.as_ref() != Some(&lead.tip);
    let rests = lead.live.is_empty();
    let last = lead.last_follow.filter(|_| !rests);
    (behind && !lead.following).then(|| last.map_or(0, |last| last + FOLLOW_EVERY_MS))
}

/// Returns the phase to merge next: one at a time, when its wave is closed.
fn next_merge(lead: &Lead) -> Option<PhaseNumber> {
    // Both may need the one checkout in which a merge is tried.
    if lead.merging.is_some() || lead.following {
        return None;
    }
    let from = match lead.closed_waves.first() {
        _ if lead.settings.merge_at_once => 0,
        Some(wave) => *wave,
        None => return lead.wanted_early(),
    };
    let mut ready = lead.to_merge.range((from, PhaseNumber::whole(0))..);
    ready.next().map(|(_, number)| *number)
}

fn may_start(lead: &Lead) -> bool {
    let has_agent = lead.agents_taken() < lead.settings.max_agents.max(1);
    let has_slot = has_agent && lead.live.len() < lead.settings.max_workers.max(1);
    has_slot && lead.hold == Hold::None && !lead.breaker
}

/// Returns what to give a slot to. What lies ahead gets one only if nobody else wants it.
fn next_start(lead: &Lead) -> Option<Next> {
    if !may_start(lead) {
        return None;
    }
    let mut ready = lead.ready.iter().map(|(_, number)| *number);
    let (number, next) = match ready.find(|number| lead.is_free(&lead.phases[number])) {
        Some(number) => (number, Next::Start(number)),
        None => ahead::next(lead).map(|(number, to)| (number, Next::LookAhead(number, to)))?,
    };
    let is_to_doubt = lead.is_to_doubt(&lead.phases[&number]);
    Some(if is_to_doubt { Next::Doubt(number) } else { next })
}

/// Returns how many agents the next worker may have: an equal part of those that are free, with all
/// that may start while it is at work. One is left for each other worker, whatever it may come to.
pub(super) fn share(lead: &Lead, phase: PhaseNumber) -> usize {
    let Settings { max_agents, max_workers, .. } = lead.settings;
    let given: usize = lead.live().map(|track| track.agents).sum();
    let free = max_agents.saturating_sub(given);
    // It is one of them itself.
    let starting = lead.live().filter(|track| track.agents == 0).count().max(1);
    let slots = max_workers.max(1).saturating_sub(lead.live.len());
    let behind_it = lead.dependents.get(&phase);
    let is_free = |number: &&PhaseNumber| behind_it.is_none_or(|behind| !behind.contains(number));
    let others = lead.live.iter().filter(|other| **other != phase);
    let behind = others.filter_map(|other| lead.dependents.get(other)).flatten();
    let is_next = |number: &&PhaseNumber| lead.phases[*number].status == Status::Waiting;
    let ready = lead.ready.iter().map(|(_, number)| number);
    let soon: BTreeSet<_> =
        behind.filter(is_next).filter(is_free).chain(ready).take(slots).collect();
    let left = max_agents.saturating_sub(max_workers.max(1) - 1);
    (free / (starting + soon.len())).min(left).max(1)
}

fn start_due(lead: &Lead) -> Option<u64> {
    let after_last = lead.last_start.map(|last| last + lead.settings.stagger_ms);
    // While a model does not answer one worker, it would not answer another.
    after_last.max(lead.not_before)
}

pub(super) fn deadline(lead: &Lead) -> Option<u64> {
    let start = start_due(lead).filter(|_| next_start(lead).is_some());
    let due = lead.dues.first().map(|(due, _)| *due);
    let may_follow = lead.merging.is_none() && lead.run_is_begun() && !closes(lead);
    let follow = follow_due(lead).filter(|_| may_follow);
    due.into_iter().chain(start).chain(follow).min()
}

impl Lead {
    fn run_is_begun(&self) -> bool {
        !self.run.is_empty() && !self.phases.is_empty()
    }
}

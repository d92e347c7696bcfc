//! Chooses what happens next without an input: starts, merges, fast-forwards, closing the run.
//!
//! Each call returns one step; the caller repeats until there is none.

use super::decide::DecisionBuilder;
use super::{Effect, Event, Lead, Reason, Status};
use super::{agent_shares, lookahead};
use crate::machine::Decision;
use crate::phase::PhaseNumber;
use crate::report::LeadMessage;
use crate::stage::Stage;

/// The least time between two fast-forwards of the user's branch while workers run.
const FAST_FORWARD_INTERVAL_MS: u64 = 1_000;

/// One step of the scheduler.
enum ScheduledStep {
    /// Kill a worker that did not exit in time.
    KillWorker(PhaseNumber),
    Merge(PhaseNumber),
    Start(PhaseNumber),
    LookAhead(PhaseNumber, Stage),
    /// Tell the worker of a phase how many agents it may run from now on.
    SetAgents(PhaseNumber, usize),
    /// Ask whether a phase is done that would be started and that the roadmap marks as done.
    AskWhetherDone(PhaseNumber),
    Close,
    FastForward,
}

pub(super) fn follow_up(lead: &Lead, now: u64) -> Decision<Event, (u64, Effect)> {
    let mut builder = DecisionBuilder::new(lead);
    match next(lead, now) {
        Some(ScheduledStep::KillWorker(phase)) => {
            builder.move_to(phase, Status::Ending, Reason::WorkerOverdue);
            let attempt = lead.phases[&phase].attempt;
            builder.intend(Effect::KillWorker { phase, attempt });
        }
        Some(ScheduledStep::Merge(phase)) => {
            let state = &lead.phases[&phase];
            let why = if lead.settings.merge_at_once {
                Reason::MergedAtOnce
            } else if lead.index.closed_waves.contains(&state.wave) {
                Reason::WaveClosed(state.wave)
            } else {
                Reason::MergeAwaited
            };
            builder.move_to(phase, Status::Merging, why);
            let commit = state.commit.clone().unwrap_or_default();
            let (attempt, onto) = (state.attempt, lead.target.tip.clone());
            let (spent, alone) = (state.spent, lead.starts.breaker_open);
            builder.intend(Effect::Merge { phase, attempt, commit, onto, spent, alone });
        }
        Some(ScheduledStep::Start(phase)) => start(&mut builder, phase),
        Some(ScheduledStep::LookAhead(phase, through)) => builder.look_ahead(phase, through),
        Some(ScheduledStep::SetAgents(phase, count)) => {
            builder.send_message(&lead.phases[&phase], LeadMessage::Agents { count });
        }
        Some(ScheduledStep::AskWhetherDone(phase)) => {
            builder.ask_whether_done(&lead.phases[&phase]);
        }
        Some(ScheduledStep::Close) => {
            let (target, commit) = (lead.target.branch.clone(), lead.target.tip.clone());
            builder.intend(Effect::CommitPlanningFiles { target, commit });
        }
        Some(ScheduledStep::FastForward) => {
            let (target, commit) = (lead.target.branch.clone(), lead.target.tip.clone());
            let from = lead.target.branch_tip.clone();
            builder.intend(Effect::FastForward { target, commit, from });
        }
        None => {}
    }
    builder.decision()
}

fn start(builder: &mut DecisionBuilder<'_>, phase: PhaseNumber) {
    let state = &builder.lead.phases[&phase];
    let attempt = state.attempt + 1;
    let why = match state.spec.depends_on.as_slice() {
        _ if state.started.is_some() => state.why.clone(),
        [] => Reason::NoDependencies,
        all => Reason::DependenciesMerged(all.to_vec()),
    };
    // A phase that was only planned is rebased onto the newest commit; one that has executed is not.
    let (base, renew) = (builder.lead.target.tip.clone(), !state.has_executed);
    builder.events.push(Event::StatusChanged {
        phase,
        attempt,
        to: Status::Preparing,
        why,
        ahead: None,
    });
    builder.intend(Effect::Prepare { phase, attempt, base, renew });
}

/// Joins phase numbers for people: `1, 2`.
pub(super) fn list(numbers: &[PhaseNumber]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the phases that wait only for running phases: their worktrees are needed next.
pub(super) fn next_to_start(lead: &Lead) -> Vec<PhaseNumber> {
    let dependents =
        lead.index.live.iter().filter_map(|number| lead.index.dependents.get(number)).flatten();
    let is_near = |number: &&PhaseNumber| {
        let state = &lead.phases[*number];
        state.status == Status::Waiting
            && state.started.is_none()
            && state.halted_dependencies == 0
            && !state.is_held()
    };
    let mut soon: Vec<_> = dependents.filter(is_near).copied().collect();
    soon.sort_unstable();
    soon.dedup();
    soon.truncate(lead.settings.max_workers);
    soon
}

/// Returns whether any step follows without an input, now or later.
pub(super) fn has_next(lead: &Lead) -> bool {
    next(lead, u64::MAX).is_some()
}

fn next(lead: &Lead, now: u64) -> Option<ScheduledStep> {
    if lead.closed {
        return None;
    }
    if let Some((due, phase)) = lead.index.kill_times.first()
        && *due <= now
    {
        return Some(ScheduledStep::KillWorker(*phase));
    }
    if let Some(phase) = next_merge(lead) {
        return Some(ScheduledStep::Merge(phase));
    }
    if start_due(lead).is_none_or(|due| due <= now)
        && let Some(next) = next_start(lead)
    {
        return Some(next);
    }
    if let Some((phase, count)) = agent_shares::next_change(lead) {
        return Some(ScheduledStep::SetAgents(phase, count));
    }
    if lead.effects.merging.is_some() || !lead.run_is_begun() {
        return None;
    }
    if can_close_run(lead) {
        return lead.effects.open.is_empty().then_some(ScheduledStep::Close);
    }
    fast_forward_due(lead).is_some_and(|due| due <= now).then_some(ScheduledStep::FastForward)
}

/// Returns whether only the commit of the planning files is left.
fn can_close_run(lead: &Lead) -> bool {
    !lead.target.is_closed && (lead.is_over() || lead.is_named_work_over())
}

/// Returns when to fast-forward the user's branch; `None` when it is up to date.
///
/// Each fast-forward costs a checkout, so merges in quick succession share one. Once no worker runs,
/// the branch is fast-forwarded at once.
fn fast_forward_due(lead: &Lead) -> Option<u64> {
    let is_behind = lead.target.is_ahead_of_branch();
    let rests = lead.index.live.is_empty();
    let last = lead.target.last_attempt_at.filter(|_| !rests);
    (is_behind && !lead.effects.fast_forwarding)
        .then(|| last.map_or(0, |last| last + FAST_FORWARD_INTERVAL_MS))
}

/// Returns the phase to merge next. Merges run one at a time, once their wave is closed.
fn next_merge(lead: &Lead) -> Option<PhaseNumber> {
    // Merge and fast-forward may need the same checkout.
    if lead.effects.merging.is_some() || lead.effects.fast_forwarding {
        return None;
    }
    let from = match lead.index.closed_waves.first() {
        _ if lead.settings.merge_at_once => 0,
        Some(wave) => *wave,
        None => return lead.complete_phase_others_wait_for(),
    };
    let mut ready = lead.index.to_merge.range((from, PhaseNumber::whole(0))..);
    ready.next().map(|(_, number)| *number)
}

/// Returns whether a slot and an agent are free, and nothing forbids to start phases.
fn has_free_slot(lead: &Lead) -> bool {
    let max_agents = lead.settings.max_agents.max(1);
    // Running workers keep the agents that they were given when there were fewer slots.
    let has_agent = lead.agents_taken() < max_agents
        || lead.starts.workers_raised && lead.index.live.len() < max_agents;
    let has_slot = has_agent && lead.live_in_scope().count() < lead.settings.max_workers.max(1);
    has_slot && lead.starts.is_open()
}

/// Returns the phase that starts as soon as it gets a slot and an agent.
pub(super) fn next_ready(lead: &Lead) -> Option<PhaseNumber> {
    match lead.settings.force {
        true => lead.index.ready.first().map(|(_, number)| *number),
        false => lead.index.startable.first(),
    }
}

/// Returns what to start next. A look-ahead gets a slot only if no phase is ready to start.
fn next_start(lead: &Lead) -> Option<ScheduledStep> {
    if !has_free_slot(lead) {
        return None;
    }
    let (number, next) = match next_ready(lead) {
        Some(number) => (number, ScheduledStep::Start(number)),
        None => lookahead::next(lead)
            .map(|(number, to)| (number, ScheduledStep::LookAhead(number, to)))?,
    };
    let must_ask = lead.must_ask_whether_done(&lead.phases[&number]);
    Some(if must_ask { ScheduledStep::AskWhetherDone(number) } else { next })
}

fn start_due(lead: &Lead) -> Option<u64> {
    lead.starts.earliest(lead.settings.stagger_ms)
}

pub(super) fn deadline(lead: &Lead) -> Option<u64> {
    let start = start_due(lead).filter(|_| next_start(lead).is_some());
    let due = lead.index.kill_times.first().map(|(due, _)| *due);
    let may_fast_forward =
        lead.effects.merging.is_none() && lead.run_is_begun() && !can_close_run(lead);
    let fast_forward = fast_forward_due(lead).filter(|_| may_fast_forward);
    due.into_iter().chain(start).chain(fast_forward).min()
}

impl Lead {
    fn run_is_begun(&self) -> bool {
        !self.run.is_empty() && !self.phases.is_empty()
    }
}

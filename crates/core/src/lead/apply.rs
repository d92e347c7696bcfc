//! Applies events to the state of a run. Nothing here fails, and nothing decides.

use std::collections::BTreeMap;

use super::index::{kill_time, rebuild, set_status, update_memberships};
use super::lookahead;
use super::{
    Command, Effect, Event, Hold, Lead, Outcome, PhaseSpec, PhaseState, PlanTime, Reason, Status,
};
use crate::inbox::InboxItem;
use crate::money::{AgentSpending, Spending};
use crate::phase::PhaseNumber;
use crate::report::{Brief, HaltOrder, LeadMessage, Report, THROTTLED_MAX_MS};
use crate::stage::Stage;
use crate::worker::task_knowledge::add_new_texts;

/// How long a worker may take to exit after its last report.
const EXIT_GRACE_MS: u64 = 10_000;
/// How long a worker may take to exit after it was told to stop at once.
const CANCEL_GRACE_MS: u64 = 30_000;

pub(super) fn apply(lead: &mut Lead, event: &Event, at: u64) {
    let phase = event.phase();
    let before = phase.and_then(|phase| kill_time(lead, phase));
    apply_event(lead, event, at);
    let after = phase.and_then(|phase| kill_time(lead, phase));
    if let Some(phase) = phase.filter(|phase| lead.phases.contains_key(phase)) {
        update_memberships(lead, phase);
    }
    if let Some(phase) = phase.filter(|_| before != after) {
        before.map(|kill_time| lead.index.kill_times.remove(&(kill_time, phase)));
        after.map(|kill_time| lead.index.kill_times.insert((kill_time, phase)));
    }
}

/// The command that repeats a failed fast-forward.
const RETRY_COMMAND: &str = "mow run --all";

fn apply_event(lead: &mut Lead, event: &Event, at: u64) {
    match event {
        Event::Begun { run, target, tip } => {
            lead.run.clone_from(run);
            lead.target.branch.clone_from(target);
            lead.target.tip.clone_from(tip);
            lead.target.last_attempt = Some(tip.clone());
            lead.target.branch_tip.clone_from(tip);
        }
        Event::LeadStarted { settings } => {
            lead.settings.clone_from(settings);
            lead.starts.hold = Hold::None;
            lead.starts.workers_raised = false;
            leave_out(lead);
        }
        Event::RoadmapRead { scope, phases } => {
            lead.scope = *scope;
            read_roadmap(lead, phases, at);
        }
        Event::Observed { phases } => {
            for spec in phases {
                if let Some(state) = lead.phases.get_mut(&spec.number) {
                    state.spec.clone_from(spec);
                    update_memberships(lead, spec.number);
                }
            }
        }
        Event::Intended { id, effect } => begin_effect(lead, *id, effect, at),
        Event::Finished { id, outcome } => end_effect(lead, *id, outcome),
        Event::Reported { phase, seq, report, .. } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                state.read_through = Some(*seq);
                update_from_report(state, report, at);
            }
            update_run_from_report(lead, report, at);
        }
        Event::StatusChanged { phase, attempt, to, why, ahead } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                begin_attempt(state, *attempt, *ahead);
                state.why.clone_from(why);
                state.since = at;
                set_status(lead, *phase, *to);
            }
        }
        Event::Halted { phase, order } => halt_phase(lead, *phase, order, at),
        Event::Unhalted { phase } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                state.halt = None;
                state.kill_at = state.kill_at.filter(|_| state.last_report.is_some());
            }
        }
        Event::WorkerDied { phase } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                state.deaths += 1;
            }
        }
        Event::Announced { .. } | Event::Noted { .. } => {}
        Event::Spent { phase, spent } => count_spending(lead, *phase, spent),
        Event::Asked { item } => put_question(lead, item),
        Event::Answered { item, text } => answer_question(lead, *item, text),
        Event::Withdrawn { item } => withdraw_question(lead, *item),
        Event::Commanded { seq, command, .. } => note_command(lead, *seq, command),
        Event::WorkersSet { max } => {
            lead.starts.workers_raised |= *max > lead.settings.max_workers;
            lead.settings.max_workers = *max;
        }
        Event::Breaker { open } => lead.starts.set_breaker(*open),
        Event::Held { hold } => lead.starts.hold = *hold,
        Event::Closed { .. } => lead.closed = true,
    }
}

/// Takes note of a command. A person who resumes a phase names it.
fn note_command(lead: &mut Lead, seq: u64, command: &Command) {
    lead.commands_through = Some(seq);
    if let Command::Resume { phase: Some(phase) } = command
        && lead.settings.left_out.contains(phase)
    {
        lead.settings.left_out.retain(|other| other != phase);
        leave_out(lead);
    }
}

/// Marks the phases that stay as they are, and computes the derived lists anew if that changes any.
fn leave_out(lead: &mut Lead) {
    let left_out = &lead.settings.left_out;
    let mut changed = false;
    for (number, state) in &mut lead.phases {
        let is_left_out = left_out.contains(number);
        changed |= state.left_out != is_left_out;
        state.left_out = is_left_out;
    }
    if changed {
        rebuild(lead);
    }
}

fn halt_phase(lead: &mut Lead, phase: PhaseNumber, order: &HaltOrder, at: u64) {
    let Some(state) = lead.phases.get_mut(&phase) else { return };
    state.halt = Some(order.clone());
    // A worker that finishes its current step may take any time for it.
    if order.now && state.last_report.is_none() {
        state.kill_at = Some(at + CANCEL_GRACE_MS);
    }
}

/// Adds what an agent of the lead used to the run and to the phase.
fn count_spending(lead: &mut Lead, phase: PhaseNumber, spent: &AgentSpending) {
    lead.spent += spent.money;
    if let Some(state) = lead.phases.get_mut(&phase) {
        state.spent += spent.money;
    }
}

/// Resets the fields that belong to one attempt.
fn begin_attempt(state: &mut PhaseState, attempt: u32, ahead: Option<Stage>) {
    if attempt != state.attempt {
        state.attempt = attempt;
        state.through = ahead;
        state.plans_checked = matches!(state.last_report, Some(Report::Planned { .. }));
        state.reserved_files = Vec::new();
        state.last_report = None;
        state.halt = None;
        state.read_through = None;
        state.messages_sent = 0;
        state.kill_at = None;
        state.open_plans = BTreeMap::new();
        (state.agents, state.agents_told) = (0, None);
        state.questions_asked = 0;
        state.commit = None;
    }
}

/// Applies the parts of a report that concern the whole run.
fn update_run_from_report(lead: &mut Lead, report: &Report, at: u64) {
    match report {
        Report::Spent(spent) => lead.spent += spent.money,
        Report::Throttled { until, .. } => {
            // The worker's clock may differ from ours, so the wait is bounded.
            let until = (*until).min(at + THROTTLED_MAX_MS);
            lead.starts.not_before = lead.starts.not_before.max(Some(until));
        }
        _ => {}
    }
}

fn update_from_report(state: &mut PhaseState, report: &Report, at: u64) {
    match report {
        Report::Stage { to, .. } => {
            state.stage = Some(*to);
            state.has_executed |= *to >= Stage::Execute;
        }
        Report::Planned { files, .. } => state.planned_files = Some(files.clone()),
        Report::Plans { done, total } => state.plans = (*done, *total),
        Report::PlanStarted { plan, tasks } => {
            state.open_plans.insert(plan.clone(), (0, *tasks));
            let time = PlanTime { started: at, ended: None, tasks: *tasks };
            state.plan_times.insert(plan.clone(), time);
        }
        Report::TaskDone { plan, task, .. } => {
            state.deaths = 0;
            if let Some((done, _)) = state.open_plans.get_mut(plan) {
                *done = *task;
            }
        }
        Report::PlanDone { plan, minutes, decisions, .. } => {
            state.deaths = 0;
            state.open_plans.remove(plan);
            add_new_texts(&mut state.decisions, decisions);
            let started = at.saturating_sub(minutes.saturating_mul(60_000));
            let unseen = PlanTime { started, ended: None, tasks: 0 };
            state.plan_times.entry(plan.clone()).or_insert(unseen).ended = Some(at);
        }
        Report::Decisions { decisions } => add_new_texts(&mut state.decisions, decisions),
        Report::Blocked { plan, .. } => {
            state.open_plans.remove(plan);
        }
        Report::Spent(spent) => state.spent += spent.money,
        Report::Agents { count } if state.agents_told == Some(*count) => {
            (state.agents, state.agents_told) = (*count, None);
        }
        _ => {}
    }
    if report.is_last() {
        state.last_report = Some(report.clone());
        state.kill_at = Some(at + EXIT_GRACE_MS);
        if let Report::Complete { commit } = report {
            state.commit = Some(commit.clone());
        }
    }
}

fn begin_effect(lead: &mut Lead, id: u64, effect: &Effect, at: u64) {
    lead.effects.begin(id, effect);
    match effect {
        Effect::Prepare { phase, .. } => {
            lead.starts.last_at = Some(at);
            let state = lead.phases.get_mut(phase);
            if let Some(state) = state.filter(|state| state.through.is_none()) {
                state.started.get_or_insert(at);
            }
        }
        Effect::Start { brief } => {
            if let Some(state) = lead.phases.get_mut(&brief.phase) {
                state.agents = brief.agents;
                state.reserved_files.clone_from(&brief.clear);
            }
        }
        Effect::CollectLookahead { phase, .. } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                state.collecting_lookahead = true;
            }
        }
        Effect::SendMessage { phase, n, note, .. } => {
            if let Some(state) = lead.phases.get_mut(phase) {
                state.messages_sent = *n;
                if let LeadMessage::Agents { count } = note {
                    // Until the worker confirms a smaller number, more agents may be running.
                    state.agents = state.agents.max(*count);
                    state.agents_told = Some(*count);
                }
            }
        }
        Effect::FastForward { .. } => lead.target.last_attempt_at = Some(at),
        _ => {}
    }
}

fn end_effect(lead: &mut Lead, id: u64, outcome: &Outcome) {
    let effect = lead.effects.end(id);
    match (effect, outcome) {
        (Some(Effect::CollectLookahead { phase, through, .. }), outcome) => {
            if let Some(state) = lead.phases.get_mut(&phase) {
                let is_lost = matches!(outcome, Outcome::Failed { .. });
                state.collecting_lookahead = false;
                state.lookahead_dropped |= is_lost || lookahead::lookahead_failed(state);
                state.ahead_through = state.ahead_through.max(through.filter(|_| !is_lost));
            }
        }
        (
            Some(Effect::Prepare { phase, .. } | Effect::Start { brief: Brief { phase, .. } }),
            Outcome::Failed { .. },
        ) => {
            if let Some(state) = lead.phases.get_mut(&phase) {
                state.lookahead_dropped |= state.looks_ahead();
            }
        }
        (Some(Effect::Merge { .. }), Outcome::Merged { commit, .. }) => {
            lead.target.tip.clone_from(commit);
            lead.target.refusal = None;
            lead.target.is_closed = false;
        }
        (Some(Effect::FastForward { commit, .. }), Outcome::Refused { reason, command }) => {
            lead.target.refuse(commit, reason, command);
        }
        (Some(Effect::FastForward { commit, .. }), Outcome::Failed { reason }) => {
            lead.target.refuse(commit, reason, RETRY_COMMAND);
        }
        // Somebody else had moved the branch; its new commits are part of the run now.
        (Some(Effect::FastForward { .. }), Outcome::Merged { commit, .. }) => {
            lead.target.tip.clone_from(commit);
            lead.target.accept(commit.clone());
        }
        (Some(Effect::FastForward { commit, .. }), _) => {
            lead.target.accept(commit);
        }
        (Some(Effect::CommitPlanningFiles { .. }), outcome) => {
            lead.target.is_closed = true;
            if let Outcome::Merged { commit, .. } = outcome {
                lead.target.tip.clone_from(commit);
            }
        }
        _ => {}
    }
}

fn put_question(lead: &mut Lead, item: &InboxItem) {
    if let Some(state) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        state.question_ids.push(item.id);
        state.open_questions += 1;
        state.questions_asked += 1;
    }
    lead.inbox.put(item);
}

fn answer_question(lead: &mut Lead, id: u32, text: &str) {
    let Some(item) = lead.inbox.answer(id, text) else { return };
    if let Some(state) = item.phase.and_then(|phase| lead.phases.get_mut(&phase)) {
        state.open_questions = state.open_questions.saturating_sub(1);
    }
}

/// Closes a question without an answer, so that it can be put again.
fn withdraw_question(lead: &mut Lead, id: u32) {
    answer_question(lead, id, "no longer asked");
    lead.inbox.forget_key(id);
}

/// Applies the roadmap to the phases, and computes the derived lists anew.
fn read_roadmap(lead: &mut Lead, specs: &[PhaseSpec], at: u64) {
    for spec in specs {
        let fresh = || PhaseState {
            spec: spec.clone(),
            left_out: lead.settings.left_out.contains(&spec.number),
            status: Status::Waiting,
            why: Reason::Chosen,
            since: at,
            started: None,
            attempt: 0,
            deaths: 0,
            stage: None,
            plans: (0, 0),
            open_plans: BTreeMap::new(),
            decisions: Vec::new(),
            plan_times: BTreeMap::new(),
            worker_number: None,
            agents: 0,
            agents_told: None,
            spent: Spending::default(),
            last_report: None,
            halt: None,
            commit: None,
            wave: 1,
            read_through: None,
            messages_sent: 0,
            through: None,
            ahead_through: None,
            planned_files: None,
            reserved_files: Vec::new(),
            plans_checked: false,
            has_executed: false,
            lookahead_dropped: false,
            collecting_lookahead: false,
            kill_at: None,
            unmet_dependencies: 0,
            halted_dependencies: 0,
            question_ids: Vec::new(),
            open_questions: 0,
            questions_asked: 0,
        };
        lead.phases.entry(spec.number).or_insert_with(fresh).spec = spec.clone();
    }
    lead.target.is_closed = false;
    rebuild(lead);
}

//! Chooses the next step of a worker: an effect, a report, questions, or the end of the attempt.
//!
//! One effect runs at a time, except for tasks of parallel plans.

use super::state::{EndingStep, GapClosing};
use super::{Effect, Event, PhaseSnapshot, Role, Verdict, Worker};
use super::{agent_outcomes, execute};
use crate::file_scope;
use crate::inbox::{InboxQuestion, QuestionKind, QuestionTopic};
use crate::machine::Decision;
use crate::report::{HaltOrder, HaltOrigin, HaltReason, Report};
use crate::stage::Stage;

/// How often research and planning are tried.
const ROLE_TRIES: u32 = 2;
/// How often the checker may refuse the plans.
const CHECK_ROUNDS_MAX: u32 = 3;

/// The answers to a gate. Stored in journals.
const APPROVE: &str = "approve";
const REJECT: &str = "reject";
/// The answers to gaps and blockers. Stored in journals.
pub const RETRY: &str = "retry";
const ACCEPT: &str = "accept";
const CLOSE: &str = "close";
pub(super) const FAIL: &str = "fail";

/// The next step of a worker.
pub(super) enum NextStep {
    Run(Effect),
    Report(Report),
    /// A stage is complete; the text names its result.
    StageDone(String),
    /// The phase fails for this reason.
    Fail(String),
    /// Put these questions and end the attempt until they are answered.
    Ask(Vec<InboxQuestion>),
    /// Wait for a running effect or for a retry time.
    Wait,
}

pub(super) fn follow_up(worker: &Worker, now: u64) -> Decision<Event, (u64, Effect)> {
    let mut decision = Decision::default();
    if worker.has_ended() || worker.brief.is_none() {
        return decision;
    }
    worker.end_overdue_blocker_wait(now, &mut decision);
    if !decision.events.is_empty() {
        return decision;
    }
    if let Some(count) = worker.parallel.agents_to_confirm(worker.effects.running.len()) {
        decision.events.push(Event::Reported(Report::Agents { count }));
        return decision;
    }
    if !worker.effects.is_empty() {
        interrupt(worker, now, &mut decision);
        if !worker.can_begin_more() || !decision.events.is_empty() {
            return decision;
        }
    }
    let events = &mut decision.events;
    match next(worker, now) {
        NextStep::Run(effect) => {
            let id = worker.effects.next_id;
            if let Effect::RunTask { plan, task, .. } = &effect {
                let (plan, task) = (plan.clone(), *task);
                events.push(Event::Reported(Report::TaskStarted { plan, task }));
            }
            events.push(Event::Intended { id, effect: effect.clone() });
            decision.effects.push((id, effect));
        }
        NextStep::Report(report) => events.push(Event::Reported(report)),
        NextStep::StageDone(artifact) => finish_stage(worker, artifact, events),
        NextStep::Fail(reason) => events.push(Event::Reported(Report::Failed { reason })),
        NextStep::Ask(asks) => {
            let new = asks.into_iter().filter(|ask| !worker.questions.asked.contains(&ask.key));
            events.extend(new.map(|ask| Event::Reported(Report::Asked { ask })));
            events.push(Event::Reported(Report::Parked));
        }
        NextStep::Wait => {}
    }
    decision
}

/// Interrupts the running effects, once: at the time limit, and when the phase is cancelled and
/// its current step is not waited for.
fn interrupt(worker: &Worker, now: u64, decision: &mut Decision<Event, (u64, Effect)>) {
    let timeout = worker.lifecycle.halt.is_none() && is_overdue(worker, now);
    if timeout {
        decision.events.push(Event::Halted(HaltReason::Timeout.into()));
    }
    let is_long = worker.effects.running.values().any(Effect::is_long);
    let must_end = timeout
        || worker.lifecycle.halt.as_ref().is_some_and(|order| match order.how {
            HaltReason::Paused => false,
            // A step that is stuck never comes to its end.
            HaltReason::Cancelled => order.now || worker.effects.are_all_stuck(),
            HaltReason::Timeout => true,
        });
    if must_end && is_long && worker.lifecycle.step < EndingStep::Interrupted {
        decision.events.push(Event::Interrupted);
        decision.effects.push((Worker::UNNUMBERED, Effect::Interrupt { of: None }));
    }
}

fn is_overdue(worker: &Worker, now: u64) -> bool {
    let wall = worker.snapshot.as_ref().and_then(|found| found.settings.wall_max_ms);
    wall.is_some_and(|wall| worker.lifecycle.began + wall <= now)
}

/// Ends a stage and begins the next one. Before execute, the files of the plans are reported.
fn finish_stage(worker: &Worker, artifact: String, events: &mut Vec<Event>) {
    let from = worker.stage;
    let Some(to) = from.map_or(Some(Stage::Discuss), Stage::next) else {
        return;
    };
    if to == Stage::Execute {
        let planned = planned(worker);
        events.push(Event::Reported(planned.clone()));
        if planned.is_last() {
            return;
        }
    }
    events.push(Event::Reported(Report::Stage { from, to, artifact }));
}

/// Returns the report that names the files of the plans. It ends the attempt unless the lead has
/// cleared these files; the lead starts the next attempt when no other phase changes them.
fn planned(worker: &Worker) -> Report {
    let plans = worker.snapshot.iter().flat_map(|found| &found.plans);
    // Complete plans count as well: the phase is not merged yet.
    let files = file_scope::normalized(plans.flat_map(|plan| &plan.files));
    let clear = worker.brief.as_ref().map_or(&[][..], |brief| &brief.clear);
    Report::Planned { waits: !file_scope::covers_all(clear, &files), files }
}

fn next(worker: &Worker, now: u64) -> NextStep {
    // A pause came too late, and a checkpoint would claim that there is more to do.
    if let Some(commit) =
        worker.lifecycle.final_commit.as_ref().filter(|_| !worker.lifecycle.is_cancelled())
    {
        return NextStep::Report(Report::Complete { commit: commit.clone() });
    }
    if let Some(order) = &worker.lifecycle.halt {
        return halt(worker, order);
    }
    if is_overdue(worker, now) {
        return halt(worker, &HaltReason::Timeout.into());
    }
    if let Some(reason) = &worker.retries.permanent_failure {
        // Wait until the plans that run in parallel have stopped.
        return if worker.effects.is_empty() {
            fail(worker, reason.clone())
        } else {
            NextStep::Wait
        };
    }
    if let Some(next) = worker.next_for_agents(now) {
        return next;
    }
    let Some(stage) = worker.stage else {
        return NextStep::StageDone(String::new());
    };
    let Some(found) = &worker.snapshot else {
        return if worker.retries.failed_inspections < ROLE_TRIES {
            NextStep::Run(Effect::Inspect)
        } else {
            give_up(worker)
        };
    };
    let next = match stage {
        Stage::Discuss => discuss(worker, found),
        Stage::Research => research(worker, found),
        Stage::Plan => plan(worker, found),
        Stage::Execute => execute::execute(worker, found),
        Stage::Refine => return refine(worker, found),
    };
    match next {
        NextStep::StageDone(_) if worker.lookahead_goal() == Some(stage) => {
            NextStep::Report(Report::LookaheadDone { through: stage })
        }
        NextStep::StageDone(artifact) => gate(worker, found, stage, artifact),
        NextStep::Fail(reason) => fail(worker, reason),
        next => next,
    }
}

fn halt(worker: &Worker, order: &HaltOrder) -> NextStep {
    let how = order.how;
    if worker.is_checkpointed() || worker.lookahead_goal().is_some() {
        return NextStep::Report(Report::Stopped { how });
    }
    let reason = match (&order.origin, how) {
        (_, HaltReason::Timeout) => {
            "it took longer than allowed; its work may be incomplete".to_owned()
        }
        (Some(origin), _) => origin.sentence(),
        (None, HaltReason::Paused) => "a person paused it".to_owned(),
        (None, HaltReason::Cancelled) => "a person cancelled it".to_owned(),
    };
    checkpoint(worker, (how.name(), &reason), order.origin.clone())
}

/// Fails after a checkpoint. A look-ahead writes none, because the phase has not begun.
fn fail(worker: &Worker, reason: String) -> NextStep {
    if worker.is_checkpointed() || worker.lookahead_goal().is_some() {
        NextStep::Fail(reason)
    } else {
        checkpoint(worker, ("failed", &reason), None)
    }
}

fn give_up(worker: &Worker) -> NextStep {
    let reason = worker
        .retries
        .problem
        .clone()
        .unwrap_or_else(|| "it failed for an unknown reason".to_owned());
    fail(worker, reason)
}

fn checkpoint(
    worker: &Worker,
    (status, reason): (&str, &str),
    origin: Option<HaltOrigin>,
) -> NextStep {
    let plan = worker.plans.failures.keys().chain(worker.plans.started.keys()).next().cloned();
    let done = plan.as_ref().and_then(|plan| worker.plans.tasks_done.get(plan));
    let task = plan.as_ref().map(|_| done.map_or(0, std::collections::BTreeSet::len) + 1);
    let (status, reason) = (status.to_owned(), reason.to_owned());
    let stage = worker.stage;
    NextStep::Run(Effect::Checkpoint { status, reason, plan, task, stage, origin })
}

/// Asks a person before the next stage, where a gate is set.
fn gate(worker: &Worker, found: &PhaseSnapshot, stage: Stage, artifact: String) -> NextStep {
    let phase = worker.phase();
    // A CONTEXT.md that existed before the run needs no confirmation.
    let was_asked = worker.answers_about(QuestionTopic::is_discussion).next().is_some();
    let is_wanted =
        found.settings.gates.stop_after(stage) && (stage != Stage::Discuss || was_asked);
    let key = QuestionTopic::Gate(stage).of_phase(phase);
    let answer = worker.answer_to(&key).map(|answer| answer.text.as_str());
    match answer {
        Some(REJECT) => fail(worker, format!("a person stopped it after {}", stage.name())),
        None if is_wanted => {
            let question =
                format!("Phase {phase}: {} is complete ({artifact}). Continue?", stage.name());
            let ask = InboxQuestion::new(key, QuestionKind::Gate, question);
            NextStep::Ask(vec![ask.with_choices([APPROVE, REJECT])])
        }
        _ => NextStep::StageDone(artifact),
    }
}

fn discuss(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    if found.context {
        return NextStep::StageDone("CONTEXT.md".to_owned());
    }
    if worker.retries.tries > 1 {
        return NextStep::Fail(worker.retries.last_problem());
    }
    if found.skip_discuss {
        return NextStep::Run(Effect::WriteContext { answers: Vec::new() });
    }
    if found.settings.roles.contains(&Role::Discusser) {
        return agent_outcomes::discuss(worker, found);
    }
    agent_outcomes::ask_standard_questions(worker, found)
}

fn research(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    if found.research {
        return NextStep::StageDone("RESEARCH.md".to_owned());
    }
    if !found.settings.research {
        return NextStep::StageDone("research is switched off".to_owned());
    }
    if !found.settings.roles.contains(&Role::Researcher) {
        return NextStep::StageDone("no researcher is set".to_owned());
    }
    if worker.roles.finished.is_some() {
        return NextStep::Fail("the researcher left no RESEARCH.md".to_owned());
    }
    run_role(worker, Role::Researcher, worker.roles.rounds)
}

pub(super) fn run_role(worker: &Worker, role: Role, round: u32) -> NextStep {
    if worker.retries.tries >= ROLE_TRIES {
        let problem = worker.retries.last_problem();
        return NextStep::Fail(format!("{}: {problem}", role.name()));
    }
    NextStep::Run(Effect::RunRole { role, round })
}

fn plan(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    let roles = &found.settings.roles;
    let phase = worker.phase();
    if found.plans.is_empty()
        && !roles.contains(&Role::Planner)
        && worker.lookahead_goal().is_some()
    {
        return NextStep::StageDone("no planner is set".to_owned());
    }
    if found.plans.is_empty() && !roles.contains(&Role::Planner) {
        let is_plans = |topic: &QuestionTopic| matches!(topic, QuestionTopic::Plans { .. });
        return ask_again(worker, is_plans, |time| {
            let key = QuestionTopic::Plans { time }.of_phase(phase);
            let question = format!(
                "Phase {phase} has no plans, and no planner is set. Write plans and choose retry, or give up?"
            );
            InboxQuestion::new(key, QuestionKind::Plans, question).with_choices([RETRY, FAIL])
        });
    }
    let wants_check = found.settings.plan_check && roles.contains(&Role::PlanChecker);
    let is_checked = worker.roles.plans_checked || !wants_check;
    if found.plans.is_empty()
        || (worker.roles.rounds > 0 && worker.roles.finished.is_none() && !is_checked)
    {
        if found.plans.is_empty() && worker.roles.finished.is_some() {
            return NextStep::Fail("the planner left no plans".to_owned());
        }
        if worker.roles.rounds >= CHECK_ROUNDS_MAX {
            return NextStep::Fail(format!("the plans were refused {CHECK_ROUNDS_MAX} times"));
        }
        return run_role(worker, Role::Planner, worker.roles.rounds);
    }
    if let Some(plan) = found.plans.iter().find(|plan| plan.problem.is_some()) {
        let problem = plan.problem.as_deref().unwrap_or_default();
        return NextStep::Fail(format!("plan {}: {problem}", plan.id));
    }
    if !is_checked {
        return run_role(worker, Role::PlanChecker, worker.roles.rounds);
    }
    NextStep::StageDone(match found.plans.len() {
        1 => "1 plan".to_owned(),
        count => format!("{count} plans"),
    })
}

/// Asks again after each answer that wants a retry; fails when the answer gives up.
///
/// `ask` gets the number of the question about the topic, counted from one.
pub(super) fn ask_again(
    worker: &Worker,
    is_same: impl Fn(&QuestionTopic) -> bool,
    ask: impl Fn(usize) -> InboxQuestion,
) -> NextStep {
    let answers: Vec<_> = worker.answers_about(is_same).collect();
    if answers.last().is_some_and(|answer| answer.text == FAIL) {
        return NextStep::Fail("a person gave it up".to_owned());
    }
    NextStep::Ask(vec![ask(answers.len() + 1)])
}

fn refine(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    if worker.retries.tries >= ROLE_TRIES {
        return give_up(worker);
    }
    // An older VERIFICATION.md does not count: only the verifier of this attempt does.
    if !found.settings.verifier {
        return NextStep::Run(Effect::ClosePhase);
    }
    let phase = worker.phase();
    let is_gaps = |topic: &QuestionTopic| matches!(topic, QuestionTopic::Gaps { .. });
    let last = worker.answers_about(is_gaps).last().map(|answer| answer.text.as_str());
    let can_close = found.settings.roles.contains(&Role::Planner);
    match (&worker.refinement.verdict, last) {
        (_, Some(FAIL)) => fail(worker, "a person does not accept the gaps".to_owned()),
        (_, Some(ACCEPT)) | (Some(Verdict::Passed), _) => NextStep::Run(Effect::ClosePhase),
        (Some(Verdict::Gaps { text } | Verdict::HumanNeeded { text }), _) => {
            let choices = [ACCEPT, CLOSE, RETRY, FAIL].into_iter();
            let choices = choices.filter(|choice| *choice != CLOSE || can_close);
            ask_again(worker, is_gaps, |time| {
                let key = QuestionTopic::Gaps { time }.of_phase(phase);
                let question = format!("Phase {phase}: {text}");
                InboxQuestion::new(key, QuestionKind::Gaps, question).with_choices(choices.clone())
            })
        }
        (None, Some(CLOSE)) if can_close => {
            let round = u32::try_from(worker.answers_about(is_gaps).count()).unwrap_or(u32::MAX);
            close_gaps(worker, found, round)
        }
        (None, _) => NextStep::Run(Effect::RunRole { role: Role::Verifier, round: 0 }),
    }
}

/// Has plans written for the gaps, goes back to execute them, and has the phase verified again.
fn close_gaps(worker: &Worker, found: &PhaseSnapshot, round: u32) -> NextStep {
    let is_open = found.plans.iter().any(|plan| !worker.plans.done.contains(&plan.id));
    let gap_closing = worker.refinement.gap_closing;
    if is_open && gap_closing < GapClosing::Executing {
        let artifact = "plans that close gaps".to_owned();
        let (from, to) = (Some(Stage::Refine), Stage::Execute);
        return NextStep::Report(Report::Stage { from, to, artifact });
    }
    if gap_closing >= GapClosing::Planned {
        return NextStep::Run(Effect::RunRole { role: Role::Verifier, round: 0 });
    }
    NextStep::Run(Effect::RunRole { role: Role::Planner, round })
}

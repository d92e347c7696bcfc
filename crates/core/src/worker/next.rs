//! What a worker does next: one thing at a time, until it waits for it or has ended. Only plans that
//! run side by side are several things at a time.

use super::{Effect, Event, Found, Role, Verdict, Worker};
use super::{agents, execute};
use crate::item::{Ask, ItemKind};
use crate::machine::Decision;
use crate::report::{Halt, Report};
use crate::stage::Stage;
use crate::touch;

/// How often research and planning are tried.
const ROLE_TRIES: u32 = 2;
/// How often planner and checker may pass the plans to each other.
const CHECK_ROUNDS_MAX: u32 = 3;

/// The answers to a gate.
const APPROVE: &str = "approve";
const REJECT: &str = "reject";
/// The answers to gaps, and to blockers.
pub(super) const RETRY: &str = "retry";
const ACCEPT: &str = "accept";
const CLOSE: &str = "close";
pub(super) const FAIL: &str = "fail";

/// What comes next.
pub(super) enum Next {
    Do(Effect),
    Say(Report),
    /// A stage is over; say what it left.
    Over(String),
    /// The phase cannot go on.
    Fail(String),
    /// A person is asked; the worker ends when all questions are put.
    Ask(Vec<Ask>),
    /// Something is under way that has to come to its end before.
    Wait,
}

pub(super) fn follow_up(worker: &Worker, now: u64) -> Decision<Event, (u64, Effect)> {
    let mut decision = Decision::default();
    if worker.ended || worker.brief.is_none() {
        return decision;
    }
    if !worker.busy.is_empty() {
        interrupt(worker, now, &mut decision);
        if !worker.has_room() || !decision.events.is_empty() {
            return decision;
        }
    }
    let events = &mut decision.events;
    match next(worker, now) {
        Next::Do(effect) => {
            let id = worker.next_effect;
            events.push(Event::Intended { id, effect: effect.clone() });
            decision.effects.push((id, effect));
        }
        Next::Say(report) => events.push(Event::Reported(report)),
        Next::Over(artifact) => over(worker, artifact, events),
        Next::Fail(reason) => events.push(Event::Reported(Report::Failed { reason })),
        Next::Ask(asks) => {
            let new = asks.into_iter().filter(|ask| !worker.asked.contains(&ask.key));
            events.extend(new.map(|ask| Event::Reported(Report::Asked { ask })));
            events.push(Event::Reported(Report::Parked));
        }
        Next::Wait => {}
    }
    decision
}

/// Cuts off what is being done, once, when the phase is cancelled or its time is up.
fn interrupt(worker: &Worker, now: u64, decision: &mut Decision<Event, (u64, Effect)>) {
    let timeout = worker.halt.is_none() && is_overdue(worker, now);
    if timeout {
        decision.events.push(Event::Halted { how: Halt::Timeout });
    }
    let is_long = worker.busy.values().any(Effect::is_long);
    let must_end = timeout || matches!(worker.halt, Some(Halt::Cancelled | Halt::Timeout));
    if must_end && is_long && !worker.interrupted {
        decision.events.push(Event::Interrupted);
        decision.effects.push((Worker::UNNUMBERED, Effect::Interrupt { of: None }));
    }
}

fn is_overdue(worker: &Worker, now: u64) -> bool {
    let wall = worker.found.as_ref().and_then(|found| found.settings.wall_max_ms);
    wall.is_some_and(|wall| worker.began + wall <= now)
}

/// Ends a stage: after a gate the next one begins, after the last one the phase is over.
fn over(worker: &Worker, artifact: String, events: &mut Vec<Event>) {
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

/// Tells which files the plans change. The worker ends with that, to be started again when nobody
/// else changes them, unless the lead has cleared them before.
fn planned(worker: &Worker) -> Report {
    let plans = worker.found.iter().flat_map(|found| &found.plans);
    // Those that are done count as well: the phase is not merged yet.
    let files = touch::normalized(plans.flat_map(|plan| &plan.files));
    let clear = worker.brief.as_ref().map_or(&[][..], |brief| &brief.clear);
    Report::Planned { waits: !touch::covers(clear, &files), files }
}

fn next(worker: &Worker, now: u64) -> Next {
    // Whoever wants it to rest came too late, and a checkpoint would say that there is more to do.
    if let Some(commit) = worker.closed.as_ref().filter(|_| worker.halt != Some(Halt::Cancelled)) {
        return Next::Say(Report::Complete { commit: commit.clone() });
    }
    if let Some(how) = worker.halt {
        return halt(worker, how);
    }
    if is_overdue(worker, now) {
        return halt(worker, Halt::Timeout);
    }
    if let Some(reason) = &worker.hopeless {
        // What other plans are at comes to its end before.
        return if worker.busy.is_empty() { fail(worker, reason.clone()) } else { Next::Wait };
    }
    if let Some(next) = worker.next_of_agents(now) {
        return next;
    }
    let Some(stage) = worker.stage else {
        return Next::Over(String::new());
    };
    let Some(found) = &worker.found else {
        return if worker.blind < ROLE_TRIES { Next::Do(Effect::Look) } else { give_up(worker) };
    };
    let next = match stage {
        Stage::Discuss => discuss(worker, found),
        Stage::Research => research(worker, found),
        Stage::Plan => plan(worker, found),
        Stage::Execute => execute::execute(worker, found),
        Stage::Refine => return refine(worker, found),
    };
    match next {
        Next::Over(_) if worker.through() == Some(stage) => {
            Next::Say(Report::Ahead { through: stage })
        }
        Next::Over(artifact) => gate(worker, found, stage, artifact),
        Next::Fail(reason) => fail(worker, reason),
        next => next,
    }
}

fn halt(worker: &Worker, how: Halt) -> Next {
    if worker.checkpointed || worker.through().is_some() {
        return Next::Say(Report::Stopped { how });
    }
    let reason = match how {
        Halt::Paused => "a person paused it",
        Halt::Cancelled => "a person cancelled it",
        Halt::Timeout => "it took longer than allowed; its work may be incomplete",
    };
    checkpoint(worker, how.name(), reason)
}

/// Fails after a checkpoint; a look-ahead leaves none, for the phase has not begun.
fn fail(worker: &Worker, reason: String) -> Next {
    if worker.checkpointed || worker.through().is_some() {
        Next::Fail(reason)
    } else {
        checkpoint(worker, "failed", &reason)
    }
}

fn give_up(worker: &Worker) -> Next {
    let reason = worker.problem.clone().unwrap_or_else(|| "it does not work".to_owned());
    fail(worker, reason)
}

fn checkpoint(worker: &Worker, status: &str, reason: &str) -> Next {
    let plan = worker.trouble.keys().chain(worker.plans.keys()).next().cloned();
    let done = plan.as_ref().and_then(|plan| worker.tasks_done.get(plan));
    let task = plan.as_ref().map(|_| done.map_or(0, std::collections::BTreeSet::len) + 1);
    let (status, reason) = (status.to_owned(), reason.to_owned());
    Next::Do(Effect::Checkpoint { status, reason, plan, task })
}

/// Asks a person before the next stage, where that is wanted.
fn gate(worker: &Worker, found: &Found, stage: Stage, artifact: String) -> Next {
    let phase = worker.phase();
    // A discussion that was over before needs no further confirmation.
    let prefix = format!("{phase}/discuss/");
    let was_asked = worker.answers().iter().any(|answer| answer.key.starts_with(&prefix));
    let is_wanted =
        found.settings.gates.stop_after(stage) && (stage != Stage::Discuss || was_asked);
    let key = format!("{phase}/gate/{}", stage.name());
    let answer = worker.answers_to(&key).last().map(|answer| answer.text.as_str());
    match answer {
        Some(REJECT) => fail(worker, format!("a person stopped it after {}", stage.name())),
        None if is_wanted => Next::Ask(vec![Ask {
            key,
            kind: ItemKind::Gate,
            question: format!("Phase {phase}: {} is over ({artifact}). Go on?", stage.name()),
            choices: vec![APPROVE.to_owned(), REJECT.to_owned()],
        }]),
        _ => Next::Over(artifact),
    }
}

fn discuss(worker: &Worker, found: &Found) -> Next {
    if found.context {
        return Next::Over("CONTEXT.md".to_owned());
    }
    if worker.tries > 1 {
        return Next::Fail(worker.problem.clone().unwrap_or_default());
    }
    if found.skip_discuss {
        return Next::Do(Effect::WriteContext { answers: Vec::new() });
    }
    if found.settings.roles.contains(&Role::Discusser) {
        return agents::discuss(worker, found);
    }
    agents::fixed(worker, found)
}

fn research(worker: &Worker, found: &Found) -> Next {
    if found.research {
        return Next::Over("RESEARCH.md".to_owned());
    }
    if !found.settings.research {
        return Next::Over("research is switched off".to_owned());
    }
    if !found.settings.roles.contains(&Role::Researcher) {
        return Next::Over("no researcher is set".to_owned());
    }
    if worker.role_done {
        return Next::Fail("the researcher left no RESEARCH.md".to_owned());
    }
    run_role(worker, Role::Researcher, worker.rounds)
}

pub(super) fn run_role(worker: &Worker, role: Role, round: u32) -> Next {
    if worker.tries >= ROLE_TRIES {
        let problem = worker.problem.clone().unwrap_or_default();
        return Next::Fail(format!("{}: {problem}", role.name()));
    }
    Next::Do(Effect::RunRole { role, round })
}

fn plan(worker: &Worker, found: &Found) -> Next {
    let roles = &found.settings.roles;
    let phase = worker.phase();
    if found.plans.is_empty() && !roles.contains(&Role::Planner) && worker.through().is_some() {
        return Next::Over("no planner is set".to_owned());
    }
    if found.plans.is_empty() && !roles.contains(&Role::Planner) {
        return ask_again(worker, &format!("{phase}/plans"), |key| Ask {
            key,
            kind: ItemKind::Plans,
            question: format!("Phase {phase} has no plans and nobody to write them. Look again?"),
            choices: vec![RETRY.to_owned(), FAIL.to_owned()],
        });
    }
    let wants_check = found.settings.plan_check && roles.contains(&Role::PlanChecker);
    let is_checked = worker.checked || !wants_check;
    if found.plans.is_empty() || (worker.rounds > 0 && !worker.role_done && !is_checked) {
        if found.plans.is_empty() && worker.role_done {
            return Next::Fail("the planner left no plans".to_owned());
        }
        if worker.rounds >= CHECK_ROUNDS_MAX {
            return Next::Fail(format!("the plans were refused {CHECK_ROUNDS_MAX} times"));
        }
        return run_role(worker, Role::Planner, worker.rounds);
    }
    if let Some(plan) = found.plans.iter().find(|plan| plan.problem.is_some()) {
        let problem = plan.problem.as_deref().unwrap_or_default();
        return Next::Fail(format!("plan {}: {problem}", plan.id));
    }
    if !is_checked {
        return run_role(worker, Role::PlanChecker, worker.rounds);
    }
    Next::Over(match found.plans.len() {
        1 => "1 plan".to_owned(),
        count => format!("{count} plans"),
    })
}

/// Asks once more after each answer that wants it; fails on the answer that gives up.
pub(super) fn ask_again(worker: &Worker, stem: &str, ask: impl Fn(String) -> Ask) -> Next {
    let count = worker.answers_to(stem).count();
    if worker.answers_to(stem).last().is_some_and(|answer| answer.text == FAIL) {
        return Next::Fail("a person gave it up".to_owned());
    }
    Next::Ask(vec![ask(format!("{stem}#{}", count + 1))])
}

fn refine(worker: &Worker, found: &Found) -> Next {
    if worker.tries >= ROLE_TRIES {
        return give_up(worker);
    }
    // What VERIFICATION.md says counts only when the verifier has just written it.
    if !found.settings.verifier {
        return Next::Do(Effect::ClosePhase);
    }
    let phase = worker.phase();
    let stem = format!("{phase}/gaps");
    let last = worker.answers_to(&stem).last().map(|answer| answer.text.as_str());
    let can_close = found.settings.roles.contains(&Role::Planner);
    match (&worker.verdict, last) {
        (_, Some(FAIL)) => fail(worker, "a person does not accept the gaps".to_owned()),
        (_, Some(ACCEPT)) | (Some(Verdict::Passed), _) => Next::Do(Effect::ClosePhase),
        (Some(Verdict::Gaps { text } | Verdict::HumanNeeded { text }), _) => {
            let choices = [ACCEPT, CLOSE, RETRY, FAIL].into_iter();
            let choices = choices.filter(|choice| *choice != CLOSE || can_close);
            ask_again(worker, &stem, |key| Ask {
                key,
                kind: ItemKind::Gaps,
                question: format!("Phase {phase}: {text}"),
                choices: choices.clone().map(str::to_owned).collect(),
            })
        }
        (None, Some(CLOSE)) if can_close => {
            let round = u32::try_from(worker.answers_to(&stem).count()).unwrap_or(u32::MAX);
            close_gaps(worker, found, round)
        }
        (None, _) => Next::Do(Effect::RunRole { role: Role::Verifier, round: 0 }),
    }
}

/// Has plans made for the gaps, goes back to carry them out, and then has all verified again.
fn close_gaps(worker: &Worker, found: &Found, round: u32) -> Next {
    let is_open = found.plans.iter().any(|plan| !worker.plans_done.contains(&plan.id));
    if is_open && !worker.went_back {
        let artifact = "plans that close gaps".to_owned();
        let (from, to) = (Some(Stage::Refine), Stage::Execute);
        return Next::Say(Report::Stage { from, to, artifact });
    }
    if worker.gaps_planned || worker.went_back {
        return Next::Do(Effect::RunRole { role: Role::Verifier, round: 0 });
    }
    Next::Do(Effect::RunRole { role: Role::Planner, round })
}

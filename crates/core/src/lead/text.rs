//! Renders events of a run as sentences for `mow log` and `mow run --plain`.

mod reasons;
#[cfg(test)]
mod tests;

use super::schedule::list;
use super::{Command, Effect, Event, Hold, Lead, Outcome, PhaseSpec, PhaseState, Reason, Status};
use crate::message::Fields;
use crate::phase::PhaseNumber;
use crate::report::{HaltOrder, HaltOrigin, HaltReason, Report};

/// The most groups of phases that are named after a roadmap was read; the rest is counted.
const GROUPS_MAX: usize = 8;
/// The most files of a phase that are named; the rest is counted.
const FILES_MAX: usize = 4;

impl Event {
    /// Returns the phase that the event is about; `None` for the whole run.
    pub fn phase(&self) -> Option<PhaseNumber> {
        match self {
            Self::Reported { phase, .. }
            | Self::StatusChanged { phase, .. }
            | Self::Halted { phase, .. }
            | Self::Unhalted { phase }
            | Self::Noted { phase, .. }
            | Self::Spent { phase, .. }
            | Self::WorkerDied { phase } => Some(*phase),
            Self::Asked { item } => item.phase,
            Self::Intended { effect, .. } => effect.phase(),
            _ => None,
        }
    }

    /// Returns the event in one line for people; `None` where another event says it better.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Begun { run, target, tip } => {
                format!("run {run} begins on {target} at {}", short(tip))
            }
            Self::LeadStarted { settings } => {
                format!(
                    "a lead process takes up the run with at most {}",
                    count(settings.max_workers, "worker")
                )
            }
            Self::RoadmapRead { phases, .. } => planned(phases),
            Self::Observed { phases } => {
                let planned = phases.iter().filter(|spec| spec.touches.is_some());
                let planned: Vec<_> = planned.map(|spec| spec.number).collect();
                match planned.as_slice() {
                    [] => return None,
                    some => format!("plans found for phase {}", list(some)),
                }
            }
            Self::Finished { outcome, .. } => return outcome.sentence(),
            Self::Reported { phase, report, .. } => {
                format!("phase {phase}: {}", report.sentence()?)
            }
            Self::StatusChanged { phase, why, ahead: Some(_), .. } => {
                format!("phase {phase}: {why}")
            }
            Self::StatusChanged { phase, to, why, attempt, .. } => {
                moved(*phase, *to, why, *attempt)
            }
            Self::Halted { phase, order } => halted(*phase, order),
            Self::Unhalted { phase } => format!("phase {phase} continues after all"),
            Self::WorkerDied { phase } => format!("phase {phase}: its worker died"),
            Self::Announced { text } => text.clone(),
            Self::Noted { phase, text } => format!("phase {phase}: {text}"),
            Self::Spent { phase, spent } => format!("phase {phase}: {}", spent.sentence()),
            Self::Asked { item } => format!("question {}: {}", item.id, item.ask.question),
            Self::Answered { item, text } => format!("question {item} is answered: {text}"),
            Self::Withdrawn { item } => format!("question {item} is withdrawn"),
            Self::Closed { open, .. } if open.is_empty() => "a person closes the run".to_owned(),
            Self::Closed { open, .. } => {
                format!("a person closes the run; not merged: {}", list(open))
            }
            Self::Commanded { command, effect, .. } => {
                format!("command: {} ({effect})", command.sentence())
            }
            Self::Breaker { open: true } => {
                "the circuit breaker is open: no more phases are started".to_owned()
            }
            Self::Breaker { open: false } => "phases may start again".to_owned(),
            Self::Held { hold: Hold::Draining } => {
                "finishing running phases; press Ctrl-C again to pause them now".to_owned()
            }
            Self::Held { hold: Hold::Stopping } => {
                "pausing all phases after their current task".to_owned()
            }
            // The command that caused the change says it.
            Self::WorkersSet { .. } | Self::Held { hold: Hold::None } | Self::Intended { .. } => {
                return None;
            }
        })
    }

    /// Returns the event in one line, with details from the state before the event.
    pub fn describe(&self, before: &Lead) -> Option<String> {
        match self {
            Self::Finished { id, outcome } => match before.effects.open.get(id) {
                Some(effect) => outcome.describe(effect),
                None => outcome.sentence(),
            },
            Self::Reported { phase, report: Report::Started { pid }, .. } => {
                Some(format!("phase {phase}: worker {pid} is running"))
            }
            Self::Answered { item, text } => {
                let phase = before.inbox.items.get(item).and_then(|item| item.phase);
                let phase = phase.map_or(String::new(), |phase| format!(" about phase {phase}"));
                Some(format!("question {item}{phase} is answered: {text}"))
            }
            event => event.sentence(),
        }
    }
}

impl Lead {
    /// Returns why a phase has its status; for a waiting phase, what it waits for.
    pub fn explain_status(&self, state: &PhaseState) -> String {
        if state.status != Status::Waiting && !state.looks_ahead() {
            return state.why.to_string();
        }
        let others = state.spec.depends_on.iter().filter_map(|number| self.phases.get(number));
        let open: Vec<_> = others
            .filter(|other| other.status != Status::Merged)
            .map(|other| format!("{} ({})", other.spec.number, other.status.name()))
            .collect();
        let workers = self.settings.max_workers;
        if let Some(why) = &state.spec.held {
            return why.clone();
        }
        if state.is_left_out() {
            return "it stays as it is: this run was continued for other phases only".to_owned();
        }
        if let Some(through) = state.through.filter(|_| state.looks_ahead()) {
            return format!(
                "looks ahead through {} and waits for {}",
                through.name(),
                open.join(", ")
            );
        }
        if !open.is_empty() {
            let done = state
                .ahead_through
                .map_or_else(String::new, |stage| format!("; done ahead through {}", stage.name()));
            format!("it waits for {}{done}", open.join(", "))
        } else if let Some((other, path)) = self.blocking_phase(state) {
            format!("it waits for {other}, which also changes {path}")
        } else if self.starts.breaker_open {
            "no phases are started until a person decides".to_owned()
        } else if self.starts.hold != Hold::None {
            "nothing new is started".to_owned()
        } else if self.index.live.len() >= workers {
            format!("it waits for a slot: {} of {workers} are taken", self.index.live.len())
        } else {
            format!("it may start: {}", state.why)
        }
    }
}

/// Lists the phases with their dependencies, those with the same dependencies together.
fn planned(phases: &[PhaseSpec]) -> String {
    let mut groups: Vec<(&[PhaseNumber], Vec<PhaseNumber>)> = Vec::new();
    for spec in phases {
        match groups.iter().position(|(on, _)| *on == spec.depends_on.as_slice()) {
            Some(at) => groups[at].1.push(spec.number),
            None if groups.len() < GROUPS_MAX => {
                groups.push((&spec.depends_on, vec![spec.number]));
            }
            None => {}
        }
    }
    let named: usize = groups.iter().map(|(_, numbers)| numbers.len()).sum();
    let mut parts: Vec<_> = groups
        .iter()
        .map(|(on, numbers)| match on {
            [] => format!("{} at once", list(numbers)),
            on => format!("{} after {}", list(numbers), list(on)),
        })
        .collect();
    if named < phases.len() {
        parts.push(format!("and {} more", phases.len() - named));
    }
    let waves = PhaseSpec::by_wave(phases);
    let pairs: Vec<_> = waves.iter().flat_map(|wave| PhaseSpec::overlaps(wave)).collect();
    for (a, b, path) in pairs.iter().take(GROUPS_MAX) {
        parts.push(format!("{a} and {b} both change {path}"));
    }
    format!("the roadmap has {}: {}", count(phases.len(), "phase"), parts.join("; "))
}

/// Names the first files, and counts the rest.
fn named(files: &[String]) -> String {
    let more = files.len().saturating_sub(FILES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let shown: Vec<_> = files.iter().take(FILES_MAX).map(String::as_str).collect();
    format!("{}{more}", shown.join(", "))
}

/// Returns a number with its noun: `1 task`, `2 tasks`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Says when a phase stops early, and why. Journals of older versions have no origin.
fn halted(phase: PhaseNumber, order: &HaltOrder) -> String {
    let Some(origin) = order.origin.as_ref().map(HaltOrigin::sentence) else {
        return match order.how {
            HaltReason::Paused => format!("phase {phase} is told to pause"),
            HaltReason::Cancelled => format!("phase {phase} is told to stop, it was cancelled"),
            HaltReason::Timeout => format!("phase {phase} reached its time limit"),
        };
    };
    match order.how {
        _ if order.now => format!("phase {phase} stops at once: {origin}"),
        HaltReason::Cancelled => format!(
            "phase {phase} ends after its current task: {origin}; \
             `mow cancel {phase} --now` does not wait"
        ),
        _ => format!("phase {phase} pauses after its current task: {origin}"),
    }
}

fn moved(phase: PhaseNumber, to: Status, why: &Reason, attempt: u32) -> String {
    match to {
        Status::Preparing => format!("phase {phase} starts (attempt {attempt}): {why}"),
        _ => format!("phase {phase} is {}: {why}", to.name()),
    }
}

/// Returns the first eight digits of a commit id.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

impl Command {
    fn sentence(&self) -> String {
        let all = |phase: &Option<_>| match phase {
            Some(phase) => format!("phase {phase}"),
            None => "all".to_owned(),
        };
        match self {
            Self::Pause { phase } => format!("pause {}", all(phase)),
            Self::Resume { phase } => format!("resume {}", all(phase)),
            Self::Cancel { phase, now } => {
                format!("cancel {}{}", all(phase), if *now { " at once" } else { "" })
            }
            Self::Answer { item, .. } => format!("answer question {item}"),
            Self::TakeBack { item } => format!("take back the answer to question {item}"),
            Self::SetWorkers { max } => format!("run {}", count(*max, "worker")),
        }
    }
}

impl Outcome {
    /// Returns the outcome of an effect in one line; `None` where the next event says it.
    fn describe(&self, effect: &Effect) -> Option<String> {
        Some(match (effect, self) {
            (Effect::Prepare { phase, .. }, Self::Prepared { base }) => {
                format!("phase {phase}: its worktree is based on {}", short(base))
            }
            (Effect::Merge { phase, .. }, Self::Merged { commit, note }) => {
                let note = if note.is_empty() { String::new() } else { format!("; {note}") };
                format!("phase {phase}: the target ref is now {}{note}", short(commit))
            }
            (Effect::KillWorker { phase, .. }, Self::Done) => {
                format!("phase {phase}: its worker was killed")
            }
            (Effect::FastForward { target, commit, .. }, Self::Done) => {
                format!("{target} is fast-forwarded to {}", short(commit))
            }
            (Effect::FastForward { target, .. }, Self::Refused { reason, command }) => {
                format!("{target} was not fast-forwarded: {reason}; to finish: {command}")
            }
            (Effect::FastForward { target, .. }, Self::Failed { reason }) => {
                format!("{target} was not fast-forwarded: {reason}")
            }
            (Effect::CommitPlanningFiles { .. }, Self::Failed { reason }) => {
                format!("the planning files could not be committed: {reason}")
            }
            (Effect::CommitPlanningFiles { .. }, _) => "the planning files are written".to_owned(),
            // The status change that follows has the reason.
            _ => return None,
        })
    }

    fn sentence(&self) -> Option<String> {
        match self {
            Self::Merged { commit, note } => {
                let note = if note.is_empty() { String::new() } else { format!("; {note}") };
                Some(format!("the target ref is now {}{note}", short(commit)))
            }
            Self::Refused { reason, command } => {
                Some(format!("the branch was not fast-forwarded: {reason}; to finish: {command}"))
            }
            Self::Failed { reason } => Some(format!("an effect failed: {reason}")),
            Self::Done | Self::Prepared { .. } | Self::Conflict { .. } | Self::Refuted { .. } => {
                None
            }
        }
    }
}

/// Says what an agent told the lead by calling `mow`.
fn agent_sentence(message: &Fields) -> String {
    let field = |key: &str| message.get(key).and_then(serde_json::Value::as_str).unwrap_or("-");
    let plan = field("plan");
    match field("type") {
        "blocker" => format!("an agent reports a blocker in plan {plan}: {}", field("blocker")),
        "error" => format!("an agent reports an error in plan {plan}: {}", field("error")),
        "state_change" => {
            let (from, to) = (field("from_state"), field("to_state"));
            format!("an agent reports that plan {plan} went from {from} to {to}")
        }
        other => format!("an agent called mow: {}", other.replace('_', " ")),
    }
}

impl Report {
    /// Returns the report in a few words for people; `None` where another line says it.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Started { .. }
            | Self::Asked { .. }
            | Self::QuestionObsolete { .. }
            | Self::Decisions { .. }
            | Self::TaskStarted { .. } => return None,
            Self::PlanCreated { plan } => format!("plan {plan} is written"),
            Self::Stage { to, artifact, .. } if artifact.is_empty() => {
                format!("stage {}", to.name())
            }
            Self::Stage { to, artifact, .. } => format!("stage {} ({artifact})", to.name()),
            Self::Plans { done, total } => {
                format!("{done} of {total} {} done", if *total == 1 { "plan" } else { "plans" })
            }
            Self::PlanStarted { plan, tasks } => {
                format!("plan {plan} starts, {}", count(*tasks, "task"))
            }
            Self::TaskDone { plan, task, .. } => format!("plan {plan}: task {task} done"),
            Self::PlanDone { plan, commit, decisions, .. } => {
                let decided = match decisions.len() {
                    0 => String::new(),
                    number => format!(", {}", count(number, "decision")),
                };
                format!("plan {plan} done, {}{decided}", short(commit))
            }
            Self::Blocked { plan, text, skipped } => {
                let goes_on = if *skipped { "; other plans continue" } else { "" };
                format!("plan {plan} is blocked: {text}{goes_on}")
            }
            Self::Note { text } => text.clone(),
            Self::Agents { count: agents } => {
                format!("up to {} at a time", count(*agents, "agent"))
            }
            Self::Spent(spent) => spent.sentence(),
            Self::Throttled { reason, .. } => format!("waiting for its model: {reason}"),
            Self::Denied { reason } => format!("no agent can work: {reason}"),
            Self::AgentMessage { message } => agent_sentence(message),
            Self::Planned { files, .. } if files.is_empty() => return None,
            Self::Planned { files, .. } => format!("its plans change {}", named(files)),
            Self::LookaheadDone { through } => format!("done ahead through {}", through.name()),
            Self::Parked => "it waits for a person".to_owned(),
            Self::Complete { commit } => format!("complete at {}", short(commit)),
            Self::Failed { reason } => format!("failed: {reason}"),
            Self::Stopped { how } => format!("stopped: {}", how.name()),
        })
    }
}

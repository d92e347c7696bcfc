//! A run in sentences: what `mow log` and `mow run --plain` say about each event.

use super::{Command, Effect, Event, Hold, Outcome, Status};
use crate::report::{Halt, Report};

impl Event {
    /// Returns the phase it is about.
    pub fn phase(&self) -> Option<crate::phase::PhaseNumber> {
        match self {
            Self::Reported { phase, .. }
            | Self::Moved { phase, .. }
            | Self::Halted { phase, .. }
            | Self::Unhalted { phase }
            | Self::Died { phase } => Some(*phase),
            Self::Asked { item } => item.phase,
            Self::Intended { effect, .. } => match effect {
                Effect::Prepare { phase, .. }
                | Effect::Tell { phase, .. }
                | Effect::End { phase, .. }
                | Effect::Merge { phase, .. } => Some(*phase),
                Effect::Start { brief } => Some(brief.phase),
                Effect::Follow { .. } | Effect::Close { .. } => None,
            },
            _ => None,
        }
    }

    /// Returns the event in one line for people; `None` where another event says it better.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Begun { run, target, tip } => {
                format!("run {run} begins on {target} at {}", short(tip))
            }
            Self::TakenUp { settings } => {
                format!("a lead takes up the run, at most {} workers", settings.max_workers)
            }
            Self::Planned { phases, .. } => format!("the roadmap has {} phases", phases.len()),
            Self::Finished { outcome, .. } => return outcome.sentence(),
            Self::Reported { phase, report, .. } => {
                format!("phase {phase}: {}", report.sentence()?)
            }
            Self::Moved { phase, to, why, attempt } => moved(*phase, *to, why, *attempt),
            Self::Halted { phase, how } => match how {
                Halt::Paused => format!("phase {phase} is told to rest"),
                Halt::Cancelled => format!("phase {phase} is told to end"),
                Halt::Timeout => format!("phase {phase} has used up its time"),
            },
            Self::Unhalted { phase } => format!("phase {phase} shall go on after all"),
            Self::Died { phase } => format!("phase {phase}: its worker died"),
            Self::Asked { item } => format!("question {}: {}", item.id, item.ask.question),
            Self::Answered { item, text } => format!("question {item} is answered: {text}"),
            Self::Withdrawn { item } => format!("question {item} is no longer asked"),
            Self::Commanded { command, effect, .. } => {
                format!("a person wants: {} ({effect})", command.sentence())
            }
            Self::Breaker { open: true } => "too many phases failed: no more starts".to_owned(),
            Self::Breaker { open: false } => "phases may start again".to_owned(),
            Self::Held { hold: Hold::Draining } => {
                "no more starts; what runs may end by itself".to_owned()
            }
            Self::Held { hold: Hold::Stopping } => "all workers are told to rest".to_owned(),
            Self::Held { hold: Hold::None } | Self::Intended { .. } => return None,
        })
    }
}

fn moved(phase: crate::phase::PhaseNumber, to: Status, why: &str, attempt: u32) -> String {
    match to {
        Status::Preparing => format!("phase {phase} starts (attempt {attempt}): {why}"),
        _ => format!("phase {phase} is {}: {why}", to.name()),
    }
}

/// Returns the beginning of a commit's name.
fn short(commit: &str) -> &str {
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
            Self::Cancel { phase } => format!("cancel {}", all(phase)),
            Self::Answer { item, .. } => format!("answer question {item}"),
        }
    }
}

impl Outcome {
    fn sentence(&self) -> Option<String> {
        match self {
            Self::Merged { commit } => Some(format!("the run's target is now {}", short(commit))),
            Self::Refused { reason, command } => {
                Some(format!("the branch did not follow: {reason}; to finish: {command}"))
            }
            Self::Failed { reason } => Some(format!("that did not work: {reason}")),
            Self::Done | Self::Prepared { .. } | Self::Conflict { .. } => None,
        }
    }
}

impl Report {
    /// Returns the report in a few words for people; `None` for what needs none.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Started { .. } | Self::Asked { .. } => return None,
            Self::Stage { to, artifact, .. } if artifact.is_empty() => {
                format!("stage {}", to.name())
            }
            Self::Stage { to, artifact, .. } => format!("stage {} ({artifact})", to.name()),
            Self::Plans { done, total } => format!("{done} of {total} plans done"),
            Self::PlanStarted { plan, tasks } => format!("plan {plan} starts, {tasks} tasks"),
            Self::TaskDone { plan, task, .. } => format!("plan {plan}: task {task} done"),
            Self::PlanDone { plan, commit, .. } => {
                format!("plan {plan} done, {}", short(commit))
            }
            Self::Blocked { plan, text, skipped } => {
                let goes_on = if *skipped { "; it goes on with what it can" } else { "" };
                format!("plan {plan} is blocked: {text}{goes_on}")
            }
            Self::Note { text } => text.clone(),
            Self::Said { message } => crate::message::Message::summary_of(message),
            Self::Parked => "it waits for a person".to_owned(),
            Self::Complete { commit } => format!("complete at {}", short(commit)),
            Self::Failed { reason } => format!("failed: {reason}"),
            Self::Stopped { how } => format!("stopped: {}", how.name()),
        })
    }
}

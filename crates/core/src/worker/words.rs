//! A worker's attempt in sentences: what `mow log PHASE` says about each of its records.

#[cfg(test)]
mod tests;

use super::{Effect, Event, Evidence, Outcome, Role, Verdict};
use crate::lead::words::short;
use crate::report::{Halt, Report};

impl Event {
    /// Returns the event in one line for people; `None` where another event says it better.
    pub fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Briefed { brief } => {
                let answers = match brief.answers.len() {
                    0 => String::new(),
                    1 => ", with 1 answer".to_owned(),
                    count => format!(", with {count} answers"),
                };
                format!("attempt {} begins on {}{answers}", brief.attempt, short(&brief.base))
            }
            Self::Intended { effect, .. } => return effect.sentence(),
            Self::Finished { outcome, .. } => return outcome.sentence(),
            Self::Halted { how: Halt::Paused } => "it is told to rest".to_owned(),
            Self::Halted { how: Halt::Cancelled } => "it is told to end".to_owned(),
            Self::Halted { how: Halt::Timeout } => "its time is used up".to_owned(),
            Self::Interrupted => "what it was doing is cut off".to_owned(),
            Self::Unheard { text } | Self::Stuck { text, .. } => text.clone(),
            Self::Sealed { .. } => return None,
            Self::Proved(evidence) => evidence.sentence(),
            Self::Moving { .. } => "what seemed stuck moves again".to_owned(),
            Self::Decided { choice, .. } => format!("a person decides: {choice}"),
            Self::Reported(Report::Started { pid }) => format!("worker {pid} is at work"),
            Self::Reported(Report::Asked { ask }) => format!("it asks: {}", ask.question),
            Self::Reported(report) => return report.sentence(),
        })
    }

    /// Returns whether it says that something did not work.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Finished {
                outcome: Outcome::Failed { .. }
                    | Outcome::Blocked { .. }
                    | Outcome::Undone { .. }
                    | Outcome::Hopeless { .. },
                ..
            } | Self::Stuck { .. }
                | Self::Reported(Report::Failed { .. })
        )
    }
}

impl Evidence {
    fn sentence(&self) -> String {
        let command = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        let place = if self.fresh { " in a fresh checkout" } else { "" };
        let end = match self.exit {
            Some(0) => "passes".to_owned(),
            Some(code) => format!("ends with {code}"),
            None => "does not come to its end".to_owned(),
        };
        format!("`{command}` {end} on {}{place}", short(&self.commit))
    }
}

impl Effect {
    fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::WriteContext { .. } => "the context is written down".to_owned(),
            Self::RunRole { role, round: 0 } => format!("the {} begins", role.name()),
            Self::RunRole { role, round } => {
                format!("the {} begins, round {}", role.name(), round + 1)
            }
            Self::Freeze => "the plans are taken as they are".to_owned(),
            Self::RunTask { plan, task, .. } => format!("plan {plan}: task {task} begins"),
            Self::CheckPlan { plan } => format!("plan {plan}: its checks begin"),
            Self::ClosePlan { plan, .. } => format!("plan {plan}: its summary is written"),
            Self::ClosePhase => "the last commit of the phase is made".to_owned(),
            Self::Checkpoint { status, reason, .. } => {
                format!("a checkpoint is written, {status}: {reason}")
            }
            Self::Look
            | Self::NoteStatus { .. }
            | Self::Interrupt { .. }
            | Self::Clear { .. }
            | Self::Gather { .. } => return None,
        })
    }

    /// Returns how the logs of what it runs begin, after phase and attempt.
    pub fn log_label(&self) -> Option<String> {
        match self {
            // A command that is set for the role logs as `verifier-…`, mow's own checks as `verify-…`.
            Self::RunRole { role: Role::Verifier, .. } => Some("verif".to_owned()),
            Self::RunRole { role, round } => Some(format!("{}-{round}", role.name())),
            Self::RunTask { plan, task, .. } => Some(format!("{plan}-t{task}-")),
            Self::CheckPlan { plan } => Some(format!("{plan}-t")),
            _ => None,
        }
    }
}

impl Outcome {
    fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::Failed { reason } => format!("that failed: {reason}"),
            Self::Blocked { text } => format!("that is blocked: {text}"),
            Self::Undone { task, reason } => format!("task {task} is undone: {reason}"),
            Self::Interrupted => "that was cut off".to_owned(),
            Self::Later { reason, .. } => format!("that must wait: {reason}"),
            Self::Hopeless { reason, .. } => format!("that is of no use now: {reason}"),
            Self::Asked { asks } if asks.len() == 1 => "a person has to answer first".to_owned(),
            Self::Asked { asks } => {
                format!("a person has to answer {} questions first", asks.len())
            }
            Self::Verdict { verdict: Verdict::Passed } => "the check passed".to_owned(),
            Self::Verdict { verdict: Verdict::Gaps { text } } => {
                format!("the check found gaps: {text}")
            }
            Self::Verdict { verdict: Verdict::HumanNeeded { text } } => {
                format!("a person must look: {text}")
            }
            Self::Done | Self::Found { .. } | Self::Frozen { .. } | Self::Committed { .. } => {
                return None;
            }
        })
    }
}

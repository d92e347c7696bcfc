//! Renders the records of a worker as sentences for `mow log PHASE`.

#[cfg(test)]
mod tests;

use super::{Effect, Event, Evidence, Outcome, Role, Verdict};
use crate::lead::text::{count as counted, short};
use crate::report::{HaltOrder, HaltReason, Report};

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
            Self::Halted(order) => halted(order),
            Self::AgentsSet { count: agents } => {
                format!("the lead allows {}", counted(*agents, "agent"))
            }
            Self::Interrupted => "running work is interrupted".to_owned(),
            Self::LeadSilent { text }
            | Self::BlockerUnanswered { text }
            | Self::Stuck { text, .. } => text.clone(),
            Self::BlockerAcknowledged => "the lead has acknowledged the blocker".to_owned(),
            Self::Sealed { .. } => return None,
            Self::CheckRan(evidence) => evidence.sentence(),
            Self::TaskReported(report) => {
                format!("plan {}, task {}: {}", report.plan, report.task, report.summary)
            }
            Self::ActiveAgain { .. } => "the stuck work is active again".to_owned(),
            Self::Decided { choice, .. } => format!("a person decides: {choice}"),
            Self::Reported(Report::Started { pid }) => format!("worker {pid} is running"),
            Self::Reported(Report::Asked { ask }) => format!("it asks: {}", ask.question),
            Self::Reported(report) => return report.sentence(),
        })
    }

    /// Returns whether the event reports a failure.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Finished {
                outcome: Outcome::Failed { .. }
                    | Outcome::Blocked { .. }
                    | Outcome::Undone { .. }
                    | Outcome::PermanentFailure { .. },
                ..
            } | Self::Stuck { .. }
                | Self::Reported(Report::Failed { .. })
        )
    }
}

fn halted(order: &HaltOrder) -> String {
    let text = match order.how {
        HaltReason::Paused => "the worker is told to pause",
        HaltReason::Cancelled if order.now => "it is told to stop at once, it was cancelled",
        HaltReason::Cancelled => "it is told to stop, it was cancelled",
        HaltReason::Timeout => "it reached its time limit",
    };
    let origin = order.origin.as_ref().map(|origin| format!(" ({})", origin.sentence()));
    format!("{text}{}", origin.unwrap_or_default())
}

impl Evidence {
    fn sentence(&self) -> String {
        let command = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        let checkout = if self.fresh { " in a fresh checkout" } else { "" };
        let end = match self.exit {
            Some(0) => "passes".to_owned(),
            Some(code) => format!("ends with {code}"),
            None => "does not finish".to_owned(),
        };
        format!("`{command}` {end} on {}{checkout}", short(&self.commit))
    }
}

impl Effect {
    fn sentence(&self) -> Option<String> {
        Some(match self {
            Self::WriteContext { .. } => "CONTEXT.md is written".to_owned(),
            Self::RunRole { role, round: 0 } => format!("the {} begins", role.name()),
            Self::RunRole { role, round } => {
                format!("the {} begins, round {}", role.name(), round + 1)
            }
            Self::Freeze => "the plans are frozen".to_owned(),
            Self::RunTask { plan, task, .. } => format!("plan {plan}: task {task} begins"),
            Self::CheckPlan { plan } => format!("plan {plan}: its checks begin"),
            Self::ClosePlan { plan, .. } => format!("plan {plan}: its summary is written"),
            Self::CheckCompletePlans => "the checks of complete plans begin".to_owned(),
            Self::ClosePhase => "the final commit of the phase is made".to_owned(),
            Self::Checkpoint { status, reason, .. } => {
                format!("a checkpoint is written, {status}: {reason}")
            }
            Self::Inspect
            | Self::NoteStatus { .. }
            | Self::Interrupt { .. }
            | Self::PrepareParallel { .. }
            | Self::CheckFileScopes { .. } => return None,
        })
    }

    /// Returns the start of the log file names of the effect, after phase and attempt.
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
            Self::Failed { reason } => format!("failed: {reason}"),
            Self::Blocked { text } => format!("blocked: {text}"),
            Self::Undone { task, reason } => format!("task {task} is undone: {reason}"),
            Self::Interrupted => "interrupted".to_owned(),
            Self::RetryLater { reason, .. } => format!("must wait: {reason}"),
            Self::PermanentFailure { reason, .. } => format!("permanent failure: {reason}"),
            Self::Asked { asks } if asks.len() == 1 => "a person has to answer first".to_owned(),
            Self::Asked { asks } => {
                format!("a person has to answer {} questions first", asks.len())
            }
            Self::Verdict { verdict: Verdict::Passed } => "the check passed".to_owned(),
            Self::Verdict { verdict: Verdict::Gaps { text } } => {
                format!("the check found gaps: {text}")
            }
            Self::Verdict { verdict: Verdict::HumanNeeded { text } } => {
                format!("a person must review: {text}")
            }
            Self::Done
            | Self::Inspected { .. }
            | Self::Frozen { .. }
            | Self::Committed { .. }
            | Self::Closed { .. } => return None,
        })
    }
}

//! Makes sentences of reasons and of the results of commands.

use std::fmt;

use crate::lead::schedule::list;
use crate::lead::{CommandEffect, FailureCause, MergeProblem, Reason};

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DependenciesMerged(all) => write!(f, "merged before it: {}", list(all)),
            Self::WorkerHung { decision } => {
                write!(f, "its worker hung, and a person decided: {decision}")
            }
            Self::FileTaken { path, by } => {
                write!(f, "its plans change {path}, and so does phase {by}, which is merged first")
            }
            Self::RestartAwaitsAnswer(why) => write!(f, "{why}, and waits for an answer"),
            Self::WaveClosed(wave) => write!(f, "wave {wave} is closed"),
            Self::MergeFailed(problem) => write!(f, "its merge failed: {problem}"),
            Self::LooksAhead { through, open } => {
                let (through, open) = (through.name(), list(open));
                write!(f, "looks ahead through {through} and waits for {open}")
            }
            Self::DoneAhead(through) => write!(f, "it is done ahead through {}", through.name()),
            Self::LookaheadFailed(reason) => write!(f, "the look-ahead failed: {reason}"),
            Self::Failed { cause, blocks, running } => {
                write!(f, "{cause}")?;
                if !blocks.is_empty() {
                    write!(f, "; blocks {}", list(blocks))?;
                }
                if !running.is_empty() {
                    write!(f, "; {} still running", list(running))?;
                }
                Ok(())
            }
            Self::Text(sentence) => f.write_str(sentence),
            plain => f.write_str(plain.sentence()),
        }
    }
}

impl Reason {
    /// Returns the sentence of a reason without fields; empty for the others.
    fn sentence(&self) -> &'static str {
        match self {
            Self::Chosen => "chosen for this run",
            Self::NoDependencies => "it has no dependencies",
            Self::WorktreeReady => "its worktree is ready",
            Self::WorkerRunning => "its worker is running",
            Self::WorkerDied => "its worker died",
            Self::WorkerOverdue => "its worker did not exit in time",
            Self::RestartedAfterHang => "its worker hung, and a person restarted it",
            Self::CancelledDuringHang => "its worker hangs, and it was cancelled",
            Self::PlansDone => "all its plans are done and checked",
            Self::FilesFree => "its plans are written, and no other phase changes these files",
            Self::AwaitsAnswer => "it waits for an answer",
            Self::Answered => "it was answered",
            Self::Paused => "it was paused",
            Self::Cancelled => "it was cancelled",
            Self::Resumed => "it was resumed",
            Self::AttemptWanted => "a person wants another attempt",
            Self::MergeWanted => "a person wants another merge attempt",
            Self::MergeGivenUp => "a person gave up the merge",
            Self::ConfirmedDone => "a person confirmed that it is done",
            Self::MarkedDone => "the roadmap marks it as done",
            Self::MarkedDoneDuringRun => "the roadmap marks it as done, but this run did not do it",
            Self::MarkRemoved => "the roadmap no longer marks it as done",
            Self::LeftRoadmap => "it left the roadmap",
            Self::BackInRoadmap => "it is back in the roadmap",
            Self::MergedAtOnce => "it is complete",
            Self::MergeAwaited => "another phase that changes the same files waits for it",
            Self::Merged => "its work is merged into the target ref",
            Self::LookaheadOver => "its look-ahead is over",
            Self::DependenciesMerged(_)
            | Self::WorkerHung { .. }
            | Self::FileTaken { .. }
            | Self::RestartAwaitsAnswer(_)
            | Self::WaveClosed(_)
            | Self::MergeFailed(_)
            | Self::LooksAhead { .. }
            | Self::DoneAhead(_)
            | Self::LookaheadFailed(_)
            | Self::Failed { .. }
            | Self::Text(_) => "",
        }
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported(reason) | Self::Refuted(reason) => f.write_str(reason),
            Self::TimeLimit => {
                f.write_str("it took longer than allowed; its work may be incomplete")
            }
            Self::Hung => f.write_str("its worker hung, and a person gave it up"),
            Self::Deaths(times) => write!(f, "its worker died {times} times without progress"),
            Self::NoWorktree(reason) => write!(f, "the worktree could not be created: {reason}"),
            Self::NotStarted(reason) => write!(f, "its worker cannot be started: {reason}"),
            Self::NotKilled(reason) => write!(f, "its worker cannot be killed: {reason}"),
        }
    }
}

impl fmt::Display for MergeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict { files, settle } => {
                let files: Vec<_> = files.iter().map(ToString::to_string).collect();
                write!(f, "conflicts in {}; {settle}", files.join(", "))
            }
            Self::Failed(reason) => f.write_str(reason),
            Self::NoResult => f.write_str("git returned no result"),
        }
    }
}

impl fmt::Display for CommandEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing to do"),
            Self::Phases(phases) => write!(f, "phase {}", list(phases)),
            Self::Answered { item, text } => write!(f, "question {item}: {text}"),
            Self::NoQuestion(item) => write!(f, "there is no question {item}"),
            Self::AnsweredBefore { item, text } => {
                write!(f, "question {item} was answered before: {text}")
            }
            Self::InvalidAnswer(problem) => f.write_str(problem),
            Self::OtherQuestion(item) => {
                write!(f, "question {item} is not the one that the person saw")
            }
            Self::TakenBack(item) => write!(f, "question {item} is open again"),
            Self::TakenBackTooLate(item) => write!(f, "question {item} is answered already"),
            Self::Workers { from, to } => write!(f, "at most {to} at a time instead of {from}"),
            Self::Text(sentence) => f.write_str(sentence),
        }
    }
}

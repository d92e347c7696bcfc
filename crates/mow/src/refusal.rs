//! Words the refusals of `engine::client` for people: one sentence, and what to do next.

use mow_core::lead::Status;
use mow_engine::client::{PhaseAction, Refusal, UnfinishedReason};
use mow_store::json_edit::JsonError;

use crate::failure::{Failure, error_chain};
use crate::runs::{Run, no_run_yet};

/// The exit code of a run that needs a person's answer or command to continue.
pub(crate) const WAITING: u8 = 5;

/// Words a refusal of a request about a run, with the command that continues the run.
pub(crate) fn refusal_about(run: &Run, refusal: Refusal) -> Failure {
    match refusal {
        Refusal::NothingToDo { action, phase: None } => {
            let message = format!("there is nothing to {}: {}", action.name(), run.progress());
            Failure::refused(message).hint("`mow ps` shows the status of each phase")
        }
        Refusal::NoLead => {
            let hint = format!("continue it with `{} --max-workers N`", run.resume_command());
            Failure::from(refusal).hint(hint)
        }
        Refusal::AlreadyQueued { .. } => {
            let hint = format!("continue the run with `{}`", run.resume_command());
            Failure::from(refusal).hint(hint)
        }
        Refusal::AlreadyAnswered { is_queued: true, .. } => {
            let hint = match run.lead_pid() {
                Ok(Some(_)) => "the run will process that answer".to_owned(),
                Ok(None) => format!("continue the run with `{}`", run.resume_command()),
                Err(failure) => return failure,
            };
            Failure::from(refusal).hint(hint)
        }
        refusal => refusal.into(),
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::AgentCaller => Self::refused("an agent of a run cannot decide about the run")
                .hint("mow message send blocker --plan ID --blocker TEXT --action skip"),
            Refusal::NestedRun { phase } => {
                let worker = phase.map_or_else(
                    || "an agent of a run".to_owned(),
                    |phase| format!("the worker of phase {phase}"),
                );
                Self::refused(format!("{worker} cannot start a run of its own"))
                    .hint("only people start runs; a worker works on its one phase")
            }
            Refusal::NoRun => no_run_yet(),
            Refusal::NoRepository => Self::refused("there is no git repository here"),
            Refusal::AlreadyQueued { action } => {
                let message = format!("the same command is already queued: {}", action.name());
                Self::refused(message)
            }
            Refusal::LeadRunning { holder } => {
                let message = format!("a run is live and merges its phases itself: {holder}");
                Self::refused(message).hint("`mow ps` shows its progress")
            }
            Refusal::Unfinished { phase, reason } => {
                let reason = unfinished(&reason);
                Self::refused(format!("phase {phase} is not finished: {reason}"))
                    .hint(format!("`mow worktree merge {phase}` merges its branch as it is"))
            }
            Refusal::BadManifest { path, problem } => Self::refused(format!("{path}: {problem}"))
                .hint("repair the file, then merge again"),
            Refusal::DirectoryExists { dir } => Self::refused(format!("{dir} already exists"))
                .hint("choose another directory with `--into DIR`"),
            Refusal::AgentsDenied { item, question } => {
                let hint = format!("fix the cause, then `mow answer {item} continue`");
                let failure = Self::refused(question).hint(hint);
                Self { code: WAITING, kind: "waiting", ..failure }
            }
            Refusal::BreakerOpen { item, question } => {
                let continues = item.map_or_else(
                    || "`mow resume`".to_owned(),
                    |item| format!("`mow answer {item} continue`"),
                );
                Self::refused(format!("the circuit breaker is open: {question}")).hint(format!(
                    "`mow log` shows what failed; {continues}, then the same command, starts \
                     phases again"
                ))
            }
            Refusal::Settings(error @ JsonError::BadPath { .. }) => error.into(),
            Refusal::Settings(error) => Self::refused(format!(".planning/config.json: {error}"))
                .hint("fix the file, or let `mow validate health --repair` write a new one"),
            Refusal::WorktreeHome(error) => {
                Self::refused(error.to_string()).hint("mow config-set worktree.root .worktrees")
            }
            Refusal::Engine(error) => error.into(),
            refusal => about_choice(refusal),
        }
    }
}

/// Words a refusal whose hint names what could be chosen instead.
fn about_choice(refusal: Refusal) -> Failure {
    let message = refusal.to_string();
    match refusal {
        Refusal::NothingToDo { action, phase: Some((number, status)) } => {
            let (word, name) = (action.name(), status.name());
            let message = format!("phase {number} is {name}: there is nothing to {word}");
            let hint = match (action, status) {
                (PhaseAction::Resume, Status::Parked) => {
                    "the phase waits for an answer: mow inbox".to_owned()
                }
                (PhaseAction::Cancel, status) if status.holds_slot() => {
                    let hint = format!(
                        "it ends after its current task; `mow cancel {number} --now` does not wait"
                    );
                    return Failure::refused(format!("phase {number} is already cancelled"))
                        .hint(hint);
                }
                (PhaseAction::Resume, Status::Cancelled) => {
                    format!("the run is over; `mow run {number}` starts a new one")
                }
                _ => "`mow ps` shows the status of each phase".to_owned(),
            };
            Failure::refused(message).hint(hint)
        }
        Refusal::UnknownQuestion { item, open } => {
            let open: Vec<_> = open.iter().map(ToString::to_string).collect();
            let hint = match open.as_slice() {
                [] => "no question is open; `mow inbox --all` lists answered ones".to_owned(),
                open => format!("the open questions are {}", open.join(", ")),
            };
            Failure::refused(format!("there is no question {item}")).hint(hint)
        }
        Refusal::AlreadyAnswered { item, answer, .. } => {
            Failure::refused(format!("question {item} is already answered: {answer}"))
                .hint("`mow inbox` lists the open questions")
        }
        Refusal::OtherQuestion { item } => {
            Failure::refused(format!("question {item} is not the one that you saw"))
                .hint("`mow inbox` lists the open questions")
        }
        Refusal::NothingToTakeBack { item, answer: Some(answer) } => Failure::refused(format!(
            "the run has taken up the answer to question {item}: {answer}"
        ))
        .hint("`mow ps` shows what the run does now"),
        Refusal::NothingToTakeBack { item, answer: None } => {
            Failure::refused(format!("question {item} has no answer to take back"))
                .hint("`mow inbox` lists the open questions")
        }
        Refusal::RunOver => Failure::refused("the run is over").hint("`mow run` starts a new one"),
        Refusal::InvalidChoice { choices, .. } => {
            let hint = if choices.is_empty() {
                "the answer must not be empty".to_owned()
            } else {
                choices.join(", ")
            };
            Failure::refused(message).hint(hint)
        }
        Refusal::NoVerdict { item, proposal } => {
            let answer = proposal.unwrap_or_else(|| "\"your answer\"".to_owned());
            Failure::refused(message).hint(format!("mow answer {item} {answer}"))
        }
        Refusal::UnknownRescue { known, .. } => {
            let names: Vec<_> = known.into_iter().take(10).collect();
            let hint = match names.as_slice() {
                [] => "there is no saved work".to_owned(),
                names => format!("the names are {}", names.join(", ")),
            };
            Failure::refused(message).hint(hint)
        }
        refusal => Failure::refused(error_chain(&refusal)),
    }
}

/// Says why a phase is not finished.
pub(crate) fn unfinished(reason: &UnfinishedReason) -> String {
    match reason {
        UnfinishedReason::NoWorktree { path } => {
            format!("it has no worktree at {}", path.display())
        }
        UnfinishedReason::NoDirectory => "it has no directory below .planning/phases/".to_owned(),
        UnfinishedReason::OpenPlans { done, total } => {
            format!("{done} of {total} plans have a summary")
        }
        UnfinishedReason::UncommittedWork { path } => {
            format!("{} has uncommitted work", path.display())
        }
    }
}

//! `mow pause`, `mow resume`, `mow cancel`: queue commands for the lead of a run.
//!
//! Commands are queued durably in a file, so they work without a running lead. A command that would
//! have no effect is refused at once, while the person still sees it.

use mow_core::lead::{Command, PhaseState, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::HaltReason;
use mow_engine::lead as engine;
use serde_json::{Value, json};

use super::plural::counted;
use super::run::confirm;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, is_over};

/// The arguments of `pause` and `resume`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The phase, such as 3 or 2.1; default: all phases
    phase: Option<String>,
}

/// The arguments of `cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The phase, such as 3 or 2.1; default: all phases that are not merged
    phase: Option<String>,
    /// Cancel all phases without asking
    #[arg(long, short)]
    yes: bool,
}

/// A command in the queue of a run's lead.
pub(super) struct QueuedCommand<'a> {
    run: &'a Run,
    /// The sequence number of the command in the queue.
    seq: u64,
    command: Value,
}

impl<'a> QueuedCommand<'a> {
    /// Queues a command for the lead of a run; it is durable when this returns.
    pub(super) fn new(run: &'a Run, command: &Command) -> Result<Self, Failure> {
        let seq = engine::send_command(&run.dir, command)?;
        Ok(Self { run, seq, command: json!(command) })
    }

    /// Queues an answer durably, or returns the answer that somebody else queued first.
    pub(super) fn answer_to(
        run: &'a Run,
        item: u32,
        text: &str,
    ) -> Result<Result<Self, String>, Failure> {
        let submitted = engine::AnswerQueue::open(&run.dir, &run.lead)?.submit(item, text)?;
        let command = json!(Command::Answer { item, text: text.to_owned() });
        Ok(submitted.map(|seq| Self { run, seq, command }))
    }

    /// Reports the queued command, and what happens next.
    pub(super) fn output(&self, context: &Context, message: &str) -> Result<Output, Failure> {
        let lead = self.run.lead_pid()?;
        let next = self.run.resume_command();
        if context.wants_json() {
            return Ok(Output::pretty_json(json!({
                "run": self.run.dir.run(),
                "seq": self.seq,
                "command": self.command,
                "lead": lead,
                "next": if lead.is_some() { None } else { Some(next) },
            })));
        }
        let status = match lead {
            Some(pid) => format!("The run (process {pid}) will process it."),
            None => format!("The run is stopped. Continue with `{next}`."),
        };
        Ok(Output::Text(format!("{message} {status}\n")))
    }
}

/// Refuses calls by workers and their agents: only people decide about a run.
pub(super) fn refuse_agents() -> Result<(), Failure> {
    if std::env::var_os("MOW_ROLE").is_none_or(|role| role != "worker") {
        return Ok(());
    }
    let message = "an agent of a run cannot decide about the run";
    Err(Failure::refused(message)
        .hint("mow message format input_needed --phase P --input-type TYPE --detail TEXT"))
}

/// What a person can do with the phases of a run.
#[derive(Clone, Copy)]
enum SteerAction {
    Pause,
    Resume,
    Cancel,
}

impl SteerAction {
    fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }

    fn command(self, phase: Option<PhaseNumber>) -> Command {
        match self {
            Self::Pause => Command::Pause { phase },
            Self::Resume => Command::Resume { phase },
            Self::Cancel => Command::Cancel { phase },
        }
    }

    /// Returns whether the action would change a phase; `is_named` when the user named the phase.
    fn applies_to(self, state: &PhaseState, is_named: bool) -> bool {
        let status = state.status;
        match self {
            Self::Pause => {
                matches!(status, Status::Waiting | Status::Complete) || status.holds_slot()
            }
            // A worker that is stopping can still be resumed.
            Self::Resume if is_named => {
                matches!(status, Status::Paused | Status::Failed | Status::Cancelled)
                    || state.awaits_merge()
                    || status.holds_slot() && state.halt.is_some()
            }
            Self::Resume => {
                status == Status::Paused
                    || status.holds_slot() && state.halt == Some(HaltReason::Paused)
            }
            Self::Cancel => !matches!(status, Status::Merged | Status::Merging | Status::Cancelled),
        }
    }
}

/// `mow pause`.
pub(super) fn pause(context: &Context, args: &Args) -> Result<Output, Failure> {
    steer(context, SteerAction::Pause, args.phase.as_deref(), true)
}

/// `mow resume`.
pub(super) fn resume(context: &Context, args: &Args) -> Result<Output, Failure> {
    steer(context, SteerAction::Resume, args.phase.as_deref(), true)
}

/// `mow cancel`.
pub(super) fn cancel(context: &Context, args: &CancelArgs) -> Result<Output, Failure> {
    steer(context, SteerAction::Cancel, args.phase.as_deref(), args.yes)
}

/// Queues a command for one phase or all, unless it would have no effect.
fn steer(
    context: &Context,
    action: SteerAction,
    phase: Option<&str>,
    is_confirmed: bool,
) -> Result<Output, Failure> {
    refuse_agents()?;
    let run = Run::load(context, None)?;
    let phase = phase.map(|word| run.phase(word)).transpose()?;
    if is_over(&run.lead) {
        return Err(nothing_to_do(&run, action, phase));
    }
    let command = action.command(phase.map(|state| state.spec.number));
    let pending = run.pending_commands()?;
    if pending.last() == Some(&command) {
        let message = format!("the same command is already queued: {}", action.word());
        return Err(Failure::refused(message)
            .hint(format!("continue the run with `{}`", run.resume_command())));
    }
    // Pending commands may change the status of phases, so only the lead can tell then.
    let chosen = run.lead.phases.values().filter(|state| phase.is_none_or(|p| p == *state));
    let affected: Vec<_> =
        chosen.filter(|state| action.applies_to(state, phase.is_some())).collect();
    let closes_breaker =
        matches!(action, SteerAction::Resume) && phase.is_none() && run.lead.starts.breaker_open;
    if affected.is_empty() && pending.is_empty() && !closes_breaker {
        return Err(nothing_to_do(&run, action, phase));
    }
    if phase.is_none() && !is_confirmed {
        let question = format!(
            "Cancel {}? Running workers stop at once. Commits are kept.",
            counted(affected.len(), "phase")
        );
        if !confirm(&question)? {
            return Err(Failure::refused("nothing was cancelled")
                .hint("`mow cancel PHASE` cancels one phase, `mow cancel --yes` all"));
        }
    }
    let all = counted(affected.len(), "phase");
    let target = phase.map_or(all, |state| format!("phase {}", state.spec.number));
    QueuedCommand::new(&run, &command)?
        .output(context, &format!("Requested: {} {target}.", action.word()))
}

/// The failure when a command would affect no phase.
fn nothing_to_do(run: &Run, action: SteerAction, phase: Option<&PhaseState>) -> Failure {
    let word = action.word();
    let message = match phase {
        Some(state) => {
            let (number, status) = (state.spec.number, state.status.name());
            format!("phase {number} is {status}: there is nothing to {word}")
        }
        None => format!("there is nothing to {word}: {}", run.progress()),
    };
    let resumes =
        |status| phase.is_some_and(|t| t.status == status) && matches!(action, SteerAction::Resume);
    let hint = if resumes(Status::Parked) {
        "the phase waits for an answer: mow inbox".to_owned()
    } else if resumes(Status::Cancelled) {
        format!("the run is over; `mow run {}` starts a new one", phase_word(phase))
    } else {
        "`mow ps` shows the status of each phase".to_owned()
    };
    Failure::refused(message).hint(hint)
}

/// Returns the argument of `mow run` for a phase, or for all.
fn phase_word(phase: Option<&PhaseState>) -> String {
    phase.map_or_else(|| "--all".to_owned(), |state| state.spec.number.to_string())
}

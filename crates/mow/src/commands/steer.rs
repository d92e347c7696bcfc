//! `mow pause`, `mow resume`, `mow cancel`, `mow workers`: queue commands for the lead of a run.
//!
//! Commands are queued durably in a file, so they work without a running lead. A command that would
//! have no effect is refused at once, while the person still sees it.

use mow_core::phase::PhaseNumber;
use mow_engine::client::{AgentPolicy, Client, PhaseAction, Receipt, SteerRequest, WorkersRequest};

use super::plural::counted;
use super::run::confirm;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::refusal_about;
use crate::runs::Run;
use crate::wire::receipt::ReceiptJson;

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
    /// Stop the current task at once; its uncommitted work is saved
    #[arg(long)]
    now: bool,
}

/// The arguments of `workers`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkersArgs {
    /// The most workers at the same time
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    max: u16,
}

/// Reports a queued command, and what happens next.
pub(super) fn queued_output(
    context: &Context,
    run: &Run,
    receipt: &Receipt,
    message: &str,
) -> Output {
    let next = run.resume_command();
    if context.wants_json() {
        return Output::pretty_json(ReceiptJson::new(receipt, next));
    }
    let status = match receipt.lead {
        Some(pid) => format!("The run (process {pid}) will process it."),
        None => format!("The run is stopped. Continue with `{next}`."),
    };
    Output::Text(format!("{message} {status}\n"))
}

/// `mow workers`.
pub(super) fn workers(context: &Context, args: &WorkersArgs) -> Result<Output, Failure> {
    let caller = caller();
    let project = context.main_project()?;
    Client::of_project(&project).check_caller(AgentPolicy::Refuse, &caller)?;
    let run = Run::load(context, None)?;
    let request = WorkersRequest { max: usize::from(args.max) };
    let receipt =
        run.client().submit(request, &caller).map_err(|refusal| refusal_about(&run, refusal))?;
    let mut message = format!("Requested: at most {}.", counted(request.max, "worker"));
    let agents = run.max_agents();
    if request.max > agents {
        let limit = counted(agents, "agent");
        message += &format!(" `multi_phase.max_agents` still allows only {limit} at a time.");
    }
    Ok(queued_output(context, &run, &receipt, &message))
}

/// `mow pause`.
pub(super) fn pause(context: &Context, args: &Args) -> Result<Output, Failure> {
    steer(context, PhaseAction::Pause, args.phase.as_deref(), true)
}

/// `mow resume`.
pub(super) fn resume(context: &Context, args: &Args) -> Result<Output, Failure> {
    steer(context, PhaseAction::Resume, args.phase.as_deref(), true)
}

/// `mow cancel`.
pub(super) fn cancel(context: &Context, args: &CancelArgs) -> Result<Output, Failure> {
    let action = if args.now { PhaseAction::CancelNow } else { PhaseAction::Cancel };
    steer(context, action, args.phase.as_deref(), args.yes)
}

/// Queues a command for one phase or all, unless it would have no effect.
fn steer(
    context: &Context,
    action: PhaseAction,
    phase: Option<&str>,
    is_confirmed: bool,
) -> Result<Output, Failure> {
    let caller = caller();
    let project = context.main_project()?;
    Client::of_project(&project).check_caller(AgentPolicy::Refuse, &caller)?;
    let run = Run::load(context, None)?;
    let phase = phase.map(|word| run.phase(word)).transpose()?;
    let (client, request) = (run.client(), SteerRequest { action, phase });
    let refused = |refusal| refusal_about(&run, refusal);
    let affected = counted(request.preview(&client).map_err(refused)?, "phase");
    if phase.is_none() && !is_confirmed {
        let workers = match action {
            PhaseAction::CancelNow => "stop at once; their uncommitted work is saved",
            _ => "finish their current task",
        };
        let question = format!("Cancel {affected}? Running workers {workers}. Commits are kept.");
        if !confirm(&question)? {
            return Err(Failure::refused("nothing was cancelled")
                .hint("`mow cancel PHASE` cancels one phase, `mow cancel --yes` all"));
        }
    }
    let receipt = client.submit(request, &caller).map_err(refused)?;
    let target = phase.map_or(affected, |number| format!("phase {number}"));
    let remark = end_of_workers(&run, action, phase);
    let message = format!("Requested: {} {target}.{remark}", action.name());
    Ok(queued_output(context, &run, &receipt, &message))
}

/// Says when the running workers of the phases end; empty when none is running.
fn end_of_workers(run: &Run, action: PhaseAction, phase: Option<PhaseNumber>) -> String {
    let (view, is_meant) = (run.view(), |number| phase.is_none_or(|phase| phase == number));
    let mut phases = view.phases.iter().filter(|phase| is_meant(phase.number));
    if !phases.any(|phase| phase.status.holds_slot()) {
        return String::new();
    }
    let number = phase.map_or_else(String::new, |phase| format!(" {phase}"));
    match action {
        PhaseAction::Cancel => format!(
            " Running workers finish their current task first; `mow cancel{number} --now` does \
             not wait."
        ),
        PhaseAction::CancelNow => {
            " Running workers stop at once; `mow rescue list` lists saved work.".to_owned()
        }
        PhaseAction::Pause => " Running workers finish their current task first.".to_owned(),
        PhaseAction::Resume => String::new(),
    }
}

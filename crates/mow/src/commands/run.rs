//! `mow run`: runs the phases of the roadmap in parallel. It starts one `mow worker` per phase.
//!
//! Before anything starts, the command reports what may surprise the user: unmet dependencies,
//! uncommitted planning files, and the order of the phases. It asks before it commits.

mod live_view;
mod planning_files;
mod scope;
mod terminal_questions;
mod waves;

use std::io::IsTerminal;
use std::path::PathBuf;

use mow_core::inbox::QuestionKind;
use mow_core::lead::{Lead, RunStatus, Status};
use mow_core::phase::PhaseNumber;
use mow_core::view::{FastForwardRefusal, PhaseView, RunView};
use mow_engine::EngineError;
use mow_engine::client::{AgentPolicy, Client, Refusal, StartRequest};
use mow_engine::lead::{
    PhaseChoice, PhaseSelection, RunOptions, StaleBranch, catch_up_branch, exclude_done_phases,
    refuse_other_target, select_phases, unfinished_run,
};
use mow_engine::run_context::RunContext;
use mow_host::commit::has_identity;
use mow_host::git::Git;
use mow_store::phase_dirs;
use mow_store::project::Project;

use super::plural::counted;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, notice};
use crate::refusal::WAITING;
use crate::runs::{Run, resume_command};

pub(super) use self::terminal_questions::confirm;

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The phases to run, such as 3 or 2.1
    phases: Vec<String>,
    /// Run all phases of the current milestone that are not done
    #[arg(long, conflicts_with_all = ["phases", "all_ready"])]
    all: bool,
    /// Run the phases of this milestone, such as v1.2; default: the current milestone
    #[arg(long, value_name = "MILESTONE", requires = "all")]
    milestone: Option<String>,
    /// Run only the phases that can start now
    #[arg(long, conflicts_with = "phases")]
    all_ready: bool,
    /// Ignore unmet dependencies, and run phases that change the same files in parallel
    #[arg(long)]
    force: bool,
    /// Answer all confirmations with yes
    #[arg(long, short)]
    yes: bool,
    /// Print one line per event, and stop when the run needs a person
    #[arg(long)]
    plain: bool,
    /// The branch to merge into; default: the branch that is checked out
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// The most workers that run at the same time
    #[arg(long, value_name = "COUNT")]
    max_workers: Option<usize>,
    /// Show what would run, and exit
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// Returns the arguments that `mow demo` runs with.
    pub(super) fn for_demo() -> Self {
        Self {
            phases: Vec::new(),
            all: true,
            milestone: None,
            all_ready: false,
            force: false,
            yes: true,
            plain: false,
            into: None,
            max_workers: None,
            dry_run: false,
        }
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let project = context.main_project()?;
    // A worker would wait for a run that waits for the worker.
    Client::of_project(&project).check_caller(AgentPolicy::RefuseOwnProject, &caller())?;
    refuse_other_worktree(context, &project, args)?;
    check_repository(&project)?;
    let choice = phase_choice(context, args)?;
    let stale_branch = match args.dry_run {
        true => None,
        false => catch_up_branch(&project, &current_program()?, notice)?,
    };
    let unfinished = unfinished_run(&project)?;
    if let Some((run, lead)) = &unfinished {
        refuse_other_target(run, lead, args.into.as_deref())?;
    }
    let target =
        unfinished.as_ref().map(|(_, lead)| lead.target.branch.as_str()).or(args.into.as_deref());
    let mut selection = exclude_done_phases(&project, target, select_phases(&project, &choice)?)?;
    if let Some((_, lead)) = &unfinished {
        selection.count_merged(lead);
    }
    confirm_stale_branch(stale_branch, args, selection.phases.is_empty())?;
    scope::show(&selection, unfinished.as_ref());
    let has_old_work = |(_, lead): &(String, Lead)| !selection.left_out(lead).is_empty();
    let is_nothing_named = selection.phases.is_empty() && !selection.all;
    if selection.phases.is_empty() && unfinished.is_none()
        || is_nothing_named && unfinished.as_ref().is_some_and(has_old_work)
    {
        return Ok(Output::Text("Nothing to do: all selected phases are done.\n".to_owned()));
    }
    notice_done(&selection);
    confirm_unmet_dependencies(args, &mut selection)?;
    waves::show(&selection, args.force);
    if args.dry_run {
        return Ok(Output::Text(String::new()));
    }
    planning_files::commit(&project, args.yes, unfinished.is_some())?;
    lead_run(context, &project, args, selection)
}

/// Leads the run until it is done or cannot continue, and returns its result.
fn lead_run(
    context: &Context,
    project: &Project,
    args: &Args,
    selection: PhaseSelection,
) -> Result<Output, Failure> {
    let exe = current_program()?;
    let options = RunOptions {
        project,
        exe: &exe,
        selection,
        target: args.into.clone(),
        max_workers: args.max_workers,
        force: args.force,
    };
    let request = StartRequest { options, is_named: !args.phases.is_empty() };
    let session = Client::of_project(project)
        .submit(request, &caller())
        .map_err(|refusal| refused_start(context, &args.phases, refusal))?;
    let is_terminal = std::io::stdout().is_terminal();
    let run = session.run_id().to_owned();
    if session.lead().run.is_empty() {
        notice(&format!("run {run} starts"));
    } else {
        notice(&format!("run {run} continues"));
    }
    let config = mow_engine::run_context::config(project)?;
    let rings_bell = config.value("notify.bell") == Some(&true.into());
    let is_live = is_terminal && !args.plain;
    let mut view = live_view::LiveView::new(is_live, context.wants_json(), rings_bell)
        .with_lean(mow_engine::contract_messages::is_lean(&config));
    let lead = session.run(&mut view, is_live)?;
    let result = run_result(&scope::named_view(&lead), view.first_shown());
    scope::show_rest(&lead);
    result
}

/// Words a refusal to start a run. Phases that stand still in a live run can be resumed there.
fn refused_start(context: &Context, phases: &[String], refusal: Refusal) -> Failure {
    let is_live = matches!(refusal, Refusal::Engine(EngineError::LeadRunning { .. }));
    let failure = Failure::from(refusal);
    let Ok(run) = Run::load(context, None) else { return failure };
    let numbers: Vec<_> = phases.iter().filter_map(|word| run.phase(word).ok()).collect();
    let view = run.view();
    let stands_still = |phase: &&PhaseView| {
        let is_stopped =
            matches!(phase.status, Status::Cancelled | Status::Paused | Status::Failed);
        is_stopped && numbers.contains(&phase.number)
    };
    let stopped = view.phases.iter().filter(stands_still);
    let commands: Vec<_> = stopped.map(|phase| format!("`mow resume {}`", phase.number)).collect();
    if !is_live || commands.is_empty() {
        return failure;
    }
    failure.hint(format!("to continue in that run: {}", commands.join(", then ")))
}

/// Refuses a run from a worktree that mow did not create.
///
/// A run uses the plan and the branch of the main worktree, not the ones the user sees there.
fn refuse_other_worktree(context: &Context, project: &Project, args: &Args) -> Result<(), Failure> {
    let here = &context.project;
    let is_made_by_mow = || -> Result<bool, Failure> {
        let home = crate::worktrees::home(context)?;
        Ok(home.layouts().any(|home| here.root.starts_with(home.path())))
    };
    if here.root == project.root || args.into.is_some() || is_made_by_mow()? {
        return Ok(());
    }
    let git = |root: &PathBuf| Git::new(root).current_branch();
    let name = |branch: Option<String>| branch.unwrap_or_else(|| "no branch".to_owned());
    let (own, main) = (git(&here.root)?, name(git(&project.root)?));
    let hint = match &own {
        Some(own) => format!("run mow in the main worktree, or add `--into {own}`"),
        None => "run mow in the main worktree".to_owned(),
    };
    let own = name(own);
    let message = format!(
        "this worktree is on {own}, but a run uses the plan of the main worktree ({}) and \
         merges into {main}",
        project.root.display()
    );
    Err(Failure::refused(message).hint(hint))
}

fn check_repository(project: &Project) -> Result<(), Failure> {
    if !project.planned {
        return Err(Failure::refused("there is no .planning/ directory here").hint("mow init"));
    }
    if project.repository.is_none() {
        let message = "phases run in git worktrees, and there is no git repository here";
        return Err(Failure::refused(message).hint("git init && git add -A && git commit"));
    }
    let git = Git::new(&project.root);
    if git.commit_of("HEAD")?.is_none() {
        let message = "the repository has no commits yet; phases start from a commit";
        return Err(Failure::refused(message).hint("git add -A && git commit"));
    }
    if !has_identity(&git)? {
        let message = "git does not know your name and email address, so mow cannot commit";
        return Err(Failure::refused(message)
            .hint("git config user.name NAME && git config user.email ADDRESS"));
    }
    Ok(())
}

/// Returns the phases that the arguments name, or asks for them on a terminal.
fn phase_choice(context: &Context, args: &Args) -> Result<PhaseChoice, Failure> {
    if let Some(milestone) = &args.milestone {
        return Ok(PhaseChoice::Milestone(milestone.clone()));
    }
    if args.all {
        return Ok(PhaseChoice::All);
    }
    if args.all_ready {
        return Ok(PhaseChoice::AllReady);
    }
    if !args.phases.is_empty() {
        return parse_phases(&args.phases);
    }
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return terminal_questions::pick(&context.main_project()?);
    }
    Err(Failure::refused("name the phases to run").hint("mow run --all, or mow run 3 4"))
}

/// Parses phase numbers, separated by spaces or commas.
fn parse_phases(words: &[String]) -> Result<PhaseChoice, Failure> {
    let numbers = words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    let parse = |word: &str| {
        phase_dirs::parse_argument(word).ok_or_else(|| {
            Failure::refused(format!("`{}` is not a phase number", word.escape_debug()))
                .hint("`mow roadmap graph` shows the phases")
        })
    };
    Ok(PhaseChoice::Named(numbers.map(parse).collect::<Result<_, _>>()?))
}

fn notice_done(selection: &PhaseSelection) {
    for number in &selection.done {
        notice(&format!("phase {number} is already done and will not run"));
    }
}

/// Refuses phases with unmet dependencies; with `--force` warns and asks.
fn confirm_unmet_dependencies(args: &Args, selection: &mut PhaseSelection) -> Result<(), Failure> {
    let mut lines: Vec<_> = selection
        .unmet
        .iter()
        .map(|(phase, unmet)| {
            let unmet: Vec<_> = unmet.iter().map(ToString::to_string).collect();
            let (noun, verb) = if unmet.len() == 1 { ("phase", "is") } else { ("phases", "are") };
            let unmet = unmet.join(", ");
            format!(
                "phase {phase} depends on {noun} {unmet}, which {verb} neither done nor selected"
            )
        })
        .collect();
    let is_unmet = !lines.is_empty();
    lines.extend(selection.problems.iter().map(ToString::to_string));
    // With `--all` the other phases run, and the lead starts no phase that is held.
    let some_run = selection.phases.iter().any(|spec| spec.held.is_none());
    if lines.is_empty() || selection.all && !args.force && some_run {
        return Ok(());
    }
    if !args.force {
        let hint = match is_unmet {
            true => "select those phases too, or add `--force` to run without them",
            false => "correct that line, or add `--force` to run without the dependency",
        };
        return Err(Failure::refused(lines.join("; ")).hint(hint));
    }
    for line in &lines {
        crate::output::warn(line);
    }
    if args.yes || confirm("These phases depend on work that is not done. Run them anyway?")? {
        selection.force();
        return Ok(());
    }
    Err(Failure::refused("nothing was started").hint("`--yes` confirms without asking"))
}

/// Refuses a run while the branch lacks the last run's work; with `--force` warns and asks.
///
/// Only warns when there is nothing to run.
fn confirm_stale_branch(
    stale_branch: Option<StaleBranch>,
    args: &Args,
    is_empty: bool,
) -> Result<(), Failure> {
    let Some(StaleBranch { run, branch, reason, command }) = stale_branch else {
        return Ok(());
    };
    let message = format!("the work of run {run} is not in `{branch}` yet: {reason}");
    if !is_empty && !args.force {
        let hint = format!("{command}, or --force to run without it");
        return Err(Failure::refused(message).hint(hint));
    }
    crate::output::warn(&format!("{message}; to finish: {command}"));
    if is_empty || args.yes || confirm("The phases will start without that work. Run them anyway?")?
    {
        return Ok(());
    }
    Err(Failure::refused("nothing was started").hint("`--yes` confirms without asking"))
}

/// Returns the path of the running `mow` program.
pub(crate) fn current_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::refused(format!("cannot find the path of the mow program: {error}"))
    })
}

/// Returns the result of a run: a summary when it is done, else a failure with the next command.
fn run_result(run: &RunView, first_shown: u64) -> Result<Output, Failure> {
    // Merged work that is only on the run's own ref is not in the user's branch.
    let destination = if run.refusal.is_some() { "the run's target" } else { &run.target };
    let total = counted(run.counts.phases, "phase");
    let mut progress = format!("{} of {total} merged into {destination}", run.counts.merged);
    if run.status == RunStatus::Done {
        return Ok(Output::Text(live_view::summary(run, &progress, first_shown)));
    }
    if let Some(FastForwardRefusal { reason, command }) = &run.refusal {
        progress +=
            &format!(" (the branch was not fast-forwarded: {reason}; to finish: {command})");
    }
    match run.status {
        RunStatus::Failed => Err(failed_run(run, &progress)),
        RunStatus::Waiting if run.counts.questions > 0 => {
            let open = run.counts.questions;
            let verb = if open == 1 { "waits" } else { "wait" };
            let message = format!("{progress}; {} {verb}", counted(open, "question"));
            let hint = "`mow inbox` lists the questions, `mow answer ID …` answers one";
            Err(Failure { code: WAITING, kind: "waiting", ..Failure::refused(message).hint(hint) })
        }
        _ => {
            let message = format!("Stopped. {progress}.");
            let hint = format!("continue with `{}`", resume_command(run));
            Err(Failure { code: WAITING, kind: "waiting", ..Failure::refused(message).hint(hint) })
        }
    }
}

/// The failure of a run in which nothing else can continue.
fn failed_run(run: &RunView, progress: &str) -> Failure {
    let failed = run.phases.iter().filter(|phase| phase.status == Status::Failed);
    let failed: Vec<_> = failed.map(|phase| phase.number.to_string()).collect();
    if run.breaker_open {
        let question = run.questions.iter().find(|question| question.kind == QuestionKind::Breaker);
        let continues = question.map_or_else(
            || "`mow resume`".to_owned(),
            |question| format!("`mow answer {} continue`", question.id),
        );
        let message =
            format!("{progress}; failed: {}; the circuit breaker is open", failed.join(", "));
        return Failure::refused(message).hint(format!(
            "`mow log` shows why; {continues}, then `{}`, starts phases again",
            resume_command(run)
        ));
    }
    Failure::refused(format!("{progress}; failed: {}", failed.join(", "))).hint(format!(
        "`mow log {}` shows why; `{}` tries again",
        failed.first().map_or("", String::as_str),
        resume_command(run)
    ))
}

/// The arguments of `worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// The id of the run
    #[arg(long)]
    run: String,
    /// The number of the phase
    #[arg(long)]
    phase: String,
    /// The number of the attempt, counted from 1
    #[arg(long)]
    attempt: u32,
    /// The root of the project
    #[arg(long)]
    root: PathBuf,
}

/// `mow worker`: works on one attempt of a phase in this process.
pub(super) fn worker(args: &WorkerArgs) -> Result<Output, Failure> {
    let project = Project::find(&args.root)?;
    let exe = current_program()?;
    let ctx = RunContext::new(&project, &args.run, &exe)?;
    let phase = PhaseNumber::parse(&args.phase)
        .ok_or_else(|| Failure::refused(format!("`{}` is not a phase number", args.phase)))?;
    mow_engine::worker::work(ctx, phase, args.attempt)?;
    Ok(Output::Text(String::new()))
}

//! `mow run`: takes a roadmap and carries out its phases, several at a time. `mow worker` is what it
//! starts for each of them.
//!
//! What could surprise is said before anything begins: dependencies that are not done, planning
//! files that are not committed, the order in which phases will run.

mod ask;
mod face;
mod waves;

use std::io::IsTerminal;
use std::path::PathBuf;

use mow_core::lead::{Lead, Standing, Status};
use mow_core::phase::PhaseNumber;
use mow_engine::EngineError;
use mow_engine::lead::{
    Behind, Choice, Chosen, Session, Start, catch_up, choose, is_made_ahead, keep_target,
    leave_out_done, unfinished,
};
use mow_engine::site::Site;
use mow_host::commit::has_identity;
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::phase_dirs;
use mow_store::project::Project;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, notice};

pub(super) use self::ask::confirm;

/// The exit code of a run that only a person can move.
const WAITING: u8 = 5;

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The phases to run, such as 3 or 2.1
    phases: Vec<String>,
    /// Run every phase that is not done
    #[arg(long, conflicts_with_all = ["phases", "all_ready"])]
    all: bool,
    /// Run the phases that can start now
    #[arg(long, conflicts_with = "phases")]
    all_ready: bool,
    /// Run phases whose dependencies are not done, and side by side what changes the same files
    #[arg(long)]
    force: bool,
    /// Answer all warnings with yes
    #[arg(long, short)]
    yes: bool,
    /// Print one line for each event, and end when only a person can go on
    #[arg(long)]
    plain: bool,
    /// The branch to merge into; the one that is checked out if not given
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// The most workers at a time
    #[arg(long, value_name = "COUNT")]
    max_workers: Option<usize>,
    /// Say what would run, and end
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    /// The arguments with which the demo runs.
    pub(super) fn for_demo() -> Self {
        Self {
            phases: Vec::new(),
            all: true,
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
    let project = context.shared()?;
    refuse_workers(&project)?;
    refuse_elsewhere(context, &project, args)?;
    check_repository(&project)?;
    let choice = wanted(context, args)?;
    let behind = match args.dry_run {
        true => None,
        false => catch_up(&project, &this_program()?, notice)?,
    };
    let before = unfinished(&project)?;
    if let Some((run, lead)) = &before {
        keep_target(run, lead, args.into.as_deref())?;
    }
    let target = before.as_ref().map(|(_, lead)| lead.target.as_str()).or(args.into.as_deref());
    let chosen = leave_out_done(&project, target, choose(&project, &choice)?)?;
    confirm_behind(behind, args, chosen.phases.is_empty())?;
    if chosen.phases.is_empty() && before.is_none() {
        return Ok(Output::Text("Nothing to do: all chosen phases are done.\n".to_owned()));
    }
    notice_done(&chosen);
    confirm_unmet(args, &chosen)?;
    waves::show(&chosen, args.force);
    if args.dry_run {
        return Ok(Output::Text(String::new()));
    }
    commit_planning(&project, args.yes, before.is_some())?;
    lead(context, &project, args, chosen)
}

/// Leads the run to where nothing moves any more.
fn lead(
    context: &Context,
    project: &Project,
    args: &Args,
    chosen: Chosen,
) -> Result<Output, Failure> {
    let exe = this_program()?;
    let names: Vec<_> = chosen.phases.iter().map(|spec| spec.number).collect();
    let session = Session::open(Start {
        project,
        exe: &exe,
        chosen,
        target: args.into.clone(),
        max_workers: args.max_workers,
        force: args.force,
    })?;
    retry_failed(project, &session, (&names, !args.phases.is_empty()))?;
    let is_terminal = std::io::stdout().is_terminal();
    let run = session.run_id().to_owned();
    if session.lead().run.is_empty() {
        notice(&format!("run {run} begins"));
    } else {
        notice(&format!("run {run} goes on"));
    }
    let rings = mow_engine::site::config(project)?.value("notify.bell") == Some(&true.into());
    let mut face = face::Shown::new(is_terminal && !args.plain, context.wants_json(), rings);
    let lead = session.run(&mut face, is_terminal && !args.plain)?;
    end(&run, &lead, face.began())
}

/// Lets phases that failed or rest in an unfinished run be tried again: that is why it is called.
fn retry_failed(
    project: &Project,
    session: &Session,
    (chosen, is_named): (&[PhaseNumber], bool),
) -> Result<(), Failure> {
    use mow_core::lead::Command;
    let rests = |status| match status {
        Status::Failed | Status::Paused => true,
        // What a person cancelled comes back only when it is named.
        Status::Cancelled => is_named,
        _ => false,
    };
    let dir = mow_store::run_files::RunDir::new(&project.engine_dir, session.run_id())
        .map_err(|error| Failure::refused(error.to_string()))?;
    let pending = mow_engine::lead::pending(&dir, session.lead())?;
    // What was cancelled without a lead is given up by this one.
    let is_given_up = |number: PhaseNumber| {
        pending.iter().any(|(_, command)| match command {
            Command::Cancel { phase } => phase.is_none_or(|phase| phase == number),
            _ => false,
        })
    };
    let is_answered = |id: u32| {
        pending.iter().any(|(_, command)| match command {
            Command::Answer { item, .. } => *item == id,
            Command::Resume { phase } => phase.is_none(),
            _ => false,
        })
    };
    // No agent can work, and nobody has said that this is put right.
    let denial = session.lead().open_items().find(|item| item.is_denial() && !is_answered(item.id));
    if let Some(item) = denial {
        let is_live =
            |status| matches!(status, Status::Starting | Status::Running | Status::Ending);
        if session.lead().phases.values().any(|track| is_live(track.status)) {
            // What still runs is led to its end, and nothing is begun.
            return Ok(());
        }
        let hint = format!("put that right, then mow answer {} continue", item.id);
        let failure = Failure::refused(item.ask.question.clone()).hint(hint);
        return Err(Failure { code: WAITING, kind: "waiting", ..failure });
    }
    let again = session.lead().phases.values().filter(|track| {
        let number = track.spec.number;
        rests(track.status) && chosen.contains(&number) && !is_given_up(number)
    });
    if session.lead().breaker {
        mow_engine::lead::command(&dir, &Command::Resume { phase: None })?;
    }
    for track in again {
        let phase = Some(track.spec.number);
        mow_engine::lead::command(&dir, &Command::Resume { phase })?;
    }
    Ok(())
}

/// Refuses a run from inside a run, which would keep its own worker from ever ending.
fn refuse_workers(project: &Project) -> Result<(), Failure> {
    let Some(worker) = crate::caller::named_worker() else { return Ok(()) };
    if !project.engine_dir.join("runs").join(&worker.run).is_dir() {
        return Ok(());
    }
    let message = format!("the worker of phase {} cannot lead a run of its own", worker.phase);
    Err(Failure::refused(message).hint("mow run is for people; workers carry out one phase"))
}

/// Refuses a run from a worktree that somebody made for another branch: the plan and the branch of the
/// main one would be meant, and not those that are seen there.
fn refuse_elsewhere(context: &Context, project: &Project, args: &Args) -> Result<(), Failure> {
    let here = &context.project;
    let is_ours = || -> Result<bool, Failure> {
        let home = super::worktree::home(context)?;
        Ok(home.layouts().any(|home| here.root.starts_with(home.path())))
    };
    if here.root == project.root || args.into.is_some() || is_ours()? {
        return Ok(());
    }
    let git = |root: &PathBuf| Git::new(root).current_branch();
    let name = |branch: Option<String>| branch.unwrap_or_else(|| "no branch".to_owned());
    let (own, main) = (git(&here.root)?, name(git(&project.root)?));
    let hint = match &own {
        Some(own) => format!("cd there, or --into {own} to merge here"),
        None => "cd there".to_owned(),
    };
    let own = name(own);
    let message = format!(
        "this worktree is on {own}; a run goes by the plan of the main one, {}, and merges into {main}",
        project.root.display()
    );
    Err(Failure::refused(message).hint(hint))
}

fn check_repository(project: &Project) -> Result<(), Failure> {
    if !project.planned {
        return Err(Failure::refused("there is no .planning/ here").hint("mow init"));
    }
    if project.repository.is_none() {
        let message = "phases run in worktrees, and worktrees need a git repository";
        return Err(Failure::refused(message).hint("git init && git add -A && git commit"));
    }
    let git = Git::new(&project.root);
    if git.commit_of("HEAD")?.is_none() {
        let message = "the repository has no commits yet, so there is nothing to start from";
        return Err(Failure::refused(message).hint("git add -A && git commit"));
    }
    if !has_identity(&git)? {
        let message = "git does not know who you are, so nothing could be committed";
        return Err(Failure::refused(message)
            .hint("git config user.name NAME && git config user.email ADDRESS"));
    }
    Ok(())
}

fn wanted(context: &Context, args: &Args) -> Result<Choice, Failure> {
    if args.all {
        return Ok(Choice::All);
    }
    if args.all_ready {
        return Ok(Choice::AllReady);
    }
    if !args.phases.is_empty() {
        return named(&args.phases);
    }
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return ask::pick(&context.shared()?);
    }
    Err(Failure::refused("which phases should run?").hint("mow run --all, or mow run 3 4"))
}

fn named(words: &[String]) -> Result<Choice, Failure> {
    let numbers = words.iter().flat_map(|word| word.split(',')).filter(|word| !word.is_empty());
    let parse = |word: &str| {
        phase_dirs::parse_argument(word).ok_or_else(|| {
            Failure::refused(format!("`{}` is no phase number", word.escape_debug()))
                .hint("mow roadmap graph shows the phases")
        })
    };
    Ok(Choice::Named(numbers.map(parse).collect::<Result<_, _>>()?))
}

fn notice_done(chosen: &Chosen) {
    for number in &chosen.done {
        notice(&format!("phase {number} is done already and is left out"));
    }
}

/// Warns about phases that would start without what they build on.
fn confirm_unmet(args: &Args, chosen: &Chosen) -> Result<(), Failure> {
    if chosen.unmet.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = chosen
        .unmet
        .iter()
        .map(|(phase, on)| {
            let on: Vec<_> = on.iter().map(ToString::to_string).collect();
            format!("phase {phase} depends on {}, not done and not chosen", on.join(", "))
        })
        .collect();
    if !args.force {
        return Err(Failure::refused(lines.join("; "))
            .hint("choose those phases too, or --force to run without them"));
    }
    for line in &lines {
        crate::output::warn(line);
    }
    if args.yes || confirm("These phases will build on work that is not there. Run them?")? {
        return Ok(());
    }
    Err(Failure::refused("nothing was started").hint("--yes confirms without asking"))
}

/// Refuses to begin a run without what the last one did, unless that is forced.
fn confirm_behind(behind: Option<Behind>, args: &Args, is_nothing: bool) -> Result<(), Failure> {
    let Some(Behind { run, branch, reason, command }) = behind else { return Ok(()) };
    let message = format!("{branch} does not have what run {run} did: {reason}");
    if !is_nothing && !args.force {
        let hint = format!("{command}, or --force to run without it");
        return Err(Failure::refused(message).hint(hint));
    }
    crate::output::warn(&format!("{message}; to finish: {command}"));
    if is_nothing
        || args.yes
        || confirm("The phases will build on work that is not there. Run them?")?
    {
        return Ok(());
    }
    Err(Failure::refused("nothing was started").hint("--yes confirms without asking"))
}

pub(super) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::refused(format!("cannot find the program itself: {error}")))
}

/// Commits planning files that are not committed, since phases start from what is.
///
/// In a run that goes on, what its lead writes is left to it.
fn commit_planning(project: &Project, yes: bool, goes_on: bool) -> Result<(), Failure> {
    let git = Git::new(&project.root);
    let ignored = git.ask(&["check-ignore", "--quiet", ".planning/STATE.md"])?.success;
    let wants = mow_engine::site::config(project)?.settings().commit_docs;
    if ignored || !wants {
        return Ok(());
    }
    let ask = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--"];
    let mut paths = vec![if goes_on { ".planning/phases" } else { ".planning" }.to_owned()];
    let answer = git.run(&[&ask[..], &[&paths[0]]].concat())?;
    let top = project.top();
    // What the run made ahead becomes part of a phase when that begins.
    let is_ahead = |name: &String| {
        goes_on && name.strip_prefix("?? ").is_some_and(|path| is_made_ahead(&top.join(path)))
    };
    let names = mow_host::git::parse_names(&answer.stdout).into_iter();
    let (ahead, names): (Vec<_>, Vec<_>) = names.partition(is_ahead);
    paths.extend(ahead.iter().map(|name| format!(":(top,exclude,literal){}", &name[3..])));
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let count = names.len();
    if count == 0 {
        return Ok(());
    }
    let question = format!("{count} planning files are not committed. Commit them and go on?");
    if !yes && !confirm(&question)? {
        let message =
            format!("{count} planning files are not committed; phases start from what is");
        return Err(Failure::refused(message).hint("git add .planning && git commit, or --yes"));
    }
    // What was staged and changed again would go: only the files are committed.
    let is_staged = |name: &String| match name.as_bytes() {
        [staged, after, ..] => !matches!(staged, b' ' | b'?') && *after != b' ',
        _ => false,
    };
    let failed = |error: rescue::RescueError| EngineError::Host(error.into());
    if names.iter().any(is_staged)
        && let Some(kept) = rescue::rescue(&Git::at_top(top), "planning").map_err(failed)?
    {
        notice(&format!("what was staged is kept: mow rescue restore {}", kept.short_name()));
    }
    git.run(&[&["add", "--"], &paths[..]].concat())?;
    failpoint::reach("planning.staged");
    let commit = ["commit", "--quiet", "-m", "docs: planning files before a run", "--"];
    git.run(&[&commit[..], &paths].concat())?;
    failpoint::reach("planning.committed");
    notice(&format!("committed {count} planning files"));
    Ok(())
}

/// Says how a run ended, and what to do next.
fn end(run: &str, lead: &Lead, began: u64) -> Result<Output, Failure> {
    let merged = lead.phases.values().filter(|track| track.status == Status::Merged).count();
    // What is only on the run's own ref is not in the branch.
    let place = if lead.follow_refused.is_some() { "the run's target" } else { &lead.target };
    let mut count = format!("{merged} of {} phases merged into {place}", lead.phases.len());
    if lead.standing() == Standing::Done {
        return Ok(Output::Text(face::summary(run, lead, &count, began)));
    }
    if let Some((reason, command)) = &lead.follow_refused {
        count += &format!(" (the branch did not follow: {reason}; to finish: {command})");
    }
    let failed: Vec<_> = lead
        .phases
        .values()
        .filter(|track| track.status == Status::Failed)
        .map(|track| track.spec.number.to_string())
        .collect();
    match lead.standing() {
        Standing::Failed => {
            let message = format!("{count}; failed: {}", failed.join(", "));
            Err(Failure::refused(message).hint(format!(
                "mow log {} says why; mow run tries again",
                failed.first().map_or("", String::as_str)
            )))
        }
        Standing::Waiting if lead.open_items().next().is_some() => {
            let open = lead.open_items().count();
            let message = format!("{count}; {open} questions wait for an answer");
            let failure = Failure::refused(message).hint("mow inbox, then mow answer ID …");
            Err(Failure { code: WAITING, kind: "waiting", ..failure })
        }
        _ => {
            let failure = Failure::refused(format!("{count}; the rest was paused or left"));
            Err(Failure { code: WAITING, kind: "waiting", ..failure.hint("mow run goes on") })
        }
    }
}

/// The arguments of `worker`.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArgs {
    /// The run
    #[arg(long)]
    run: String,
    /// The phase
    #[arg(long)]
    phase: String,
    /// Which try it is
    #[arg(long)]
    attempt: u32,
    /// The root of the project
    #[arg(long)]
    root: PathBuf,
}

pub(super) fn worker(args: &WorkerArgs) -> Result<Output, Failure> {
    let project = Project::find(&args.root)?;
    let exe = this_program()?;
    let site = Site::new(&project, &args.run, &exe)?;
    let phase = PhaseNumber::parse(&args.phase)
        .ok_or_else(|| Failure::refused(format!("`{}` is no phase number", args.phase)))?;
    mow_engine::worker::work(site, phase, args.attempt)?;
    Ok(Output::Text(String::new()))
}

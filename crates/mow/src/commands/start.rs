//! `mow init` without a subcommand: begins `.planning/` in a repository.
//!
//! Writes only what is not there. A project that is planned already is adopted as it is: the answer
//! says what was found and what is missing. Questions are asked on a terminal only.

mod ask;

use std::fmt::Write;
use std::path::PathBuf;

use mow_store::disk::{Change, WAIT_DEFAULT, Writer};
use mow_store::starter::{self, Starter};
use mow_store::survey::{self, Survey};
use serde::Serialize;

use crate::caller;
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, painted};

/// The arguments of `init` without a subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct StartArgs {
    /// The project's name; the directory's if not given
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// What it is to reach, in one sentence
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    goal: Option<String>,
    /// A phase; give it again for each further one
    #[arg(long, allow_hyphen_values = true, value_name = "NAME")]
    phase: Vec<String>,
    /// Ask nothing: take what is given, and defaults for the rest
    #[arg(long)]
    yes: bool,
    /// In a project that is planned already, write the files that are missing
    #[arg(long)]
    missing: bool,
}

/// What the files are filled with.
struct Wishes {
    name: String,
    goal: String,
    phases: Vec<String>,
    current: usize,
}

pub(crate) fn run(context: &Context, args: &StartArgs) -> Result<Output, Failure> {
    let survey = survey::load(&context.project.planning)?;
    if context.project.planned && !args.missing {
        return Ok(adopted(context, survey.as_ref()));
    }
    let Some(wishes) = wishes(context, args, survey.as_ref())? else {
        return Ok(Output::Text("Nothing was written.\n".to_owned()));
    };
    for file in starter::FILES {
        caller::guard_file(context, &context.planning(file))?;
    }
    let written = write_files(context, &wishes, survey.is_none())?;
    Ok(started(context, &written))
}

/// Puts together what the flags, the roadmap and the answers say; `None` when the user declines.
fn wishes(
    context: &Context,
    args: &StartArgs,
    survey: Option<&Survey>,
) -> Result<Option<Wishes>, Failure> {
    let given = [&args.name, &args.goal].into_iter().flatten().chain(&args.phase);
    for text in given {
        check_line(text)?;
    }
    let directory = context.project.root.file_name().unwrap_or_default().to_string_lossy();
    let defaults = Wishes {
        name: args.name.clone().unwrap_or_else(|| directory.into_owned()),
        goal: args.goal.clone().unwrap_or_else(|| "To be written.".to_owned()),
        phases: args.phase.clone(),
        current: 0,
    };
    let mut wishes = if args.yes {
        defaults
    } else if ask::is_possible() {
        match ask::wishes(context, args, defaults, survey.is_none())? {
            Some(wishes) => wishes,
            None => return Ok(None),
        }
    } else if args.name.is_some() {
        defaults
    } else {
        return Err(Failure::refused("there is no terminal to ask on, and no --name")
            .hint("mow init --name NAME --goal TEXT --phase NAME --yes"));
    };
    if let Some(survey) = survey {
        wishes.phases = survey.phases.iter().map(|phase| phase.entry.phase.name.clone()).collect();
        wishes.current = survey.phases.iter().position(|phase| !phase.is_done()).unwrap_or(0);
    }
    if wishes.phases.is_empty() {
        wishes.phases.push("First steps".to_owned());
    }
    Ok(Some(wishes))
}

/// Refuses what would break out of its line in a file, or leave it empty.
fn check_line(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::refused("names and goals must not be empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(Failure::refused(format!("{text:?} is more than one plain line of text")));
    }
    Ok(())
}

/// Writes what is not there and returns it, relative to the root.
///
/// Directories come first: as long as there is no ROADMAP.md, `--missing` makes all of it again.
fn write_files(
    context: &Context,
    wishes: &Wishes,
    with_dirs: bool,
) -> Result<Vec<String>, Failure> {
    let planning = &context.project.planning;
    let date = today();
    let Wishes { name, goal, phases, current } = wishes;
    let starter = Starter { name, goal, phases, current: *current, date: &date };
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    writer.create_dir(planning)?;
    if with_dirs {
        for dir in starter.phase_dirs() {
            let dir = planning.join(dir);
            writer.create_dir(&dir)?;
            files.push((dir.join(".gitkeep"), String::new()));
        }
    }
    files.extend(starter.files().into_iter().map(|(name, text)| (planning.join(name), text)));
    let mut written = Vec::new();
    for (path, text) in files {
        let change = writer.update(&path, |old| {
            Ok::<_, Failure>(if old.is_none() { Some(text.clone().into_bytes()) } else { None })
        })?;
        if change == Change::Written {
            written.push(context.shown(&path));
        }
    }
    Ok(written)
}

fn started(context: &Context, written: &[String]) -> Output {
    let is_repository = context.project.repository.is_some();
    if context.wants_json() {
        return Output::json_lines(serde_json::json!({
            "started": true, "root": context.project.root, "created": written,
            "repository": is_repository,
        }));
    }
    let mut text = String::new();
    for path in written {
        let _ = writeln!(text, "wrote {}", path.trim_end_matches(".gitkeep"));
    }
    if written.is_empty() {
        text.push_str("Nothing was missing.\n");
    }
    let _ = writeln!(text, "\n{}", painted(BOLD, "Next"));
    let init = (!is_repository).then_some(("git init", "agents work in git worktrees"));
    let steps = [
        ("git add .planning && git commit -m 'Plan the project'", "keep it"),
        ("mow", "see where the project stands"),
    ];
    for (command, why) in init.into_iter().chain(steps) {
        let _ = writeln!(text, "  {}\n      {}", painted(CYAN, command), painted(DIM, why));
    }
    let _ = writeln!(
        text,
        "\nPut goals and dependencies into .planning/ROADMAP.md: phases that do not depend\n\
         on each other can run at the same time."
    );
    Output::Text(text)
}

#[derive(Serialize)]
struct Found<'a> {
    started: bool,
    reason: &'static str,
    root: String,
    found: Vec<&'a str>,
    missing: Vec<&'a str>,
    phases: usize,
    phases_done: usize,
}

/// Says what is there already. Nothing was changed.
fn adopted(context: &Context, survey: Option<&Survey>) -> Output {
    let is_there = |file: &&str| context.planning(file).exists();
    let (found, missing): (Vec<_>, Vec<_>) = starter::FILES.into_iter().partition(is_there);
    let phases = survey.map_or(&[][..], |survey| &survey.phases);
    let answer = Found {
        started: false,
        reason: "already_planned",
        root: context.project.root.display().to_string(),
        found,
        missing,
        phases: phases.len(),
        phases_done: phases.iter().filter(|phase| phase.is_done()).count(),
    };
    if context.wants_json() {
        return Output::json_lines(&answer);
    }
    let Found { found, missing, phases, phases_done, root, .. } = &answer;
    let mut text = format!("{root} is planned already. Nothing was changed.\n\n");
    let files = if found.is_empty() { "none of its files".to_owned() } else { found.join(", ") };
    let _ = writeln!(text, "Found    {files}");
    if survey.is_some() {
        let _ = writeln!(text, "         {phases} phases in the roadmap, {phases_done} done");
    }
    if !missing.is_empty() {
        let _ = writeln!(text, "Missing  {}", missing.join(", "));
        let _ = writeln!(
            text,
            "         {} writes them and touches no other file",
            painted(CYAN, "mow init --missing")
        );
    }
    let _ = writeln!(text, "\n{} shows where it stands.", painted(CYAN, "mow"));
    Output::Text(text)
}

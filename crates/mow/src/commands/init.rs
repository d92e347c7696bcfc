//! `mow init` without a subcommand: creates `.planning/` in a repository.
//!
//! Writes only files that do not exist. If there is a plan already, nothing is changed and the
//! output lists which files exist and which are missing. Asks questions only on a terminal.

mod ask;

use std::fmt::Write;
use std::path::PathBuf;

use mow_store::disk::{WAIT_DEFAULT, WriteOutcome, Writer};
use mow_store::new_project::{self, NewProjectFiles};
use mow_store::project_phases::{self, ProjectPhases};
use serde::Serialize;

use super::plural::counted;
use crate::caller;
use crate::context::{Context, today};
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, styled};

/// The arguments of `init` without a subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The name of the project [default: the name of the directory]
    #[arg(long, allow_hyphen_values = true)]
    name: Option<String>,
    /// The goal of the project, in one sentence
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT")]
    goal: Option<String>,
    /// The name of a phase; repeat the option for more phases
    #[arg(long, allow_hyphen_values = true, value_name = "NAME")]
    phase: Vec<String>,
    /// Ask no questions; use defaults for what is not given
    #[arg(long)]
    yes: bool,
    /// Write the planning files that are missing in an existing plan
    #[arg(long)]
    missing: bool,
}

/// The values that fill the planning files.
struct NewProjectFields {
    name: String,
    goal: String,
    phases: Vec<String>,
    /// The index of the current phase.
    current: usize,
}

pub(crate) fn run(context: &Context, args: &InitArgs) -> Result<Output, Failure> {
    let all_phases = project_phases::load(&context.project.planning)?;
    if context.project.planned && !args.missing {
        return Ok(describe_existing(context, all_phases.as_ref()));
    }
    let Some(fields) = collect_fields(context, args, all_phases.as_ref())? else {
        return Ok(Output::Text("Nothing was written.\n".to_owned()));
    };
    for file in new_project::FILES {
        caller::refuse_shared_file(context, &context.planning(file))?;
    }
    let written = write_files(context, &fields, all_phases.is_none())?;
    Ok(created(context, &written))
}

/// Collects the values from options, answers and an existing roadmap; `None` if the user declines.
fn collect_fields(
    context: &Context,
    args: &InitArgs,
    all_phases: Option<&ProjectPhases>,
) -> Result<Option<NewProjectFields>, Failure> {
    let given = [&args.name, &args.goal].into_iter().flatten().chain(&args.phase);
    for text in given {
        check_line(text)?;
    }
    let directory = context.project.root.file_name().unwrap_or_default().to_string_lossy();
    let defaults = NewProjectFields {
        name: args.name.clone().unwrap_or_else(|| directory.into_owned()),
        goal: args.goal.clone().unwrap_or_else(|| "To be written.".to_owned()),
        phases: args.phase.clone(),
        current: 0,
    };
    let mut fields = if args.yes {
        defaults
    } else if ask::is_possible() {
        match ask::ask_fields(context, args, defaults, all_phases.is_none())? {
            Some(fields) => fields,
            None => return Ok(None),
        }
    } else if args.name.is_some() {
        defaults
    } else {
        return Err(Failure::refused("there is no terminal to ask on and no `--name`")
            .hint("mow init --name NAME --goal TEXT --phase NAME --yes"));
    };
    if let Some(all_phases) = all_phases {
        fields.phases =
            all_phases.phases.iter().map(|phase| phase.entry.phase.name.clone()).collect();
        fields.current = all_phases.phases.iter().position(|phase| !phase.is_done()).unwrap_or(0);
    }
    if fields.phases.is_empty() {
        fields.phases.push("First steps".to_owned());
    }
    Ok(Some(fields))
}

/// Refuses an empty text and one that would not stay on one line of a file.
fn check_line(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::refused("names and goals must not be empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(Failure::refused(format!("{text:?} is not one line of plain text")));
    }
    Ok(())
}

/// Writes the files that do not exist and returns their paths, relative to the root.
///
/// Directories come first: as long as there is no ROADMAP.md, `--missing` creates all of them again.
fn write_files(
    context: &Context,
    fields: &NewProjectFields,
    with_dirs: bool,
) -> Result<Vec<String>, Failure> {
    let planning = &context.project.planning;
    let date = today();
    let NewProjectFields { name, goal, phases, current } = fields;
    let new_files = NewProjectFiles { name, goal, phases, current: *current, date: &date };
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    writer.create_dir(planning)?;
    if with_dirs {
        for dir in new_files.phase_dirs() {
            let dir = planning.join(dir);
            writer.create_dir(&dir)?;
            files.push((dir.join(".gitkeep"), String::new()));
        }
    }
    files.extend(new_files.files().into_iter().map(|(name, text)| (planning.join(name), text)));
    let mut written = Vec::new();
    for (path, text) in files {
        let change = writer.update(&path, |old| {
            Ok::<_, Failure>(if old.is_none() { Some(text.clone().into_bytes()) } else { None })
        })?;
        if change == WriteOutcome::Written {
            written.push(context.display_path(&path));
        }
    }
    Ok(written)
}

/// Returns the output after files were written.
fn created(context: &Context, written: &[String]) -> Output {
    let is_repository = context.project.repository.is_some();
    if context.wants_json() {
        return Output::pretty_json(serde_json::json!({
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
    let _ = writeln!(text, "\n{}", styled(BOLD, "Next"));
    let init = (!is_repository).then_some(("git init", "agents work in git worktrees"));
    let steps = [
        ("git add .planning && git commit -m 'Plan the project'", "commit the plan"),
        ("mow", "show the progress and what to do next"),
    ];
    for (command, reason) in init.into_iter().chain(steps) {
        let _ = writeln!(text, "  {}\n      {}", styled(CYAN, command), styled(DIM, reason));
    }
    let _ = writeln!(
        text,
        "\nWrite goals and dependencies into `.planning/ROADMAP.md`. Phases that do not\n\
         depend on each other run in parallel."
    );
    Output::Text(text)
}

/// The JSON output for a project that has a plan already.
#[derive(Serialize)]
struct ExistingPlan<'a> {
    started: bool,
    reason: &'static str,
    root: String,
    found: Vec<&'a str>,
    missing: Vec<&'a str>,
    phases: usize,
    phases_done: usize,
}

/// Returns the output for a project that has a plan already. Changes nothing.
fn describe_existing(context: &Context, all_phases: Option<&ProjectPhases>) -> Output {
    let exists = |file: &&str| context.planning(file).exists();
    let (found, missing): (Vec<_>, Vec<_>) = new_project::FILES.into_iter().partition(exists);
    let phases = all_phases.map_or(&[][..], |all_phases| &all_phases.phases);
    let answer = ExistingPlan {
        started: false,
        reason: "already_planned",
        root: context.project.root.display().to_string(),
        found,
        missing,
        phases: phases.len(),
        phases_done: phases.iter().filter(|phase| phase.is_done()).count(),
    };
    if context.wants_json() {
        return Output::pretty_json(&answer);
    }
    let ExistingPlan { found, missing, phases, phases_done, root, .. } = &answer;
    let mut text = format!("{root} has a plan already. Nothing was changed.\n\n");
    let files =
        if found.is_empty() { "none of the planning files".to_owned() } else { found.join(", ") };
    let _ = writeln!(text, "Found    {files}");
    if all_phases.is_some() {
        let _ = writeln!(
            text,
            "         {} in the roadmap, {phases_done} done",
            counted(*phases, "phase")
        );
    }
    if !missing.is_empty() {
        let _ = writeln!(text, "Missing  {}", missing.join(", "));
        let _ = writeln!(
            text,
            "         {} writes them and changes no other file",
            styled(CYAN, "mow init --missing")
        );
    }
    let _ = writeln!(text, "\n{} shows the progress and what to do next.", styled(CYAN, "mow"));
    Output::Text(text)
}

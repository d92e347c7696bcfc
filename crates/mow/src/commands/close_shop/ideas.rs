//! Saves the deferred ideas of phases as todos, each only once.
//!
//! People and agents leave them in CONTEXT.md, STATUS.md, the summaries and `deferred-items.md`.

use std::collections::BTreeSet;

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_core::view::RunView;
use mow_engine::run_context::RunContext;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseDir, PhaseFileKind};
use mow_store::phase_documents::deferred_items;
use mow_store::phase_files::parse_context;
use mow_store::todo::{self, TodoFolder};
use serde::Serialize;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::runs::Run;

/// The maximum length of the title in a file name, in characters.
const SLUG_MAX: usize = 50;
/// The maximum length of a title, in characters; the todo contains the whole idea.
const TITLE_MAX: usize = 100;

/// An idea that was left for later in a phase.
pub(super) struct DeferredIdea {
    phase: PhaseNumber,
    phase_name: String,
    title: String,
    text: String,
}

/// A todo that was created for an idea.
#[derive(Serialize)]
pub(super) struct CreatedTodo {
    file: String,
    title: String,
    phase: String,
}

/// Collects the ideas of the run's phases for which there is no todo yet.
pub(super) fn collect_new(run: &Run, view: &RunView) -> Result<Vec<DeferredIdea>, Failure> {
    let planning = &run.project.planning;
    let shelves = [TodoFolder::Pending, TodoFolder::InProgress, TodoFolder::Completed];
    let todos = shelves.into_iter().flat_map(|folder| todo::list(planning, folder));
    let mut titles: BTreeSet<_> = todos.filter_map(|entry| entry.todo.title).collect();
    let mut ideas = Vec::new();
    for phase in &view.phases {
        for text in deferred_ideas(run, phase.number)? {
            let title = title(&text);
            if !title.is_empty() && titles.insert(title.clone()) {
                let (phase, phase_name) = (phase.number, phase.name.clone());
                ideas.push(DeferredIdea { phase, phase_name, title, text });
            }
        }
    }
    Ok(ideas)
}

/// Reads the deferred ideas of a phase, in the main root and in the worktree of the phase.
fn deferred_ideas(run: &Run, number: PhaseNumber) -> Result<Vec<String>, Failure> {
    let ctx = RunContext::new(&run.project, run.dir.run(), std::path::Path::new(""))?;
    let worktree = ctx.worktree(&number)?.path;
    let mut ideas = Vec::new();
    for planning in [run.project.planning.clone(), ctx.planning_in(&worktree)] {
        if let Some(dir) = phase_dirs::find(&planning, &number.to_string()) {
            ideas.extend(ideas_in(&dir, number)?);
        }
    }
    Ok(ideas)
}

/// Reads the deferred ideas in the documents of a phase.
fn ideas_in(dir: &PhaseDir, number: PhaseNumber) -> Result<Vec<String>, Failure> {
    let load = |file: &str| Ok::<_, Failure>(disk::read(&dir.path.join(file))?.unwrap_or_default());
    let mut ideas = Vec::new();
    for file in dir.files_of(PhaseFileKind::Context) {
        ideas.extend(parse_context(&load(file)?).deferred);
    }
    ideas.extend(deferred_items::parse(&load(deferred_items::FILE)?));
    let status = format!("{}-STATUS.md", number.padded());
    let summaries = dir.files_of(PhaseFileKind::Summary).map(str::to_owned);
    for file in summaries.chain([status]) {
        ideas.extend(deferred_items::parse_sections(&load(&file)?));
    }
    Ok(ideas)
}

/// Returns the first line of an idea without Markdown emphasis, at most [`TITLE_MAX`] characters.
fn title(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().replace(['*', '`'], "");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    line.trim().chars().take(TITLE_MAX).collect::<String>().trim_end().to_owned()
}

/// Writes one pending todo for each idea.
pub(super) fn save_as_todos(
    context: &Context,
    ideas: &[DeferredIdea],
) -> Result<Vec<CreatedTodo>, Failure> {
    if ideas.is_empty() {
        return Ok(Vec::new());
    }
    let dir = context.planning(&TodoFolder::Pending.dir());
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    writer.create_dir(&dir)?;
    let mut created = Vec::new();
    for idea in ideas {
        let stem: String = slug(&idea.title).chars().take(SLUG_MAX).collect();
        let stem = format!("{}-{}", today(), stem.trim_end_matches('-'));
        let names =
            std::iter::once(format!("{stem}.md")).chain((2..).map(|n| format!("{stem}-{n}.md")));
        let file = names.into_iter().find(|name| !dir.join(name).exists());
        let file = file.expect("some number is free");
        let DeferredIdea { phase, phase_name, title, text } = idea;
        let problem = format!("Deferred in phase {phase} ({phase_name}):\n\n{text}");
        writer.replace(&dir.join(&file), &todo::render(title, &today(), &problem)?)?;
        let (title, phase) = (title.clone(), phase.to_string());
        created.push(CreatedTodo {
            file: format!(".planning/{}/{file}", TodoFolder::Pending.dir()),
            title,
            phase,
        });
    }
    Ok(created)
}

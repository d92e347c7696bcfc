//! Ideas that were put off while phases were discussed, kept as todos: each once.

use std::collections::BTreeSet;

use mow_core::lead::Track;
use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_engine::site::Site;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, Artifact};
use mow_store::phase_files::parse_context;
use mow_store::todo::{self, Shelf};
use serde::Serialize;

use crate::context::{Context, today};
use crate::failure::Failure;
use crate::runs::Run;

/// The longest part of a title that goes into the name of a file.
const SLUG_MAX: usize = 50;
/// The longest title; the whole idea is in the todo anyway.
const TITLE_MAX: usize = 100;

/// Something for later.
pub(super) struct Idea {
    phase: PhaseNumber,
    phase_name: String,
    title: String,
    text: String,
}

/// A todo that was written.
#[derive(Serialize)]
pub(super) struct Kept {
    file: String,
    title: String,
    phase: String,
}

/// Collects the ideas of a run's phases that are no todos yet.
pub(super) fn new(run: &Run) -> Result<Vec<Idea>, Failure> {
    let planning = &run.project.planning;
    let shelves = [Shelf::Pending, Shelf::InProgress, Shelf::Completed];
    let filed = shelves.into_iter().flat_map(|shelf| todo::list(planning, shelf));
    let mut known: BTreeSet<_> = filed.filter_map(|filed| filed.todo.title).collect();
    let mut ideas = Vec::new();
    for track in run.lead.phases.values() {
        for text in deferred(run, track)? {
            let title = title(&text);
            if !title.is_empty() && known.insert(title.clone()) {
                let (phase, phase_name) = (track.spec.number, track.spec.name.clone());
                ideas.push(Idea { phase, phase_name, title, text });
            }
        }
    }
    Ok(ideas)
}

/// Reads what a phase put off: from the main root, or its worktree where only that has it.
fn deferred(run: &Run, track: &Track) -> Result<Vec<String>, Failure> {
    let number = track.spec.number;
    let site = Site::new(&run.project, run.dir.run(), std::path::Path::new(""))?;
    let worktree = site.worktree(&number)?.path;
    for planning in [run.project.planning.clone(), site.planning_in(&worktree)] {
        let Some(dir) = phase_dirs::find(&planning, &number.to_string()) else { continue };
        let Some(file) = dir.of(Artifact::Context).next().map(str::to_owned) else { continue };
        let bytes = disk::read(&dir.path.join(file))?.unwrap_or_default();
        return Ok(parse_context(&bytes).deferred);
    }
    Ok(Vec::new())
}

/// Returns the first line of an idea without its marks of emphasis.
fn title(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().replace(['*', '`'], "");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    line.trim().chars().take(TITLE_MAX).collect::<String>().trim_end().to_owned()
}

/// Writes the ideas as todos that wait.
pub(super) fn keep(context: &Context, ideas: &[Idea]) -> Result<Vec<Kept>, Failure> {
    if ideas.is_empty() {
        return Ok(Vec::new());
    }
    let dir = context.planning(&Shelf::Pending.dir());
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    writer.create_dir(&dir)?;
    let mut kept = Vec::new();
    for idea in ideas {
        let stem: String = slug(&idea.title).chars().take(SLUG_MAX).collect();
        let stem = format!("{}-{}", today(), stem.trim_end_matches('-'));
        let names =
            std::iter::once(format!("{stem}.md")).chain((2..).map(|n| format!("{stem}-{n}.md")));
        let file = names.into_iter().find(|name| !dir.join(name).exists());
        let file = file.expect("some number is free");
        let Idea { phase, phase_name, title, text } = idea;
        let problem =
            format!("Put off while phase {phase} ({phase_name}) was discussed:\n\n{text}");
        writer.replace(&dir.join(&file), &todo::render(title, &today(), &problem)?)?;
        let (title, phase) = (title.clone(), phase.to_string());
        kept.push(Kept {
            file: format!(".planning/{}/{file}", Shelf::Pending.dir()),
            title,
            phase,
        });
    }
    Ok(kept)
}

//! The bundles about the project around the phases: new-project, new-milestone, quick, resume,
//! todos, map-codebase.

use std::fs;
use std::path::Path;

use mow_core::slug::slug;
use mow_store::todo::Shelf;
use serde_json::json;

use super::super::config::has_search_key;
use super::super::todo::Listing;
use super::super::utility::model;
use super::{exists, milestone, nudge_dismissed};
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;
use crate::teams;

/// What source files end with.
const CODE: [&str; 7] = ["ts", "js", "py", "go", "rs", "swift", "java"];
/// How many directories deep code is looked for, the root's own files being one.
const DEPTH: usize = 3;
const PACKAGES: [&str; 5] =
    ["package.json", "requirements.txt", "Cargo.toml", "go.mod", "Package.swift"];

/// Returns whether a directory holds source files, dependencies left out.
fn holds_code(dir: &Path, depth: usize) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = Path::new(&name);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 && name != "node_modules" && name != ".git" {
            folders.push(entry.path());
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        if !is_folder && ending.is_some_and(|ending| CODE.contains(&ending)) {
            return true;
        }
    }
    folders.iter().any(|folder| holds_code(folder, depth - 1))
}

pub(super) fn new_project(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let root = &context.project.root;
    let has_code = holds_code(root, DEPTH);
    let has_package = PACKAGES.iter().any(|file| root.join(file).exists());
    let has_map = exists(context, "codebase");
    let is_brownfield = has_code || has_package;
    Ok(Output::json(json!({
        "researcher_model": model(&config, "mow-project-researcher"),
        "synthesizer_model": model(&config, "mow-research-synthesizer"),
        "roadmapper_model": model(&config, "mow-roadmapper"),
        "commit_docs": config.settings().commit_docs,
        "project_exists": exists(context, "PROJECT.md"),
        "has_codebase_map": has_map,
        "planning_exists": context.project.planned,
        "has_existing_code": has_code,
        "has_package_file": has_package,
        "is_brownfield": is_brownfield,
        "needs_codebase_map": is_brownfield && !has_map,
        "has_git": context.project.repository.is_some(),
        "brave_search_available": has_search_key(),
        "agent_teams_enabled": teams::enabled(),
        "agent_teams_nudge_dismissed": nudge_dismissed(&config),
    })))
}

pub(super) fn new_milestone(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let milestone = milestone(context)?;
    Ok(Output::json(json!({
        "researcher_model": model(&config, "mow-project-researcher"),
        "synthesizer_model": model(&config, "mow-research-synthesizer"),
        "roadmapper_model": model(&config, "mow-roadmapper"),
        "commit_docs": settings.commit_docs,
        "research_enabled": settings.research,
        "current_milestone": milestone.version,
        "current_milestone_name": milestone.name,
        "project_exists": exists(context, "PROJECT.md"),
        "roadmap_exists": exists(context, "ROADMAP.md"),
        "state_exists": exists(context, "STATE.md"),
    })))
}

/// How long the slug of a quick task may be.
const QUICK_SLUG_MAX: usize = 40;

pub(super) fn quick(context: &Context, description: &str) -> Result<Output, Failure> {
    let config = context.config()?;
    let number = next_quick(&context.planning("quick"));
    let description = Some(description).filter(|text| !text.trim().is_empty());
    let slug = description.map(slug).filter(|slug| !slug.is_empty()).map(|mut slug| {
        slug.truncate(QUICK_SLUG_MAX);
        slug
    });
    let task_dir = slug.as_ref().map(|slug| format!(".planning/quick/{number}-{slug}"));
    Ok(Output::json(json!({
        "planner_model": model(&config, "mow-planner"),
        "executor_model": model(&config, "mow-executor"),
        "checker_model": model(&config, "mow-plan-checker"),
        "verifier_model": model(&config, "mow-verifier"),
        "commit_docs": config.settings().commit_docs,
        "next_num": number,
        "slug": slug,
        "description": description,
        "date": today(),
        "timestamp": now(),
        "quick_dir": ".planning/quick",
        "task_dir": task_dir,
        "roadmap_exists": exists(context, "ROADMAP.md"),
        "planning_exists": context.project.planned,
    })))
}

/// Returns the number after the highest that a name in a directory starts with.
fn next_quick(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 1 };
    let numbers = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let digits = name.to_str()?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u64>().ok()
    });
    numbers.max().unwrap_or(0).saturating_add(1)
}

pub(super) fn resume(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let agent = context.load("current-agent-id.txt")?;
    let agent = agent.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let agent = agent.filter(|agent| !agent.is_empty());
    Ok(Output::json(json!({
        "state_exists": exists(context, "STATE.md"),
        "roadmap_exists": exists(context, "ROADMAP.md"),
        "project_exists": exists(context, "PROJECT.md"),
        "planning_exists": context.project.planned,
        "has_interrupted_agent": agent.is_some(),
        "interrupted_agent_id": agent,
        "commit_docs": config.settings().commit_docs,
        "agent_teams_enabled": teams::enabled(),
        "agent_teams_nudge_dismissed": nudge_dismissed(&config),
    })))
}

pub(super) fn todos(context: &Context, area: Option<&str>) -> Result<Output, Failure> {
    let config = context.config()?;
    let area = area.filter(|area| !area.is_empty());
    let listing = Listing::load(context, area);
    let dir = |shelf: Shelf| format!(".planning/{}", shelf.dir());
    let has = |shelf: Shelf| exists(context, &shelf.dir());
    Ok(Output::json(json!({
        "commit_docs": config.settings().commit_docs,
        "date": today(),
        "timestamp": now(),
        "todo_count": listing.todos.len(),
        "in_progress_count": listing.in_progress,
        "todos": listing.todos,
        "area_filter": area,
        "pending_dir": dir(Shelf::Pending),
        "in_progress_dir": dir(Shelf::InProgress),
        "completed_dir": dir(Shelf::Completed),
        "planning_exists": context.project.planned,
        "todos_dir_exists": exists(context, "todos"),
        "pending_dir_exists": has(Shelf::Pending),
        "in_progress_dir_exists": has(Shelf::InProgress),
    })))
}

pub(super) fn map_codebase(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let entries = fs::read_dir(context.planning("codebase")).into_iter().flatten().flatten();
    let mut maps: Vec<_> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".md"))
        .collect();
    maps.sort_unstable();
    Ok(Output::json(json!({
        "mapper_model": model(&config, "mow-codebase-mapper"),
        "commit_docs": settings.commit_docs,
        "search_gitignored": settings.search_gitignored,
        "parallelization": settings.parallelization,
        "codebase_dir": ".planning/codebase",
        "existing_maps": maps,
        "has_maps": !maps.is_empty(),
        "planning_exists": context.project.planned,
        "codebase_dir_exists": exists(context, "codebase"),
    })))
}

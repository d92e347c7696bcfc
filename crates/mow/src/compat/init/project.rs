//! The answers of `mow init` about the project as a whole: `new-project`, `new-milestone`, `quick`,
//! `resume`, `todos` and `map-codebase`.

use std::fs;
use std::path::Path;

use mow_core::slug::slug;
use mow_store::todo::TodoFolder;
use serde_json::json;

use super::{exists, is_nudge_dismissed, load_current_milestone};
use crate::commands::config::has_search_key;
use crate::commands::profile::model;
use crate::compat::agent_teams;
use crate::compat::todo::OpenTodos;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;

/// The file extensions of source code.
const CODE_EXTENSIONS: [&str; 7] = ["ts", "js", "py", "go", "rs", "swift", "java"];
/// How many levels are searched for code; the files in the root are the first level.
const DEPTH_MAX: usize = 3;
const PACKAGE_FILES: [&str; 5] =
    ["package.json", "requirements.txt", "Cargo.toml", "go.mod", "Package.swift"];

/// Returns whether a directory holds source files; skips `node_modules` and `.git`.
fn contains_code(dir: &Path, depth: usize) -> bool {
    let Ok(entries) = fs::read_dir(dir) else { return false };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = Path::new(&name);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 1 && name != "node_modules" && name != ".git" {
            folders.push(entry.path());
        }
        let extension = path.extension().and_then(|extension| extension.to_str());
        if !is_folder && extension.is_some_and(|extension| CODE_EXTENSIONS.contains(&extension)) {
            return true;
        }
    }
    folders.iter().any(|folder| contains_code(folder, depth - 1))
}

pub(super) fn new_project(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let root = &context.project.root;
    let has_code = contains_code(root, DEPTH_MAX);
    let has_package = PACKAGE_FILES.iter().any(|file| root.join(file).exists());
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
        "agent_teams_enabled": agent_teams::is_enabled(),
        "agent_teams_nudge_dismissed": is_nudge_dismissed(&config),
    })))
}

pub(super) fn new_milestone(context: &Context) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let milestone = load_current_milestone(context)?;
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

/// The maximum length of the slug of a quick task, in bytes.
const QUICK_SLUG_MAX: usize = 40;

pub(super) fn quick(context: &Context, description: &str) -> Result<Output, Failure> {
    let config = context.config()?;
    let number = next_task_number(&context.planning("quick"));
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

/// Returns the next free task number: one above the highest number that a name starts with.
fn next_task_number(dir: &Path) -> u64 {
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
        "agent_teams_enabled": agent_teams::is_enabled(),
        "agent_teams_nudge_dismissed": is_nudge_dismissed(&config),
    })))
}

pub(super) fn todos(context: &Context, area: Option<&str>) -> Result<Output, Failure> {
    let config = context.config()?;
    let area = area.filter(|area| !area.is_empty());
    let open = OpenTodos::load(context, area);
    let dir = |folder: TodoFolder| format!(".planning/{}", folder.dir());
    let has = |folder: TodoFolder| exists(context, &folder.dir());
    Ok(Output::json(json!({
        "commit_docs": config.settings().commit_docs,
        "date": today(),
        "timestamp": now(),
        "todo_count": open.todos.len(),
        "in_progress_count": open.in_progress,
        "todos": open.todos,
        "area_filter": area,
        "pending_dir": dir(TodoFolder::Pending),
        "in_progress_dir": dir(TodoFolder::InProgress),
        "completed_dir": dir(TodoFolder::Completed),
        "planning_exists": context.project.planned,
        "todos_dir_exists": exists(context, "todos"),
        "pending_dir_exists": has(TodoFolder::Pending),
        "in_progress_dir_exists": has(TodoFolder::InProgress),
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

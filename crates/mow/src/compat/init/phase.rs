//! The answers of `mow init` about one phase: `execute-phase`, `plan-phase`, `phase-op` and
//! `verify-work`.

use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_store::config::Settings;
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir, PhaseFileKind};
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use mow_store::roadmap::{self, RoadmapEntry};
use serde_json::{Map, Value, json};

use super::{add_contents, exists, included_names, into_object, is_nudge_dismissed};
use crate::commands::profile::model;
use crate::compat::agent_teams;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The facts about a phase that the answers print; all are empty when the phase was not found.
#[derive(Default)]
struct PhaseFacts {
    found: bool,
    /// The path of the directory, relative to the project root.
    shown_dir: Option<String>,
    number: Option<String>,
    name: Option<String>,
    slug: Option<String>,
    plans: Vec<String>,
    summaries: Vec<String>,
    /// The plans without a summary.
    incomplete: Vec<String>,
    dir: Option<PhaseDir>,
}

impl PhaseFacts {
    fn find(context: &Context, phase: &str) -> Self {
        context.phase_dir(phase).map(|dir| Self::from_dir(context, dir)).unwrap_or_default()
    }

    fn from_dir(context: &Context, dir: PhaseDir) -> Self {
        let files = |kind| dir.files_of(kind).map(str::to_owned).collect::<Vec<_>>();
        let (plans, summaries) = (files(PhaseFileKind::Plan), files(PhaseFileKind::Summary));
        let done: Vec<_> =
            summaries.iter().filter_map(|file| PhaseFileKind::Summary.id(file)).collect();
        let is_open =
            |file: &&String| PhaseFileKind::Plan.id(file).is_none_or(|id| !done.contains(&id));
        Self {
            found: true,
            shown_dir: Some(context.display_path(&dir.path)),
            number: Some(number_prefix(&dir.name).to_owned()),
            name: dir.label().map(str::to_owned),
            slug: dir.label().map(slug),
            incomplete: plans.iter().filter(is_open).cloned().collect(),
            plans,
            summaries,
            dir: Some(dir),
        }
    }

    /// Builds the facts of a phase that is in the roadmap but has no directory.
    fn from_roadmap(typed: &str, entry: &RoadmapEntry) -> Self {
        let name = entry.phase.name.clone();
        Self {
            found: true,
            number: Some(typed.to_owned()),
            slug: Some(slug(&name)),
            name: Some(name),
            ..Self::default()
        }
    }

    /// Returns the keys that identify the phase.
    fn identity(&self) -> Map<String, Value> {
        into_object(json!({
            "phase_found": self.found,
            "phase_dir": self.shown_dir,
            "phase_number": self.number,
            "phase_name": self.name,
            "phase_slug": self.slug,
        }))
    }

    /// Returns the keys that show how far the planning of the phase is.
    fn planning_progress(&self) -> Map<String, Value> {
        into_object(json!({
            "padded_phase": self.padded(),
            "has_research": self.has("RESEARCH.md"),
            "has_context": self.has("CONTEXT.md"),
            "has_plans": !self.plans.is_empty(),
        }))
    }

    /// Returns the number as directory names have it: `03`.
    fn padded(&self) -> Option<String> {
        let number = self.number.as_deref()?;
        let parsed = phase_dirs::parse_argument(number);
        Some(parsed.map_or_else(|| number.to_owned(), |number| number.padded()))
    }

    /// Returns the name of the first file of a kind, such as `CONTEXT.md`.
    fn find_file(&self, kind: &str) -> Option<&str> {
        let is = |file: &&str| {
            file.strip_suffix(kind).is_some_and(|before| before.is_empty() || before.ends_with('-'))
        };
        self.dir.as_ref()?.files().find(is)
    }

    fn has(&self, kind: &str) -> bool {
        self.find_file(kind).is_some()
    }

    /// Reads the first file of a kind; `None` when there is none.
    fn load_text(&self, kind: &str) -> Result<Option<String>, Failure> {
        let (Some(dir), Some(file)) = (&self.dir, self.find_file(kind)) else { return Ok(None) };
        let bytes = disk::read(&dir.path.join(file))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Returns the phase number at the start of a directory name, as it is written there.
pub(super) fn number_prefix(name: &str) -> &str {
    match PhaseNumber::parse_prefix(name) {
        Some((_, rest)) => &name[..name.len() - rest.len()],
        None => name,
    }
}

/// Finds the roadmap entry of a phase; prefers one that is not archived.
fn find_entry<'a>(entries: &'a [RoadmapEntry], phase: &str) -> Option<&'a RoadmapEntry> {
    let number = phase_dirs::parse_argument(phase)?;
    let same = || entries.iter().filter(|entry| entry.phase.number == number);
    same().find(|entry| !entry.phase.archived).or_else(|| same().next())
}

fn requirement_ids(roadmap: &[u8], phase: &str) -> Vec<String> {
    let entries = roadmap::parse(roadmap).entries;
    find_entry(&entries, phase).map(|entry| entry.requirements.clone()).unwrap_or_default()
}

pub(super) fn execute(
    context: &Context,
    typed: &str,
    include: Option<&str>,
) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let phase = PhaseFacts::find(context, typed);
    let roadmap = context.load("ROADMAP.md")?;
    let bytes = roadmap.as_deref().unwrap_or_default();
    let milestone = current_milestone(bytes);
    let mut answer = into_object(json!({
        "executor_model": model(&config, "mow-executor"),
        "verifier_model": model(&config, "mow-verifier"),
        "commit_docs": settings.commit_docs,
        "parallelization": settings.parallelization,
        "branching_strategy": settings.branching_strategy,
        "phase_branch_template": settings.phase_branch_template,
        "milestone_branch_template": settings.milestone_branch_template,
        "verifier_enabled": settings.verifier,
    }));
    answer.extend(phase.identity());
    answer.extend(into_object(json!({
        "plans": phase.plans,
        "summaries": phase.summaries,
        "incomplete_plans": phase.incomplete,
        "plan_count": phase.plans.len(),
        "incomplete_count": phase.incomplete.len(),
        "branch_name": work_branch(&settings, &phase, &milestone),
        "milestone_version": milestone.version,
        "milestone_name": milestone.name,
        "milestone_slug": slug(&milestone.name),
        "state_exists": exists(context, "STATE.md"),
        "roadmap_exists": roadmap.is_some(),
        "config_exists": exists(context, "config.json"),
        "phase_requirement_ids": requirement_ids(bytes, typed),
        "max_task_attempts": settings.max_task_attempts,
        "agent_teams_enabled": agent_teams::is_enabled(),
        "agent_teams_nudge_dismissed": is_nudge_dismissed(&config),
    })));
    let files = [("state", "STATE.md"), ("config", "config.json"), ("roadmap", "ROADMAP.md")];
    add_contents(&mut answer, context, include, &files)?;
    Ok(Output::json(answer))
}

/// Returns the branch to work on, if the project has branches for phases or milestones.
fn work_branch(
    settings: &Settings,
    phase: &PhaseFacts,
    milestone: &CurrentMilestone,
) -> Option<String> {
    let phase_branch = || {
        let padded = phase.padded().filter(|_| phase.found)?;
        settings.phase_branch(&padded, phase.slug.as_deref().unwrap_or("phase"))
    };
    settings.milestone_branch(milestone).or_else(phase_branch)
}

pub(super) fn plan(
    context: &Context,
    typed: &str,
    include: Option<&str>,
) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let phase = PhaseFacts::find(context, typed);
    let roadmap = context.load("ROADMAP.md")?;
    let bytes = roadmap.as_deref().unwrap_or_default();
    let mut answer = into_object(json!({
        "researcher_model": model(&config, "mow-phase-researcher"),
        "planner_model": model(&config, "mow-planner"),
        "checker_model": model(&config, "mow-plan-checker"),
        "research_enabled": settings.research,
        "plan_checker_enabled": settings.plan_checker,
        "commit_docs": settings.commit_docs,
    }));
    answer.extend(phase.identity());
    answer.extend(phase.planning_progress());
    answer.extend(into_object(json!({
        "plan_count": phase.plans.len(),
        "phase_requirement_ids": requirement_ids(bytes, typed),
        "planning_exists": context.project.planned,
        "roadmap_exists": roadmap.is_some(),
    })));
    let files =
        [("state", "STATE.md"), ("roadmap", "ROADMAP.md"), ("requirements", "REQUIREMENTS.md")];
    add_contents(&mut answer, context, include, &files)?;
    let phase_files = [
        ("context", "CONTEXT.md"),
        ("research", "RESEARCH.md"),
        ("verification", "VERIFICATION.md"),
        ("uat", "UAT.md"),
    ];
    for (name, kind) in phase_files {
        let is_wanted = included_names(include).any(|wanted| wanted == name);
        if let Some(text) = is_wanted.then(|| phase.load_text(kind)).transpose()?.flatten() {
            answer.insert(format!("{name}_content"), json!(text));
        }
    }
    Ok(Output::json(answer))
}

pub(super) fn verify_work(context: &Context, typed: &str) -> Result<Output, Failure> {
    let config = context.config()?;
    let phase = PhaseFacts::find(context, typed);
    Ok(Output::json(json!({
        "planner_model": model(&config, "mow-planner"),
        "checker_model": model(&config, "mow-plan-checker"),
        "commit_docs": config.settings().commit_docs,
        "phase_found": phase.found,
        "phase_dir": phase.shown_dir,
        "phase_number": phase.number,
        "phase_name": phase.name,
        "has_verification": phase.has("VERIFICATION.md"),
    })))
}

pub(super) fn op(context: &Context, typed: Option<&str>) -> Result<Output, Failure> {
    let config = context.config()?;
    let settings = config.settings();
    let typed = typed.unwrap_or("");
    let roadmap = context.load("ROADMAP.md")?;
    let entries = roadmap::parse(roadmap.as_deref().unwrap_or_default()).entries;
    let entry = find_entry(&entries, typed);
    let mut phase = PhaseFacts::find(context, typed);
    if let (false, Some(entry)) = (phase.found, entry.filter(|entry| entry.phase.sources.heading)) {
        phase = PhaseFacts::from_roadmap(typed, entry);
    }
    let mut answer = into_object(json!({
        "commit_docs": settings.commit_docs,
        "brave_search": settings.brave_search,
    }));
    answer.extend(phase.identity());
    answer.extend(phase.planning_progress());
    answer.extend(into_object(json!({
        "has_verification": phase.has("VERIFICATION.md"),
        "plan_count": phase.plans.len(),
        "summary_count": phase.summaries.len(),
        "phase_requirement_ids": entry.map(|entry| entry.requirements.clone()).unwrap_or_default(),
        "roadmap_exists": roadmap.is_some(),
        "planning_exists": context.project.planned,
    })));
    Ok(Output::json(answer))
}

//! Builds the prompt of an agent in a role: the role's template with the values of the phase.

use std::path::Path;

use mow_core::worker::Role;
use mow_prompts::{Prompt, PromptValues, Variable};
use mow_store::phase_documents::parse_checkpoint;
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::{disk, phase_dirs};

use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::agent_job;

/// Returns the prompt of a role. `more` adds to the values that all roles have, or replaces them.
pub(super) fn role_prompt(
    workspace: &PhaseWorkspace,
    role: Role,
    round: u32,
    more: &[(Variable, String)],
) -> Result<String, EngineError> {
    let prompt = Prompt::find(role.name()).ok_or_else(|| {
        let message = format!("there is no prompt for the role {}", role.name());
        EngineError::refused(message, "repair the file")
    })?;
    let mut values = common_values(workspace, role, round)?;
    for (variable, value) in more {
        values = values.with(*variable, value);
    }
    agent_job::render_prompt(&workspace.ctx, prompt, &values)
}

fn common_values(
    workspace: &PhaseWorkspace,
    role: Role,
    round: u32,
) -> Result<PromptValues, EngineError> {
    let (brief, ctx) = (&workspace.brief, &workspace.ctx);
    let path = |path: &Path| path.display().to_string();
    let planning = |name: &str| path(&workspace.project.planning.join(name));
    let document = |kind: &str| path(&workspace.document(kind));
    let bytes = disk::read(&ctx.project.planning.join("ROADMAP.md"))?.unwrap_or_default();
    let details = match roadmap::describe_phase(&bytes, &brief.phase) {
        PhaseLookup::Found(details) => Some(details),
        _ => None,
    };
    let goal = details.as_ref().and_then(|details| details.goal.clone()).unwrap_or_default();
    let criteria = details.as_ref().map(|d| d.success_criteria.clone()).unwrap_or_default();
    let criteria: Vec<_> = criteria.iter().map(|criterion| format!("- {criterion}")).collect();
    let requirements =
        details.as_ref().and_then(|details| requirement_ids(&details.section)).unwrap_or_default();
    Ok(PromptValues::default()
        .with(Variable::Role, role.name())
        .with(Variable::Phase, &brief.phase.to_string())
        .with(Variable::PhaseName, &brief.name)
        .with(Variable::PhaseSlug, &workspace.dir_name)
        .with(Variable::Prefix, &workspace.file_prefix())
        .with(Variable::Goal, &goal)
        .with(Variable::Criteria, &criteria.join("\n"))
        .with(Variable::Requirements, &requirements)
        .with(Variable::Worktree, &path(&workspace.worktree.join(ctx.below_top())))
        .with(Variable::PhaseDir, &path(&workspace.phase_dir()))
        .with(Variable::Roadmap, &planning("ROADMAP.md"))
        .with(Variable::RequirementsFile, &planning("REQUIREMENTS.md"))
        .with(Variable::ProjectFile, &planning("PROJECT.md"))
        .with(Variable::State, &planning("STATE.md"))
        .with(Variable::Context, &document("CONTEXT"))
        .with(Variable::Research, &document("RESEARCH"))
        .with(Variable::Verification, &document("VERIFICATION"))
        .with(Variable::Round, &round.to_string())
        .with(Variable::Answers, &write_answers_file(workspace)?)
        .with(Variable::Issues, &path_if_exists(&workspace.log_file("review")))
        .with(Variable::Findings, "")
        .with(Variable::AttemptProblem, &last_problem(workspace)))
}

/// Returns a path as text, or an empty text if nothing exists there.
pub(super) fn path_if_exists(path: &Path) -> String {
    if path.exists() { path.display().to_string() } else { String::new() }
}

/// Writes the answers of people so far to a file that agents read; returns its path.
fn write_answers_file(workspace: &PhaseWorkspace) -> Result<String, EngineError> {
    if workspace.brief.answers.is_empty() {
        return Ok(String::new());
    }
    let path = workspace.log_file("answers");
    let entries = workspace.brief.answers.iter().map(|answer| {
        format!("Question: {}\nAnswer: {}\n", answer.question.trim(), answer.text.trim())
    });
    disk::write_engine_file(&path, entries.collect::<Vec<_>>().join("\n").as_bytes())?;
    Ok(path.display().to_string())
}

/// Returns the reason in the phase's CHECKPOINT.md: why the last attempt ended.
fn last_problem(workspace: &PhaseWorkspace) -> String {
    let number = workspace.brief.phase.to_string();
    let dir = phase_dirs::find(&workspace.project.planning, &number);
    let name = format!("{}-CHECKPOINT.md", workspace.file_prefix());
    let file = dir.map(|dir| dir.path.join(name));
    let bytes = file.and_then(|file| disk::read(&file).ok().flatten()).unwrap_or_default();
    parse_checkpoint(&bytes).map(|checkpoint| checkpoint.error).unwrap_or_default()
}

/// Returns the ids in the `**Requirements` line of a roadmap section.
fn requirement_ids(section: &str) -> Option<String> {
    let line = section.lines().find(|line| line.trim_start().starts_with("**Requirements"))?;
    let (_, ids) = line.split_once(':')?;
    Some(ids.trim().trim_start_matches('*').trim().to_owned())
}

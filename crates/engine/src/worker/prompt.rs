//! What an agent in a role is told: the text of the role with what differs from phase to phase.

use std::path::Path;

use mow_core::worker::Role;
use mow_prompts::{Prompt, Values, Variable};
use mow_store::roadmap::{self, Lookup};
use mow_store::{disk, phase_dirs};

use super::desk::Desk;
use crate::EngineError;
use crate::job;

impl Desk {
    /// Returns what a role is told; values on top of those that all roles have.
    pub(super) fn prompt(
        &self,
        role: Role,
        round: u32,
        more: &[(Variable, String)],
    ) -> Result<String, EngineError> {
        let prompt = Prompt::find(role.name()).ok_or_else(|| {
            let message = format!("there is no text for the {}", role.name());
            EngineError::refused(message, "repair the file")
        })?;
        let mut values = self.values(role, round)?;
        for (variable, value) in more {
            values = values.with(*variable, value);
        }
        job::prompt(&self.site, prompt, &values)
    }

    fn values(&self, role: Role, round: u32) -> Result<Values, EngineError> {
        let path = |path: &Path| path.display().to_string();
        let planning = |name: &str| path(&self.project.planning.join(name));
        let paper =
            |suffix: &str| path(&self.phase_dir().join(format!("{}-{suffix}.md", self.padded())));
        let bytes = disk::read(&self.site.project.planning.join("ROADMAP.md"))?.unwrap_or_default();
        let details = match roadmap::details(&bytes, &self.brief.phase) {
            Lookup::Found(details) => Some(details),
            _ => None,
        };
        let goal = details.as_ref().and_then(|details| details.goal.clone()).unwrap_or_default();
        let criteria = details.as_ref().map(|d| d.success_criteria.clone()).unwrap_or_default();
        let criteria: Vec<_> = criteria.iter().map(|criterion| format!("- {criterion}")).collect();
        let requirements =
            details.as_ref().and_then(|details| requirements(&details.section)).unwrap_or_default();
        Ok(Values::default()
            .with(Variable::Role, role.name())
            .with(Variable::Phase, &self.brief.phase.to_string())
            .with(Variable::PhaseName, &self.brief.name)
            .with(Variable::PhaseSlug, &self.dir_name)
            .with(Variable::Prefix, &self.padded())
            .with(Variable::Goal, &goal)
            .with(Variable::Criteria, &criteria.join("\n"))
            .with(Variable::Requirements, &requirements)
            .with(Variable::Worktree, &path(&self.worktree.join(self.site.below_top())))
            .with(Variable::PhaseDir, &path(&self.phase_dir()))
            .with(Variable::Roadmap, &planning("ROADMAP.md"))
            .with(Variable::RequirementsFile, &planning("REQUIREMENTS.md"))
            .with(Variable::ProjectFile, &planning("PROJECT.md"))
            .with(Variable::State, &planning("STATE.md"))
            .with(Variable::Context, &paper("CONTEXT"))
            .with(Variable::Research, &paper("RESEARCH"))
            .with(Variable::Verification, &paper("VERIFICATION"))
            .with(Variable::Round, &round.to_string())
            .with(Variable::Answers, &self.answers_file()?)
            .with(Variable::Issues, &self.existing(&self.log("review")))
            .with(Variable::Findings, "")
            .with(Variable::AttemptProblem, &self.last_problem()))
    }

    /// Returns a path, where there is something at it.
    pub(super) fn existing(&self, path: &Path) -> String {
        if path.exists() { path.display().to_string() } else { String::new() }
    }

    /// Writes down what people have answered so far, for agents to read; returns where.
    fn answers_file(&self) -> Result<String, EngineError> {
        if self.brief.answers.is_empty() {
            return Ok(String::new());
        }
        let path = self.log("answers");
        let entries = self.brief.answers.iter().map(|answer| {
            format!("Question: {}\nAnswer: {}\n", answer.question.trim(), answer.text.trim())
        });
        disk::put(&path, entries.collect::<Vec<_>>().join("\n").as_bytes())?;
        Ok(path.display().to_string())
    }

    /// Returns what the newest checkpoint of the phase says about why it ended.
    fn last_problem(&self) -> String {
        let dir = phase_dirs::find(&self.project.planning, &self.brief.phase.to_string());
        let file = dir.map(|dir| dir.path.join(format!("{}-CHECKPOINT.md", self.padded())));
        let bytes = file.and_then(|file| disk::read(&file).ok().flatten()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let reason = text.lines().find_map(|line| line.strip_prefix("reason:"));
        reason.unwrap_or_default().trim().trim_matches('"').to_owned()
    }
}

/// Returns the ids in the line of a section that names requirements.
fn requirements(section: &str) -> Option<String> {
    let line = section.lines().find(|line| line.trim_start().starts_with("**Requirements"))?;
    let (_, ids) = line.split_once(':')?;
    Some(ids.trim().trim_start_matches('*').trim().to_owned())
}

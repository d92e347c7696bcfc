//! Surveys what exists of a phase when an attempt looks at it: documents, plans, commits,
//! settings.

use std::collections::BTreeSet;

use mow_core::stage::Gates;
use mow_core::worker::{PhaseSnapshot, PlanSnapshot, Role, Settings, TaskSnapshot, Verdict};
use mow_store::frontmatter::Problem;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::plan::{Plan, Task};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::{disk, phase_files};

use super::checkpoint;
use super::phase_workspace::PhaseWorkspace;
use super::plan_files::{artifact_ids, plans_complete_at_base, read_plan};
use super::role_documents::RoleDocuments;
use crate::EngineError;
use crate::agent_config;
use crate::run_context;

/// Reads what exists of the phase. Changes nothing.
#[derive(Clone, Copy)]
pub(super) struct PhaseSurvey<'a> {
    workspace: &'a PhaseWorkspace,
    role_documents: RoleDocuments<'a>,
}

impl<'a> PhaseSurvey<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, role_documents: RoleDocuments::new(workspace) }
    }

    /// Reads the documents, plans and settings that decide the next stage of the phase.
    pub(super) fn survey(&self) -> Result<PhaseSnapshot, EngineError> {
        let number = self.workspace.brief.phase;
        let roadmap = self.workspace.ctx.project.planning.join("ROADMAP.md");
        let bytes = disk::read(&roadmap)?.unwrap_or_default();
        let details = match roadmap::describe_phase(&bytes, &number) {
            PhaseLookup::Found(details) => Some(details),
            _ => None,
        };
        let section = details.as_ref().map_or("", |details| details.section.as_str());
        let dir = phase_dirs::find(&self.workspace.project.planning, &number.to_string());
        let has = |kind| -> Result<bool, EngineError> {
            let exists = dir.as_ref().is_some_and(|dir| dir.count(kind) > 0);
            Ok(exists && !self.role_documents.are_incomplete(kind)?)
        };
        let verification = self.verification()?;
        let plans = self.plans()?;
        let checkpoint = checkpoint::read_checkpoint(self.workspace, &plans)?.map(Box::new);
        Ok(PhaseSnapshot {
            settings: self.settings()?,
            goal: details.as_ref().and_then(|details| details.goal.clone()).unwrap_or_default(),
            criteria: details.as_ref().map(|d| d.success_criteria.clone()).unwrap_or_default(),
            skip_discuss: skips_discuss(section),
            context: has(PhaseFileKind::Context)?,
            research: has(PhaseFileKind::Research)?,
            plans,
            verification,
            checkpoint,
        })
    }

    fn settings(&self) -> Result<Settings, EngineError> {
        let config = self.workspace.ctx.config()?;
        let all = config.settings();
        let text = |key: &str| {
            config
                .lookup(key)
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        let gates = Gates::parse(&text("worker.stage_gates")).unwrap_or_default();
        let mode = mow_core::message::BlockerMode::parse(&text("worker.blocker_mode"));
        let strict = mode == Some(mow_core::message::BlockerMode::Strict);
        let blocker_timeout_ms = config
            .lookup("messages.blocker_timeout_s")
            .and_then(|value| value.as_u64()?.checked_mul(1_000))
            .filter(|_| strict);
        let wall_max = run_context::minutes_setting(&config, "multi_phase.worker_timeout_min");
        let plan_level = config.lookup("parallelization.plan_level");
        let mut roles = BTreeSet::from([Role::Executor, Role::Verifier]);
        let is_configured = |role: &Role| {
            self.workspace.role_command(*role).is_some()
                || agent_config::agent_for_role(&config, role.name()).is_some()
        };
        roles.extend(Role::ALL.into_iter().filter(is_configured));
        Ok(Settings {
            research: all.research,
            plan_check: all.plan_checker,
            verifier: all.verifier,
            gates,
            strict,
            tries_max: 1,
            wall_max_ms: wall_max.and_then(|max| u64::try_from(max.as_millis()).ok()),
            roles,
            side_by_side: all.parallelization && plan_level != Some(false.into()),
            retry_ms: config.lookup("agents.retry_s").and_then(|s| s.as_u64()?.checked_mul(1_000)),
            blocker_timeout_ms,
        })
    }

    /// Reads the verdict of the phase's VERIFICATION.md.
    fn verification(&self) -> Result<Option<Verdict>, EngineError> {
        let path = self.workspace.document("VERIFICATION");
        let Some(bytes) = disk::read(&path)? else { return Ok(None) };
        let status = phase_files::parse_verification(&bytes).status.unwrap_or_default();
        Ok(match status.as_str() {
            "passed" => Some(Verdict::Passed),
            "human_needed" => Some(Verdict::HumanNeeded { text: "a person must look".to_owned() }),
            "gaps_found" => Some(Verdict::Gaps { text: "verification found gaps".to_owned() }),
            _ => None,
        })
    }

    /// Reads the plans and which of their tasks are done, ordered by wave and id.
    fn plans(&self) -> Result<Vec<PlanSnapshot>, EngineError> {
        let number = self.workspace.brief.phase.to_string();
        let Some(dir) = phase_dirs::find(&self.workspace.project.planning, &number) else {
            return Ok(Vec::new());
        };
        if self.role_documents.are_incomplete(PhaseFileKind::Plan)? {
            return Ok(Vec::new());
        }
        let summaries: BTreeSet<_> = artifact_ids(&dir, PhaseFileKind::Summary).collect();
        let sealed = self.workspace.sealed_commits()?;
        let all: Vec<_> = artifact_ids(&dir, PhaseFileKind::Plan).collect();
        let is_open = |id: &&String| !sealed.plans.contains_key(*id) && summaries.contains(*id);
        let open: Vec<_> = all.iter().filter(is_open).cloned().collect();
        let complete_at_base = plans_complete_at_base(self.workspace, &open)?;
        let mut plans = Vec::new();
        for id in &all {
            let plan = read_plan(self.workspace, id)?;
            let closed = sealed.plans.contains_key(id) || complete_at_base.contains(id);
            let done = |key: &(String, usize)| {
                // A task without evidence runs again. Its commit exists, so only its checks run.
                (key.0 == *id && sealed.unproven.as_ref() != Some(key)).then_some(key.1)
            };
            let known = plan.depends_on.iter().filter_map(|other| other.resolve(&number, &all));
            plans.push(PlanSnapshot {
                wave: plan.wave,
                depends_on: known.map(str::to_owned).filter(|other| other != id).collect(),
                done: closed && summaries.contains(id),
                tasks_done: sealed.tasks.keys().filter_map(done).collect(),
                files: plan.files_modified.clone(),
                problem: plan_problem(&plan),
                tasks: plan.tasks.iter().map(task_snapshot).collect(),
                commit: sealed.last_commit_of(id),
                unchecked: !closed && sealed.unchecked.contains(id),
                alone: sealed.undone.iter().any(|(of, _)| of == id),
                id: id.clone(),
            });
        }
        plans.sort_by(|a, b| (a.wave, &a.id).cmp(&(b.wave, &b.id)));
        Ok(plans)
    }
}

/// Returns why a plan cannot be executed.
fn plan_problem(plan: &Plan) -> Option<String> {
    let cause = |problem: &Problem| format!(" (line {}: {})", problem.line, problem.message);
    let cause = plan.problems.first().map(cause).unwrap_or_default();
    plan.tasks.is_empty().then(|| format!("it has no tasks that can be read{cause}"))
}

/// Returns whether the phase's section of the roadmap has `**Discuss**: skip`.
pub(crate) fn skips_discuss(section: &str) -> bool {
    section.lines().any(|line| {
        let plain = line.replace('*', "").to_lowercase();
        plain
            .trim()
            .trim_start_matches("- ")
            .split_once(':')
            .is_some_and(|(name, value)| name.trim() == "discuss" && value.trim() == "skip")
    })
}

/// Describes a task. A checkpoint task carries the question for a person and its choices.
fn task_snapshot(task: &Task) -> TaskSnapshot {
    let name = task.name.clone();
    if !task.is_checkpoint() {
        return TaskSnapshot { name, ..TaskSnapshot::default() };
    }
    let tags = ["decision", "what-built", "how-to-verify", "options", "action", "instructions"];
    let parts: Vec<_> = tags.iter().filter_map(|tag| task.element(tag)).collect();
    let question = parts.join("\n");
    let choices: &[&str] = match task.kind() {
        "checkpoint:decision" => &[],
        "checkpoint:human-action" => &["done", "rejected"],
        _ => &["approved", "rejected"],
    };
    let question = Some(if question.is_empty() { name.clone() } else { question });
    TaskSnapshot { name, question, choices: choices.iter().map(|c| (*c).to_owned()).collect() }
}

#[cfg(test)]
mod tests;

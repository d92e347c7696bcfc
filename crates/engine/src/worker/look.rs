//! Looks at what is there of a phase: files, plans, commits.

use std::collections::BTreeSet;

use mow_core::stage::Gates;
use mow_core::worker::{Found, FoundPlan, FoundTask, Role, Settings, Verdict};
use mow_store::frontmatter::Problem;
use mow_store::phase_dirs::{self, Artifact};
use mow_store::plan::{self, Plan, Task};
use mow_store::roadmap::{self, Lookup};
use mow_store::{disk, phase_files};

use super::desk::Desk;
use crate::EngineError;
use crate::cast;
use crate::site;

impl Desk {
    pub(super) fn look(&self) -> Result<Found, EngineError> {
        let number = self.brief.phase;
        let bytes = disk::read(&self.site.project.planning.join("ROADMAP.md"))?.unwrap_or_default();
        let details = match roadmap::details(&bytes, &number) {
            Lookup::Found(details) => Some(details),
            _ => None,
        };
        let section = details.as_ref().map_or("", |details| details.section.as_str());
        let dir = phase_dirs::find(&self.project.planning, &number.to_string());
        let has = |kind| -> Result<bool, EngineError> {
            let is_there = dir.as_ref().is_some_and(|dir| dir.count(kind) > 0);
            Ok(is_there && !self.is_unfinished(kind)?)
        };
        let verification = self.verification()?;
        Ok(Found {
            settings: self.settings()?,
            goal: details.as_ref().and_then(|details| details.goal.clone()).unwrap_or_default(),
            criteria: details.as_ref().map(|d| d.success_criteria.clone()).unwrap_or_default(),
            skip_discuss: skips_discuss(section),
            context: has(Artifact::Context)?,
            research: has(Artifact::Research)?,
            plans: self.plans()?,
            verification,
        })
    }

    fn settings(&self) -> Result<Settings, EngineError> {
        let config = self.site.config()?;
        let all = config.settings();
        let text = |key: &str| {
            config
                .lookup(key)
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_default()
        };
        let gates = Gates::parse(&text("worker.stage_gates")).unwrap_or_default();
        let mode = mow_core::message::BlockerMode::parse(&text("worker.blocker_mode"));
        let wall_max = site::minutes(&config, "multi_phase.worker_timeout_min");
        let plan_level = config.lookup("parallelization.plan_level");
        let mut roles = BTreeSet::from([Role::Executor, Role::Verifier]);
        let is_played = |role: &Role| {
            self.role_command(*role).is_some() || cast::cast(&config, role.name()).is_some()
        };
        roles.extend(Role::ALL.into_iter().filter(is_played));
        Ok(Settings {
            research: all.research,
            plan_check: all.plan_checker,
            verifier: all.verifier,
            gates,
            strict: mode == Some(mow_core::message::BlockerMode::Strict),
            tries_max: 1,
            wall_max_ms: wall_max.and_then(|max| u64::try_from(max.as_millis()).ok()),
            roles,
            side_by_side: all.parallelization && plan_level != Some(false.into()),
            retry_ms: config.lookup("agents.retry_s").and_then(|s| s.as_u64()?.checked_mul(1_000)),
        })
    }

    /// Returns the command that is set for a role.
    pub(super) fn role_command(&self, role: Role) -> Option<String> {
        let config = self.site.config().ok()?;
        let key = format!("roles.{}.command", role.name());
        let value = config.value(&key).and_then(|value| value.as_str().map(str::to_owned));
        value.filter(|command| !command.trim().is_empty())
    }

    fn verification(&self) -> Result<Option<Verdict>, EngineError> {
        let path = self.phase_dir().join(format!("{}-VERIFICATION.md", self.padded()));
        let Some(bytes) = disk::read(&path)? else { return Ok(None) };
        let status = phase_files::parse_verification(&bytes).status.unwrap_or_default();
        Ok(match status.as_str() {
            "passed" => Some(Verdict::Passed),
            "human_needed" => Some(Verdict::HumanNeeded { text: "a person must look".to_owned() }),
            "gaps_found" => Some(Verdict::Gaps { text: "verification found gaps".to_owned() }),
            _ => None,
        })
    }

    /// Reads the plans with what is done of them, ordered by wave and id.
    fn plans(&self) -> Result<Vec<FoundPlan>, EngineError> {
        let number = self.brief.phase.to_string();
        let Some(dir) = phase_dirs::find(&self.project.planning, &number) else {
            return Ok(Vec::new());
        };
        if self.is_unfinished(Artifact::Plan)? {
            return Ok(Vec::new());
        }
        let summaries: BTreeSet<_> = ids(&dir, Artifact::Summary).collect();
        let marks = self.marks()?;
        let all: Vec<_> = ids(&dir, Artifact::Plan).collect();
        let is_open = |id: &&String| !marks.plans.contains_key(*id) && summaries.contains(*id);
        let older = self.older_plans(&all.iter().filter(is_open).cloned().collect::<Vec<_>>())?;
        let mut plans = Vec::new();
        for id in &all {
            let plan = self.plan(id)?;
            let closed = marks.plans.contains_key(id) || older.contains(id);
            let done = |key: &(String, usize)| {
                // What nobody has seen checked is begun again, which then only checks it.
                (key.0 == *id && marks.unproven.as_ref() != Some(key)).then_some(key.1)
            };
            let known = plan.depends_on.iter().filter_map(|other| other.resolve(&number, &all));
            plans.push(FoundPlan {
                wave: plan.wave,
                depends_on: known.map(str::to_owned).filter(|other| other != id).collect(),
                done: closed && summaries.contains(id),
                tasks_done: marks.tasks.keys().filter_map(done).collect(),
                files: plan.files_modified.clone(),
                problem: problem(&plan),
                tasks: plan.tasks.iter().map(found_task).collect(),
                unchecked: !closed && marks.unchecked.contains(id),
                alone: marks.undone.iter().any(|(of, _)| of == id),
                id: id.clone(),
            });
        }
        plans.sort_by(|a, b| (a.wave, &a.id).cmp(&(b.wave, &b.id)));
        Ok(plans)
    }

    /// Returns which plans were complete before this phase had a commit of its own.
    pub(super) fn older_plans(&self, ids: &[String]) -> Result<BTreeSet<String>, EngineError> {
        if ids.is_empty() {
            return Ok(BTreeSet::new());
        }
        let file = |id: &str| Artifact::Summary.file(id);
        let is_in = |names: &[String]| -> BTreeSet<String> {
            ids.iter().filter(|id| names.iter().any(|name| *name == file(id))).cloned().collect()
        };
        if !self.commits_docs {
            let dir = self.site.project.planning.join("phases").join(&self.dir_name);
            let there = ids.iter().map(|id| file(id)).filter(|file| dir.join(file).exists());
            return Ok(is_in(&there.collect::<Vec<_>>()));
        }
        // What is in the base nobody of this phase can have written.
        let dir = format!("{}/phases/{}", self.planning_below_top(), self.dir_name);
        let tree = format!("{}:{dir}", self.brief.base);
        let answer = self.git().ask(&["ls-tree", "--name-only", "-z", &tree])?;
        let names = if answer.success { answer.stdout } else { Vec::new() };
        Ok(is_in(&mow_host::git::parse_names(&names)))
    }

    /// Reads a plan by its id.
    pub(super) fn plan(&self, id: &str) -> Result<Plan, EngineError> {
        let bytes = disk::read(&self.phase_dir().join(plan_file(id)))?.unwrap_or_default();
        Ok(plan::parse(&bytes))
    }
}

pub(super) fn ids(dir: &phase_dirs::PhaseDir, kind: Artifact) -> impl Iterator<Item = String> {
    dir.of(kind)
        .filter_map(move |file| kind.id(file))
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns the file of a plan.
pub(super) fn plan_file(id: &str) -> String {
    Artifact::Plan.file(id)
}

/// Returns why a plan cannot be carried out.
fn problem(plan: &Plan) -> Option<String> {
    let why = |problem: &Problem| format!(" (line {}: {})", problem.line, problem.message);
    let why = plan.problems.first().map(why).unwrap_or_default();
    plan.tasks.is_empty().then(|| format!("it has no tasks that can be read{why}"))
}

/// Whether a phase's section has `**Discuss**: skip`.
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

fn found_task(task: &Task) -> FoundTask {
    let name = task.name.clone();
    if !task.is_checkpoint() {
        return FoundTask { name, ..FoundTask::default() };
    }
    let parts = ["decision", "what-built", "how-to-verify", "options", "action", "instructions"];
    let said: Vec<_> = parts.iter().filter_map(|tag| task.element(tag)).collect();
    let question = said.join("\n");
    let choices: &[&str] = match task.kind() {
        "checkpoint:decision" => &[],
        "checkpoint:human-action" => &["done", "rejected"],
        _ => &["approved", "rejected"],
    };
    let question = Some(if question.is_empty() { name.clone() } else { question });
    FoundTask { name, question, choices: choices.iter().map(|c| (*c).to_owned()).collect() }
}

#[cfg(test)]
mod tests;

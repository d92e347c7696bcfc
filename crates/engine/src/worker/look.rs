//! Looks at what is there of a phase: files, plans, commits.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::stage::Gates;
use mow_core::worker::{Found, FoundPlan, FoundTask, Role, Settings, Verdict};
use mow_store::frontmatter::Problem;
use mow_store::phase_dirs::{self, Artifact};
use mow_store::plan::{self, Plan, Task};
use mow_store::roadmap::{self, Lookup};
use mow_store::{disk, phase_files};

use super::desk::Desk;
use crate::EngineError;
use crate::site;

/// The key of the commits that close a plan, and of those that end a task.
pub(super) const PLAN_KEY: &str = "Mow-Plan";
pub(super) const TASK_KEY: &str = "Mow-Task";
/// The key of what tells a task's commit that was made beside other plans, and not checked.
pub(super) const BESIDE_KEY: &str = "Mow-Beside";
/// The key of commits that undo tasks.
pub(super) const UNDONE_KEY: &str = "Mow-Undone";

/// What the commits of a phase say is done.
#[derive(Debug, Default)]
pub(super) struct Committed {
    pub(super) plans: BTreeSet<String>,
    /// The commit of each task.
    pub(super) tasks: BTreeMap<(String, usize), String>,
    /// Plans with tasks that were committed before they were checked.
    pub(super) unchecked: BTreeSet<String>,
    /// Tasks that were undone, of which some may have been done again.
    pub(super) undone: BTreeSet<(String, usize)>,
}

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
        let count = |kind| dir.as_ref().map_or(0, |dir| dir.count(kind));
        let verification = self.verification()?;
        Ok(Found {
            settings: self.settings()?,
            goal: details.as_ref().and_then(|details| details.goal.clone()).unwrap_or_default(),
            criteria: details.as_ref().map(|d| d.success_criteria.clone()).unwrap_or_default(),
            skip_discuss: skips_discuss(section),
            context: count(Artifact::Context) > 0,
            research: count(Artifact::Research) > 0,
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
        roles.extend(Role::ALL.into_iter().filter(|role| self.role_command(*role).is_some()));
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
        let before = phase_dirs::find(&self.site.project.planning, &number);
        let summaries: BTreeSet<_> = ids(&dir, Artifact::Summary).collect();
        let older: BTreeSet<_> =
            before.iter().flat_map(|dir| ids(dir, Artifact::Summary)).collect();
        let committed = self.committed()?;
        let all: Vec<_> = ids(&dir, Artifact::Plan).collect();
        let mut plans = Vec::new();
        for id in &all {
            let plan = self.plan(id)?;
            let closed = committed.plans.contains(id) || older.contains(id);
            let done = |(of, task): &(String, usize)| (of == id).then_some(*task);
            let known = plan.depends_on.iter().filter_map(|other| other.resolve(&number, &all));
            plans.push(FoundPlan {
                wave: plan.wave,
                depends_on: known.map(str::to_owned).filter(|other| other != id).collect(),
                done: closed && summaries.contains(id),
                tasks_done: committed.tasks.keys().filter_map(done).collect(),
                files: plan.files_modified.clone(),
                problem: problem(&plan),
                tasks: plan.tasks.iter().map(found_task).collect(),
                unchecked: !closed && committed.unchecked.contains(id),
                alone: committed.undone.iter().any(|(of, _)| of == id),
                id: id.clone(),
            });
        }
        plans.sort_by(|a, b| (a.wave, &a.id).cmp(&(b.wave, &b.id)));
        Ok(plans)
    }

    /// Reads a plan by its id.
    pub(super) fn plan(&self, id: &str) -> Result<Plan, EngineError> {
        let bytes = disk::read(&self.phase_dir().join(plan_file(id)))?.unwrap_or_default();
        Ok(plan::parse(&bytes))
    }

    /// Asks git which plans and tasks the commits of this phase carry.
    pub(super) fn committed(&self) -> Result<Committed, EngineError> {
        let range = format!("{}..HEAD", self.brief.base);
        let fields = [PLAN_KEY, TASK_KEY, BESIDE_KEY, UNDONE_KEY]
            .map(|key| format!("%x1f%(trailers:key={key},valueonly,separator=%x2c)"));
        let format = format!("--format=%H{}", fields.concat());
        let answer = self.git().run(&["log", &format, &range])?;
        let mut committed = Committed::default();
        // The newest comes first: what it undoes stands behind it.
        for line in answer.text().lines() {
            let mut parts = line.split('\x1f');
            let commit = parts.next().unwrap_or_default();
            let mut values = || -> Vec<String> {
                let values = parts.next().unwrap_or_default().split(',').map(str::trim);
                values.filter(|value| !value.is_empty()).map(str::to_owned).collect()
            };
            let (plans, tasks, beside, undone) = (values(), values(), values(), values());
            committed.plans.extend(plans);
            committed.undone.extend(undone.iter().filter_map(|mark| parse_mark(mark)));
            for (mark, task) in tasks.iter().filter_map(|mark| Some((mark, parse_mark(mark)?))) {
                if committed.tasks.contains_key(&task) || committed.undone.contains(&task) {
                    continue;
                }
                if beside.contains(mark) {
                    committed.unchecked.insert(task.0.clone());
                }
                committed.tasks.insert(task, commit.to_owned());
            }
        }
        Ok(committed)
    }
}

/// Reads the mark of a task: `03-01/2`.
fn parse_mark(mark: &str) -> Option<(String, usize)> {
    let (plan, task) = mark.split_once('/')?;
    Some((plan.to_owned(), task.parse().ok()?))
}

fn ids(dir: &phase_dirs::PhaseDir, kind: Artifact) -> impl Iterator<Item = String> {
    dir.of(kind)
        .filter_map(move |file| kind.id(file))
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns the file of a plan.
pub(super) fn plan_file(id: &str) -> String {
    if id.is_empty() { "PLAN.md".to_owned() } else { format!("{id}-PLAN.md") }
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

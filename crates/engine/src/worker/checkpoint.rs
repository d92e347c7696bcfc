//! Writes, reads and archives the checkpoint of a phase.
//!
//! A checkpoint is a claim: a person or another tool may have written it, or the branch may have
//! changed since. What it claims is compared with commits and summaries; only those count.

use mow_core::report::HaltOrigin;
use mow_core::worker::{CheckpointSnapshot, Effect, Outcome, PlanSnapshot};
use mow_host::rescue::RescueRef;
use mow_store::disk;
use mow_store::phase_documents::{
    self, BegunPlan, Checkpoint, CheckpointFacts, CompletePlan, parse_checkpoint,
};

use super::knowledge::PhaseKnowledge;
use super::phase_documents::PhaseDocuments;
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::clock::now_text;

/// The name of the document, without the phase number.
const KIND: &str = "CHECKPOINT";
/// The most files in the summary of uncommitted changes.
const FILES_MAX: usize = 50;

/// Rescues uncommitted changes, and writes CHECKPOINT.md with the point to continue from.
pub(super) fn write_checkpoint(
    workspace: &PhaseWorkspace,
    effect: &Effect,
) -> Result<Outcome, EngineError> {
    let Effect::Checkpoint { status, reason, plan, task, stage, origin } = effect else {
        return Ok(Outcome::Done);
    };
    let git = workspace.git();
    let rescue = workspace.rescue_uncommitted(&workspace.rescue_name(status))?;
    failpoint::reach("checkpoint.rescued");
    let changes = match &rescue {
        Some(rescue) => change_summary(workspace, rescue)?,
        None => String::new(),
    };
    let found = PhaseSurvey::new(workspace).survey()?;
    let complete = complete_plans(workspace, &found.plans)?;
    let current = plan.as_ref().and_then(|id| found.plans.iter().find(|plan| plan.id == *id));
    let position = current.zip(*task).map(|(plan, number)| {
        let name = plan.tasks.get(number.wrapping_sub(1)).map_or("", |task| task.name.as_str());
        (number.min(plan.tasks.len().max(1)), plan.tasks.len(), name)
    });
    let others = begun_plans(&found.plans, plan.as_deref());
    let head = git.commit_of("HEAD")?.unwrap_or_default();
    let worktree = workspace.worktree.display().to_string();
    let documents = PhaseDocuments::new(workspace);
    let facts = CheckpointFacts {
        status,
        reason,
        stopped_by: origin.as_ref().map(|_| reason.as_str()),
        is_breaker: matches!(origin, Some(HaltOrigin::Breaker { .. })),
        worker: &documents.worker_name(),
        worktree: &worktree,
        stage: stage.map(mow_core::stage::Stage::name),
        complete: &complete,
        plan: plan.as_deref(),
        task: position,
        others: &others,
        head: &head,
        changes: &changes,
        rescue: rescue.as_ref().map(|rescue| (rescue.commit.as_str(), rescue.short_name())),
    };
    let (now, number) = (now_text(), workspace.brief.phase.to_string());
    let header = workspace.document_header(&number, &found.goal, &now);
    let text = phase_documents::render_checkpoint(&header, &facts)?;
    let file = format!("{}-{KIND}.md", workspace.file_prefix());
    workspace.write_phase_file(&file, &text)?;
    failpoint::reach("checkpoint.written");
    PhaseKnowledge::new(workspace).write_documents()?;
    Ok(Outcome::Done)
}

/// Returns git's summary of the saved changes, without planning files. Untracked files are in it.
fn change_summary(workspace: &PhaseWorkspace, rescue: &RescueRef) -> Result<String, EngineError> {
    let planning = format!(":(exclude,top){}", workspace.planning_below_top());
    let stat = format!("--stat-count={FILES_MAX}");
    let args = ["diff", "--stat", &stat, "HEAD", &rescue.commit, "--", ":(top)", &planning];
    // Only the last line end is cut off: the lines of the summary begin with a space.
    let bytes = workspace.git().run(&args)?.stdout;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn complete_plans(
    workspace: &PhaseWorkspace,
    plans: &[PlanSnapshot],
) -> Result<Vec<CompletePlan>, EngineError> {
    let sealed = workspace.sealed_commits()?;
    let complete = plans.iter().filter(|plan| plan.done).map(|plan| CompletePlan {
        id: plan.id.clone(),
        commit: sealed.plans.get(&plan.id).cloned(),
    });
    Ok(complete.collect())
}

/// Returns the plans besides the current one that have commits and are not complete.
fn begun_plans(plans: &[PlanSnapshot], current: Option<&str>) -> Vec<BegunPlan> {
    let is_begun = |plan: &&PlanSnapshot| {
        !plan.done && !plan.tasks_done.is_empty() && Some(plan.id.as_str()) != current
    };
    let begun = plans.iter().filter(is_begun).map(|plan| BegunPlan {
        id: plan.id.clone(),
        done: plan.tasks_done.len(),
        tasks: plan.tasks.len(),
    });
    begun.collect()
}

/// Reads the checkpoint of the phase, and compares what it claims with the plans.
pub(super) fn read_checkpoint(
    workspace: &PhaseWorkspace,
    plans: &[PlanSnapshot],
) -> Result<Option<CheckpointSnapshot>, EngineError> {
    let path = workspace.document(KIND);
    let Some(bytes) = disk::read(&path)? else { return Ok(None) };
    let file = format!("{}-{KIND}.md", workspace.file_prefix());
    let claimed = match parse_checkpoint(&bytes) {
        Ok(claimed) => claimed,
        Err(problem) => {
            let status = "unreadable".to_owned();
            let doubts = vec![format!("{problem}; only commits and summaries count")];
            return Ok(Some(CheckpointSnapshot { file, status, doubts, plan: None, task: None }));
        }
    };
    let own = PhaseDocuments::new(workspace).worker_name();
    let plan = claimed.plan.as_ref().map(|id| full_plan_id(&workspace.file_prefix(), id));
    let mut doubts = doubts(&claimed, plan.as_deref(), plans);
    if !claimed.phase.is_empty() && claimed.phase != workspace.dir_name {
        doubts.push(format!("it is about phase directory `{}`", claimed.phase));
    }
    if claimed.worker != own {
        let writer = if claimed.worker.is_empty() { "no worker" } else { &claimed.worker };
        doubts.push(format!("it names {writer} as its writer, not {own}"));
    }
    let plan = plan.filter(|id| plans.iter().any(|known| known.id == *id && !known.done));
    Ok(Some(CheckpointSnapshot { file, status: claimed.status, task: claimed.task, plan, doubts }))
}

/// Returns the id of a plan that may be written without its phase.
fn full_plan_id(prefix: &str, id: &str) -> String {
    if id.contains('-') { id.to_owned() } else { format!("{prefix}-{id:0>2}") }
}

/// Returns what a checkpoint claims and the plans contradict, one sentence each.
fn doubts(claimed: &Checkpoint, plan: Option<&str>, plans: &[PlanSnapshot]) -> Vec<String> {
    let mut doubts = Vec::new();
    if !["failed", "paused", "cancelled", "timeout"].contains(&claimed.status.as_str()) {
        doubts.push(format!("its status `{}` is unknown", claimed.status));
    }
    let find = |id: &str| plans.iter().find(|plan| plan.id == id);
    for CompletePlan { id, commit } in &claimed.complete {
        let commit = commit.as_ref().map(|commit| format!(" {commit}")).unwrap_or_default();
        match find(id) {
            None => doubts.push(format!("it lists plan {id} as complete, which does not exist")),
            Some(plan) if !plan.done => doubts.push(format!(
                "it lists plan {id} as complete, but its summary or its commit{commit} is not on \
                 the branch; the plan is carried out again"
            )),
            Some(_) => {}
        }
    }
    let Some(id) = plan else { return doubts };
    let Some(plan) = find(id) else {
        doubts.push(format!("it stopped in plan {id}, which does not exist"));
        return doubts;
    };
    if plan.done {
        doubts.push(format!("it stopped in plan {id}, which is complete"));
    }
    let next = (1..=plan.tasks.len()).find(|task| !plan.tasks_done.contains(task));
    if let (Some(at), Some(next)) = (claimed.task, next.filter(|_| !plan.done))
        && next < at
    {
        doubts.push(format!(
            "it stopped in plan {id}, task {at}, but task {next} has no commit; task {next} is \
             carried out again"
        ));
    }
    doubts
}

/// Moves the checkpoint to the logs of the attempt, so that later attempts do not read it.
pub(super) fn archive_checkpoint(workspace: &PhaseWorkspace) -> Result<(), EngineError> {
    let path = workspace.document(KIND);
    let Some(bytes) = disk::read(&path)? else { return Ok(()) };
    disk::write_engine_file(&workspace.log_file("checkpoint"), &bytes)?;
    let writer = disk::Writer::open(&workspace.project, disk::WAIT_DEFAULT)?;
    writer.remove_file(&path)?;
    failpoint::reach("phase.checkpoint.archived");
    Ok(())
}

#[cfg(test)]
mod tests;

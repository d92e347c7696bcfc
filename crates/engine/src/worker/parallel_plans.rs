//! Runs plans in parallel in one worktree.
//!
//! Only the files that a plan declares are committed for it. The checks of all plans run after the
//! last task has ended, so that they test what is committed. Undeclared changes are kept under a
//! rescue ref and reported, never committed for another plan.

use std::collections::BTreeSet;
use std::slice;

use mow_core::file_scope;
use mow_core::worker::{Outcome, Role};
use mow_host::{commit, rescue};

use super::agent_sessions::{AgentSessions, executor_session};
use super::change_review::ChangeReview;
use super::document_guard::DocumentGuard;
use super::frozen_plans::FrozenPlans;
use super::leftovers::set_aside_changes;
use super::phase_commits::{CommitContents, PhaseCommits};
use super::phase_workspace::PhaseWorkspace;
use super::repository_guard::{RepositoryGuard, RepositorySnapshot};
use super::reverted_files::restore_reverted_files;
use super::task_runner::{TaskJob, TaskRunner, commit_subject, task_environment};
use super::text::{history_rewritten, list_names, short};
use crate::EngineError;
use crate::sealed_commits::{CommitMark, SealedCommits, TASK_START_KEY, UNDONE_KEY};

/// Runs the tasks of parallel plans, and checks the group when all have ended.
#[derive(Clone, Copy)]
pub(super) struct ParallelPlanRunner<'a> {
    workspace: &'a PhaseWorkspace,
    frozen_plans: FrozenPlans<'a>,
    repository_guard: RepositoryGuard<'a>,
    document_guard: DocumentGuard<'a>,
    commits: PhaseCommits<'a>,
    tasks: TaskRunner<'a>,
}

impl<'a> ParallelPlanRunner<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self {
            workspace,
            frozen_plans: FrozenPlans::new(workspace),
            repository_guard: RepositoryGuard::new(workspace),
            document_guard: DocumentGuard::new(workspace),
            commits: PhaseCommits::new(workspace),
            tasks: TaskRunner::new(workspace),
        }
    }

    /// Sets aside what an earlier attempt left, and takes the snapshots of the group.
    pub(super) fn begin_group(&self, plans: &[String]) -> Result<Outcome, EngineError> {
        if let Some(reason) = self.repository_guard.branch_moved()? {
            return Ok(Outcome::Failed { reason });
        }
        set_aside_changes(self.workspace, &plans.join("+"), &[])?;
        failpoint::reach("beside.cleared");
        let repository = self.repository_guard.snapshot()?;
        let documents = self.document_guard.snapshot(Role::Executor)?;
        let mut trusted = self.workspace.trusted();
        trusted.group = Some((repository, documents));
        trusted.group_commits.clear();
        Ok(Outcome::Done)
    }

    /// Runs a task and commits the files that its plan declares. Its checks run later.
    pub(super) fn run_task(
        &self,
        plan: &str,
        number: usize,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        if let Some(commit) = workspace.sealed_commits()?.tasks.get(&(plan.to_owned(), number)) {
            return Ok(Outcome::Committed { commit: Some(commit.clone()) });
        }
        let files = declared_files(workspace, plan)?;
        // The same task left these changes when it was cut off. No other plan works in these
        // files.
        set_aside_changes(workspace, &format!("{plan}-{number}"), &files)?;
        let frozen = self.frozen_plans.plan(plan)?;
        let Some(task) = frozen.tasks.get(number - 1) else {
            return Ok(Outcome::Failed { reason: format!("plan {plan} has no task {number}") });
        };
        let (env, label) = (task_environment(workspace, plan, number), task_label(plan, number));
        let watched = file_scope::plain_paths(&frozen.files_modified).unwrap_or_default();
        let job = TaskJob { id: (plan, number), task, label: &label, env: &env, files: &watched };
        let before = workspace.head()?;
        if let Some(outcome) = self.tasks.run_action(&job)? {
            if matches!(outcome, Outcome::Asked { .. }) {
                // Its changes will be set aside, so the agent has to begin again.
                AgentSessions::new(workspace).forget(&executor_session(plan))?;
            }
            return Ok(outcome);
        }
        failpoint::reach("beside.acted");
        let subject = commit_subject(plan, frozen.kind.as_deref(), task);
        let mark = CommitMark::Task(plan.to_owned(), number);
        let contents = CommitContents::Declared(&files, &before);
        let commit = self.commits.commit(&subject, Some((&mark, effect)), contents)?;
        failpoint::reach("beside.committed");
        Ok(Outcome::Committed { commit })
    }

    /// Ends the group: restores documents, and fails if agents broke a rule or changed files that
    /// no plan declares.
    ///
    /// Uncommitted changes in declared files are left by a task that was cut off.
    pub(super) fn end_group(&self, plans: &[String]) -> Result<Outcome, EngineError> {
        let guard = &self.repository_guard;
        let (before, documents) = self.workspace.trusted().group.take().unzip();
        if let Some(documents) = &documents {
            self.document_guard.restore(documents)?;
        }
        if let Some(before) = &before
            && let Some(reason) = guard
                .violation(before)?
                .map_or_else(|| self.history_problem(before), |text| Ok(Some(text)))?
        {
            let kept = guard.roll_back(before)?;
            return Ok(Outcome::Failed { reason: format!("{reason}{kept}") });
        }
        let mut declared = Vec::new();
        for plan in plans {
            declared.extend(declared_files(self.workspace, plan)?);
        }
        declared.push(self.workspace.planning_below_top());
        declared.sort_unstable();
        let args = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"];
        let listing = self.workspace.git().run(&args)?.stdout;
        let changed = listing.split(|byte| *byte == 0).filter(|entry| entry.len() > 3);
        let changed = changed.map(|entry| String::from_utf8_lossy(&entry[3..]).into_owned());
        let is_stray = |path: &String| !file_scope::covers_all(&declared, slice::from_ref(path));
        let strays: BTreeSet<_> = changed.filter(is_stray).collect();
        let rescued = set_aside_changes(self.workspace, &plans.join("+"), &[])?;
        failpoint::reach("beside.gathered");
        if !strays.is_empty() {
            let kept = rescued.map(|name| format!(", kept as {name}")).unwrap_or_default();
            return Ok(Outcome::Failed { reason: undeclared_changes(&strays, plans, &kept) });
        }
        let Some(before) = before else { return Ok(Outcome::Done) };
        // The agents' own commits are not limited to the declared files, so they are compared too.
        let review = ChangeReview::new(self.workspace);
        let files = review.changed_since(&before.head)?;
        let strays: BTreeSet<String> =
            files.iter().map(|file| file.path.clone()).filter(is_stray).collect();
        let objection = review.review_group(plans, &files, &before.head)?;
        let has_strays = !strays.is_empty();
        let reason =
            objection.or_else(|| has_strays.then(|| undeclared_changes(&strays, plans, "")));
        let Some(reason) = reason else { return Ok(Outcome::Done) };
        let kept = guard.roll_back(&before)?;
        Ok(Outcome::Failed { reason: format!("{reason}{kept}") })
    }

    /// Returns why the commits of the group cannot be told apart: history was rewritten, or a
    /// merge was made. Rescues the commits that were lost.
    fn history_problem(&self, before: &RepositorySnapshot) -> Result<Option<String>, EngineError> {
        let workspace = self.workspace;
        let group_commits = workspace.trusted().group_commits.clone();
        let (sealed, head) = (workspace.sealed_commits()?, workspace.head()?);
        let Some(line) = sealed.history.linear_range(&before.head, &head) else {
            let effect = "so the commits of the plans cannot be told apart";
            return Ok(Some(format!("it made a merge while plans ran in parallel, {effect}")));
        };
        let is_lost = |commit: &&String| !line.iter().any(|one| one.commit == **commit);
        let lost: Vec<_> = group_commits.iter().filter(is_lost).collect();
        for commit in &lost {
            let name = workspace.rescue_name(&format!("unmade-{}", short(commit)));
            rescue::keep_commit(&workspace.git(), &name, commit)?;
        }
        Ok(lost.first().map(|commit| history_rewritten(commit, &workspace.branch)))
    }

    /// Runs the checks of a plan that was committed unchecked. Reverts from the first task that
    /// fails.
    pub(super) fn check_plan(&self, plan: &str, effect: u64) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        set_aside_changes(workspace, &format!("{plan}-check"), &[])?;
        restore_reverted_files(workspace, plan)?;
        let frozen = self.frozen_plans.plan(plan)?;
        for (task, number) in frozen.tasks.iter().zip(1..) {
            let (env, label) =
                (task_environment(workspace, plan, number), task_label(plan, number));
            let job = TaskJob { id: (plan, number), task, label: &label, env: &env, files: &[] };
            if let Some(reason) = self.tasks.check(&job, None)? {
                if workspace.stop.is_stopped() {
                    return Ok(Outcome::Interrupted);
                }
                set_aside_changes(workspace, &format!("{plan}-check"), &[])?;
                self.revert_tasks(plan, (number, frozen.tasks.len()), effect)?;
                return Ok(Outcome::Undone { task: number, reason });
            }
        }
        failpoint::reach("beside.checked");
        Ok(Outcome::Done)
    }

    /// Reverts the files of a plan to their state before a task, with one more commit.
    fn revert_tasks(
        &self,
        plan: &str,
        (from, through): (usize, usize),
        effect: u64,
    ) -> Result<(), EngineError> {
        let workspace = self.workspace;
        let sealed = workspace.sealed_commits()?;
        let commit_of = |task| sealed.tasks.get(&(plan.to_owned(), task));
        let first = (from..=through).find_map(commit_of);
        let mark = CommitMark::Undone(plan.to_owned());
        let mut trailers = self.commits.trailers(Some((&mark, effect)))?;
        let done = (from..=through).filter(|task| commit_of(*task).is_some());
        trailers.extend(done.map(|task| (UNDONE_KEY, format!("{plan}/{task}"))));
        let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let subject = format!("revert({plan}): task {from} does not pass its check");
        let files = declared_files(workspace, plan)?;
        // The agent's own commits come before the mark, if the task has one.
        let to = match first {
            Some(first) => match sealed.value(first, TASK_START_KEY) {
                Some(since) => since.to_owned(),
                None => format!("{first}^"),
            },
            None => self.group_base(&sealed),
        };
        let commit = commit::revert_paths(&workspace.git(), &files, &to, &subject, &trailers)?;
        workspace.trusted().note_commit(Some((&mark, effect)), &commit);
        failpoint::reach("beside.undone");
        Ok(())
    }

    /// Returns the commit that the group began at: the last that closed a plan, or the phase's
    /// base.
    fn group_base(&self, sealed: &SealedCommits) -> String {
        let mut commits = sealed.history.commits.iter().map(|one| &one.commit);
        let closing = commits.find(|commit| sealed.plans.values().any(|plan| plan == *commit));
        closing.unwrap_or(&self.workspace.brief.base).clone()
    }
}

/// Returns the files that a plan declares, relative to the top of the worktree.
pub(super) fn declared_files(
    workspace: &PhaseWorkspace,
    plan: &str,
) -> Result<Vec<String>, EngineError> {
    let entries = FrozenPlans::new(workspace).plan(plan)?.files_modified;
    let files = file_scope::plain_paths(&entries).ok_or_else(|| {
        EngineError::refused(
            format!("plan {plan} no longer says clearly which files it changes"),
            "name them under `files_modified:` in the plan",
        )
    })?;
    let below = workspace.ctx.below_top();
    Ok(files.iter().map(|file| below.join(file).display().to_string()).collect())
}

fn task_label(plan: &str, number: usize) -> String {
    format!("{plan}-t{number}")
}

/// Says which changed files no plan declares.
fn undeclared_changes(strays: &BTreeSet<String>, plans: &[String], kept: &str) -> String {
    format!(
        "{} changed while plans {} ran in parallel, but no plan declares it in \
         files_modified{kept}",
        list_names(strays.iter().map(String::as_str)),
        plans.join(", ")
    )
}

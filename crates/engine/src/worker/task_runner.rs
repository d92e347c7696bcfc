//! Runs one task: the commands of its action, then its commit, then its checks on that commit.
//!
//! A commit with the task's mark means that the task ran; evidence means that it is done. A commit
//! whose checks fail is taken back. Uncommitted changes at the start are left by an attempt that
//! was cut off: they move to a rescue ref, and the task begins from the last commit.

use mow_core::worker::{Outcome, Role};
use mow_host::shell::ShellExit;
use mow_store::plan::Task;

use super::agent_roles::AgentRoles;
use super::agent_sessions::{AgentSessions, executor_session};
use super::change_review::ChangeReview;
use super::document_guard::DocumentGuard;
use super::evidence::{CheckList, EvidenceChecker};
use super::frozen_plans::FrozenPlans;
use super::leftovers::set_aside_changes;
use super::phase_commits::{CommitContents, PhaseCommits};
use super::phase_workspace::PhaseWorkspace;
use super::plan_files::plan_file_name;
use super::repository_guard::RepositoryGuard;
use super::script::{self, ShellScript, describe_failure};
use super::shell_blocks::{ShellBlock, check_commands, shell_blocks};
use super::text::one_line;
use crate::EngineError;
use crate::sealed_commits::CommitMark;

/// The exit code of a script that needs a person's decision.
const EXIT_BLOCKED: i32 = 75;

/// A plan, and the number of a task in it.
pub(super) type TaskId<'a> = (&'a str, usize);

/// A task to run.
pub(super) struct TaskJob<'a> {
    pub(super) id: TaskId<'a>,
    pub(super) task: &'a Task,
    /// The beginning of its log names.
    pub(super) label: &'a str,
    pub(super) env: &'a [(&'a str, String)],
    /// The files whose changes show that the task is active. Empty means the whole worktree.
    pub(super) files: &'a [String],
}

/// Runs tasks, one at a time.
#[derive(Clone, Copy)]
pub(super) struct TaskRunner<'a> {
    workspace: &'a PhaseWorkspace,
    frozen_plans: FrozenPlans<'a>,
    repository_guard: RepositoryGuard<'a>,
    document_guard: DocumentGuard<'a>,
    evidence: EvidenceChecker<'a>,
    commits: PhaseCommits<'a>,
}

impl<'a> TaskRunner<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self {
            workspace,
            frozen_plans: FrozenPlans::new(workspace),
            repository_guard: RepositoryGuard::new(workspace),
            document_guard: DocumentGuard::new(workspace),
            evidence: EvidenceChecker::new(workspace),
            commits: PhaseCommits::new(workspace),
        }
    }

    /// Runs a task to its checked commit. A task that is committed and proven is not run again.
    pub(super) fn run(
        &self,
        plan: &str,
        number: usize,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        let frozen = self.frozen_plans.plan(plan)?;
        let Some(task) = frozen.tasks.get(number - 1) else {
            return Ok(Outcome::Failed { reason: format!("plan {plan} has no task {number}") });
        };
        let (env, label) =
            (task_environment(self.workspace, plan, number), format!("{plan}-t{number}"));
        let job = TaskJob { id: (plan, number), task, label: &label, env: &env, files: &[] };
        let (sealed, key) = (self.workspace.sealed_commits()?, (plan.to_owned(), number));
        if let Some(commit) = sealed.tasks.get(&key) {
            let commit = Some(commit.clone());
            if sealed.unproven == Some(key) {
                return self.check_or_take_back(&job, commit, None);
            }
            return Ok(Outcome::Committed { commit });
        }
        if let Some(reason) = self.repository_guard.branch_moved()? {
            return Ok(Outcome::Failed { reason });
        }
        // A parked agent continues with its uncommitted work.
        let sessions = AgentSessions::new(self.workspace);
        if !sessions.is_parked_in(&executor_session(plan), &number.to_string())? {
            set_aside_changes(self.workspace, &format!("{plan}-{number}"), &[])?;
        }
        failpoint::reach("task.cleared");
        let before = self.repository_guard.snapshot()?;
        let documents = self.document_guard.snapshot(Role::Executor)?;
        let early_end = self.run_action(&job)?;
        self.document_guard.restore(&documents)?;
        if let Some(reason) = self.repository_guard.violation(&before)? {
            let kept = self.repository_guard.roll_back(&before)?;
            return Ok(self.unless_stopped(Outcome::Failed { reason: format!("{reason}{kept}") }));
        }
        if let Some(outcome) = early_end {
            return Ok(outcome);
        }
        failpoint::reach("task.acted");
        let has_agent_commits = self.workspace.head()? != before.head;
        let contents =
            if has_agent_commits { CommitContents::CodeOrEmpty } else { CommitContents::Code };
        let mark = CommitMark::Task(plan.to_owned(), number);
        let subject = commit_subject(plan, frozen.kind.as_deref(), task);
        let commit = self.commits.commit(&subject, Some((&mark, effect)), contents)?;
        failpoint::reach("task.committed");
        let review = ChangeReview::new(self.workspace);
        let files = review.changed_since(&before.head)?;
        if let Some(reason) = review.review_task(plan, &files)? {
            let kept = self.repository_guard.roll_back(&before)?;
            return Ok(Outcome::Failed { reason: format!("{reason}{kept}") });
        }
        let fresh = review.changes_ignore_rules(plan, &files)?;
        let fresh = fresh.then_some("what is ignored was changed and is not in files_modified");
        self.check_or_take_back(&job, commit, fresh)
    }

    /// Checks the commit of a task. If a check fails, takes the commit back and leaves its changes
    /// uncommitted.
    fn check_or_take_back(
        &self,
        job: &TaskJob<'_>,
        commit: Option<String>,
        fresh_reason: Option<&str>,
    ) -> Result<Outcome, EngineError> {
        let failure = self.check(job, fresh_reason)?;
        failpoint::reach("task.checked");
        let Some(reason) = failure else { return Ok(Outcome::Committed { commit }) };
        let is_head = |commit: &String| self.workspace.head().is_ok_and(|head| head == *commit);
        // A commit that people have built on stays.
        if let Some(commit) = commit.filter(is_head) {
            let git = self.workspace.git();
            git.plumbing().run(&["reset", "--quiet", "--soft", &format!("{commit}^")])?;
            self.workspace.trusted().head = None;
        }
        Ok(self.unless_stopped(Outcome::Failed { reason }))
    }

    /// Runs the checks of a task on the last commit; returns why they fail.
    pub(super) fn check(
        &self,
        job: &TaskJob<'_>,
        fresh_reason: Option<&str>,
    ) -> Result<Option<String>, EngineError> {
        let (commands, label) = (check_commands(job.task), format!("{}-check", job.label));
        let (commands, label) = (&commands[..], &label[..]);
        let (task, env) = (Some(job.id), job.env);
        self.evidence.first_failure(&CheckList { commands, label, task, env, fresh_reason })
    }

    /// Returns the outcome, or [`Outcome::Interrupted`] if the effect was stopped: then a failure
    /// proves nothing.
    fn unless_stopped(&self, outcome: Outcome) -> Outcome {
        if self.workspace.stop.is_stopped() { Outcome::Interrupted } else { outcome }
    }

    /// Runs the action of a task; returns an outcome if the task ends here.
    pub(super) fn run_action(&self, job: &TaskJob<'_>) -> Result<Option<Outcome>, EngineError> {
        if let Some(agent) = self.workspace.agent_for(Role::Executor)? {
            return AgentRoles::new(self.workspace).run_task(&agent, job);
        }
        let TaskJob { id, task, label, env, files } = job;
        let source = (Role::Executor.name(), Some(*id));
        let mut blocks = task.element("action").map(shell_blocks).unwrap_or_default();
        if let Some(command) = self.workspace.role_command(Role::Executor) {
            blocks = vec![ShellBlock { program: "sh", text: command }];
        }
        if blocks.is_empty() {
            let text = "the task has no shell block, and no executor is configured";
            return Ok(Some(Outcome::Blocked { text: text.to_owned() }));
        }
        for (n, block) in blocks.iter().enumerate() {
            let label = format!("{label}-{}", n + 1);
            let text = format!("set -eu\n{}", block.text);
            let (text, program) = (text.as_str(), block.program);
            let label = &label;
            let script = ShellScript { text, program, label, top: None, env, source, files };
            let end = script::run(self.workspace, &script)?;
            match (&end.exit, describe_failure(&end)) {
                (_, None) => {}
                (ShellExit::Stopped, _) => return Ok(Some(Outcome::Interrupted)),
                (ShellExit::Exited(EXIT_BLOCKED), _) => {
                    let last = end.tail.trim().lines().last().unwrap_or("no reason given");
                    return Ok(Some(Outcome::Blocked { text: last.to_owned() }));
                }
                (_, Some(reason)) => return Ok(Some(Outcome::Failed { reason })),
            }
        }
        Ok(None)
    }
}

/// Returns the additional environment variables of a task's scripts.
pub(super) fn task_environment(
    workspace: &PhaseWorkspace,
    plan: &str,
    number: usize,
) -> [(&'static str, String); 3] {
    let file = workspace.phase_dir().join(plan_file_name(plan));
    [
        ("MOW_PLAN", plan.to_owned()),
        ("MOW_PLAN_FILE", file.display().to_string()),
        ("MOW_TASK", number.to_string()),
    ]
}

/// Returns the subject of a task's commit: `test(…)` for a `tdd` plan, else `feat(…)`.
pub(super) fn commit_subject(plan: &str, kind: Option<&str>, task: &Task) -> String {
    let kind = if kind == Some("tdd") { "test" } else { "feat" };
    format!("{kind}({plan}): {}", one_line(&task.name))
}

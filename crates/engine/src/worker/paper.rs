//! Writes what a worker leaves behind: context, summaries, status, checkpoint, closing commits.

use mow_core::item::Answer;
use mow_core::worker::{Effect, Outcome};
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::papers::{self, DonePlan, DoneTask, Left};
use mow_store::status::{self, NewStatus, PlanChange};
use mow_store::{disk, phase_dirs};

use super::desk::Desk;
use super::look::PLAN_KEY;
use super::task::{Part, checks};
use crate::EngineError;
use crate::clock::Clock;

impl Desk {
    pub(super) fn write_context(&self, answers: &[Answer]) -> Result<Outcome, EngineError> {
        let goal = self.look()?.goal;
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let text = papers::context(&self.about(&number, &goal, &now), answers);
        self.write(&format!("{}-CONTEXT.md", self.padded()), &text)?;
        failpoint::reach("context.written");
        self.commit(&format!("docs({}): context", self.padded()), &[], Part::Papers)?;
        failpoint::reach("context.committed");
        Ok(Outcome::Done)
    }

    /// Writes the summary and makes the commit that marks the plan as done.
    pub(super) fn close_plan(&self, id: &str, began: u64) -> Result<Outcome, EngineError> {
        let committed = self.committed()?;
        if committed.plans.contains(id) {
            let commit = self.git().commit_of("HEAD")?;
            return Ok(Outcome::Committed { commit });
        }
        let plan = self.plan(id)?;
        let tasks = plan.tasks.iter().enumerate().map(|(n, task)| DoneTask {
            name: task.name.clone(),
            commit: committed.tasks.get(&(id.to_owned(), n + 1)).cloned(),
            checks: checks(task),
        });
        let tasks: Vec<_> = tasks.collect();
        let files = self.changed(&tasks)?;
        let minutes = Clock::default().now().saturating_sub(began) / 60_000;
        let duration = format!("{minutes}min");
        let prefix = format!("{}/", self.brief.phase);
        let own = self.brief.answers.iter().filter(|answer| {
            answer.key.starts_with(&prefix) && answer.key.contains(&format!("/{id}/"))
        });
        let answers: Vec<_> = own.cloned().collect();
        let done = DonePlan {
            plan: plan.plan.as_deref().unwrap_or(id),
            objective: plan.objective.as_deref().unwrap_or(id),
            tasks: &tasks,
            files: &files,
            requirements: &plan.requirements,
            answers: &answers,
            duration: &duration,
        };
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let text = papers::summary(&self.about(&number, "", &now), &done);
        let text = text.map_err(|error| EngineError::Host(error.into()))?;
        let file = if id.is_empty() { "SUMMARY.md".to_owned() } else { format!("{id}-SUMMARY.md") };
        self.write(&file, &text)?;
        failpoint::reach("plan.summary.written");
        let last = tasks.iter().rev().find_map(|task| task.commit.clone());
        self.note_plan(id, tasks.len(), last.as_deref(), &duration)?;
        failpoint::reach("plan.noted");
        let subject = format!("docs({id}): complete plan");
        let commit = self.commit(&subject, &[(PLAN_KEY, id.to_owned())], Part::Papers)?;
        failpoint::reach("plan.committed");
        Ok(Outcome::Committed { commit })
    }

    /// Returns the files that the commits of some tasks changed.
    fn changed(&self, tasks: &[DoneTask]) -> Result<Vec<String>, EngineError> {
        let mut files = std::collections::BTreeSet::new();
        for commit in tasks.iter().filter_map(|task| task.commit.as_deref()) {
            let answer = self.git().run(&[
                "diff-tree",
                "--no-commit-id",
                "--name-only",
                "-r",
                "-z",
                commit,
            ])?;
            files.extend(mow_host::git::parse_names(&answer.stdout));
        }
        Ok(files.into_iter().collect())
    }

    /// Brings a plan's row of STATUS.md up to date.
    fn note_plan(
        &self,
        plan: &str,
        tasks: usize,
        commit: Option<&str>,
        duration: &str,
    ) -> Result<(), EngineError> {
        let (count, now) = (format!("{tasks}/{tasks}"), self.now());
        self.change_status(|old| {
            let change = PlanChange {
                plan,
                status: Some("complete"),
                commit: commit.map(|commit| commit.get(..8).unwrap_or(commit)),
                duration: Some(duration),
                tasks: Some(&count),
                now_utc: &now,
            };
            status::update_plan(old, &change).ok()
        })
    }

    /// Changes STATUS.md, which is made when there is none; a change that cannot be made is left.
    fn change_status(
        &self,
        change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        let path = self.phase_dir().join(format!("{}-STATUS.md", self.padded()));
        let fresh = self.new_status()?;
        disk::update(&self.project, &path, |old| {
            Ok::<_, EngineError>(change(old.unwrap_or(&fresh)))
        })?;
        Ok(())
    }

    fn new_status(&self) -> Result<Vec<u8>, EngineError> {
        let dir = phase_dirs::find(&self.project.planning, &self.brief.phase.to_string());
        let ids = dir.iter().flat_map(|dir| dir.of(phase_dirs::Artifact::Plan));
        let mut plans = Vec::new();
        for id in ids.filter_map(|file| phase_dirs::Artifact::Plan.id(file)) {
            plans.push((id.to_owned(), self.plan(id)?.tasks.len()));
        }
        let padded = self.padded();
        let new = NewStatus { phase: &padded, name: &self.brief.name, plans: &plans };
        let mut bytes = status::render(&new).into_bytes();
        let worker = self.worker_name();
        let now = self.now();
        let worktree = self.worktree.strip_prefix(self.site.top()).unwrap_or(&self.worktree);
        let worktree = worktree.display().to_string();
        for (field, value) in
            [("worker", worker.as_str()), ("worktree", &worktree), ("started", &now)]
        {
            bytes = status::set_field(&bytes, field, value).unwrap_or(bytes);
        }
        Ok(bytes)
    }

    fn worker_name(&self) -> String {
        format!("phase-{}-worker", self.padded())
    }

    pub(super) fn note_status(&self, text: &str) -> Result<Outcome, EngineError> {
        self.change_status(|old| status::add_context(old, text).ok())?;
        failpoint::reach("status.noted");
        Ok(Outcome::Done)
    }

    /// Makes the last commit of the phase.
    pub(super) fn close_phase(&self) -> Result<Outcome, EngineError> {
        let git = self.git();
        let head = git.commit_of("HEAD")?.unwrap_or_default();
        if self.is_closed(&git)? {
            return Ok(Outcome::Committed { commit: Some(head) });
        }
        let short = head.get(..8).unwrap_or(&head).to_owned();
        self.change_status(|old| {
            let old = status::set_field(old, "status", "complete").ok()?;
            status::set_field(&old, "verified", &short).ok()
        })?;
        failpoint::reach("phase.noted");
        self.archive_checkpoint()?;
        failpoint::reach("phase.checkpoint.archived");
        if self.commits_docs && git.is_dirty(true)? {
            let subject = format!("docs({}): close the phase", self.padded());
            self.commit(&subject, &[], Part::Papers)?;
            failpoint::reach("phase.committed");
        }
        Ok(Outcome::Committed { commit: git.commit_of("HEAD")? })
    }

    /// Returns whether the last commit is the one that an earlier attempt closed the phase with.
    fn is_closed(&self, git: &Git) -> Result<bool, EngineError> {
        let path = self.phase_dir().join(format!("{}-STATUS.md", self.padded()));
        let status = status::parse(&disk::read(&path)?.unwrap_or_default());
        if !self.commits_docs || status.status != "complete" {
            return Ok(false);
        }
        let before = git.commit_of("HEAD^")?;
        let is_verified = before.is_some_and(|before| before.starts_with(&status.verified));
        Ok(is_verified && !git.is_dirty(true)?)
    }

    /// Moves a checkpoint that is passed out of the way of later attempts.
    fn archive_checkpoint(&self) -> Result<(), EngineError> {
        let file = self.phase_dir().join(format!("{}-CHECKPOINT.md", self.padded()));
        if disk::read(&file)?.is_some() {
            let writer = disk::Writer::open(&self.project, disk::WAIT_DEFAULT)?;
            writer.remove_file(&file)?;
        }
        Ok(())
    }

    /// Keeps what is not committed, and writes down where to go on.
    pub(super) fn checkpoint(&self, effect: &Effect) -> Result<Outcome, EngineError> {
        let Effect::Checkpoint { status, reason, plan, task } = effect else {
            return Ok(Outcome::Done);
        };
        let git = self.git();
        let planning = format!(":(exclude,top){}", self.planning_below_top());
        let changes = git.run(&["diff", "HEAD", "--stat", "--", ".", &planning])?.text();
        let name = format!("{}/{}-{status}", self.site.run.run(), self.padded());
        let failed = |error: rescue::RescueError| EngineError::Host(error.into());
        let rescue = rescue::rescue(&git, &name).map_err(failed)?;
        failpoint::reach("checkpoint.rescued");
        let found = self.look()?;
        let done: Vec<_> =
            found.plans.iter().filter(|plan| plan.done).map(|plan| plan.id.clone()).collect();
        let current = plan.as_ref().and_then(|id| found.plans.iter().find(|plan| plan.id == *id));
        let at = current.zip(*task).map(|(plan, at)| {
            let name = plan.tasks.get(at.wrapping_sub(1)).map_or("", |task| task.name.as_str());
            (at.min(plan.tasks.len().max(1)), plan.tasks.len(), name)
        });
        let head = git.commit_of("HEAD")?.unwrap_or_default();
        let worktree = self.worktree.display().to_string();
        let left = Left {
            status,
            reason,
            worker: &self.worker_name(),
            worktree: &worktree,
            done: &done,
            plan: plan.as_deref(),
            task: at,
            head: &head,
            changes: &changes,
            rescue: rescue.as_ref().map(|kept| kept.commit.as_str()),
        };
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let text = papers::checkpoint(&self.about(&number, &found.goal, &now), &left);
        let text = text.map_err(|error| EngineError::Host(error.into()))?;
        self.write(&format!("{}-CHECKPOINT.md", self.padded()), &text)?;
        failpoint::reach("checkpoint.written");
        let word = if status == "failed" { "failed" } else { "paused" };
        self.change_status(|old| status::set_field(old, "status", word).ok())?;
        failpoint::reach("checkpoint.noted");
        Ok(Outcome::Done)
    }
}

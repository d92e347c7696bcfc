//! Writes what a worker leaves behind: context, summaries, status, checkpoint, closing commits.

use mow_core::item::Answer;
use mow_core::worker::{Effect, Input, Outcome};
use mow_host::rescue;
use mow_store::papers::{self, DonePlan, DoneTask, Left};
use mow_store::plan::Plan;
use mow_store::status::{self, NewStatus, PlanChange};
use mow_store::{disk, phase_dirs};

use super::desk::Desk;
use super::task::{Part, checks};
use crate::EngineError;
use crate::clock::Clock;
use crate::marks::Mark;

impl Desk {
    pub(super) fn write_context(&self, answers: &[Answer]) -> Result<Outcome, EngineError> {
        let goal = self.look()?.goal;
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let text = papers::context(&self.about(&number, &goal, &now), answers);
        self.write(&format!("{}-CONTEXT.md", self.padded()), &text)?;
        failpoint::reach("context.written");
        self.commit(&format!("docs({}): context", self.padded()), None, Part::Papers)?;
        failpoint::reach("context.committed");
        Ok(Outcome::Done)
    }

    /// Writes the summary and makes the commit that marks the plan as done.
    pub(super) fn close_plan(
        &self,
        id: &str,
        began: u64,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        let (marks, mark) = (self.marks()?, Mark::Plan(id.to_owned()));
        if let Some(commit) = marks.plans.get(id) {
            return Ok(Outcome::Committed { commit: Some(commit.clone()) });
        }
        if let Some(reason) = self.moved()? {
            return Ok(Outcome::Failed { reason });
        }
        let plan = self.frozen(id)?;
        let files = self.changed_by(id, &marks)?;
        if let Some(reason) = self.unfinished(&plan, &files) {
            return Ok(Outcome::Failed { reason });
        }
        let tasks = plan.tasks.iter().enumerate().map(|(n, task)| DoneTask {
            name: task.name.clone(),
            commit: marks.tasks.get(&(id.to_owned(), n + 1)).cloned(),
            checks: checks(task),
        });
        let tasks: Vec<_> = tasks.collect();
        let minutes = Clock::default().now().saturating_sub(began) / 60_000;
        let duration = format!("{minutes}min");
        let text = self.summary(id, (&plan, &tasks), &files, &duration)?;
        let file = phase_dirs::Artifact::Summary.file(id);
        self.write(&file, &text)?;
        failpoint::reach("plan.summary.written");
        let last = tasks.iter().rev().find_map(|task| task.commit.clone());
        self.note_plan(id, tasks.len(), last.as_deref(), &duration)?;
        failpoint::reach("plan.noted");
        let subject = format!("docs({id}): complete plan");
        let commit = self.commit(&subject, Some((&mark, effect)), Part::Papers)?;
        failpoint::reach("plan.committed");
        Ok(Outcome::Committed { commit })
    }

    /// Returns why a plan is not complete, although its tasks are.
    fn unfinished(&self, plan: &Plan, files: &[String]) -> Option<String> {
        let planning = self.planning_below_top();
        let is_code = |path: &&String| !path.starts_with(&planning);
        let declared: Vec<_> =
            plan.files_modified.iter().filter(|path| !path.starts_with(".planning")).collect();
        if let Some(first) = declared.first().filter(|_| !files.iter().any(|path| is_code(&path))) {
            return Some(format!("it changed no code, although files_modified names {first}"));
        }
        let (what, issue) = self.broken_promises(plan).into_iter().next()?;
        Some(format!("what it promises in must_haves is not in its commit: {what}: {issue}"))
    }

    /// Makes the summary of a plan.
    fn summary(
        &self,
        id: &str,
        (plan, tasks): (&Plan, &[DoneTask]),
        files: &[String],
        duration: &str,
    ) -> Result<Vec<u8>, EngineError> {
        let prefix = format!("{}/", self.brief.phase);
        let own = self.brief.answers.iter().filter(|answer| {
            answer.key.starts_with(&prefix) && answer.key.contains(&format!("/{id}/"))
        });
        let answers: Vec<_> = own.cloned().collect();
        let deviations = self.deviations(plan, files);
        if !deviations.is_empty() && !plan.files_modified.is_empty() {
            let text = format!("plan {id}: {}", deviations.join(", "));
            if self.trust().noted.insert(id.to_owned()) {
                self.tell(Input::Noted { text });
            }
        }
        let commands: Vec<_> = tasks.iter().flat_map(|task| task.checks.clone()).collect();
        let evidence = self.evidence(&commands);
        let done = DonePlan {
            plan: plan.plan.as_deref().unwrap_or(id),
            objective: plan.objective.as_deref().unwrap_or(id),
            tasks,
            files,
            requirements: &plan.requirements,
            answers: &answers,
            deviations: &deviations,
            evidence: &evidence,
            duration,
        };
        let (now, number) = (self.now(), self.brief.phase.to_string());
        let text = papers::summary(&self.about(&number, "", &now), &done);
        text.map_err(|error| EngineError::Host(error.into()))
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
    fn change_status(&self, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<(), EngineError> {
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

    /// Makes the last commit of the phase, which marks it as closed.
    pub(super) fn close_phase(&self, effect: u64) -> Result<Outcome, EngineError> {
        let (head, marks) = (self.head()?, self.marks()?);
        if marks.closing.contains(&head) {
            // One that was halted just then may have noted afterwards that it is not complete.
            let before = self.git().commit_of(&format!("{head}^"))?.unwrap_or_default();
            self.note_closed(&before)?;
            return Ok(Outcome::Committed { commit: Some(head) });
        }
        let reason = match self.moved()? {
            None => self.judge_phase()?,
            moved => moved,
        };
        let plans = self.look()?.plans;
        let open = plans.iter().find(|plan| !plan.done);
        let open = open.map(|plan| format!("plan {} is not complete", plan.id));
        if let Some(reason) = reason.or(open) {
            return Ok(Outcome::Failed { reason });
        }
        self.note_closed(&head)?;
        let subject = format!("docs({}): close the phase", self.padded());
        let commit = self.commit(&subject, Some((&Mark::Closed, effect)), Part::Papers)?;
        failpoint::reach("phase.committed");
        Ok(Outcome::Committed { commit })
    }

    /// Writes into the phase's files that it is complete, as of a commit.
    fn note_closed(&self, commit: &str) -> Result<(), EngineError> {
        let short = commit.get(..8).unwrap_or(commit);
        self.change_status(|old| {
            let old = status::set_field(old, "status", "complete").ok()?;
            status::set_field(&old, "verified", short).ok()
        })?;
        failpoint::reach("phase.noted");
        self.archive_checkpoint()?;
        failpoint::reach("phase.checkpoint.archived");
        Ok(())
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

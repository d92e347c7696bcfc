//! Closes plans and the phase: checks that they are complete, and makes the commits that mark it.

use mow_core::worker::{Input, Outcome};
use mow_store::phase_dirs;
use mow_store::phase_documents::{self, FinishedChange, FinishedFile, FinishedPlan, FinishedTask};
use mow_store::plan::Plan;

use super::change_review::ChangeReview;
use super::frozen_plans::FrozenPlans;
use super::knowledge::PhaseKnowledge;
use super::phase_commits::{CommitContents, PhaseCommits};
use super::phase_documents::PhaseDocuments;
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use super::repository_guard::RepositoryGuard;
use super::shell_blocks::check_commands;
use crate::EngineError;
use crate::clock::{Clock, now_text};
use crate::sealed_commits::CommitMark;

/// Closes plans and the phase.
#[derive(Clone, Copy)]
pub(super) struct PhaseCloser<'a> {
    workspace: &'a PhaseWorkspace,
    guard: RepositoryGuard<'a>,
    review: ChangeReview<'a>,
    documents: PhaseDocuments<'a>,
    knowledge: PhaseKnowledge<'a>,
    commits: PhaseCommits<'a>,
}

impl<'a> PhaseCloser<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self {
            workspace,
            guard: RepositoryGuard::new(workspace),
            review: ChangeReview::new(workspace),
            documents: PhaseDocuments::new(workspace),
            knowledge: PhaseKnowledge::new(workspace),
            commits: PhaseCommits::new(workspace),
        }
    }

    /// Writes the summary of a plan and makes the commit that marks the plan as complete.
    ///
    /// `began` is the time in milliseconds at which the plan began.
    pub(super) fn close_plan(
        &self,
        id: &str,
        began: u64,
        effect: u64,
    ) -> Result<Outcome, EngineError> {
        let (sealed, mark) = (self.workspace.sealed_commits()?, CommitMark::Plan(id.to_owned()));
        if let Some(commit) = sealed.plans.get(id) {
            let decisions = self.knowledge.of_plan(id)?.decisions;
            return Ok(Outcome::Closed { commit: Some(commit.clone()), decisions });
        }
        if let Some(reason) = self.guard.branch_moved()? {
            return Ok(Outcome::Failed { reason });
        }
        let plan = FrozenPlans::new(self.workspace).plan(id)?;
        let files = self.review.files_of_plan(id, &sealed)?;
        if let Some(reason) = self.incomplete_reason(&plan, &files) {
            return Ok(Outcome::Failed { reason });
        }
        let tasks = plan.tasks.iter().enumerate().map(|(n, task)| FinishedTask {
            name: task.name.clone(),
            commit: sealed.tasks.get(&(id.to_owned(), n + 1)).cloned(),
            checks: check_commands(task),
        });
        let tasks: Vec<_> = tasks.collect();
        let minutes = Clock::default().now().saturating_sub(began) / 60_000;
        let duration = format!("{minutes}min");
        let text = self.summary(id, (&plan, &tasks), &files, &duration)?;
        let file = phase_dirs::PhaseFileKind::Summary.file(id);
        self.workspace.write_phase_file(&file, &text)?;
        failpoint::reach("plan.summary.written");
        let last = tasks.iter().rev().find_map(|task| task.commit.clone());
        self.documents.note_plan_complete(id, tasks.len(), last.as_deref(), &duration)?;
        failpoint::reach("plan.noted");
        self.knowledge.write_documents()?;
        let subject = format!("docs({id}): complete plan");
        let contents = CommitContents::Documents;
        let commit = self.commits.commit(&subject, Some((&mark, effect)), contents)?;
        failpoint::reach("plan.committed");
        let decisions = self.knowledge.of_plan(id)?.decisions;
        Ok(Outcome::Closed { commit, decisions })
    }

    /// Returns why a plan is incomplete although all its tasks are done.
    fn incomplete_reason(&self, plan: &Plan, files: &[String]) -> Option<String> {
        let planning = self.workspace.planning_below_top();
        let is_code = |path: &&String| !path.starts_with(&planning);
        let declared: Vec<_> =
            plan.files_modified.iter().filter(|path| !path.starts_with(".planning")).collect();
        if let Some(first) = declared.first().filter(|_| !files.iter().any(|path| is_code(&path))) {
            return Some(format!("it changed no code, although files_modified names {first}"));
        }
        let (what, issue) = self.review.broken_promises(plan).into_iter().next()?;
        Some(format!("what it promises in must_haves is not in its commit: {what}: {issue}"))
    }

    /// Renders the summary of a plan, and notes its deviations once.
    fn summary(
        &self,
        id: &str,
        (plan, tasks): (&Plan, &[FinishedTask]),
        files: &[String],
        duration: &str,
    ) -> Result<Vec<u8>, EngineError> {
        let workspace = self.workspace;
        let answers = workspace.brief.answers.iter();
        let own = answers.filter(|answer| answer.key.topic().plan() == Some(id));
        let answers: Vec<_> = own.cloned().collect();
        let deviations = self.review.deviations(plan, files);
        if !deviations.is_empty() && !plan.files_modified.is_empty() {
            let text = format!("plan {id}: {}", deviations.join(", "));
            if workspace.trusted().deviations_noted.insert(id.to_owned()) {
                workspace.send(Input::Noted { text });
            }
        }
        let commands: Vec<_> = tasks.iter().flat_map(|task| task.checks.clone()).collect();
        let evidence = workspace.trusted().newest_evidence(&commands);
        let knowledge = self.knowledge.of_plan(id)?;
        let artifacts = plan.must_haves.artifacts.iter();
        let provides: Vec<_> = artifacts.filter_map(|one| one.provides.clone()).collect();
        let done = FinishedPlan {
            plan: plan.plan.as_deref().unwrap_or(id),
            objective: plan.objective.as_deref().unwrap_or(id),
            results: &knowledge.summaries,
            tasks,
            files: &self.finished_files(id, files)?,
            provides: &provides,
            requirements: &plan.requirements,
            answers: &answers,
            decisions: &knowledge.decisions,
            patterns: &knowledge.patterns,
            deferred: &knowledge.deferred,
            deviations: &deviations,
            evidence: &evidence,
            duration,
        };
        let (now, number) = (now_text(), workspace.brief.phase.to_string());
        let text =
            phase_documents::render_summary(&workspace.document_header(&number, "", &now), &done);
        text.map_err(EngineError::from)
    }

    /// Returns how a plan changed its files.
    fn finished_files(&self, id: &str, files: &[String]) -> Result<Vec<FinishedFile>, EngineError> {
        let changed = self.review.changed_since(&self.review.plan_base(id)?)?;
        let is_new = |path: &str| changed.iter().any(|file| file.is_new && file.path == path);
        let exists = |path: &str| self.workspace.worktree.join(path).symlink_metadata().is_ok();
        let file = |path: &String| FinishedFile {
            path: path.clone(),
            change: match (exists(path), is_new(path)) {
                (false, _) => FinishedChange::Deleted,
                (true, true) => FinishedChange::Created,
                (true, false) => FinishedChange::Modified,
            },
        };
        Ok(files.iter().map(file).collect())
    }

    /// Makes the last commit of the phase, which marks it as closed.
    pub(super) fn close_phase(&self, effect: u64) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        let (head, sealed) = (workspace.head()?, workspace.sealed_commits()?);
        if sealed.closing.contains(&head) {
            self.documents.restore_closed_status(&head)?;
            let decisions = self.knowledge.decisions()?;
            return Ok(Outcome::Closed { commit: Some(head), decisions });
        }
        let reason = match self.guard.branch_moved()? {
            None => self.review.review_phase()?,
            moved => moved,
        };
        let plans = PhaseSurvey::new(workspace).survey()?.plans;
        let open = plans.iter().find(|plan| !plan.done);
        let open = open.map(|plan| format!("plan {} is not complete", plan.id));
        if let Some(reason) = reason.or(open) {
            return Ok(Outcome::Failed { reason });
        }
        self.documents.note_phase_complete(&head)?;
        let subject = format!("docs({}): close the phase", workspace.file_prefix());
        let contents = CommitContents::Documents;
        let commit =
            self.commits.commit(&subject, Some((&CommitMark::Closed, effect)), contents)?;
        failpoint::reach("phase.committed");
        Ok(Outcome::Closed { commit, decisions: self.knowledge.decisions()? })
    }
}

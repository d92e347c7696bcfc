//! Writes the documents of a phase: CONTEXT.md and STATUS.md.

use mow_core::inbox::InboxAnswer;
use mow_core::worker::{self, Outcome};
use mow_store::phase_documents;
use mow_store::status::{self, PlanChange, ProgressChange};

use super::checkpoint::archive_checkpoint;
use super::phase_commits::{CommitContents, PhaseCommits};
use super::phase_survey::PhaseSurvey;
use super::phase_workspace::PhaseWorkspace;
use super::text::short;
use crate::EngineError;
use crate::clock::now_text;
use crate::status_file::worker_name;

/// Writes the phase's documents.
#[derive(Clone, Copy)]
pub(super) struct PhaseDocuments<'a> {
    workspace: &'a PhaseWorkspace,
    survey: PhaseSurvey<'a>,
}

impl<'a> PhaseDocuments<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, survey: PhaseSurvey::new(workspace) }
    }

    /// Writes and commits CONTEXT.md from the answers of people.
    pub(super) fn write_context(&self, answers: &[InboxAnswer]) -> Result<Outcome, EngineError> {
        let workspace = self.workspace;
        let goal = self.survey.survey()?.goal;
        let (now, number) = (now_text(), workspace.brief.phase.to_string());
        let text = phase_documents::render_context(
            &workspace.document_header(&number, &goal, &now),
            answers,
        );
        let prefix = workspace.file_prefix();
        workspace.write_phase_file(&format!("{prefix}-CONTEXT.md"), &text)?;
        failpoint::reach("context.written");
        let subject = format!("docs({prefix}): context");
        PhaseCommits::new(workspace).commit(&subject, None, CommitContents::Documents)?;
        failpoint::reach("context.committed");
        Ok(Outcome::Done)
    }

    /// Marks a plan as complete in STATUS.md, and archives the checkpoint that the plan has passed.
    pub(super) fn note_plan_complete(
        &self,
        plan: &str,
        tasks: usize,
        commit: Option<&str>,
        duration: &str,
    ) -> Result<(), EngineError> {
        let (count, now) = (format!("{tasks}/{tasks}"), now_text());
        self.change_status(|old| {
            let change = PlanChange {
                plan,
                status: Some(worker::COMPLETE),
                commit: commit.map(short),
                duration: Some(duration),
                tasks: Some(&count),
                now_utc: &now,
                ..PlanChange::default()
            };
            let plans = [change];
            let change =
                ProgressChange { plans: &plans, now_utc: &now, ..ProgressChange::default() };
            Some(status::show_progress(old, &change))
        })?;
        archive_checkpoint(self.workspace)
    }

    /// Changes STATUS.md, which is created if it does not exist. A change that cannot be made is
    /// skipped.
    ///
    /// Status, blocker mode and rows of plans are written by [`StatusBoard`] alone.
    ///
    /// [`StatusBoard`]: super::status_board::StatusBoard
    pub(super) fn change_status(
        &self,
        change: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        self.workspace.status.change(change)
    }

    /// Returns the name of the worker that documents give.
    pub(super) fn worker_name(&self) -> String {
        worker_name(&self.workspace.brief.phase)
    }

    /// Adds a line to the context section of STATUS.md.
    pub(super) fn add_status_note(&self, text: &str) -> Result<Outcome, EngineError> {
        self.add_to_status(|old| status::add_context(old, text).ok())
    }

    /// Adds an open blocker to STATUS.md, unless it is there.
    pub(super) fn add_blocker(&self, text: &str) -> Result<Outcome, EngineError> {
        self.add_to_status(|old| status::add_blocker_once(old, text).ok().flatten())
    }

    fn add_to_status(
        &self,
        add: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<Outcome, EngineError> {
        self.change_status(add)?;
        failpoint::reach("status.noted");
        Ok(Outcome::Done)
    }

    /// Marks the phase as complete as of a commit, and archives its checkpoint.
    pub(super) fn note_phase_complete(&self, commit: &str) -> Result<(), EngineError> {
        let now = now_text();
        self.change_status(|old| {
            let verified = status::set_field(old, "verified", short(commit)).ok()?;
            let change = ProgressChange {
                status: Some(worker::COMPLETE),
                now_utc: &now,
                ..ProgressChange::default()
            };
            Some(status::show_progress(&verified, &change))
        })?;
        failpoint::reach("phase.noted");
        archive_checkpoint(self.workspace)
    }

    /// Marks a phase as complete whose last commit an earlier attempt made. STATUS.md becomes what
    /// that commit has, so that the worktree is clean.
    pub(super) fn restore_closed_status(&self, head: &str) -> Result<(), EngineError> {
        let git = self.workspace.git();
        let path = self.workspace.below_worktree(&self.workspace.document("STATUS"));
        let committed = git.ask(&["cat-file", "blob", &format!("{head}:{path}")])?;
        if committed.success {
            self.change_status(|_| Some(committed.stdout.clone()))?;
            return archive_checkpoint(self.workspace);
        }
        let before = git.commit_of(&format!("{head}^"))?.unwrap_or_default();
        self.note_phase_complete(&before)
    }
}

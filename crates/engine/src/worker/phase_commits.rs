//! Makes the commits of a phase, with their trailers. A commit that marks progress is sealed.

use std::sync::PoisonError;

use mow_host::commit::{self, Paths};

use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::sealed_commits::{
    ATTEMPT_KEY, CLOSED_KEY, CommitMark, PARALLEL_KEY, PLAN_KEY, RUN_KEY, SEAL_KEY, TASK_KEY,
    TASK_START_KEY,
};

/// Which files a commit contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitContents<'a> {
    /// Everything except planning files.
    Code,
    /// Everything except planning files. If there is nothing, an empty commit marks what agents
    /// committed themselves.
    CodeOrEmpty,
    /// The phase's documents.
    Documents,
    /// Only these files and directories, while parallel plans work in others. If there is nothing
    /// and an agent has committed some of them since this commit, an empty commit marks that.
    Declared(&'a [String], &'a str),
}

/// Commits to the phase's branch.
#[derive(Clone, Copy)]
pub(super) struct PhaseCommits<'a> {
    workspace: &'a PhaseWorkspace,
}

impl<'a> PhaseCommits<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace }
    }

    /// Returns the trailers of a commit, with a seal if it has a mark.
    pub(super) fn trailers(
        &self,
        mark: Option<(&CommitMark, u64)>,
    ) -> Result<Vec<(&'static str, String)>, EngineError> {
        let brief = &self.workspace.brief;
        let mut trailers =
            vec![("Mow-Phase", brief.phase.to_string()), (ATTEMPT_KEY, brief.attempt.to_string())];
        let Some((mark, effect)) = mark else { return Ok(trailers) };
        trailers.push((RUN_KEY, self.workspace.ctx.run.run().to_owned()));
        trailers.push((SEAL_KEY, self.workspace.trusted().commit_seal(effect)?));
        trailers.extend(match mark {
            CommitMark::Task(plan, task) => Some((TASK_KEY, format!("{plan}/{task}"))),
            CommitMark::Plan(plan) => Some((PLAN_KEY, plan.clone())),
            CommitMark::Closed => Some((CLOSED_KEY, brief.phase.to_string())),
            CommitMark::Undone(_) => None,
        });
        Ok(trailers)
    }

    /// Makes a commit, sealed if it has a mark; returns `None` when there is nothing to commit and
    /// nothing to mark.
    pub(super) fn commit(
        &self,
        subject: &str,
        mark: Option<(&CommitMark, u64)>,
        contents: CommitContents<'_>,
    ) -> Result<Option<String>, EngineError> {
        use CommitContents::{Code, CodeOrEmpty, Declared, Documents};
        let workspace = self.workspace;
        let mut trailers = self.trailers(mark)?;
        if let (Declared(_, since), Some((CommitMark::Task(plan, task), _))) = (contents, mark) {
            trailers.push((PARALLEL_KEY, format!("{plan}/{task}")));
            trailers.push((TASK_START_KEY, since.to_owned()));
        }
        let trailers: Vec<_> = trailers.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let planning = workspace.planning_below_top();
        let paths = match contents {
            Code | CodeOrEmpty => Paths::AllExcept(planning),
            Documents if workspace.commits_docs => {
                Paths::Directory(format!("{planning}/phases/{}", workspace.dir_name))
            }
            Documents | Declared(..) => Paths::Only(Vec::new()),
        };
        let git = workspace.git();
        let _guard = workspace.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let commit = match contents {
            Declared(files, _) => {
                commit::commit_with_private_index(&git, files, subject, &trailers)
            }
            _ => commit::commit_paths(&git, &paths, subject, &trailers),
        };
        let mut commit = commit?;
        let needs_mark = match contents {
            Documents | CodeOrEmpty => mark.is_some(),
            Declared(files, since) if commit.is_none() => self.agent_committed(files, since)?,
            Code | Declared(..) => false,
        };
        if commit.is_none() && needs_mark {
            commit = Some(commit::commit_marker(&git, subject, &trailers)?);
        }
        if let Some(commit) = &commit {
            workspace.trusted().note_commit(mark, commit);
        }
        Ok(commit)
    }

    /// Returns whether an agent itself has committed some of these files since a commit. Nothing
    /// else commits them while parallel plans run.
    fn agent_committed(&self, files: &[String], since: &str) -> Result<bool, EngineError> {
        let range = format!("{since}..HEAD");
        let log = ["--literal-pathspecs", "log", "-1", "--format=%H", range.as_str(), "--"];
        let files = files.iter().map(String::as_str);
        let args: Vec<_> = log.into_iter().chain(files).collect();
        let found = self.workspace.git().plumbing().run(&args)?;
        Ok(!found.stdout.is_empty())
    }
}

//! Merges complete phases onto the run's ref, and commits the final planning files.
//!
//! Nothing is merged without proof (`completion_proof`). Work that a merge leaves out or replaces
//! is kept under a rescue ref first.

use std::cell::Cell;

use mow_core::lead::{ConflictedFile, Outcome};
use mow_core::money::Spending;
use mow_core::phase::PhaseNumber;
use mow_host::commit::with_trailers;
use mow_host::git::Git;
use mow_host::merge::{
    self, Conflict, KnownChanges, MergeComputation, MergeJob, MergeOutcome, OverlayCommit,
    ReadyMerge,
};
use mow_host::shell_words;
use mow_store::disk;

use super::completion_proof::{self, CompletionReport, VerifiedPhase};
use super::effects::RepositoryAccess;
use super::merge_check::MergeCheck;
use super::run_ref::run_ref;
use crate::EngineError;
use crate::link::LocalWorktree;
use crate::run_context::RunContext;

/// How often a merge is repeated because somebody moved the run's ref.
const TRIES_MAX: usize = 5;
/// The planning files that only the lead writes.
const SHARED_FILES: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// The merge of one phase.
pub(super) struct PhaseMerge<'a> {
    ctx: &'a RunContext,
    number: &'a PhaseNumber,
    attempt: u32,
    pub(super) worktree: LocalWorktree<'a>,
    /// What the phase has cost so far; an agent that resolves conflicts adds to it.
    spent: Cell<Spending>,
    /// Whether no agent may be started to resolve conflicts.
    no_agents: bool,
}

/// Merges a phase that is proven complete, unless it is merged already, and records the merge.
pub(super) fn merge(
    phase: &PhaseMerge<'_>,
    [commit, onto]: [&str; 2],
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    let PhaseMerge { ctx, number, attempt, worktree, .. } = phase;
    let git = Git::new(ctx.top());
    failpoint::reach("merge.begun");
    let tip = git.commit_of(&format!("refs/heads/{}", worktree.branch()))?;
    let reported = CompletionReport {
        phase: number,
        attempt: *attempt,
        commit,
        onto,
        branch: worktree.branch(),
    };
    let VerifiedPhase { commit, touched } =
        match completion_proof::verify(ctx, &git, &reported, tip.as_deref())? {
            Ok(proven) => proven,
            Err(reason) => return Ok(Outcome::Refuted { reason }),
        };
    let target = repository.run_ref.commit_without_attempt(**number, *attempt);
    let known = target.zip(touched).map(|(target, touched)| KnownChanges { target, touched });
    let outcome = phase.merge(&commit, (known, Some(onto)), repository)?;
    if let Outcome::Merged { commit, .. } = &outcome {
        phase.finish(commit)?;
    }
    Ok(outcome)
}

impl<'a> PhaseMerge<'a> {
    /// Creates the merge of an attempt at a phase; attempt 0 means that the run did not work on it.
    pub(super) fn new(
        ctx: &'a RunContext,
        number: &'a PhaseNumber,
        attempt: u32,
        spent: Spending,
    ) -> Result<Self, EngineError> {
        let (worktree, spent) = (LocalWorktree::new(ctx, number)?, Cell::new(spent));
        Ok(Self { ctx, number, attempt, worktree, spent, no_agents: false })
    }

    /// Sets whether no agent may be started to resolve conflicts.
    pub(super) fn without_agents(self, no_agents: bool) -> Self {
        Self { no_agents, ..self }
    }

    /// Merges the phase onto the run's ref.
    ///
    /// With `onto`, the ref is first moved back there if somebody else moved it; a manual merge
    /// accepts the ref as it is. The repository is not locked while an agent resolves conflicts or
    /// the merged tree is checked.
    pub(super) fn merge(
        &self,
        commit: &str,
        (known, onto): (Option<KnownChanges>, Option<&str>),
        repository: &RepositoryAccess,
    ) -> Result<Outcome, EngineError> {
        let git = Git::new(self.ctx.top());
        let mut job = self.job(&git, commit)?;
        let known = known.filter(|_| job.branch_commit == commit);
        for _ in 0..TRIES_MAX {
            let planned = repository.exclusively(|| {
                onto.map_or(Ok(()), |onto| repository.restore_run_ref(self.ctx, &git, onto))?;
                merge::compute_with_known_changes(&git, &job, known.as_ref())
                    .map_err(EngineError::from)
            })?;
            let ready = match planned {
                MergeComputation::Ready(ready) => ready,
                MergeComputation::Final(MergeOutcome::AlreadyMerged {
                    commit,
                    is_complete: true,
                }) => {
                    return Ok(Outcome::Merged { commit, note: String::new() });
                }
                MergeComputation::Final(MergeOutcome::AlreadyMerged { .. }) => {
                    // The branch has new commits since its merge. The trailers of that merge are
                    // taken, so the rest gets one of its own.
                    let rest = job.branch_commit.clone();
                    job.message = format!("{}Mow-Rest: {rest}\n", job.message);
                    continue;
                }
                MergeComputation::Final(MergeOutcome::Conflict { files }) => {
                    match self.resolve(&job, &files, repository)? {
                        Ok(ready) => ready,
                        Err(conflict) => return Ok(conflict),
                    }
                }
                MergeComputation::Final(_) => continue,
            };
            let sealed = merge::create_commit(&git, &job, &ready)?;
            if let Some(reason) = self.verify_tree(&sealed, &ready.tree)? {
                return Ok(Outcome::Failed { reason });
            }
            let swap = || {
                let note = self.rescue_left_out(&git, &ready, &sealed)?;
                let is_landed = merge::move_target(&git, &job, &ready, &sealed)?;
                Ok(is_landed.then_some(note))
            };
            let moves = (&*ready.ours, &*sealed);
            let landed =
                repository.exclusively(|| repository.run_ref.advance(self.ctx, moves, swap))?;
            if let Some(note) = landed {
                return Ok(Outcome::Merged { commit: sealed, note });
            }
        }
        let reason = format!("{} was moved by somebody else, again and again", job.run_ref);
        Ok(Outcome::Failed { reason })
    }

    pub(super) fn job(&self, git: &Git, commit: &str) -> Result<MergeJob, EngineError> {
        // A person who resolves a conflict does so on the branch of the phase.
        let head = git.commit_of(&format!("refs/heads/{}", self.worktree.branch()))?;
        let commit = match &head {
            Some(head) if git.is_ancestor(commit, head)? => head,
            _ => commit,
        };
        Ok(self.job_at(commit))
    }

    /// Returns the merge job for a commit of the phase.
    pub(super) fn job_at(&self, commit: &str) -> MergeJob {
        let ctx = self.ctx;
        let planning = ctx.project.planning_below_top();
        let own = self.worktree.phase_dir_name().map(|dir| format!("{planning}/phases/{dir}"));
        let (number, attempt) = (self.number.to_string(), self.attempt.to_string());
        let trailers =
            [("Mow-Phase", &*number), ("Mow-Attempt", &*attempt), ("Mow-Run", ctx.run.run())];
        MergeJob {
            run_ref: run_ref(ctx),
            branch_commit: commit.to_owned(),
            message: with_trailers(&format!("Merge phase {number}"), &trailers),
            keep_from_ours: vec![planning],
            own,
            overlay: Vec::new(),
            join: None,
        }
    }

    fn merge_check(&self) -> MergeCheck<'_> {
        let Self { ctx, number, attempt, worktree, spent, no_agents } = self;
        let (phase, attempt, no_agents) = (Some(*number), *attempt, *no_agents);
        MergeCheck { ctx, phase, attempt, worktree: Some(worktree), spent, no_agents }
    }

    /// Lets the conflict resolver resolve conflicts, if one is configured; else explains how a
    /// person can.
    fn resolve(
        &self,
        job: &MergeJob,
        files: &[Conflict],
        repository: &RepositoryAccess,
    ) -> Result<Result<ReadyMerge, Outcome>, EngineError> {
        let check = self.merge_check();
        let failed = match check.resolver()? {
            Some(resolver) => match check.resolve(&resolver, job, (files, repository))? {
                Ok(ready) => return Ok(Ok(ready)),
                Err(why) => format!("{why}; "),
            },
            None => String::new(),
        };
        let settle = format!("{failed}{}", self.resolution_hint(&job.run_ref, files));
        Ok(Err(Outcome::Conflict { files: conflicted_files(files), settle }))
    }

    /// Explains how a person resolves conflicts with a target in the worktree of the phase.
    pub(super) fn resolution_hint(&self, target: &str, files: &[Conflict]) -> String {
        let at = format!("git -C {}", shell_words::quote(&self.worktree.path().to_string_lossy()));
        let step = if self.worktree.is_merging() {
            format!("to resolve them, finish the merge that is in progress there: {at} commit")
        } else {
            format!("to resolve them: {at} merge {}", shell_words::quote(target))
        };
        let mut remedies: Vec<_> = files.iter().map(|file| file.kind.remedy()).collect();
        remedies.sort_unstable();
        remedies.dedup();
        let remedies = remedies.join("; ").replace("{}", "FILE");
        let again = self.merge_check().retry_command();
        format!("{step}, then for each file: {remedies}; then {at} commit, and {again}")
    }

    /// Runs the project's `multi_phase.verify` on the merged tree; returns why it fails.
    fn verify_tree(&self, commit: &str, tree: &str) -> Result<Option<String>, EngineError> {
        let check = self.merge_check();
        match check.verify_command()? {
            Some(command) => check.verify(&command, commit, tree),
            None => Ok(None),
        }
    }

    /// Rescues what the merge leaves out, before it lands; returns a note for people.
    fn rescue_left_out(
        &self,
        git: &Git,
        ready: &ReadyMerge,
        sealed: &str,
    ) -> Result<String, EngineError> {
        let branch = self.worktree.branch();
        let left = &ready.left_out;
        let kept = merge::keep_left_out(git, (branch, &ready.theirs), sealed, left)?;
        let mut notes = Vec::new();
        if let Some(kept) = kept {
            let name = kept.short_name();
            let left = left.join(", ");
            notes.push(format!("left out of the merge: {left} (mow rescue restore {name})"));
        }
        let bare = self.worktree.rescue_submodule_commits(git)?;
        if !bare.is_empty() {
            let (bare, path) = (bare.join(", "), self.worktree.path().display());
            notes.push(format!("only {path} has the commits of the submodules {bare}"));
        }
        Ok(notes.join("; "))
    }

    /// Completes the merge: copies the phase documents, updates the manifest, releases the claim.
    pub(super) fn finish(&self, commit: &str) -> Result<(), EngineError> {
        self.worktree.copy_documents_to_root()?;
        failpoint::reach("merge.papers.brought");
        self.worktree.mark_merged(commit)?;
        failpoint::reach("merge.noted");
        self.worktree.release_claim()?;
        failpoint::reach("merge.ended");
        Ok(())
    }
}

pub(super) fn conflicted_files(files: &[Conflict]) -> Vec<ConflictedFile> {
    let clash = |file: &Conflict| ConflictedFile {
        path: file.path.clone(),
        kind: file.kind.description().to_owned(),
    };
    files.iter().map(clash).collect()
}

/// Returns whether the planning files in the main root belong to a branch: the branch is checked
/// out there, or the files are not in git at all.
///
/// Called often, so the usual case starts no process.
pub(super) fn owns_root_files(ctx: &RunContext, target: &str) -> Result<bool, EngineError> {
    Ok(is_checked_out(ctx, target)? || !ctx.commits_docs()?)
}

fn is_checked_out(ctx: &RunContext, target: &str) -> Result<bool, EngineError> {
    match disk::read(&ctx.top().join(".git/HEAD")) {
        Ok(Some(head)) => {
            let head = String::from_utf8_lossy(&head);
            Ok(head.trim().strip_prefix("ref: refs/heads/") == Some(target))
        }
        _ => Ok(Git::new(ctx.top()).current_branch()?.as_deref() == Some(target)),
    }
}

/// Commits the final planning files of a run, given by their names below `.planning`.
pub(super) fn commit_final_state(
    ctx: &RunContext,
    (target, tip): (&str, &str),
    planning_files: &[(String, Vec<u8>)],
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    super::merge_check::remove_checkout(ctx)?;
    if !ctx.commits_docs()? {
        return Ok(Outcome::Done);
    }
    let git = Git::new(ctx.top());
    repository.restore_run_ref(ctx, &git, tip)?;
    let message = format!("docs: record run {}", ctx.run.run());
    let name = run_ref(ctx);
    // In the root people may have changed the files since an earlier try, and git would refuse to
    // fast-forward the branch over that.
    if !owns_root_files(ctx, target)?
        && let Some(commit) = find_closing_commit(&git, &name, (tip, &message))?
    {
        return Ok(Outcome::Merged { commit, note: String::new() });
    }
    let planning = ctx.below_top().join(".planning");
    let named = |(file, bytes): &(String, Vec<u8>)| {
        (planning.join(file).display().to_string(), bytes.clone())
    };
    let overlay: Vec<_> = planning_files.iter().map(named).collect();
    let OverlayCommit { ours, commit } = merge::commit_overlay(&git, &name, &overlay, &message)?;
    if ours != commit {
        let moves = (&*ours, &*commit);
        let swap = || Ok(merge::move_target_to_overlay(&git, &name, moves)?.then_some(()));
        repository.run_ref.advance(ctx, moves, swap)?.ok_or_else(|| {
            let again = format!("mow run closes {} once more", ctx.run.run());
            EngineError::refused(format!("{name} was moved by somebody else"), again)
        })?;
        failpoint::reach("overlay.ref.moved");
    }
    failpoint::reach("close.ended");
    Ok(Outcome::Merged { commit, note: String::new() })
}

/// Returns the closing commit of a run that a lead made before it died without recording it.
///
/// A new commit would differ, since it contains the time.
fn find_closing_commit(
    git: &Git,
    name: &str,
    (tip, message): (&str, &str),
) -> Result<Option<String>, EngineError> {
    let Some(there) = git.commit_of(name)?.filter(|there| there != tip) else { return Ok(None) };
    let about = git.run(&["log", "-1", "--format=%P%n%s", &there])?.text();
    Ok((about == format!("{tip}\n{message}")).then_some(there))
}

/// Loads the shared planning files from a commit, or from the main root if `from` is `None`.
pub(super) fn load_shared_files(
    ctx: &RunContext,
    from: Option<&str>,
) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
    let git = Git::new(ctx.top());
    let mut files = Vec::new();
    for file in SHARED_FILES {
        let bytes = match from {
            None => disk::read(&ctx.project.planning.join(file))?,
            Some(commit) => git.file_in(commit, &ctx.below_top().join(".planning").join(file))?,
        };
        files.extend(bytes.map(|bytes| (file.to_owned(), bytes)));
    }
    Ok(files)
}

//! State of this attempt that no agent can forge: the worker made it itself, or read it from a
//! place that agents cannot write to.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::report::Brief;
use mow_core::seal::SealChain;
use mow_core::worker::task_knowledge::TaskKnowledge;
use mow_core::worker::{Event, Evidence};
use mow_store::plan::Plan;

use super::document_guard::DocumentSnapshot;
use super::repository_guard::RepositorySnapshot;
use crate::EngineError;
use crate::sealed_commits::{AttemptJournal, AttemptJournals, CommitMark, SealedCommits};

/// A plan file as it was when the execution of the phase began.
#[derive(Clone, Debug)]
pub(super) struct FrozenPlanFile {
    pub(super) plan: Plan,
    pub(super) bytes: Vec<u8>,
}

/// What this worker knows without trusting any agent.
pub(super) struct TrustedState {
    commit_seals: SealChain,
    evidence_seals: SealChain,
    /// How many pieces of evidence are sealed so far.
    evidence_count: u64,
    pub(super) journals: AttemptJournals,
    /// The run and attempt of this worker: its key in `ledgers`.
    own: (String, u32),
    /// The commit marks, and the HEAD commit they were read at.
    pub(super) sealed_commits: Option<(String, SealedCommits)>,
    /// The frozen plans by id. Empty until the plans are frozen.
    pub(super) plans: BTreeMap<String, FrozenPlanFile>,
    /// The evidence of passed checks, by code digest and command.
    pub(super) passed: BTreeMap<(String, String), Evidence>,
    /// The last commit of this worker on the branch; `None` if others may have moved the branch.
    pub(super) head: Option<String>,
    /// The snapshots from before the current group of parallel plans began.
    pub(super) group: Option<(RepositorySnapshot, DocumentSnapshot)>,
    /// The commits made for the current group of parallel plans.
    pub(super) group_commits: Vec<String>,
    /// Whether the documents of a worker that died have been recovered.
    pub(super) documents_recovered: bool,
    /// The plans whose deviations have been noted.
    pub(super) deviations_noted: BTreeSet<String>,
    /// Whether an agent may have written the worktree's index, so its file entries may be false.
    pub(super) index_doubted: bool,
}

impl TrustedState {
    pub(super) fn new(brief: &Brief, [commits, evidence]: &[[u8; 32]; 2]) -> Self {
        let (commit_seals, evidence_seals) = (SealChain::new(commits), SealChain::new(evidence));
        let own = (brief.run.clone(), brief.attempt);
        let journal = AttemptJournal::own(commit_seals.root());
        let journals = AttemptJournals::from([(own.clone(), journal)]);
        Self {
            commit_seals,
            evidence_seals,
            evidence_count: 0,
            journals,
            own,
            sealed_commits: None,
            plans: BTreeMap::new(),
            passed: BTreeMap::new(),
            head: None,
            group: None,
            group_commits: Vec::new(),
            documents_recovered: false,
            deviations_noted: BTreeSet::new(),
            // The agents of an earlier attempt may have written anything into the index.
            index_doubted: brief.attempt > 1,
        }
    }

    /// Returns the record that later readers verify the seals against.
    pub(super) fn seal_roots(&self) -> Event {
        let roots = [&self.commit_seals, &self.evidence_seals];
        let [root, proofs] = roots.map(|seals| seals.root().to_owned());
        Event::Sealed { root, proofs }
    }

    fn seals_exhausted() -> EngineError {
        let hint = "`mow resume` starts another attempt";
        EngineError::refused("this attempt has used up its seals", hint)
    }

    /// Returns the seal for the commit of an effect.
    pub(super) fn commit_seal(&self, effect: u64) -> Result<String, EngineError> {
        self.commit_seals.link(effect).map(str::to_owned).ok_or_else(Self::seals_exhausted)
    }

    /// Returns the seal for the next piece of evidence.
    pub(super) fn next_evidence_seal(&mut self) -> Result<String, EngineError> {
        self.evidence_count += 1;
        let seal = self.evidence_seals.link(self.evidence_count).map(str::to_owned);
        seal.ok_or_else(Self::seals_exhausted)
    }

    /// Notes a commit that this worker made.
    pub(super) fn note_commit(&mut self, mark: Option<(&CommitMark, u64)>, commit: &str) {
        if let (Some((mark, effect)), Some(own)) = (mark, self.journals.get_mut(&self.own)) {
            own.add_commit(effect, mark.clone(), commit);
        }
        self.head = Some(commit.to_owned());
        if self.group.is_some() {
            self.group_commits.push(commit.to_owned());
        }
    }

    /// Notes what the agent of a task of this attempt reported.
    pub(super) fn note_knowledge(&mut self, knowledge: &TaskKnowledge) {
        if let Some(own) = self.journals.get_mut(&self.own) {
            own.knowledge.push(knowledge.clone());
        }
    }

    /// Accepts evidence that a worker of this phase has sealed. Only passed checks are kept.
    pub(super) fn accept_evidence(&mut self, evidence: &Evidence) {
        if evidence.exit == Some(0) {
            let key = (evidence.code.clone(), evidence.command.clone());
            self.passed.insert(key, evidence.clone());
        }
    }

    pub(super) fn has_passed(&self, code: &str, command: &str) -> bool {
        self.passed.contains_key(&(code.to_owned(), command.to_owned()))
    }

    /// Returns the newest evidence of each command that has passed.
    pub(super) fn newest_evidence(&self, commands: &[String]) -> Vec<Evidence> {
        let newest = commands.iter().map(|command| {
            self.passed.values().filter(|one| one.command == *command).max_by_key(|one| one.at)
        });
        newest.flatten().cloned().collect()
    }
}

//! What a worker knows for sure, because it did it itself or read it where no agent can write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use mow_core::report::Brief;
use mow_core::seal::Seals;
use mow_core::worker::{Event, Evidence};
use mow_store::plan::Plan;

use super::custody::Before;
use super::desk::Desk;
use super::papers_guard::Guarded;
use crate::EngineError;
use crate::marks::{Ledger, Ledgers, Mark, Marks};

/// A plan as it was when the phase began to be carried out.
#[derive(Clone, Debug)]
pub(super) struct Frozen {
    pub(super) plan: Plan,
    pub(super) bytes: Vec<u8>,
}

/// What a worker knows for sure.
pub(super) struct Trust {
    commits: Seals,
    proofs: Seals,
    /// How much evidence there was so far.
    proved: u64,
    pub(super) ledgers: Ledgers,
    own: (String, u32),
    /// The marks, and the commit that they were read at.
    marks: Option<(String, Marks)>,
    /// The plans by id, once they are frozen.
    pub(super) plans: BTreeMap<String, Frozen>,
    /// What has passed, by code and command.
    pub(super) passed: BTreeMap<(String, String), Evidence>,
    /// Where this worker left its branch.
    pub(super) head: Option<String>,
    /// How it all was before plans began to run side by side.
    pub(super) group: Option<(Before, Guarded)>,
    /// What was committed for them since then.
    pub(super) made: Vec<String>,
    /// Whether it was looked after what a worker that died has left.
    pub(super) recovered: bool,
    /// Plans of which something was said already.
    pub(super) noted: BTreeSet<String>,
    /// Whether an agent may have written into the index of the worktree: what that says about files
    /// need not be true.
    pub(super) index_doubted: bool,
}

impl Trust {
    pub(super) fn new(brief: &Brief, [commits, proofs]: &[[u8; 32]; 2]) -> Self {
        let (commits, proofs) = (Seals::new(commits), Seals::new(proofs));
        let own = (brief.run.clone(), brief.attempt);
        let ledger = Ledger::own(commits.root());
        let ledgers = Ledgers::from([(own.clone(), ledger)]);
        Self {
            commits,
            proofs,
            proved: 0,
            ledgers,
            own,
            marks: None,
            plans: BTreeMap::new(),
            passed: BTreeMap::new(),
            head: None,
            group: None,
            made: Vec::new(),
            recovered: false,
            noted: BTreeSet::new(),
            // Earlier attempts may have left anything.
            index_doubted: brief.attempt > 1,
        }
    }

    /// Returns the record that others check seals against.
    pub(super) fn sealed(&self) -> Event {
        let [root, proofs] = [&self.commits, &self.proofs].map(|seals| seals.root().to_owned());
        Event::Sealed { root, proofs }
    }

    fn used_up() -> EngineError {
        EngineError::refused("this attempt has used up its seals", "mow resume begins another")
    }

    /// Returns what the commit of an effect is sealed with.
    pub(super) fn seal(&self, effect: u64) -> Result<String, EngineError> {
        self.commits.link(effect).map(str::to_owned).ok_or_else(Self::used_up)
    }

    /// Returns what the next piece of evidence is sealed with.
    pub(super) fn seal_proof(&mut self) -> Result<String, EngineError> {
        self.proved += 1;
        self.proofs.link(self.proved).map(str::to_owned).ok_or_else(Self::used_up)
    }

    /// Notes a commit that this worker made.
    pub(super) fn note(&mut self, mark: Option<(&Mark, u64)>, commit: &str) {
        if let (Some((mark, effect)), Some(own)) = (mark, self.ledgers.get_mut(&self.own)) {
            own.note(effect, mark.clone(), commit);
        }
        self.head = Some(commit.to_owned());
        if self.group.is_some() {
            self.made.push(commit.to_owned());
        }
    }
}

impl Desk {
    /// Reads which tasks and plans are committed; does not ask git twice about the same commit.
    pub(super) fn marks(&self) -> Result<Marks, EngineError> {
        // A commit that was made and not noted yet would look like somebody else's.
        let _quiet = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut trust = self.trust();
        let head = self.head()?;
        if let Some((_, marks)) = trust.marks.as_ref().filter(|(at, _)| *at == head) {
            return Ok(marks.clone());
        }
        let range = [self.brief.base.as_str(), &head];
        let whose = (&self.site.run, &self.brief.phase);
        let marks = Marks::load(&self.git(), range, whose, &mut trust.ledgers)?;
        trust.marks = Some((head, marks.clone()));
        Ok(marks)
    }

    /// Reads the journals of the attempts before this one, newest first.
    pub(super) fn earlier(&self) -> Result<Vec<Ledger>, EngineError> {
        let mut all = Vec::new();
        for attempt in (1..self.brief.attempt).rev() {
            all.push(Ledger::load(&self.site.run, &self.brief.phase, attempt)?);
        }
        Ok(all)
    }
}

//! Which commits of a phase its workers made: the marks of tasks, plans and the phase that count.
//!
//! Anybody can write a trailer. A mark counts when its seal belongs to the attempt that it names, and to
//! the effect that the journal of that attempt has for the mark, and when the journal knows no other
//! commit for it. So a commit that was made and not written down before a crash counts, and one that
//! an agent made, copied or changed does not.
//! Nothing here is decided by what a worker reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, Report};
use mow_core::seal;
use mow_core::worker::{Effect, Event, Evidence, FrozenPlan, Outcome};
use mow_host::commit::{self, Trailed};
use mow_host::git::Git;
use mow_store::disk;
use mow_store::journal::{self, JournalError, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;

/// The trailers of marks, and of what proves them.
pub(crate) const PLAN_KEY: &str = "Mow-Plan";
pub(crate) const TASK_KEY: &str = "Mow-Task";
pub(crate) const CLOSED_KEY: &str = "Mow-Closed";
pub(crate) const RUN_KEY: &str = "Mow-Run";
pub(crate) const ATTEMPT_KEY: &str = "Mow-Attempt";
pub(crate) const SEAL_KEY: &str = "Mow-Seal";

/// What a commit marks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Task(String, usize),
    Plan(String),
    Closed,
}

impl Mark {
    fn of(effect: &Effect) -> Option<Self> {
        match effect {
            Effect::RunTask { plan, task } => Some(Self::Task(plan.clone(), *task)),
            Effect::ClosePlan { plan, .. } => Some(Self::Plan(plan.clone())),
            Effect::ClosePhase => Some(Self::Closed),
            _ => None,
        }
    }
}

/// What the journal of one attempt says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// What its commits are sealed with; `None` in journals of before there were seals.
    pub(crate) root: Option<String>,
    /// What the evidence is sealed with.
    proofs: String,
    pub(crate) brief: Option<Brief>,
    /// The plans as they were frozen, and the hash of git's own settings.
    pub(crate) frozen: Option<(Vec<FrozenPlan>, String)>,
    /// What the effects of the attempt were to mark, by their numbers.
    begun: BTreeMap<u64, Mark>,
    /// The commit of each mark.
    made: BTreeMap<Mark, String>,
    /// Whether it is kept by the worker itself, which knows all that it made.
    own: bool,
    pub(crate) evidence: Vec<Evidence>,
    /// Its last word.
    pub(crate) last: Option<Report>,
}

impl Ledger {
    /// Reads the journal of an attempt; one that is not there says nothing.
    ///
    /// Of everything the first record counts: agents can add records, and none before the worker's.
    pub(crate) fn load(
        run: &RunDir,
        phase: &PhaseNumber,
        attempt: u32,
    ) -> Result<Self, EngineError> {
        let mut ledger = Self::default();
        let (mut begun, mut used) = (BTreeSet::new(), BTreeSet::new());
        for record in records(&run.worker_journal(phase, attempt))? {
            // What cannot be read is nothing that counts.
            let Ok(event) = record.parse::<Event>() else { continue };
            match event {
                Event::Sealed { root, proofs } if record.seq == 1 => {
                    (ledger.root, ledger.proofs) = (Some(root), proofs);
                }
                Event::Briefed { brief } => drop(ledger.brief.get_or_insert(brief)),
                Event::Proved(evidence) => {
                    let is_new = used.insert(evidence.seal.clone());
                    if is_new && seal::number(&ledger.proofs, &evidence.seal).is_some() {
                        ledger.evidence.push(evidence);
                    }
                }
                Event::Reported(report) if report.is_last() => ledger.last = Some(report),
                Event::Intended { id, effect } if begun.insert(id) => {
                    ledger.begun.extend(Mark::of(&effect).map(|mark| (id, mark)));
                }
                Event::Finished { id, outcome } => ledger.finish(id, outcome),
                _ => {}
            }
        }
        Ok(ledger)
    }

    fn finish(&mut self, id: u64, outcome: Outcome) {
        match (outcome, self.begun.get(&id)) {
            (Outcome::Frozen { plans, settings }, _) => {
                self.frozen.get_or_insert((plans, settings));
            }
            (Outcome::Committed { commit: Some(commit) }, Some(mark)) => {
                self.made.entry(mark.clone()).or_insert(commit);
            }
            _ => {}
        }
    }

    /// Notes a commit that this attempt made.
    pub(crate) fn note(&mut self, mark: Mark, commit: &str) {
        self.made.entry(mark).or_insert_with(|| commit.to_owned());
    }

    /// Begins the ledger of the attempt that asks.
    pub(crate) fn own() -> Self {
        Self { own: true, ..Self::default() }
    }

    fn has_made(&self, mark: &Mark, commit: &str, link: &str) -> bool {
        let known = self.made.get(mark).map(String::as_str);
        match &self.root {
            Some(root) if !self.own => {
                let number = seal::number(root, link);
                let wanted = number.and_then(|number| self.begun.get(&number));
                wanted == Some(mark) && known.is_none_or(|known| known == commit)
            }
            // This worker, or one of before there were seals.
            _ => known == Some(commit),
        }
    }
}

/// Reads a journal as far as it is sound.
fn records(path: &Path) -> Result<Vec<Record>, EngineError> {
    let bytes = disk::read(path)?.unwrap_or_default();
    match journal::parse(path, &bytes) {
        Err(JournalError::Corrupt { line, .. }) => {
            let before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
            let lines = bytes.split_inclusive(|byte| *byte == b'\n').take(before);
            Ok(journal::parse(path, &lines.collect::<Vec<_>>().concat())?.records)
        }
        parsed => Ok(parsed?.records),
    }
}

/// The ledgers of the attempts that were asked for, by run and attempt.
pub(crate) type Ledgers = BTreeMap<(String, u32), Ledger>;

/// The marks that count, each with its commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) made: BTreeMap<Mark, String>,
    /// The commits that close the phase.
    pub(crate) closing: Vec<String>,
    /// All commits with a mark that counts, newest first.
    pub(crate) commits: Vec<(String, Mark)>,
    /// Commits with a mark that does not count.
    pub(crate) forged: Vec<String>,
    /// Whether the range begins at its base.
    pub(crate) is_based: bool,
}

impl Marks {
    /// Reads the marks of the commits after a base.
    pub(crate) fn load(
        git: &Git,
        [base, tip]: [&str; 2],
        (run, phase): (&RunDir, &PhaseNumber),
        ledgers: &mut Ledgers,
    ) -> Result<Self, EngineError> {
        let mut marks = Self::default();
        for one in commit::trailed(git, &[&format!("{base}..{tip}")])? {
            if one.is_boundary {
                marks.is_based |= one.commit == base;
                continue;
            }
            for mark in parse_marks(&one) {
                if counts(&one, &mark, (run, phase), ledgers)? {
                    // Newest first: of two the older one stays.
                    marks.made.insert(mark.clone(), one.commit.clone());
                    if mark == Mark::Closed {
                        marks.closing.push(one.commit.clone());
                    }
                    marks.commits.push((one.commit.clone(), mark));
                } else {
                    marks.forged.push(one.commit.clone());
                }
            }
        }
        Ok(marks)
    }

    /// Returns the commit of a mark.
    pub(crate) fn commit(&self, mark: &Mark) -> Option<&String> {
        self.made.get(mark)
    }

    pub(crate) fn has_plan(&self, id: &str) -> bool {
        self.made.contains_key(&Mark::Plan(id.to_owned()))
    }
}

/// Returns whether a worker of the attempt that a commit names has made it.
fn counts(
    one: &Trailed,
    mark: &Mark,
    (run, phase): (&RunDir, &PhaseNumber),
    ledgers: &mut Ledgers,
) -> Result<bool, EngineError> {
    let name = one.value(RUN_KEY).unwrap_or(run.run());
    let Some(attempt) = one.value(ATTEMPT_KEY).and_then(|attempt| attempt.parse().ok()) else {
        return Ok(false);
    };
    let Ok(of) = run.sibling(name) else { return Ok(false) };
    let key = (name.to_owned(), attempt);
    if !ledgers.contains_key(&key) {
        ledgers.insert(key.clone(), Ledger::load(&of, phase, attempt)?);
    }
    let link = one.value(SEAL_KEY).unwrap_or_default();
    Ok(ledgers[&key].has_made(mark, &one.commit, link))
}

fn parse_marks(one: &Trailed) -> Vec<Mark> {
    let marks = one.trailers.iter().filter_map(|(key, value)| match key.as_str() {
        PLAN_KEY => Some(Mark::Plan(value.clone())),
        TASK_KEY => {
            let (plan, task) = value.rsplit_once('/')?;
            Some(Mark::Task(plan.to_owned(), task.parse().ok()?))
        }
        CLOSED_KEY => Some(Mark::Closed),
        _ => None,
    });
    marks.collect()
}

#[cfg(test)]
mod tests;

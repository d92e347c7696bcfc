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
use mow_host::git::Git;
use mow_host::history::{History, Trailed};
use mow_store::disk;
use mow_store::journal::{self, JournalError, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;

/// The trailers of marks, and of what proves them.
pub(crate) const PLAN_KEY: &str = "Mow-Plan";
pub(crate) const TASK_KEY: &str = "Mow-Task";
/// Tells a task's commit that was made beside other plans, and not checked.
pub(crate) const BESIDE_KEY: &str = "Mow-Beside";
/// Tells where a task began that was done beside other plans: its agent may have committed itself.
pub(crate) const SINCE_KEY: &str = "Mow-Since";
/// Tells what a commit undoes.
pub(crate) const UNDONE_KEY: &str = "Mow-Undone";
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
    /// Tasks of a plan are undone.
    Undone(String),
}

impl Mark {
    fn of(effect: &Effect) -> Option<Self> {
        match effect {
            Effect::RunTask { plan, task, .. } => Some(Self::Task(plan.clone(), *task)),
            Effect::ClosePlan { plan, .. } => Some(Self::Plan(plan.clone())),
            Effect::ClosePhase => Some(Self::Closed),
            Effect::CheckPlan { plan } => Some(Self::Undone(plan.clone())),
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
    /// The commits that they made.
    made: BTreeMap<u64, String>,
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
            (Outcome::Committed { commit: Some(commit) }, Some(_)) => {
                self.made.entry(id).or_insert(commit);
            }
            _ => {}
        }
    }

    /// Begins the ledger of the attempt that asks.
    pub(crate) fn own(root: &str) -> Self {
        Self { own: true, root: Some(root.to_owned()), ..Self::default() }
    }

    /// Notes a commit that an effect of this attempt made.
    pub(crate) fn note(&mut self, effect: u64, mark: Mark, commit: &str) {
        self.begun.insert(effect, mark);
        self.made.insert(effect, commit.to_owned());
    }

    fn has_made(&self, mark: &Mark, commit: &str, link: &str) -> Made {
        let made = |id: &u64| self.made.get(id).map(String::as_str);
        let Some(root) = &self.root else {
            // Of before there were seals.
            let is_known =
                self.begun.iter().any(|(id, own)| own == mark && made(id) == Some(commit));
            return if is_known { Made::ToItsEnd } else { Made::No };
        };
        let number = seal::number(root, link);
        let Some(id) = number.filter(|id| self.begun.get(id) == Some(mark)) else {
            return Made::No;
        };
        match made(&id) {
            Some(known) if known == commit => Made::ToItsEnd,
            None if !self.own => Made::Unrecorded,
            _ => Made::No,
        }
    }
}

/// Whether an attempt made a commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    No,
    /// It did, and died before the effect came to its end.
    Unrecorded,
    ToItsEnd,
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

/// The marks that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// The closing commit of each plan.
    pub(crate) plans: BTreeMap<String, String>,
    /// The commit of each task that is not undone.
    pub(crate) tasks: BTreeMap<(String, usize), String>,
    /// Plans with tasks that were committed before they were checked.
    pub(crate) unchecked: BTreeSet<String>,
    /// Tasks that were undone, of which some may have been done again.
    pub(crate) undone: BTreeSet<(String, usize)>,
    /// The last task, when its commit may not have been checked any more.
    pub(crate) unproven: Option<(String, usize)>,
    /// The commits that close the phase.
    pub(crate) closing: Vec<String>,
    /// All commits with a mark that counts, newest first.
    pub(crate) commits: Vec<String>,
    /// Commits with a mark that does not count.
    pub(crate) forged: Vec<String>,
    /// All commits after the base.
    pub(crate) history: History,
}

impl Marks {
    /// Returns what a trailer of a commit says.
    pub(crate) fn value(&self, commit: &str, key: &str) -> Option<&str> {
        self.history.commits.iter().find(|one| one.commit == commit)?.value(key)
    }

    /// Reads the marks of the commits after a base.
    pub(crate) fn load(
        git: &Git,
        [base, tip]: [&str; 2],
        whose: (&RunDir, &PhaseNumber),
        ledgers: &mut Ledgers,
    ) -> Result<Self, EngineError> {
        let mut marks = Self::default();
        // The newest comes first: what it undoes stands behind it.
        let history = History::load(git, base, tip)?;
        for one in &history.commits {
            for (key, value) in &one.trailers {
                let Some(mark) = parse_mark(key, value) else { continue };
                match made(one, &mark, whose, ledgers)? {
                    Made::No => marks.forged.push(one.commit.clone()),
                    made => marks.take(one, mark, value, made),
                }
            }
        }
        marks.history = history;
        Ok(marks)
    }

    fn take(&mut self, one: &Trailed, mark: Mark, value: &str, made: Made) {
        let commit = one.commit.clone();
        let is_last = self.commits.is_empty();
        if self.commits.last() != Some(&commit) {
            self.commits.push(commit.clone());
        }
        match mark {
            Mark::Plan(plan) => drop(self.plans.insert(plan, commit)),
            Mark::Closed => self.closing.push(commit),
            Mark::Undone(_) => self.undone.extend(parse_task(value)),
            Mark::Task(plan, number) => {
                let task = (plan, number);
                if self.tasks.contains_key(&task) || self.undone.contains(&task) {
                    return;
                }
                if one.value(BESIDE_KEY) == Some(value) {
                    self.unchecked.insert(task.0.clone());
                } else if is_last && made == Made::Unrecorded {
                    self.unproven = Some(task.clone());
                }
                self.tasks.insert(task, commit);
            }
        }
    }
}

/// Returns whether a worker of the attempt that a commit names has made it.
fn made(
    one: &Trailed,
    mark: &Mark,
    (run, phase): (&RunDir, &PhaseNumber),
    ledgers: &mut Ledgers,
) -> Result<Made, EngineError> {
    let name = one.value(RUN_KEY).unwrap_or(run.run());
    let Some(attempt) = one.value(ATTEMPT_KEY).and_then(|attempt| attempt.parse().ok()) else {
        return Ok(Made::No);
    };
    let Ok(of) = run.sibling(name) else { return Ok(Made::No) };
    let key = (name.to_owned(), attempt);
    if !ledgers.contains_key(&key) {
        ledgers.insert(key.clone(), Ledger::load(&of, phase, attempt)?);
    }
    let link = one.value(SEAL_KEY).unwrap_or_default();
    Ok(ledgers[&key].has_made(mark, &one.commit, link))
}

fn parse_mark(key: &str, value: &str) -> Option<Mark> {
    match key {
        PLAN_KEY => Some(Mark::Plan(value.to_owned())),
        TASK_KEY => parse_task(value).map(|(plan, task)| Mark::Task(plan, task)),
        UNDONE_KEY => parse_task(value).map(|(plan, _)| Mark::Undone(plan)),
        CLOSED_KEY => Some(Mark::Closed),
        _ => None,
    }
}

/// Reads the mark of a task: `03-01/2`.
fn parse_task(value: &str) -> Option<(String, usize)> {
    let (plan, task) = value.rsplit_once('/')?;
    Some((plan.to_owned(), task.parse().ok()?))
}

#[cfg(test)]
mod tests;

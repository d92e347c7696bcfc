//! Finds the commits of a phase that its workers made, and the tasks and plans that they complete.
//!
//! A mark is a trailer such as `Mow-Task`. Anybody can write a trailer, so a mark counts only if
//! - its seal belongs to the attempt that the commit names,
//! - and to the effect that the journal of that attempt intended for this mark,
//! - and the journal records no other commit for that effect.
//!
//! So a commit counts that was made but not recorded before a crash. A commit that an agent made,
//! copied or changed does not count. Reports of workers are never used here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, Report};
use mow_core::seal;
use mow_core::worker::task_knowledge::TaskKnowledge;
use mow_core::worker::{Effect, Event, Evidence, FrozenPlan, Outcome};
use mow_host::git::Git;
use mow_host::history::{History, HistoryCommit};
use mow_store::disk;
use mow_store::journal::{self, JournalError, Record};
use mow_store::run_files::RunDir;

use crate::EngineError;

/// Trailer of the commit that closes a plan.
pub(crate) const PLAN_KEY: &str = "Mow-Plan";
/// Trailer of the commit that completes a task: `03-01/2`.
pub(crate) const TASK_KEY: &str = "Mow-Task";
/// Trailer of a task's commit that was made while other plans ran in parallel, and is not checked.
pub(crate) const PARALLEL_KEY: &str = "Mow-Beside";
/// Trailer with the commit at which a task of parallel plans began: its agent may have committed.
pub(crate) const TASK_START_KEY: &str = "Mow-Since";
/// Trailer of a commit that undoes a task.
pub(crate) const UNDONE_KEY: &str = "Mow-Undone";
/// Trailer of the commit that closes the phase.
pub(crate) const CLOSED_KEY: &str = "Mow-Closed";
pub(crate) const RUN_KEY: &str = "Mow-Run";
pub(crate) const ATTEMPT_KEY: &str = "Mow-Attempt";
/// Trailer with the seal that proves a mark.
pub(crate) const SEAL_KEY: &str = "Mow-Seal";

/// What a commit claims to complete or undo, by its trailers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommitMark {
    /// A task is done: plan and number of the task.
    Task(String, usize),
    /// A plan is closed.
    Plan(String),
    /// The phase is closed.
    Closed,
    /// A task of this plan is undone.
    Undone(String),
}

impl CommitMark {
    /// Returns the mark on the commit of an effect; `None` for effects that commit no mark.
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

/// The facts that the journal of one attempt records.
#[derive(Clone, Debug, Default)]
pub(crate) struct AttemptJournal {
    /// The root of the seals of its commits; `None` in old journals without seals.
    pub(crate) root: Option<String>,
    /// The root of the seals of its evidence.
    evidence_root: String,
    pub(crate) brief: Option<Brief>,
    /// The plans as they were frozen, and the hash of git's settings then.
    pub(crate) frozen: Option<(Vec<FrozenPlan>, String)>,
    /// The mark that each effect of the attempt was to commit, by the number of the effect.
    intended: BTreeMap<u64, CommitMark>,
    /// The commit that each of these effects made.
    committed: BTreeMap<u64, String>,
    /// Whether the running worker keeps these facts itself, so that no commit is unrecorded.
    is_own: bool,
    pub(crate) evidence: Vec<Evidence>,
    /// What the agents of its tasks reported.
    pub(crate) knowledge: Vec<TaskKnowledge>,
    /// The last report that ended the attempt, if any.
    pub(crate) last: Option<Report>,
}

impl AttemptJournal {
    /// Loads the journal of an attempt; a missing journal yields no facts.
    ///
    /// Of records about the same thing the first one counts: an agent can append records, but not
    /// before the worker's.
    pub(crate) fn load(
        run: &RunDir,
        phase: &PhaseNumber,
        attempt: u32,
    ) -> Result<Self, EngineError> {
        let mut facts = Self::default();
        let (mut seen, mut used) = (BTreeSet::new(), BTreeSet::new());
        for record in load_records(&run.worker_journal(phase, attempt))? {
            // A record that cannot be parsed does not count.
            let Ok(event) = record.parse::<Event>() else { continue };
            match event {
                Event::Sealed { root, proofs } if record.seq == 1 => {
                    (facts.root, facts.evidence_root) = (Some(root), proofs);
                }
                Event::Briefed { brief } => drop(facts.brief.get_or_insert(brief)),
                Event::CheckRan(evidence) => {
                    let is_new = used.insert(evidence.seal.clone());
                    if is_new && seal::number(&facts.evidence_root, &evidence.seal).is_some() {
                        facts.evidence.push(evidence);
                    }
                }
                Event::Reported(report) if report.is_last() => facts.last = Some(report),
                Event::Intended { id, effect } if seen.insert(id) => {
                    facts.intended.extend(CommitMark::of(&effect).map(|mark| (id, mark)));
                }
                Event::TaskReported(knowledge) => facts.knowledge.push(knowledge),
                Event::Finished { id, outcome } => facts.finish(id, outcome),
                _ => {}
            }
        }
        Ok(facts)
    }

    fn finish(&mut self, id: u64, outcome: Outcome) {
        match (outcome, self.intended.get(&id)) {
            (Outcome::Frozen { plans, settings }, _) => {
                self.frozen.get_or_insert((plans, settings));
            }
            (
                Outcome::Committed { commit: Some(commit) }
                | Outcome::Closed { commit: Some(commit), .. },
                Some(_),
            ) => {
                self.committed.entry(id).or_insert(commit);
            }
            _ => {}
        }
    }

    /// Creates the facts of the running attempt, to which the worker adds its commits.
    pub(crate) fn own(root: &str) -> Self {
        Self { is_own: true, root: Some(root.to_owned()), ..Self::default() }
    }

    /// Adds a commit that an effect of the running attempt made.
    pub(crate) fn add_commit(&mut self, effect: u64, mark: CommitMark, commit: &str) {
        self.intended.insert(effect, mark);
        self.committed.insert(effect, commit.to_owned());
    }

    /// Returns whether this attempt made a commit with a mark and a seal.
    fn authorship(&self, mark: &CommitMark, commit: &str, link: &str) -> Authorship {
        let committed = |id: &u64| self.committed.get(id).map(String::as_str);
        let Some(root) = &self.root else {
            // The journal is older than seals: its own records decide.
            let is_known =
                self.intended.iter().any(|(id, own)| own == mark && committed(id) == Some(commit));
            return if is_known { Authorship::Recorded } else { Authorship::Foreign };
        };
        let number = seal::number(root, link);
        let Some(id) = number.filter(|id| self.intended.get(id) == Some(mark)) else {
            return Authorship::Foreign;
        };
        match committed(&id) {
            Some(known) if known == commit => Authorship::Recorded,
            None if !self.is_own => Authorship::Unrecorded,
            _ => Authorship::Foreign,
        }
    }
}

/// Whether an attempt made a commit.
///
/// `Recorded` means that the journal has the commit as the outcome of its effect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Authorship {
    /// The attempt did not make the commit.
    Foreign,
    /// The attempt made the commit and died before it recorded the outcome of the effect.
    Unrecorded,
    Recorded,
}

/// Loads the records of a journal up to the first corrupt line.
fn load_records(path: &Path) -> Result<Vec<Record>, EngineError> {
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

/// The journals of attempts that were loaded, by run and attempt.
pub(crate) type AttemptJournals = BTreeMap<(String, u32), AttemptJournal>;

/// The commits of a phase with marks that count, and what they complete.
#[derive(Clone, Debug, Default)]
pub(crate) struct SealedCommits {
    /// The closing commit of each plan.
    pub(crate) plans: BTreeMap<String, String>,
    /// The commit of each task that is done and not undone.
    pub(crate) tasks: BTreeMap<(String, usize), String>,
    /// Plans with tasks that were committed before they were checked.
    pub(crate) unchecked: BTreeSet<String>,
    /// Tasks that were undone. Some of them may have been done again since.
    pub(crate) undone: BTreeSet<(String, usize)>,
    /// The last task, if a crash may have prevented the checks of its commit.
    pub(crate) unproven: Option<(String, usize)>,
    /// The commits that close the phase.
    pub(crate) closing: Vec<String>,
    /// All commits with a mark that counts, newest first.
    pub(crate) commits: Vec<String>,
    /// Commits with a mark that does not count: made, copied or changed by somebody else.
    pub(crate) forged: Vec<String>,
    /// All commits after the base.
    pub(crate) history: History,
}

impl SealedCommits {
    /// Returns the value of a trailer of a commit.
    pub(crate) fn value(&self, commit: &str, key: &str) -> Option<&str> {
        self.history.commits.iter().find(|one| one.commit == commit)?.value(key)
    }

    /// Returns the commit of the last task of a plan.
    pub(crate) fn last_commit_of(&self, plan: &str) -> Option<String> {
        let own = self.tasks.iter().filter(|((of, _), _)| of == plan);
        own.max_by_key(|((_, task), _)| *task).map(|(_, commit)| commit.clone())
    }

    /// Loads the marks of the commits from `base` to `tip`; loads journals into `journals` as
    /// needed.
    pub(crate) fn load(
        git: &Git,
        [base, tip]: [&str; 2],
        phase: (&RunDir, &PhaseNumber),
        journals: &mut AttemptJournals,
    ) -> Result<Self, EngineError> {
        let mut marks = Self::default();
        // The newest commit comes first, so a commit that undoes a task comes before the task.
        let history = History::load(git, base, tip)?;
        for one in &history.commits {
            for (key, value) in &one.trailers {
                let Some(mark) = parse_mark(key, value) else { continue };
                match authorship(one, &mark, phase, journals)? {
                    Authorship::Foreign => marks.forged.push(one.commit.clone()),
                    authorship => marks.add(one, mark, value, authorship),
                }
            }
        }
        marks.history = history;
        Ok(marks)
    }

    fn add(&mut self, one: &HistoryCommit, mark: CommitMark, value: &str, authorship: Authorship) {
        let commit = one.commit.clone();
        let is_last = self.commits.is_empty();
        if self.commits.last() != Some(&commit) {
            self.commits.push(commit.clone());
        }
        match mark {
            CommitMark::Plan(plan) => drop(self.plans.insert(plan, commit)),
            CommitMark::Closed => self.closing.push(commit),
            CommitMark::Undone(_) => self.undone.extend(parse_task(value)),
            CommitMark::Task(plan, number) => {
                let task = (plan, number);
                if self.tasks.contains_key(&task) || self.undone.contains(&task) {
                    return;
                }
                if one.value(PARALLEL_KEY) == Some(value) {
                    self.unchecked.insert(task.0.clone());
                } else if is_last && authorship == Authorship::Unrecorded {
                    self.unproven = Some(task.clone());
                }
                self.tasks.insert(task, commit);
            }
        }
    }
}

/// Returns whether the attempt that a commit names has made the commit.
fn authorship(
    one: &HistoryCommit,
    mark: &CommitMark,
    (run, phase): (&RunDir, &PhaseNumber),
    journals: &mut AttemptJournals,
) -> Result<Authorship, EngineError> {
    let name = one.value(RUN_KEY).unwrap_or(run.run());
    let Some(attempt) = one.value(ATTEMPT_KEY).and_then(|attempt| attempt.parse().ok()) else {
        return Ok(Authorship::Foreign);
    };
    let Ok(of) = run.sibling(name) else { return Ok(Authorship::Foreign) };
    let key = (name.to_owned(), attempt);
    if !journals.contains_key(&key) {
        journals.insert(key.clone(), AttemptJournal::load(&of, phase, attempt)?);
    }
    let link = one.value(SEAL_KEY).unwrap_or_default();
    Ok(journals[&key].authorship(mark, &one.commit, link))
}

fn parse_mark(key: &str, value: &str) -> Option<CommitMark> {
    match key {
        PLAN_KEY => Some(CommitMark::Plan(value.to_owned())),
        TASK_KEY => parse_task(value).map(|(plan, task)| CommitMark::Task(plan, task)),
        UNDONE_KEY => parse_task(value).map(|(plan, _)| CommitMark::Undone(plan)),
        CLOSED_KEY => Some(CommitMark::Closed),
        _ => None,
    }
}

/// Parses the value of a task trailer: `03-01/2`.
fn parse_task(value: &str) -> Option<(String, usize)> {
    let (plan, task) = value.rsplit_once('/')?;
    Some((plan.to_owned(), task.parse().ok()?))
}

#[cfg(test)]
mod tests;

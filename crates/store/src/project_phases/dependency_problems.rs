//! Finds dependencies that no run can satisfy: on phases that do not exist or were withdrawn, and
//! fields that name no phase.
//!
//! A phase with such a dependency must not start as if it depended on nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use mow_core::depends_on;
use mow_core::phase::PhaseNumber;

use super::{ProjectPhase, ProjectPhases};
use crate::disk;
use crate::phase_dirs::{self, PhaseFileCounts};
use crate::roadmap::milestone::shipped_ranges;
use crate::roadmap::{self, WithdrawalKind};

/// The most characters of a field that a message repeats.
const TEXT_MAX: usize = 60;

/// A dependency that cannot be satisfied. Its text names the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyProblem {
    /// The phase with the dependency.
    pub phase: PhaseNumber,
    /// The line of the dependency field in ROADMAP.md, counted from one.
    pub line: usize,
    /// What is wrong.
    pub cause: DependencyCause,
}

/// What is wrong with a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DependencyCause {
    /// The roadmap and the archives have no such phase.
    Unknown(PhaseNumber),
    /// The phase depends on itself.
    Itself,
    /// The field names no phase, or has a placeholder.
    Unreadable(String),
    /// The other phase is withdrawn, by this line.
    Withdrawn(PhaseNumber, usize),
    /// The other phase is in the backlog.
    Backlog(PhaseNumber),
    /// The other phase is open, and the run does not have it.
    NotInRun(PhaseNumber),
}

impl DependencyCause {
    /// Returns the phase that cannot be waited for; `None` if no other phase is named.
    pub fn phase(&self) -> Option<PhaseNumber> {
        match self {
            Self::Unknown(other)
            | Self::Withdrawn(other, _)
            | Self::Backlog(other)
            | Self::NotInRun(other) => Some(*other),
            Self::Itself | Self::Unreadable(_) => None,
        }
    }
}

impl fmt::Display for DependencyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { phase, line, cause } = self;
        write!(f, "ROADMAP.md:{line}: phase {phase} depends on ")?;
        match cause {
            DependencyCause::Unknown(other) => {
                write!(f, "phase {other}, which the roadmap does not have")
            }
            DependencyCause::Itself => f.write_str("itself"),
            DependencyCause::Unreadable(text) => write!(f, "`{text}`, which names no known phase"),
            DependencyCause::Withdrawn(other, line) => {
                write!(f, "phase {other}, which line {line} marks as withdrawn")
            }
            DependencyCause::Backlog(other) => {
                write!(f, "phase {other}, which is in the backlog")
            }
            DependencyCause::NotInRun(other) => {
                write!(f, "phase {other}, which is neither done nor in this run")
            }
        }
    }
}

/// The phases that are finished although the roadmap does not list them as phases: those of
/// archives and of milestones that have shipped.
#[derive(Debug, Default)]
struct FinishedElsewhere {
    numbers: BTreeSet<PhaseNumber>,
    ranges: Vec<(PhaseNumber, PhaseNumber)>,
}

impl FinishedElsewhere {
    fn load(planning: &Path) -> Self {
        let archived = phase_dirs::archived(planning).into_iter().map(|(number, _)| number);
        let mut numbers: BTreeSet<_> = archived.collect();
        let (dirs, ()) = PhaseFileCounts::load_while(planning, || ());
        numbers.extend(dirs.complete());
        let files = std::fs::read_dir(planning.join("milestones")).into_iter().flatten().flatten();
        for file in files.filter(|file| file.file_name().to_string_lossy().ends_with("ROADMAP.md"))
        {
            let bytes = disk::read(&file.path()).ok().flatten().unwrap_or_default();
            numbers.extend(roadmap::parse(&bytes).entries.iter().map(|entry| entry.phase.number));
        }
        let bytes = disk::read(&planning.join("ROADMAP.md")).ok().flatten().unwrap_or_default();
        Self { numbers, ranges: shipped_ranges(&bytes) }
    }

    fn contains(&self, number: &PhaseNumber) -> bool {
        self.numbers.contains(number)
            || self.ranges.iter().any(|(first, last)| (first..=last).contains(&number))
    }
}

impl ProjectPhases {
    /// Returns the dependencies of some phases that cannot be satisfied.
    ///
    /// `done` has further phases that count as done, although the roadmap does not say so.
    pub fn dependency_problems<'a>(
        &self,
        planning: &Path,
        phases: impl IntoIterator<Item = &'a ProjectPhase>,
        done: &BTreeSet<PhaseNumber>,
    ) -> Vec<DependencyProblem> {
        let mut elsewhere = None;
        let known: Vec<_> = self.phases.iter().map(|phase| phase.entry.phase.number).collect();
        let mut problems = Vec::new();
        for phase in phases {
            let entry = &phase.entry;
            let Some(text) = &entry.depends_text else { continue };
            let line = entry.depends_line.unwrap_or(entry.phase.line);
            let number = entry.phase.number;
            let problem = |cause| DependencyProblem { phase: number, line, cause };
            let named = depends_on::named_phases(text, &known);
            let own = &entry.phase.depends_on;
            let is_unreadable = own.is_empty() && named.is_empty();
            if depends_on::has_placeholder(text)
                || is_unreadable && !depends_on::states_no_dependency(text)
            {
                let text = text.chars().take(TEXT_MAX).collect();
                problems.push(problem(DependencyCause::Unreadable(text)));
            }
            if own.is_empty() && named == [number] {
                problems.push(problem(DependencyCause::Itself));
            }
            let all: BTreeSet<_> =
                own.iter().chain(&named).filter(|other| **other != number).collect();
            for other in all.into_iter().filter(|other| !done.contains(other)) {
                let mut is_finished = || {
                    let elsewhere =
                        elsewhere.get_or_insert_with(|| FinishedElsewhere::load(planning));
                    elsewhere.contains(other)
                };
                let cause = self.cause(other, &mut is_finished);
                // "All previous phases" means those that are not withdrawn.
                problems.extend(cause.filter(|_| named.contains(other)).map(problem));
            }
        }
        problems
    }

    /// Returns why a dependency on a phase cannot be satisfied; `None` if it can.
    fn cause(
        &self,
        other: &PhaseNumber,
        is_finished: &mut dyn FnMut() -> bool,
    ) -> Option<DependencyCause> {
        // Of several phases with one number, one that can be satisfied counts.
        let mut same = self.phases.iter().filter(|phase| phase.entry.phase.number == *other);
        let Some(first) = same.next() else {
            return (!is_finished()).then_some(DependencyCause::Unknown(*other));
        };
        let of_phase = |phase: &ProjectPhase| {
            if phase.is_done() {
                return None;
            }
            match &phase.entry.withdrawn {
                Some(withdrawal) if withdrawal.kind == WithdrawalKind::Marked => {
                    Some(DependencyCause::Withdrawn(*other, withdrawal.line))
                }
                _ if other.is_backlog() => Some(DependencyCause::Backlog(*other)),
                _ => None,
            }
        };
        let cause = of_phase(first)?;
        same.all(|phase| of_phase(phase).is_some()).then_some(cause)
    }
}

#[cfg(test)]
mod tests;

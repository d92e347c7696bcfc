//! Combines ROADMAP.md with the phase directories: which phases exist, and which are done.
//!
//! A phase is done when all its plans have summaries, when the roadmap says so, or when its
//! directory is in a milestone's archive. This module writes nothing and opens no file except
//! ROADMAP.md.

mod dependency_problems;

use std::collections::BTreeSet;
use std::path::Path;

use mow_core::graph::{Graph, GraphNode};
use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;

use crate::disk::{self, DiskError};
use crate::phase_dirs::{self, DiskStatus, FileCounts, PhaseFileCounts};
use crate::roadmap::{self, MilestoneHeading, RoadmapEntry, Withdrawal};

pub use dependency_problems::{DependencyCause, DependencyProblem};

/// All phases of a project's roadmap, with the state of their directories.
#[derive(Debug)]
pub struct ProjectPhases {
    /// The phases in the order of ROADMAP.md.
    pub phases: Vec<ProjectPhase>,
    /// The milestones that headings of ROADMAP.md name.
    pub milestones: Vec<MilestoneHeading>,
    /// Indexes into `phases`, ordered by phase number.
    by_number: Vec<usize>,
}

/// A phase of the roadmap, with the state of its directory.
#[derive(Debug)]
pub struct ProjectPhase {
    /// The phase as ROADMAP.md declares it.
    pub entry: RoadmapEntry,
    /// The number of files in its directory; `None` without a directory.
    pub dir: Option<FileCounts>,
    /// Whether its directory is in a milestone's archive.
    is_archived: bool,
}

impl ProjectPhase {
    /// Returns the progress that the files of the directory show.
    pub fn disk_status(&self) -> DiskStatus {
        self.dir.as_ref().map_or(DiskStatus::NoDirectory, FileCounts::status)
    }

    /// Returns whether the phase is done, by its files, by the roadmap or by the archive.
    pub fn is_done(&self) -> bool {
        self.disk_status() == DiskStatus::Complete
            || self.entry.phase.completion.done
            || self.is_archived
    }

    /// Returns why the phase must not start; `None` for an ordinary phase and for one that is done.
    pub fn withdrawal(&self) -> Option<&Withdrawal> {
        self.entry.withdrawn.as_ref().filter(|_| !self.is_done())
    }
}

/// Reads ROADMAP.md and the phase directories; `None` without a ROADMAP.md.
pub fn load(planning: &Path) -> Result<Option<ProjectPhases>, DiskError> {
    let read = || {
        let bytes = disk::read(&planning.join("ROADMAP.md"))?;
        Ok::<_, DiskError>(bytes.map(|bytes| roadmap::parse(&bytes)))
    };
    let (dirs, roadmap) = PhaseFileCounts::load_while(planning, read);
    let Some(roadmap) = roadmap? else { return Ok(None) };
    let mut phases: Vec<_> = roadmap
        .entries
        .into_iter()
        .map(|entry| ProjectPhase {
            dir: dirs.find(&entry.phase.number),
            entry,
            is_archived: false,
        })
        .collect();
    mark_archived(planning, &mut phases);
    phases.sort_by_key(|phase| phase.entry.phase.line);
    let mut by_number: Vec<_> = (0..phases.len()).collect();
    by_number.sort_by(|a, b| phases[*a].entry.phase.number.cmp(&phases[*b].entry.phase.number));
    Ok(Some(ProjectPhases { phases, milestones: roadmap.milestones, by_number }))
}

/// Marks open phases whose directory was moved to an archive.
///
/// Where numbering restarts with each milestone, an archived directory may belong to another phase
/// with the same number. So the directory's name must match too.
fn mark_archived(planning: &Path, phases: &mut [ProjectPhase]) {
    let mut without_dir = phases.iter_mut().filter(|phase| !phase.is_done() && phase.dir.is_none());
    let Some(first) = without_dir.next() else { return };
    let archived = phase_dirs::archived(planning);
    for phase in std::iter::once(first).chain(without_dir) {
        let slug = slug(&phase.entry.phase.name);
        let is_same_phase = |(number, label): &(PhaseNumber, String)| {
            *number == phase.entry.phase.number
                && !(slug.is_empty() || label.is_empty())
                && (slug.starts_with(label.as_str()) || label.starts_with(&slug))
        };
        phase.is_archived = archived.iter().any(is_same_phase);
    }
}

impl ProjectPhases {
    /// Returns the phases for a schedule: those with a section, and all unfinished ones.
    ///
    /// Finished phases that only a folded list still names are left out. A dependency on such a
    /// phase counts as satisfied.
    pub fn scheduled(&self) -> Vec<&ProjectPhase> {
        let wanted = |phase: &&ProjectPhase| phase.entry.phase.sources.heading || !phase.is_done();
        self.phases.iter().filter(wanted).collect()
    }

    /// Finds a phase by its number; the first one when several phases have the number.
    pub fn by_number(&self, number: &PhaseNumber) -> Option<&ProjectPhase> {
        let at = self
            .by_number
            .binary_search_by(|index| self.phases[*index].entry.phase.number.cmp(number));
        at.ok().map(|at| &self.phases[self.by_number[at]])
    }

    /// Builds the dependency graph of some phases.
    ///
    /// Lists the archives only when a dependency names a number that the roadmap does not have.
    pub fn graph(&self, planning: &Path, phases: &[&ProjectPhase]) -> Graph {
        let nodes: Vec<_> = phases
            .iter()
            .map(|project_phase| {
                let phase = &project_phase.entry.phase;
                GraphNode {
                    number: phase.number,
                    block: phase.block,
                    done: project_phase.is_done(),
                    depends_on: phase.depends_on.clone(),
                    parallel_with: phase.parallel_with.clone(),
                }
            })
            .collect();
        let mut known: BTreeSet<PhaseNumber> =
            self.phases.iter().map(|phase| phase.entry.phase.number).collect();
        let graph = Graph::new(nodes.clone(), &known);
        if graph.missing_refs().is_empty() {
            return graph;
        }
        known.extend(phase_dirs::archived(planning).into_iter().map(|(number, _)| number));
        Graph::new(nodes, &known)
    }
}

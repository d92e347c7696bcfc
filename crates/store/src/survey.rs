//! The roadmap laid beside the phase directories: what is declared, what is there, what may run.
//!
//! A phase is done when its plans all have summaries, when the roadmap says so, or when its
//! directory stands in an archive. Nothing is written here, and no file but ROADMAP.md is opened.

use std::collections::BTreeSet;
use std::path::Path;

use mow_core::graph::{Graph, GraphNode};
use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;

use crate::disk::{self, DiskError};
use crate::phase_dirs::{self, DiskStatus, Tallies, Tally};
use crate::roadmap::{self, Entry, Milestone};

/// A project's phases, declared and on disk.
#[derive(Debug)]
pub struct Survey {
    /// The phases in the order of the file.
    pub phases: Vec<Surveyed>,
    /// The milestones that headings name.
    pub milestones: Vec<Milestone>,
    /// The places of the phases, ordered by number.
    by_number: Vec<usize>,
}

/// One phase.
#[derive(Debug)]
pub struct Surveyed {
    /// What the roadmap says.
    pub entry: Entry,
    /// What its directory holds, if it has one.
    pub dir: Option<Tally>,
    /// Whether its directory stands in an archive.
    shipped: bool,
}

impl Surveyed {
    /// Returns how far the files say it is.
    pub fn disk_status(&self) -> DiskStatus {
        self.dir.as_ref().map_or(DiskStatus::NoDirectory, Tally::status)
    }

    /// Returns whether it is done.
    pub fn is_done(&self) -> bool {
        self.disk_status() == DiskStatus::Complete
            || self.entry.phase.completion.done
            || self.shipped
    }
}

/// Reads roadmap and directories; `None` without a ROADMAP.md.
pub fn load(planning: &Path) -> Result<Option<Survey>, DiskError> {
    let read = || {
        let bytes = disk::read(&planning.join("ROADMAP.md"))?;
        Ok::<_, DiskError>(bytes.map(|bytes| roadmap::parse(&bytes)))
    };
    let (dirs, roadmap) = Tallies::load_beside(planning, read);
    let Some(roadmap) = roadmap? else { return Ok(None) };
    let mut phases: Vec<_> = roadmap
        .entries
        .into_iter()
        .map(|entry| Surveyed { dir: dirs.find(&entry.phase.number), entry, shipped: false })
        .collect();
    mark_shipped(planning, &mut phases);
    phases.sort_by_key(|phase| phase.entry.phase.line);
    let mut by_number: Vec<_> = (0..phases.len()).collect();
    by_number.sort_by(|a, b| phases[*a].entry.phase.number.cmp(&phases[*b].entry.phase.number));
    Ok(Some(Survey { phases, milestones: roadmap.milestones, by_number }))
}

/// Marks the open phases without a directory whose directory was archived.
///
/// Where numbering restarts with each milestone, an archived directory may be another phase's, so
/// its name has to fit as well.
fn mark_shipped(planning: &Path, phases: &mut [Surveyed]) {
    let mut lost = phases.iter_mut().filter(|phase| !phase.is_done() && phase.dir.is_none());
    let Some(first) = lost.next() else { return };
    let archived = phase_dirs::archived(planning);
    for phase in std::iter::once(first).chain(lost) {
        let slug = slug(&phase.entry.phase.name);
        let is_its_own = |(number, label): &(PhaseNumber, String)| {
            *number == phase.entry.phase.number
                && !(slug.is_empty() || label.is_empty())
                && (slug.starts_with(label.as_str()) || label.starts_with(&slug))
        };
        phase.shipped = archived.iter().any(is_its_own);
    }
}

impl Survey {
    /// Returns the phases that a schedule is about: those with a section, and all unfinished ones.
    ///
    /// Shipped phases that only a folded list still names are left out; references to them count
    /// as satisfied.
    pub fn scheduled(&self) -> Vec<&Surveyed> {
        let wanted = |phase: &&Surveyed| phase.entry.phase.sources.heading || !phase.is_done();
        self.phases.iter().filter(wanted).collect()
    }

    /// Finds a phase by its number, the first where several carry it.
    pub fn by_number(&self, number: &PhaseNumber) -> Option<&Surveyed> {
        let at = self
            .by_number
            .binary_search_by(|index| self.phases[*index].entry.phase.number.cmp(number));
        at.ok().map(|at| &self.phases[self.by_number[at]])
    }

    /// Builds the graph of some phases.
    pub fn graph(&self, planning: &Path, phases: &[&Surveyed]) -> Graph {
        let nodes: Vec<_> = phases
            .iter()
            .map(|surveyed| {
                let phase = &surveyed.entry.phase;
                GraphNode {
                    number: phase.number,
                    block: phase.block,
                    done: surveyed.is_done(),
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

//! Finds the directory with the newest files of a phase: in the project, in the phase's worktree or
//! in the main root.
//!
//! Until a phase is merged, its worktree has the newer files, also after a failure, a pause or a
//! cancellation, and whichever worktree the command is called from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::claims::{self, Claims};
use mow_store::phase_dirs::{self, PhaseDir, PhaseFileKind};
use mow_store::{disk, manifest, status};

use crate::context::Context;
use crate::worktrees;

/// The planning directories outside of the current project that may have newer files.
pub(crate) struct PhasePlaces {
    /// Those in the worktrees of phases that are not merged.
    worktrees: BTreeMap<PhaseNumber, PathBuf>,
    /// The one in the main root, when the command is called from another worktree.
    main: Option<PathBuf>,
}

impl PhasePlaces {
    /// Reads the manifest of the worktrees and the claims of runs, which win.
    pub(crate) fn load(context: &Context) -> Self {
        let mut worktrees = in_manifest(context).unwrap_or_default();
        worktrees.extend(in_claims(context).unwrap_or_default());
        worktrees.retain(|_, planning| *planning != context.project.planning);
        let is_linked = context.project.main_root().is_some();
        let main = is_linked.then(|| context.main_project().ok()).flatten();
        Self { worktrees, main: main.map(|main| main.planning) }
    }

    /// Returns the directories of a phase.
    fn dirs(&self, phase: &PhaseNumber) -> impl Iterator<Item = PhaseDir> {
        let planning = self.worktrees.get(phase).into_iter().chain(&self.main);
        planning.filter_map(|planning| phase_dirs::find(planning, &phase.to_string()))
    }

    /// Returns the directory with the newest STATUS.md, unless the project's own is as new.
    pub(crate) fn with_newer_status(
        &self,
        phase: &PhaseNumber,
        own: Option<&PhaseDir>,
    ) -> Option<PhaseDir> {
        let updated = |dir: &PhaseDir| {
            let bytes = disk::read(&dir.path.join(dir.status_file()?)).ok()??;
            let time = status::parse(&bytes).last_update;
            Some(if time == status::UNSET { String::new() } else { time })
        };
        let other = self.dirs(phase).max_by_key(updated)?;
        (updated(&other) > own.and_then(updated)).then_some(other)
    }

    /// Returns the directory where most plans are complete, unless the project's own has as many.
    pub(crate) fn with_more_summaries(&self, own: &PhaseDir) -> Option<PhaseDir> {
        let counts =
            |dir: &PhaseDir| (dir.count(PhaseFileKind::Summary), dir.count(PhaseFileKind::Plan));
        let other = self.dirs(own.number.as_ref()?).max_by_key(counts)?;
        (counts(&other) > counts(own)).then_some(other)
    }
}

/// Returns the planning directories in the worktrees that runs have claimed.
fn in_claims(context: &Context) -> Option<BTreeMap<PhaseNumber, PathBuf>> {
    let project = &context.project;
    let claims = Claims::parse(&disk::read(&claims::path(project)).ok()??).ok()?;
    let key = claims::project_key(project);
    let of_runs = claims.claims.iter().filter(|claim| claim.project == key && claim.run.is_some());
    let places = of_runs.filter_map(|claim| {
        let phase = PhaseNumber::parse(&claim.assignment.phase)?;
        Some((phase, Path::new(&claim.assignment.worktree).join(&key).join(".planning")))
    });
    Some(places.collect())
}

/// Returns the planning directories in the worktrees that are listed as not merged.
fn in_manifest(context: &Context) -> Option<BTreeMap<PhaseNumber, PathBuf>> {
    let home = worktrees::home(context).ok()?;
    let manifest = manifest::parse(&disk::read(&home.manifest()).ok()??).ok()?;
    let below_top = context.project.below_top();
    let open = manifest.worktrees.iter().filter(|(_, entry)| entry.is_active());
    let places = open.filter_map(|(name, entry)| {
        let path = entry.text("path").map_or_else(|| home.dir.join(name), PathBuf::from);
        Some((entry.phase()?, home.root.join(path).join(below_top).join(".planning")))
    });
    Some(places.collect())
}

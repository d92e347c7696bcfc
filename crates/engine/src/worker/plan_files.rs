//! Finds and reads the plan and summary files of a phase.

use std::collections::BTreeSet;

use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::plan::{self, Plan};

use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;

/// Returns the plan ids of the files of one kind in a phase directory.
pub(super) fn artifact_ids(
    dir: &phase_dirs::PhaseDir,
    kind: PhaseFileKind,
) -> impl Iterator<Item = String> {
    dir.files_of(kind)
        .filter_map(move |file| kind.id(file))
        .map(str::to_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// Returns the file name of a plan.
pub(super) fn plan_file_name(id: &str) -> String {
    PhaseFileKind::Plan.file(id)
}

/// Reads a plan by its id. A missing file gives an empty plan.
pub(super) fn read_plan(workspace: &PhaseWorkspace, id: &str) -> Result<Plan, EngineError> {
    let bytes = disk::read(&workspace.phase_dir().join(plan_file_name(id)))?.unwrap_or_default();
    Ok(plan::parse(&bytes))
}

/// Returns which plans were complete before this phase had a commit of its own.
pub(super) fn plans_complete_at_base(
    workspace: &PhaseWorkspace,
    ids: &[String],
) -> Result<BTreeSet<String>, EngineError> {
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    let file = |id: &str| PhaseFileKind::Summary.file(id);
    let is_in = |names: &[String]| -> BTreeSet<String> {
        ids.iter().filter(|id| names.iter().any(|name| *name == file(id))).cloned().collect()
    };
    if !workspace.commits_docs {
        let dir = workspace.ctx.project.planning.join("phases").join(&workspace.dir_name);
        let existing = ids.iter().map(|id| file(id)).filter(|file| dir.join(file).exists());
        return Ok(is_in(&existing.collect::<Vec<_>>()));
    }
    // Nothing in this phase can have written the files of its base commit.
    let dir = format!("{}/phases/{}", workspace.planning_below_top(), workspace.dir_name);
    let tree = format!("{}:{dir}", workspace.brief.base);
    let answer = workspace.git().ask(&["ls-tree", "--name-only", "-z", &tree])?;
    let names = if answer.success { answer.stdout } else { Vec::new() };
    Ok(is_in(&mow_host::git::parse_names(&names)))
}

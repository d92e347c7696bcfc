//! The worktree of a phase on the lead's machine: everything that the lead does there.
//!
//! A merge needs the branch of a phase, which is in the lead's repository wherever the worker runs.
//! It needs the worktree for what is not committed, and for people: [`LocalWorktree`] lists that.
//! For a phase on another machine the link would fetch the documents and submodule commits, and a
//! worktree would be made here only when a person has to resolve a conflict.

use std::fs;
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::in_progress;
use mow_host::tamper_detection::files_match_tree;
use mow_host::{rescue, submodules};
use mow_store::claims::{self, Claims};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::json_edit::JsonError;
use mow_store::project::Project;
use mow_store::{manifest, phase_dirs, planning_copy};
use serde_json::json;

use crate::EngineError;
use crate::clock::now_text;
use crate::run_context::{PhaseWorktree, RunContext};

/// The worktree of a phase, as the lead uses it to merge the phase.
#[derive(Debug)]
pub(crate) struct LocalWorktree<'a> {
    ctx: &'a RunContext,
    phase: &'a PhaseNumber,
    worktree: PhaseWorktree,
}

impl<'a> LocalWorktree<'a> {
    pub(crate) fn new(ctx: &'a RunContext, phase: &'a PhaseNumber) -> Result<Self, EngineError> {
        Ok(Self { ctx, phase, worktree: ctx.worktree(phase)? })
    }

    /// Returns the branch of the phase.
    pub(crate) fn branch(&self) -> &str {
        &self.worktree.branch
    }

    /// Returns the path, for commands that a person runs there.
    pub(crate) fn path(&self) -> &Path {
        &self.worktree.path
    }

    /// Returns the planning directory.
    pub(crate) fn planning(&self) -> PathBuf {
        self.ctx.planning_in(&self.worktree.path)
    }

    /// Returns the name of the phase's directory in the planning files.
    pub(crate) fn phase_dir_name(&self) -> Option<String> {
        phase_dirs::find(&self.planning(), &self.phase.to_string()).map(|dir| dir.name)
    }

    /// Returns whether a person has started a merge there.
    pub(crate) fn is_merging(&self) -> bool {
        in_progress::is_merging(&self.worktree.path)
    }

    /// Returns the worktree if it contains exactly this tree, apart from ignored files.
    ///
    /// The files are compared, too, since an agent may have changed the index.
    pub(crate) fn with_tree(&self, tree: &str) -> Result<Option<Git>, EngineError> {
        let git = Git::at_top(&self.worktree.path);
        let own = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])?;
        let is_its_own = own.success && own.text() == tree && !git.is_dirty(true)?;
        Ok((is_its_own && files_match_tree(&git, tree, "")?).then_some(git))
    }

    /// Rescues commits of submodules; returns the submodules whose commits only this worktree has.
    pub(crate) fn rescue_submodule_commits(&self, git: &Git) -> Result<Vec<String>, EngineError> {
        let PhaseWorktree { path, branch, .. } = &self.worktree;
        Ok(submodules::rescue_commits(git, path, branch)?)
    }

    /// Records that the phase is merged in a commit.
    pub(crate) fn mark_merged(&self, commit: &str) -> Result<(), EngineError> {
        let fields = [
            ("merged", json!(true)),
            ("merged_at", json!(now_text())),
            ("last_commit", json!(commit)),
            ("status", json!("merged")),
        ];
        change_manifest(&self.worktree, &fields)
    }

    /// Copies the phase's planning files to the main root, if they are not committed.
    ///
    /// A file in the root that is newer than the phase's is kept under a rescue ref before it is
    /// replaced.
    pub(crate) fn copy_documents_to_root(&self) -> Result<(), EngineError> {
        let ctx = self.ctx;
        if ctx.commits_docs()? {
            return Ok(());
        }
        let Some(dir) = phase_dirs::find(&self.planning(), &self.phase.to_string()) else {
            return Ok(());
        };
        let target = ctx.project.planning.join("phases").join(&dir.name);
        let below = ctx.below_top().join(".planning/phases").join(&dir.name);
        let writer = Writer::open(&ctx.project, WAIT_DEFAULT)?;
        writer.create_dir(&target)?;
        let files = planning_copy::differing_files(&dir.path, &target)?;
        let mut replaced = Vec::new();
        for file in files.iter().filter(|file| is_newer(&target.join(file), &dir.path.join(file))) {
            let bytes = disk::read(&target.join(file))?;
            replaced.extend(bytes.map(|bytes| (below.join(file).display().to_string(), bytes)));
        }
        rescue::keep_files(&Git::new(ctx.top()), &self.worktree.branch, &replaced)?;
        for file in files {
            if let Some(parent) = target.join(&file).parent() {
                writer.create_dir(parent)?;
            }
            writer.copy(&dir.path.join(&file), &target.join(&file))?;
            failpoint::reach("merge.paper.copied");
        }
        Ok(())
    }

    /// Releases the claim of a merged phase.
    pub(crate) fn release_claim(&self) -> Result<(), EngineError> {
        let project = &self.ctx.project;
        let key = claims::project_key(project);
        let writer = Writer::open_engine(project, WAIT_DEFAULT)?;
        writer.update(&claims::path(project), |old| {
            let mut claims = Claims::parse(old.unwrap_or_default()).unwrap_or_default();
            let path = self.worktree.path.display().to_string();
            let released = claims.release(&key, &path, &self.phase.to_string());
            Ok::<_, EngineError>(released.then(|| claims.render()))
        })?;
        failpoint::reach("claim.released");
        Ok(())
    }
}

/// Returns the project inside a worktree.
pub(super) fn project_in(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
) -> Result<Project, EngineError> {
    let root = worktree.path.join(ctx.below_top());
    let mut project = Project::find_or_cwd(&worktree.path)?;
    (project.planning, project.root) = (root.join(".planning"), root);
    project.planned = true;
    Ok(project)
}

/// Returns whether a file is newer than another one, or the other one does not exist.
pub(super) fn is_newer(file: &Path, other: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
    changed(file) > changed(other)
}

/// Sets fields of the entry of a worktree in the manifest.
pub(super) fn change_manifest(
    worktree: &PhaseWorktree,
    fields: &[(&str, serde_json::Value)],
) -> Result<(), EngineError> {
    // The same lock that worktree commands take.
    let project = Project::find_or_cwd(&worktree.home.root)?;
    let mut writer = Writer::open(&project, WAIT_DEFAULT)?;
    if worktree.home.path().starts_with(&project.root) {
        writer.create_dir(&worktree.home.path())?;
    }
    writer = writer.with_root(&worktree.home.path())?;
    writer.update(&worktree.home.manifest(), |old| {
        let old = old.unwrap_or_default();
        let changed = named_manifest(old, &worktree.home.root)
            .and_then(|old| manifest::set_entry(&old, &worktree.name, fields, &now_text()));
        changed.map(Some).map_err(|error| {
            let path = worktree.home.manifest();
            EngineError::refused(format!("{}: {error}", path.display()), "repair the file")
        })
    })?;
    Ok(())
}

/// Returns the manifest with the project's name.
fn named_manifest(bytes: &[u8], root: &Path) -> Result<Vec<u8>, JsonError> {
    if manifest::parse(bytes)?.project.is_some() {
        return Ok(bytes.to_vec());
    }
    manifest::set_project(bytes, &root.file_name().unwrap_or_default().to_string_lossy())
}

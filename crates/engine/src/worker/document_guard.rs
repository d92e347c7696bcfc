//! Protects planning files that agents must not change: shared files, CONTEXT.md, and the files of
//! other phases.
//!
//! The guard restores a changed file, keeps the agent's version under a rescue ref, and tells a
//! person. While an agent runs, the old CONTEXT.md is also saved in a file of the run. If the
//! worker dies with the agent, the next worker would otherwise take the agent's words for a
//! person's, and merge them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mow_core::worker::Role;
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use super::phase_workspace::PhaseWorkspace;
use super::role_documents::RoleDocuments;
use crate::EngineError;

/// The planning files of all phases, which only the lead and people write.
const SHARED_FILES: [&str; 5] =
    ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md", "PROJECT.md", "config.json"];

/// The protected planning files before an agent ran.
pub(super) struct DocumentSnapshot {
    /// Whole contents; `None` for a file that did not exist.
    files: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// The stamps of the files of other phases. Git has their contents.
    other_phases: BTreeMap<OsString, FileStamp>,
}

/// The change time of a file in seconds and nanoseconds, and its length.
type FileStamp = (i64, i64, u64);

/// Takes snapshots of protected planning files and restores them.
#[derive(Clone, Copy)]
pub(super) struct DocumentGuard<'a> {
    workspace: &'a PhaseWorkspace,
    role_documents: RoleDocuments<'a>,
}

impl<'a> DocumentGuard<'a> {
    pub(super) fn new(workspace: &'a PhaseWorkspace) -> Self {
        Self { workspace, role_documents: RoleDocuments::new(workspace) }
    }

    /// Reads the protected files before a role runs, and saves CONTEXT.md if an agent runs it.
    pub(super) fn snapshot(&self, role: Role) -> Result<DocumentSnapshot, EngineError> {
        let context = self.workspace.document("CONTEXT");
        self.recover_context(&context)?;
        if self.workspace.agent_for(role)?.is_some() {
            let before = serde_json::to_vec(&disk::read(&context)?).unwrap_or_default();
            disk::write_engine_file(&self.context_backup(), &before)?;
            failpoint::reach("paper.guarded");
        }
        let shared = SHARED_FILES.iter().map(|name| self.workspace.project.planning.join(name));
        let all = shared.chain([context]);
        let files = all.map(|path| Ok((path.clone(), disk::read(&path)?)));
        let files = files.collect::<Result<_, EngineError>>()?;
        Ok(DocumentSnapshot { files, other_phases: self.other_phase_stamps() })
    }

    /// Restores every protected file that changed since the snapshot.
    pub(super) fn restore(&self, snapshot: &DocumentSnapshot) -> Result<(), EngineError> {
        if !self.workspace.worktree.join(".git").exists() {
            // There is no worktree to restore into. The repository guard reports that.
            return Ok(());
        }
        for (path, before) in &snapshot.files {
            self.restore_file(path, before.as_deref())?;
        }
        let (before, now) = (&snapshot.other_phases, self.other_phase_stamps());
        let all: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        for path in all.into_iter().filter(|path| before.get(*path) != now.get(*path)) {
            self.restore_other_phase_file(Path::new(path), before.contains_key(path))?;
        }
        self.remove_context_backup()
    }

    /// Restores a file to its old contents; `None` for a file that did not exist.
    fn restore_file(&self, path: &Path, before: Option<&[u8]>) -> Result<(), EngineError> {
        let now = disk::read(path)?;
        if now.as_deref() == before {
            return Ok(());
        }
        let is_rescued = self.rescue_file(path, now)?;
        let writer = Writer::open(&self.workspace.project, WAIT_DEFAULT)?;
        match before {
            Some(bytes) => writer.replace(path, bytes)?,
            None => writer.remove_file(path)?,
        };
        failpoint::reach("paper.restored");
        self.note_restored(path, is_rescued);
        Ok(())
    }

    /// Returns the file that holds CONTEXT.md as it was before an agent of this phase began.
    fn context_backup(&self) -> PathBuf {
        let name = format!("{}.context", self.workspace.file_prefix());
        self.workspace.ctx.run.path().join("sessions").join(name)
    }

    /// Restores CONTEXT.md if the agents of a worker that died may have changed it.
    pub(super) fn recover_after_crash(&self) -> Result<(), EngineError> {
        // Only once: a later backup belongs to an agent of this worker.
        if std::mem::replace(&mut self.workspace.trusted().documents_recovered, true) {
            return Ok(());
        }
        self.recover_context(&self.workspace.document("CONTEXT"))
    }

    /// Restores CONTEXT.md from its backup, if there is one.
    fn recover_context(&self, context: &Path) -> Result<(), EngineError> {
        let Some(backup) = disk::read(&self.context_backup())? else { return Ok(()) };
        // A person's later change in the main worktree is copied here, and it counts.
        if let Ok(before) = serde_json::from_slice::<Option<Vec<u8>>>(&backup)
            && !self.role_documents.matches_main_worktree(context)?
        {
            self.restore_file(context, before.as_deref())?;
        }
        self.remove_context_backup()
    }

    fn remove_context_backup(&self) -> Result<(), EngineError> {
        let backup = self.context_backup();
        if disk::read(&backup)?.is_some() {
            disk::remove_engine_file(&backup)?;
            failpoint::reach("paper.released");
        }
        Ok(())
    }

    /// Restores a file of another phase from the last commit; removes a file that an agent
    /// created.
    fn restore_other_phase_file(&self, path: &Path, existed: bool) -> Result<(), EngineError> {
        let git = self.workspace.git().plumbing();
        let below = self.workspace.below_worktree(path);
        let is_committed = !git.run(&["ls-tree", "-z", "HEAD", "--", &below])?.stdout.is_empty();
        let is_rescued = self.rescue_file(path, disk::read(path)?)?;
        if is_committed {
            let restore = ["--literal-pathspecs", "restore", "--source=HEAD", "--staged"];
            let from = ["--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
            git.run_with(&[&restore[..], &from].concat(), below.as_bytes())?;
        } else if !existed {
            Writer::open(&self.workspace.project, WAIT_DEFAULT)?.remove_file(path)?;
        }
        failpoint::reach("paper.of_other.restored");
        self.note_restored(path, is_rescued);
        Ok(())
    }

    /// Keeps the agent's version of a file under a rescue ref; returns whether there was one.
    fn rescue_file(&self, path: &Path, now: Option<Vec<u8>>) -> Result<bool, EngineError> {
        let workspace = self.workspace;
        let files: Vec<_> =
            now.into_iter().map(|bytes| (workspace.below_worktree(path), bytes)).collect();
        let name = workspace.rescue_name("papers");
        let rescued = rescue::keep_files(&workspace.git(), &name, &files)?;
        failpoint::reach("paper.kept");
        Ok(rescued.is_some())
    }

    fn note_restored(&self, path: &Path, is_rescued: bool) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rescued = if is_rescued { "; its version is kept (see `mow rescue list`)" } else { "" };
        let text = format!("an agent changed {name}, which agents must not change{rescued}");
        self.workspace.note(&text);
    }

    fn other_phase_stamps(&self) -> BTreeMap<OsString, FileStamp> {
        let (mut found, own) = (BTreeMap::new(), self.workspace.phase_dir());
        let mut dirs = vec![self.workspace.project.planning.join("phases")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_file() {
                    let stamp = (metadata.ctime(), metadata.ctime_nsec(), metadata.len());
                    found.insert(entry.path().into_os_string(), stamp);
                } else if metadata.is_dir() && entry.path() != own {
                    dirs.push(entry.path());
                }
            }
        }
        found
    }
}

//! Keeps planning files that are not an agent's business as they were.
//!
//! What an agent wrote there is kept under a rescue ref, and a person is told. What CONTEXT.md said is
//! also noted in a file of the run while an agent is at work: if the worker dies with it, the next one
//! would otherwise take the agent's words for those of a person, and merge them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use mow_core::worker::Role;
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use super::desk::Desk;
use crate::EngineError;

/// Planning files of all phases that only the lead and people write.
const SHARED: [&str; 5] =
    ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md", "PROJECT.md", "config.json"];

/// What the files were like that the agents of a phase must not touch.
pub(super) struct Guarded {
    /// Whole files; `None` for one that was not there.
    papers: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// What tells whether a file of another phase was changed, by its path. Git has what it was.
    others: BTreeMap<OsString, Stamp>,
}

/// When a file was changed last, and how long it is.
type Stamp = (i64, i64, u64);

impl Desk {
    /// Looks at the files that the agents of a phase must not touch.
    pub(super) fn guard_papers(&self, role: Role) -> Result<Guarded, EngineError> {
        let context = self.phase_dir().join(self.context_name());
        self.recover_context(&context)?;
        if self.cast(role)?.is_some() {
            let before = serde_json::to_vec(&disk::read(&context)?).unwrap_or_default();
            disk::put(&self.context_note(), &before)?;
            failpoint::reach("paper.guarded");
        }
        let shared = SHARED.iter().map(|name| self.project.planning.join(name));
        let all = shared.chain([context]);
        let papers = all.map(|path| Ok((path.clone(), disk::read(&path)?)));
        let papers = papers.collect::<Result<_, EngineError>>()?;
        Ok(Guarded { papers, others: self.papers_of_others() })
    }

    /// Puts those back that an agent changed all the same.
    pub(super) fn restore_papers(&self, guarded: &Guarded) -> Result<(), EngineError> {
        if !self.worktree.join(".git").exists() {
            // There is nothing to put back into; whoever looks at the worktree next says so.
            return Ok(());
        }
        for (path, before) in &guarded.papers {
            self.restore_paper(path, before.as_deref())?;
        }
        let now = self.papers_of_others();
        let all: BTreeSet<_> = guarded.others.keys().chain(now.keys()).collect();
        for path in all.into_iter().filter(|path| guarded.others.get(*path) != now.get(*path)) {
            self.restore_of_other(Path::new(path), guarded.others.contains_key(path))?;
        }
        self.forget_context()
    }

    /// Puts a file back to what it was; `None` for one that was not there.
    fn restore_paper(&self, path: &Path, before: Option<&[u8]>) -> Result<(), EngineError> {
        let now = disk::read(path)?;
        if now.as_deref() == before {
            return Ok(());
        }
        let kept = self.keep_paper(path, now)?;
        let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
        match before {
            Some(bytes) => writer.replace(path, bytes)?,
            None => writer.remove_file(path)?,
        };
        failpoint::reach("paper.restored");
        self.tell_of_paper(path, kept);
        Ok(())
    }

    fn context_name(&self) -> String {
        format!("{}-CONTEXT.md", self.padded())
    }

    /// Returns the file that says what CONTEXT.md was before an agent of this phase began.
    fn context_note(&self) -> PathBuf {
        self.site.run.path().join("sessions").join(format!("{}.context", self.padded()))
    }

    /// Puts back what agents of a worker that died may have left, before this one looks at it.
    pub(super) fn recover_papers(&self) -> Result<(), EngineError> {
        // Once only: later a note is about an agent of our own.
        if std::mem::replace(&mut self.trust().recovered, true) {
            return Ok(());
        }
        self.recover_context(&self.phase_dir().join(self.context_name()))
    }

    /// Puts CONTEXT.md back to what it was before the agent began.
    fn recover_context(&self, context: &Path) -> Result<(), EngineError> {
        let Some(note) = disk::read(&self.context_note())? else { return Ok(()) };
        // What a person has changed in the main worktree since is brought here, and counts.
        if let Ok(before) = serde_json::from_slice::<Option<Vec<u8>>>(&note)
            && !self.is_of_root(context)?
        {
            self.restore_paper(context, before.as_deref())?;
        }
        self.forget_context()
    }

    fn forget_context(&self) -> Result<(), EngineError> {
        let note = self.context_note();
        if disk::read(&note)?.is_some() {
            disk::remove(&note)?;
            failpoint::reach("paper.released");
        }
        Ok(())
    }

    /// Puts a file of another phase back to what is committed; one that was made is taken away.
    fn restore_of_other(&self, path: &Path, was_there: bool) -> Result<(), EngineError> {
        let git = self.git().plumbing();
        let below = self.below_worktree(path);
        let is_committed = !git.run(&["ls-tree", "-z", "HEAD", "--", &below])?.stdout.is_empty();
        let kept = self.keep_paper(path, disk::read(path)?)?;
        if is_committed {
            let restore = ["--literal-pathspecs", "restore", "--source=HEAD", "--staged"];
            let from = ["--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
            git.run_with(&[&restore[..], &from].concat(), below.as_bytes())?;
        } else if !was_there {
            Writer::open(&self.project, WAIT_DEFAULT)?.remove_file(path)?;
        }
        failpoint::reach("paper.of_other.restored");
        self.tell_of_paper(path, kept);
        Ok(())
    }

    /// Keeps what an agent wrote; returns whether there was anything.
    fn keep_paper(&self, path: &Path, now: Option<Vec<u8>>) -> Result<bool, EngineError> {
        let files: Vec<_> =
            now.into_iter().map(|bytes| (self.below_worktree(path), bytes)).collect();
        let kept = rescue::keep_files(&self.git(), &self.rescue_name("papers"), &files)
            .map_err(|error| EngineError::Host(error.into()))?;
        failpoint::reach("paper.kept");
        Ok(kept.is_some())
    }

    fn tell_of_paper(&self, path: &Path, is_kept: bool) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kept = if is_kept { "; what it wrote is kept: mow rescue list" } else { "" };
        self.note(&format!("an agent changed {name}, which is not its business{kept}"));
    }

    pub(super) fn below_worktree(&self, path: &Path) -> String {
        path.strip_prefix(&self.worktree).unwrap_or(path).display().to_string()
    }

    fn papers_of_others(&self) -> BTreeMap<OsString, Stamp> {
        let (mut found, own) = (BTreeMap::new(), self.phase_dir());
        let mut dirs = vec![self.project.planning.join("phases")];
        while let Some(dir) = dirs.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let Ok(about) = entry.metadata() else { continue };
                if about.is_file() {
                    let stamp = (about.ctime(), about.ctime_nsec(), about.len());
                    found.insert(entry.path().into_os_string(), stamp);
                } else if about.is_dir() && entry.path() != own {
                    dirs.push(entry.path());
                }
            }
        }
        found
    }
}

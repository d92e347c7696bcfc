//! Keeps planning files that are not an agent's business as they were.
//!
//! What an agent wrote there is kept under a rescue ref, and a person is told.

use std::path::PathBuf;

use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use super::desk::Desk;
use crate::EngineError;

/// Planning files of all phases that only the lead and people write.
const SHARED: [&str; 5] =
    ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md", "PROJECT.md", "config.json"];

/// What guarded files were like; `None` for one that was not there.
pub(super) type Guarded = Vec<(PathBuf, Option<Vec<u8>>)>;

impl Desk {
    /// Looks at the files that the agents of a phase must not touch.
    pub(super) fn guard_papers(&self) -> Result<Guarded, EngineError> {
        let context = self.phase_dir().join(format!("{}-CONTEXT.md", self.padded()));
        let shared = SHARED.iter().map(|name| self.project.planning.join(name));
        let all = shared.chain([context]);
        all.map(|path| Ok((path.clone(), disk::read(&path)?))).collect()
    }

    /// Puts those back that an agent changed all the same.
    pub(super) fn restore_papers(&self, guarded: &Guarded) -> Result<(), EngineError> {
        for (path, before) in guarded {
            let now = disk::read(path)?;
            if now == *before {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let below = path.strip_prefix(&self.worktree).unwrap_or(path).display().to_string();
            let files: Vec<_> = now.into_iter().map(|bytes| (below.clone(), bytes)).collect();
            let kept = rescue::keep_files(&self.git(), &self.rescue_name("papers"), &files)
                .map_err(|error| EngineError::Host(error.into()))?;
            let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
            match before {
                Some(bytes) => writer.replace(path, bytes)?,
                None => writer.remove_file(path)?,
            };
            let kept = kept.map(|_| "; what it wrote is kept: mow rescue list").unwrap_or_default();
            self.note(&format!("an agent changed {name}, which is not its business{kept}"));
        }
        Ok(())
    }
}

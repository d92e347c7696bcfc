//! Copies the files that a look-ahead wrote to the main root.
//!
//! A file that exists in the root is never changed: a person or an earlier look-ahead wrote it. The
//! last line of a look-ahead file says so, and names its base commit. When the phase starts, the
//! link commits the files to its branch and removes them from the root, where they would block the
//! merge.

use std::path::Path;

use mow_core::lead::Outcome;
use mow_core::stage::Stage;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use crate::EngineError;
use crate::link::{LookAheadFile, WorkerKey, WorkerLink};
use crate::look_ahead_mark::{is_marked, with_mark};
use crate::run_context::RunContext;

/// Moves the files of complete stages to the main root; moves the rest to a rescue ref.
pub(super) fn collect(
    ctx: &RunContext,
    link: &mut impl WorkerLink,
    key: WorkerKey,
    through: Option<Stage>,
) -> Result<Outcome, EngineError> {
    let mut taken = Vec::new();
    for file in link.gather(key, through)? {
        if copy_to_root(ctx, &file)? {
            taken.push(file);
        }
    }
    failpoint::reach("gather.moved");
    link.reset(key, &taken)?;
    failpoint::reach("gather.reset");
    Ok(Outcome::Done)
}

/// Copies one file to the main root, unless a file of its name exists; returns whether the root has
/// its content.
///
/// If a person wrote the file meanwhile, that one counts, and the reset rescues this one.
fn copy_to_root(ctx: &RunContext, file: &LookAheadFile) -> Result<bool, EngineError> {
    let marked = with_mark(&file.bytes, &file.base);
    let dir = ctx.project.planning.join("phases").join(&file.dir);
    let writer = Writer::open(&ctx.project, WAIT_DEFAULT)?;
    writer.create_dir(&dir)?;
    let mut current = None;
    let name = file.path.file_name().unwrap_or_default();
    writer.update(&dir.join(name), |old| {
        current = Some(old.map_or_else(|| marked.clone(), <[u8]>::to_vec));
        Ok::<_, EngineError>(old.is_none().then(|| marked.clone()))
    })?;
    failpoint::reach("gather.brought");
    Ok(current.is_some_and(|current| current == marked || current == file.bytes))
}

/// Returns whether a file is marked as made by a look-ahead.
pub fn is_look_ahead_file(path: &Path) -> bool {
    disk::read(path).ok().flatten().is_some_and(|bytes| is_marked(&bytes))
}

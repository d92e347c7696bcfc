//! Copies the planning files of the main worktree to a new worktree, and compares the two.
//!
//! Equal files are not written again. The engine's directory `.mow` and temporary files are not
//! planning files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, DiskError, WAIT_DEFAULT, Writer};
use crate::project::Project;

/// The maximum depth of directories; deeper files are not planning files.
const DEPTH_MAX: usize = 16;

/// How often all files are copied, because another process changes some of them meanwhile.
const PASSES_MAX: usize = 5;

/// Makes a project's planning directory equal to `from`; returns the files that still differ.
///
/// Paths that `is_kept` accepts are not changed.
pub fn mirror(
    from: &Path,
    to: &Project,
    is_kept: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DiskError> {
    if is_same_dir(from, &to.planning) {
        return Ok(Vec::new());
    }
    let mut differing = copy(from, to, &is_kept)?;
    for _ in 1..PASSES_MAX {
        if differing.is_empty() {
            break;
        }
        differing = copy(from, to, &is_kept)?;
    }
    Ok(differing)
}

/// Copies all files once; returns the files that differ afterwards.
fn copy(
    from: &Path,
    to: &Project,
    is_kept: &impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DiskError> {
    let target = to.planning.clone();
    let DirListing { files: source, dirs } = list(from)?;
    let writer = Writer::open(to, WAIT_DEFAULT)?;
    for dir in dirs.iter().filter(|dir| !is_kept(dir)) {
        writer.create_dir(&target.join(dir))?;
    }
    for file in source.iter().filter(|file| !is_kept(file)) {
        match writer.copy(&from.join(file), &target.join(file)) {
            // Another process removed the file meanwhile; the next pass removes the copy.
            Err(_) if !from.join(file).exists() => {}
            copied => drop(copied?),
        }
    }
    for file in list(&target)?.files.difference(&source).filter(|file| !is_kept(file)) {
        writer.remove_file(&target.join(file))?;
    }
    drop(writer);
    let differs =
        |file: &&PathBuf| !is_kept(file) && !is_equal(&from.join(file), &target.join(file));
    Ok(source.iter().filter(differs).cloned().collect())
}

/// Returns the files below `from` that are missing in `other` or have other content there.
pub fn differing_files(from: &Path, other: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let files = list(from)?.files;
    Ok(files.into_iter().filter(|file| !is_equal(&from.join(file), &other.join(file))).collect())
}

fn is_same_dir(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn is_equal(a: &Path, b: &Path) -> bool {
    matches!((disk::read(a), disk::read(b)), (Ok(Some(a)), Ok(Some(b))) if a == b)
}

/// The content of a directory, as paths relative to it. Parents come before their children.
#[derive(Default)]
struct DirListing {
    files: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

/// Lists all files and directories below a directory; a missing directory is empty.
fn list(dir: &Path) -> Result<DirListing, DiskError> {
    let mut found = DirListing::default();
    let mut pending = vec![(PathBuf::new(), 0)];
    while let Some((relative, depth)) = pending.pop() {
        let current = dir.join(&relative);
        let failed = |source: io::Error| DiskError::Io {
            action: "read directory",
            path: current.clone(),
            source,
        };
        let entries = match fs::read_dir(&current) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        found.dirs.insert(relative.clone());
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = entry.file_name();
            let is_internal = name == ".mow" || name.as_encoded_bytes().starts_with(b".mow-tmp-");
            let path = relative.join(&name);
            if is_internal {
                continue;
            } else if kind.is_dir() && depth < DEPTH_MAX {
                pending.push((path, depth + 1));
            } else if entry.path().is_file() {
                // A link to a file counts as that file; a link to a directory is left out.
                found.files.insert(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

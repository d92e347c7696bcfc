//! Gives a new worktree the planning files of the main one, and checks that it has them.
//!
//! Files that are equal already are not written. The engine's own directory and unfinished writes
//! are no planning files.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{self, DiskError, WAIT_DEFAULT, Writer};
use crate::project::Project;

/// How deep directories may be nested; deeper ones are no planning files.
const DEPTH_MAX: usize = 16;

/// How often it is copied again what somebody changed meanwhile.
const PASSES_MAX: usize = 5;

/// Makes the planning directory of a project equal to another one; returns what still differs.
///
/// Paths below a directory that `keeps` accepts are left as they are.
pub fn mirror(
    from: &Path,
    to: &Project,
    keeps: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DiskError> {
    if is_same_dir(from, &to.planning) {
        return Ok(Vec::new());
    }
    let mut differing = copy(from, to, &keeps)?;
    for _ in 1..PASSES_MAX {
        if differing.is_empty() {
            break;
        }
        differing = copy(from, to, &keeps)?;
    }
    Ok(differing)
}

/// Copies once; returns what differs then.
fn copy(
    from: &Path,
    to: &Project,
    keeps: &impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, DiskError> {
    let target = to.planning.clone();
    let Listing { files: source, dirs } = list(from)?;
    let writer = Writer::open(to, WAIT_DEFAULT)?;
    for dir in dirs.iter().filter(|dir| !keeps(dir)) {
        writer.create_dir(&target.join(dir))?;
    }
    for file in source.iter().filter(|file| !keeps(file)) {
        match writer.copy(&from.join(file), &target.join(file)) {
            // Somebody removed it meanwhile; the next pass sees that.
            Err(_) if !from.join(file).exists() => {}
            copied => drop(copied?),
        }
    }
    for file in list(&target)?.files.difference(&source).filter(|file| !keeps(file)) {
        writer.remove_file(&target.join(file))?;
    }
    drop(writer);
    let differs = |file: &&PathBuf| !keeps(file) && !is_equal(&from.join(file), &target.join(file));
    Ok(source.iter().filter(differs).cloned().collect())
}

/// Returns the files below a directory that another one does not have in the same form.
pub fn missing_in(from: &Path, other: &Path) -> Result<Vec<PathBuf>, DiskError> {
    let own = list(from)?.files;
    Ok(own.into_iter().filter(|file| !is_equal(&from.join(file), &other.join(file))).collect())
}

fn is_same_dir(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn is_equal(a: &Path, b: &Path) -> bool {
    matches!((disk::read(a), disk::read(b)), (Ok(Some(a)), Ok(Some(b))) if a == b)
}

/// What is below a directory, relative to it; parents stand before what they hold.
#[derive(Default)]
struct Listing {
    files: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
}

/// Lists what is below a directory; nothing when it is not there.
fn list(dir: &Path) -> Result<Listing, DiskError> {
    let mut found = Listing::default();
    let mut open = vec![(PathBuf::new(), 0)];
    while let Some((below, depth)) = open.pop() {
        let place = dir.join(&below);
        let failed = |source: io::Error| DiskError::Io {
            action: "read directory",
            path: place.clone(),
            source,
        };
        let entries = match fs::read_dir(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        found.dirs.insert(below.clone());
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = entry.file_name();
            let is_ours = name == ".mow" || name.as_encoded_bytes().starts_with(b".mow-tmp-");
            let path = below.join(&name);
            if is_ours {
                continue;
            } else if kind.is_dir() && depth < DEPTH_MAX {
                open.push((path, depth + 1));
            } else if entry.path().is_file() {
                // A link counts as the file it leads to; one to a directory is left out.
                found.files.insert(path);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;

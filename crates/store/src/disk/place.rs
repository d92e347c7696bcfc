//! Decides where a path really leads, and refuses what leads out of the roots.
//!
//! Only looks. A link that somebody swaps between the look and the write is not guarded against:
//! whoever can do that can write the project's files anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::DiskError;

/// How many links in a row are followed, as in the kernel.
const LINKS_MAX: usize = 40;

/// The directories that may be written. Relative paths are taken from the first.
#[derive(Debug)]
pub(super) struct Place {
    /// Real paths, at least one.
    roots: Vec<PathBuf>,
}

impl Place {
    /// Takes directories without symbolic links in their paths.
    pub(super) fn new(roots: Vec<PathBuf>) -> Self {
        assert!(!roots.is_empty(), "a place has a root");
        Self { roots }
    }

    /// Adds a directory without symbolic links in its path.
    pub(super) fn add(&mut self, root: PathBuf) {
        self.roots.push(root);
    }

    /// The path from the first root, unresolved.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.roots[0].join(path)
    }

    /// The real path of a directory entry; a link there is meant itself.
    pub(super) fn entry(&self, path: &Path) -> Result<PathBuf, DiskError> {
        self.checked(path, real_entry(&self.absolute(path)))
    }

    /// The real path of a file; links are followed to it, whether it exists or not.
    pub(super) fn target(&self, path: &Path) -> Result<PathBuf, DiskError> {
        self.checked(path, follow(&self.absolute(path)))
    }

    fn checked(&self, path: &Path, real: io::Result<PathBuf>) -> Result<PathBuf, DiskError> {
        let real = real.map_err(DiskError::io("find", &self.absolute(path)))?;
        if self.roots.iter().any(|root| real.starts_with(root) && real != *root) {
            return Ok(real);
        }
        Err(DiskError::Outside { path: path.to_path_buf(), root: self.roots[0].clone() })
    }
}

fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut entry = real_entry(path)?;
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&entry) else {
            // Not a link, or nothing there yet. Anything worse shows when the file is opened.
            return Ok(entry);
        };
        entry = real_entry(&entry.with_file_name(next))?;
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Resolves all of a path but its last component.
fn real_entry(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file")),
    }
}

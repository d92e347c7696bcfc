//! Resolves symbolic links in a path and refuses paths outside the writable directories.
//!
//! Only reads. It does not guard against a link that changes between this check and the write: a
//! process that can change links there can write the project's files anyway.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::DiskError;

/// How many links in a row are followed: the kernel's limit.
const LINKS_MAX: usize = 40;

/// The directories that may be written. Relative paths start at the first.
#[derive(Debug)]
pub(super) struct WritableRoots {
    /// Paths without symbolic links; at least one.
    roots: Vec<PathBuf>,
}

impl WritableRoots {
    /// Makes the list from directories whose paths have no symbolic links.
    pub(super) fn new(roots: Vec<PathBuf>) -> Self {
        assert!(!roots.is_empty(), "there is a first root");
        Self { roots }
    }

    /// Adds a directory whose path has no symbolic links.
    pub(super) fn add(&mut self, root: PathBuf) {
        self.roots.push(root);
    }

    /// Joins a path to the first root, without resolving links.
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        self.roots[0].join(path)
    }

    /// Returns the real path of a directory entry. A link at the end of the path is not followed.
    pub(super) fn resolve_entry(&self, path: &Path) -> Result<PathBuf, DiskError> {
        self.check_inside(path, real_entry(&self.absolute(path)))
    }

    /// Returns the real path of a file, all links followed, whether the file exists or not.
    pub(super) fn resolve_target(&self, path: &Path) -> Result<PathBuf, DiskError> {
        self.check_inside(path, follow_links(&self.absolute(path)))
    }

    /// Refuses a resolved path that is not below one of the roots.
    fn check_inside(&self, path: &Path, real: io::Result<PathBuf>) -> Result<PathBuf, DiskError> {
        let real = real.map_err(DiskError::io("find", &self.absolute(path)))?;
        if self.roots.iter().any(|root| real.starts_with(root) && real != *root) {
            return Ok(real);
        }
        Err(DiskError::Outside { path: path.to_path_buf(), root: self.roots[0].clone() })
    }
}

fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut entry = real_entry(path)?;
    for _ in 0..LINKS_MAX {
        let Ok(next) = fs::read_link(&entry) else {
            // Not a link, or no such file yet. Other errors show when the file is opened.
            return Ok(entry);
        };
        entry = real_entry(&entry.with_file_name(next))?;
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Resolves the links of a path's parent, and keeps the last component.
fn real_entry(path: &Path) -> io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file")),
    }
}

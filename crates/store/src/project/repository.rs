//! Finds the git repository that contains a directory by reading `.git`, without running git.
//!
//! A `.git` entry that git would not accept, such as an invalid file or a dangling path, is
//! ignored. Only reads; never writes into a repository.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The maximum size of a `.git` or `commondir` file; a valid one holds only a path.
const POINTER_BYTES_MAX: u64 = 8192;

/// A git repository as seen from one of its checkouts. All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRepository {
    /// The top of this checkout, or the repository itself when it is bare.
    pub top: PathBuf,
    /// The git directory of this checkout.
    pub git_dir: PathBuf,
    /// The git directory that all worktrees of the repository share.
    pub common_dir: PathBuf,
    /// The top of the main worktree when this checkout is linked; `None` if it cannot be derived.
    pub main_top: Option<PathBuf>,
}

impl GitRepository {
    /// Finds the innermost repository that contains `dir`, an absolute path.
    pub fn find(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(|top| Self::at(top).or_else(|| Self::bare_at(top)))
    }

    /// Reads the checkout at `top`; `None` when it has no valid `.git`.
    fn at(top: &Path) -> Option<Self> {
        let dot_git = top.join(".git");
        let kind = fs::metadata(&dot_git).ok()?;
        let git_dir = if kind.is_dir() {
            dot_git
        } else if kind.is_file() {
            top.join(parse_gitdir(&read_pointer(&dot_git)?)?)
        } else {
            return None;
        };
        let git_dir = fs::canonicalize(git_dir).ok()?;
        // Every git directory has a HEAD; in very old ones it may be a dangling symbolic link.
        fs::symlink_metadata(git_dir.join("HEAD")).ok()?;
        let linked_to = read_pointer(&git_dir.join("commondir"))
            .and_then(|text| fs::canonicalize(git_dir.join(parse_path(&text)?)).ok());
        let main_top = linked_to.as_deref().and_then(main_top_of);
        let common_dir = linked_to.unwrap_or_else(|| git_dir.clone());
        Some(Self { top: top.to_path_buf(), git_dir, common_dir, main_top })
    }

    /// Returns `dir` as a bare repository, if it looks like one.
    fn bare_at(dir: &Path) -> Option<Self> {
        // A directory named `.git` belongs to the checkout that contains it.
        let bare = dir.file_name() != Some(OsStr::new(".git"))
            && dir.join("HEAD").is_file()
            && dir.join("objects").is_dir()
            && dir.join("refs").is_dir();
        bare.then(|| Self {
            top: dir.to_path_buf(),
            git_dir: dir.to_path_buf(),
            common_dir: dir.to_path_buf(),
            main_top: None,
        })
    }
}

/// Returns the main worktree that belongs to a shared git directory.
///
/// Works only for the usual layout. A bare repository has no main worktree, and a submodule's
/// repository names its worktree in a configuration that is not read here.
fn main_top_of(common_dir: &Path) -> Option<PathBuf> {
    (common_dir.file_name()? == ".git").then(|| common_dir.parent().map(Path::to_path_buf))?
}

/// Reads a small file that holds a path; `None` when it is missing, unreadable or too long.
fn read_pointer(path: &Path) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(POINTER_BYTES_MAX + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= POINTER_BYTES_MAX).then_some(text)
}

/// Parses the path in a `.git` file: `gitdir: <path>`.
fn parse_gitdir(text: &[u8]) -> Option<&Path> {
    parse_path(text.strip_prefix(b"gitdir:")?.trim_ascii_start())
}

/// Parses a path that fills the rest of a file, without the final line breaks.
fn parse_path(text: &[u8]) -> Option<&Path> {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    Some(Path::new(OsStr::from_bytes(&text[..end])))
}

//! Reads git's own files for questions that are too small to start git.
//!
//! Only formats are read that all versions of git share: the location of the repository, `HEAD`,
//! loose and packed refs, worktree entries. Anything unusual is `None`; the caller then asks git.
//! Nothing is written here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::GitWorktree;

/// The directories of a repository that stores its refs in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitDirs {
    /// The git directory of this worktree alone (`GIT_DIR`).
    pub(super) git_dir: PathBuf,
    /// The git directory that all worktrees share (`GIT_COMMON_DIR`).
    pub(super) common_dir: PathBuf,
}

/// The content of `HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The full name of a branch, which may have no commit yet.
    Branch(String),
    /// A commit hash; no branch is checked out.
    Detached(String),
}

impl GitDirs {
    /// Finds the repository of a directory or of one above it; with `is_top_only`, only of the
    /// directory itself.
    pub(super) fn find(dir: &Path, is_top_only: bool) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let mut above = dir.ancestors().take(if is_top_only { 1 } else { usize::MAX });
        let link = above.find_map(|dir| {
            // A bare repository has a `HEAD` of its own.
            let is_bare = dir.join("HEAD").exists() && dir.join("objects").exists();
            let link = dir.join(".git");
            (is_bare || link.symlink_metadata().is_ok()).then_some((link, is_bare))
        });
        let (link, is_bare) = link?;
        let git_dir = if link.is_dir() { link } else { read_gitdir_link(&link)? };
        let common_dir = match fs::read(git_dir.join("commondir")) {
            Ok(path) => git_dir.join(OsStr::from_bytes(single_line(&path)?)).canonicalize().ok()?,
            Err(_) => git_dir.clone(),
        };
        let is_supported = git_dir.join("HEAD").is_file()
            && common_dir.join("objects").is_dir()
            && common_dir.join("refs").is_dir()
            && !common_dir.join("reftable").exists();
        (is_supported && !is_bare).then_some(Self { git_dir, common_dir })
    }

    /// Reads `HEAD`.
    pub(super) fn head(&self) -> Option<Head> {
        parse_head(&fs::read(self.git_dir.join("HEAD")).ok()?)
    }

    /// Reads the commit that `HEAD`, a branch or a `refs/mow/` ref points to: `Some(None)` when
    /// there is none.
    pub(super) fn resolve_ref(&self, name: &str) -> Option<Option<String>> {
        if name == "HEAD" {
            return match self.head()? {
                Head::Branch(branch) => self.resolve_ref(&branch),
                Head::Detached(commit) => Some(Some(commit)),
            };
        }
        let is_ordinary = |part: &str| !part.is_empty() && part != "." && part != "..";
        let is_supported = name.starts_with("refs/heads/") || name.starts_with("refs/mow/");
        if !is_supported
            || !name.split('/').all(is_ordinary)
            || name.contains(['@', '^', '~', ':', '\\'])
        {
            return None;
        }
        match fs::read(self.common_dir.join(name)) {
            Ok(bytes) => Some(Some(parse_hash(single_line(&bytes)?)?)),
            // There may be a directory of this name, or a file in place of a parent: a packed ref
            // is still possible.
            Err(_) => self.packed_ref(name),
        }
    }

    fn packed_ref(&self, name: &str) -> Option<Option<String>> {
        let bytes = match fs::read(self.common_dir.join("packed-refs")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(None),
            Err(_) => return None,
        };
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let found = lines.find_map(|line| {
            let (hash, rest) =
                line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
            (&rest[1..] == name.as_bytes()).then_some(hash)
        });
        match found {
            None => Some(None),
            Some(found) => Some(Some(parse_hash(found)?)),
        }
    }

    /// Lists all worktrees, the main one first.
    pub(super) fn worktrees(&self) -> Option<Vec<GitWorktree>> {
        let mut all: Vec<_> = self
            .worktree_dirs()?
            .into_iter()
            .map(|(dirs, path)| dirs.worktree(path))
            .collect::<Option<_>>()?;
        all[1..].sort_by(|a, b| a.path.cmp(&b.path));
        Some(all)
    }

    /// Lists the git directories and top directories of all worktrees, the main one first.
    pub(super) fn worktree_dirs(&self) -> Option<Vec<(Self, PathBuf)>> {
        let config = fs::read(self.common_dir.join("config")).ok()?;
        let config = String::from_utf8_lossy(&config).to_lowercase();
        // Bare repositories and repositories with files elsewhere are left to git.
        let is_supported = self.common_dir.file_name() == Some(OsStr::new(".git"))
            && !config.lines().any(|line| {
                let line: String = line.split_whitespace().collect();
                line.starts_with("bare=true") || line.starts_with("worktree=")
            });
        if !is_supported {
            return None;
        }
        let main = Self { git_dir: self.common_dir.clone(), common_dir: self.common_dir.clone() };
        let mut worktrees = vec![(main, self.common_dir.parent()?.to_path_buf())];
        let entries = match fs::read_dir(self.common_dir.join("worktrees")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(worktrees),
            Err(_) => return None,
        };
        for entry in entries {
            let git_dir = entry.ok()?.path();
            let link = fs::read(git_dir.join("gitdir")).ok()?;
            let link = git_dir.join(OsStr::from_bytes(single_line(&link)?));
            let path = link.parent()?.to_path_buf();
            let dirs = Self { git_dir, common_dir: self.common_dir.clone() };
            worktrees.push((dirs, path));
        }
        Some(worktrees)
    }

    fn worktree(&self, path: PathBuf) -> Option<GitWorktree> {
        let (head, branch) = match self.head()? {
            Head::Branch(branch) => (self.resolve_ref(&branch)?, Some(branch)),
            Head::Detached(commit) => (Some(commit), None),
        };
        let lock = fs::read(self.git_dir.join("locked")).ok();
        let lock_reason =
            lock.as_deref().map(|reason| String::from_utf8_lossy(reason.trim_ascii()));
        let lock_reason = lock_reason.unwrap_or_default().into_owned();
        Some(GitWorktree { path, head, branch, bare: false, locked: lock.is_some(), lock_reason })
    }
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    let text = single_line(bytes)?;
    match text.strip_prefix(b"ref:") {
        Some(name) => {
            let name = std::str::from_utf8(name).ok()?.trim();
            name.starts_with("refs/heads/").then(|| Head::Branch(name.to_owned()))
        }
        None => parse_hash(text).map(Head::Detached),
    }
}

/// Reads the target of a `.git` file.
fn read_gitdir_link(link: &Path) -> Option<PathBuf> {
    let bytes = fs::read(link).ok()?;
    let path = OsStr::from_bytes(single_line(&bytes)?.strip_prefix(b"gitdir: ")?);
    link.parent()?.join(path).canonicalize().ok()
}

/// Returns a text without its line ending; `None` when it is not exactly one line.
fn single_line(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    (!line.is_empty() && !line.contains(&b'\n')).then_some(line)
}

fn parse_hash(bytes: &[u8]) -> Option<String> {
    is_hash(bytes).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns whether a name is a full object hash.
pub(crate) fn is_hash(name: &[u8]) -> bool {
    matches!(name.len(), 40 | 64) && name.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;

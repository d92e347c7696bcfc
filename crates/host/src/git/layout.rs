//! Git's own files, read where a question is too small to start a program for it.
//!
//! Only what has been the same in all versions of git is read: where a repository lies, `HEAD`,
//! loose and packed references, the entries of worktrees. Whatever looks unusual is `None`, and
//! then git itself is asked. Nothing is written here.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Worktree;

/// Where a repository lies that is stored in plain files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// The directory of this worktree alone.
    pub(super) own: PathBuf,
    /// The directory that all worktrees share.
    pub(super) common: PathBuf,
}

/// What `HEAD` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The full name of a branch, which may have no commit yet.
    Branch(String),
    /// A commit, without a branch.
    Detached(String),
}

impl Layout {
    /// Finds the repository of a directory, or of one above it.
    pub(super) fn find(dir: &Path, only_top: bool) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let mut above = dir.ancestors().take(if only_top { 1 } else { usize::MAX });
        let link = above.find_map(|dir| {
            // A directory that is a repository itself has a HEAD of its own.
            let is_bare = dir.join("HEAD").exists() && dir.join("objects").exists();
            let link = dir.join(".git");
            (is_bare || link.symlink_metadata().is_ok()).then_some((link, is_bare))
        });
        let (link, is_bare) = link?;
        let own = if link.is_dir() { link } else { target(&link)? };
        let common = match fs::read(own.join("commondir")) {
            Ok(path) => own.join(OsStr::from_bytes(line(&path)?)).canonicalize().ok()?,
            Err(_) => own.clone(),
        };
        let is_plain = own.join("HEAD").is_file()
            && common.join("objects").is_dir()
            && common.join("refs").is_dir()
            && !common.join("reftable").exists();
        (is_plain && !is_bare).then_some(Self { own, common })
    }

    /// Reads what is checked out.
    pub(super) fn head(&self) -> Option<Head> {
        parse_head(&fs::read(self.own.join("HEAD")).ok()?)
    }

    /// Reads the commit that `HEAD`, a branch or a reference of ours stands for: `Some(None)` when
    /// there is none.
    pub(super) fn commit(&self, name: &str) -> Option<Option<String>> {
        if name == "HEAD" {
            return match self.head()? {
                Head::Branch(branch) => self.commit(&branch),
                Head::Detached(commit) => Some(Some(commit)),
            };
        }
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let known = name.starts_with("refs/heads/") || name.starts_with("refs/mow/");
        if !known || !name.split('/').all(is_plain) || name.contains(['@', '^', '~', ':', '\\']) {
            return None;
        }
        match fs::read(self.common.join(name)) {
            Ok(bytes) => Some(Some(hash(line(&bytes)?)?)),
            // A directory of this name, or a file in its place: there can still be a packed one.
            Err(_) => self.packed(name),
        }
    }

    fn packed(&self, name: &str) -> Option<Option<String>> {
        let bytes = match fs::read(self.common.join("packed-refs")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(None),
            Err(_) => return None,
        };
        let mut lines = bytes.split(|byte| *byte == b'\n');
        let found = lines.find_map(|line| {
            let (hash, of) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
            (&of[1..] == name.as_bytes()).then_some(hash)
        });
        match found {
            None => Some(None),
            Some(found) => Some(Some(hash(found)?)),
        }
    }

    /// Lists all worktrees, the main one first.
    pub(super) fn worktrees(&self) -> Option<Vec<Worktree>> {
        let mut all: Vec<_> = self
            .places()?
            .into_iter()
            .map(|(one, path)| one.worktree(path))
            .collect::<Option<_>>()?;
        all[1..].sort_by(|a, b| a.path.cmp(&b.path));
        Some(all)
    }

    /// Lists where all worktrees are, the main one first.
    pub(super) fn places(&self) -> Option<Vec<(Self, PathBuf)>> {
        let config = fs::read(self.common.join("config")).ok()?;
        let config = String::from_utf8_lossy(&config).to_lowercase();
        // A repository without files of its own, or with files elsewhere.
        let is_plain = self.common.file_name() == Some(OsStr::new(".git"))
            && !config.lines().any(|line| {
                let line: String = line.split_whitespace().collect();
                line.starts_with("bare=true") || line.starts_with("worktree=")
            });
        if !is_plain {
            return None;
        }
        let main = Self { own: self.common.clone(), common: self.common.clone() };
        let mut places = vec![(main, self.common.parent()?.to_path_buf())];
        let entries = match fs::read_dir(self.common.join("worktrees")) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(places),
            Err(_) => return None,
        };
        for entry in entries {
            let own = entry.ok()?.path();
            let link = fs::read(own.join("gitdir")).ok()?;
            let link = own.join(OsStr::from_bytes(line(&link)?));
            let path = link.parent()?.to_path_buf();
            let one = Self { own, common: self.common.clone() };
            places.push((one, path));
        }
        Some(places)
    }

    fn worktree(&self, path: PathBuf) -> Option<Worktree> {
        let (head, branch) = match self.head()? {
            Head::Branch(branch) => (self.commit(&branch)?, Some(branch)),
            Head::Detached(commit) => (Some(commit), None),
        };
        let lock = fs::read(self.own.join("locked")).ok();
        let lock_reason =
            lock.as_deref().map(|reason| String::from_utf8_lossy(reason.trim_ascii()));
        let lock_reason = lock_reason.unwrap_or_default().into_owned();
        Some(Worktree { path, head, branch, bare: false, locked: lock.is_some(), lock_reason })
    }
}

fn parse_head(bytes: &[u8]) -> Option<Head> {
    let text = line(bytes)?;
    match text.strip_prefix(b"ref:") {
        Some(name) => {
            let name = std::str::from_utf8(name).ok()?.trim();
            name.starts_with("refs/heads/").then(|| Head::Branch(name.to_owned()))
        }
        None => hash(text).map(Head::Detached),
    }
}

/// Returns where a file that stands for a directory points to.
fn target(link: &Path) -> Option<PathBuf> {
    let bytes = fs::read(link).ok()?;
    let path = OsStr::from_bytes(line(&bytes)?.strip_prefix(b"gitdir: ")?);
    link.parent()?.join(path).canonicalize().ok()
}

/// Returns a text without its line ending; `None` when it has more than one line or none.
fn line(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    (!line.is_empty() && !line.contains(&b'\n')).then_some(line)
}

fn hash(bytes: &[u8]) -> Option<String> {
    is_hash(bytes).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns whether a name is that of an object, written out.
pub(crate) fn is_hash(name: &[u8]) -> bool {
    matches!(name.len(), 40 | 64) && name.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests;

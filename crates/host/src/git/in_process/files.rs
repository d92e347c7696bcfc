//! Reads worktree files in the form in which they go into a commit.
//!
//! Returns `None` when git would not store a file byte for byte, or not at all; git must do it
//! then.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gix::bstr::{BStr, ByteSlice};
use gix::hash::ObjectId;
use gix::index::entry::Stat;
use gix::object::tree::EntryKind;
use gix::objs::Blob;
use gix::validate::path::component::{self, Options};

use super::InProcessRepo;
use super::objects::Durability;
use super::settings::variable;

/// The largest file that is read into memory.
pub(super) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Words in attribute files that may change how git reads and writes file contents.
const CONVERTING_ATTRIBUTES: [&str; 7] =
    ["text", "eol", "crlf", "filter", "ident", "encoding", "binary"];

/// A worktree file that is about to be committed.
pub(super) struct WorktreeFile<'a> {
    /// The path below the worktree's top, with slashes.
    pub(super) path: &'a BStr,
    pub(super) state: FileState,
}

/// The state of a file in the worktree.
pub(super) enum FileState {
    Deleted,
    Present { kind: EntryKind, object: ObjectId, stat: Stat },
}

impl InProcessRepo {
    /// Returns the worktree's top directory.
    pub(super) fn top(&self) -> Option<&Path> {
        self.repo.workdir()
    }

    /// Returns the full path of a worktree file.
    pub(super) fn file(&self, path: &[u8]) -> Option<PathBuf> {
        Some(self.top()?.join(OsStr::from_bytes(path)))
    }

    /// Reads files and stores their contents as blob objects.
    pub(super) fn files<'a>(
        &self,
        paths: &[&'a [u8]],
        index: &gix::index::File,
    ) -> Option<Vec<WorktreeFile<'a>>> {
        let top = self.top()?;
        let paths: BTreeSet<&[u8]> = paths.iter().copied().collect();
        let dirs: BTreeSet<&Path> = paths.iter().flat_map(|path| parent_dirs(path)).collect();
        if self.converts(top, &dirs, index) {
            return None;
        }
        if dirs.iter().any(|dir| is_link(&top.join(dir))) {
            return None;
        }
        let file = |path: &'a [u8]| {
            let state = self.state(&self.file(path)?)?;
            let is_usual = match state {
                FileState::Deleted => true,
                FileState::Present { kind, .. } => is_ordinary_path(path, kind),
            };
            is_usual.then(|| WorktreeFile { path: path.as_bstr(), state })
        };
        paths.into_iter().map(file).collect()
    }

    fn state(&self, path: &Path) -> Option<FileState> {
        match fs::symlink_metadata(path) {
            Err(error) if is_absent(&error) => return Some(FileState::Deleted),
            Err(_) => return None,
            Ok(_) => {}
        }
        let (kind, bytes, stat) = self.content(path)?;
        let object = self.store(&Blob { data: bytes }, Durability::Deferred)?;
        Some(FileState::Present { kind, object, stat })
    }

    /// Reads a file or a symbolic link: kind, contents and stat.
    pub(super) fn content(&self, path: &Path) -> Option<(EntryKind, Vec<u8>, Stat)> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let (kind, bytes) = if metadata.is_symlink() {
            (EntryKind::Link, fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec())
        } else if metadata.is_file() && metadata.len() <= FILE_BYTES_MAX {
            let is_program = metadata.permissions().mode() & 0o100 != 0;
            let kind = if is_program { EntryKind::BlobExecutable } else { EntryKind::Blob };
            (kind, fs::read(path).ok()?)
        } else {
            return None;
        };
        let stat = stat_of(path)?;
        // The file may have changed while it was read.
        is_same(&metadata, &fs::symlink_metadata(path).ok()?).then_some((kind, bytes, stat))
    }

    /// Returns whether settings or attributes in these directories may make git convert file
    /// contents.
    pub(super) fn converts(
        &self,
        top: &Path,
        dirs: &BTreeSet<&Path>,
        index: &gix::index::File,
    ) -> bool {
        // Git reads `.gitattributes` from the index when the worktree has no such file.
        let is_ruled = |dir: &&Path| {
            let rules = dir.join(".gitattributes");
            let file = top.join(&rules);
            let is_listed =
                || index.entry_by_path(rules.as_os_str().as_bytes().as_bstr()).is_some();
            may_convert(&file) || (file.symlink_metadata().is_err() && is_listed())
        };
        !self.has_default_file_settings() || self.converts_all_files() || dirs.iter().any(is_ruled)
    }

    /// Returns whether attribute files outside the worktree may make git convert contents.
    pub(super) fn converts_all_files(&self) -> bool {
        self.attribute_files_outside_worktree().iter().any(|file| may_convert(file))
    }

    /// Returns the attribute files outside the worktree: the user's, the repository's, the
    /// system's.
    fn attribute_files_outside_worktree(&self) -> Vec<PathBuf> {
        let config = self.repo.config_snapshot();
        let home = |name: &str| variable(name).filter(|dir| !dir.is_empty());
        let own = home("XDG_CONFIG_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(Path::new(&home("HOME")?).join(".config")));
        // An unclear path becomes `/`. A directory cannot be read, so it counts as one that
        // converts.
        let named = config.trusted_path("core.attributesFile").unwrap_or(Some("/".into()));
        let named = named.map(|file| if file.is_absolute() { file } else { "/".into() });
        [
            named.or_else(|| own.map(|dir| dir.join("git/attributes"))),
            Some(self.dirs.common_dir.join("info/attributes")),
            self.system_config.parent().map(|dir| dir.join("gitattributes")),
            Some(PathBuf::from("/etc/gitattributes")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Returns whether git accepts every part of a path as an ordinary name on all systems.
fn is_ordinary_path(path: &[u8], kind: EntryKind) -> bool {
    let (dirs, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
    is_ordinary_name(name.as_bstr(), kind == EntryKind::Link)
        && (dirs.is_empty()
            || dirs.split_str("/").all(|dir| is_ordinary_name(dir.as_bstr(), false)))
}

/// Returns whether git accepts a name as an ordinary file name on all systems.
pub(super) fn is_ordinary_name(name: &BStr, is_link: bool) -> bool {
    let mode = is_link.then_some(component::Mode::Symlink);
    let options = Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    gix::validate::path::component(name, mode, options).is_ok() && !name.contains(&b'\\')
}

/// Returns the directories above a file, including the top as an empty path. The top may be reached
/// through a link: joined, the empty path ends with a slash, so the link itself is not tested.
pub(super) fn parent_dirs(path: &[u8]) -> impl Iterator<Item = &Path> {
    Path::new(OsStr::from_bytes(path)).ancestors().skip(1)
}

/// Returns whether a path is a symbolic link. Files behind a linked directory are not the
/// worktree's, whatever their stat says.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// Returns the stat that an index stores to recognise an unchanged file.
pub(super) fn stat_of(path: &Path) -> Option<Stat> {
    let metadata = gix::index::fs::Metadata::from_path_no_follow(path).ok()?;
    Stat::from_fs(&metadata).ok()
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let fields = |file: &Metadata| {
        (file.ino(), file.len(), file.mode(), file.mtime(), file.mtime_nsec(), file.ctime_nsec())
    };
    fields(one) == fields(other)
}

fn may_convert(file: &Path) -> bool {
    fs::read(file).map_or_else(|error| !is_absent(&error), |rules| mention_conversion(&rules))
}

/// Returns whether attributes may change the contents of files.
pub(super) fn mention_conversion(rules: &[u8]) -> bool {
    let rules = rules.to_ascii_lowercase();
    CONVERTING_ATTRIBUTES.iter().any(|word| rules.contains_str(word))
}

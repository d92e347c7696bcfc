//! Files of a worktree as they go into a commit.
//!
//! Where git would not take them byte for byte, or not at all, it is asked itself.

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

use super::Plain;
use super::objects::Lasting;
use super::settings::variable;

/// How large a file may be that is read as a whole.
pub(super) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// What rules for files may say that changes how git reads and writes them.
const CONVERTING: [&str; 7] = ["text", "eol", "crlf", "filter", "ident", "encoding", "binary"];

/// A file of a worktree.
pub(super) struct File<'a> {
    /// Its name below the top, with slashes.
    pub(super) path: &'a BStr,
    pub(super) state: State,
}

/// What became of a file.
pub(super) enum State {
    Gone,
    There { kind: EntryKind, object: ObjectId, stat: Stat },
}

impl Plain {
    /// Returns the top of the worktree.
    pub(super) fn top(&self) -> Option<&Path> {
        self.repo.workdir()
    }

    /// Returns where a file of the worktree lies.
    pub(super) fn file(&self, path: &[u8]) -> Option<PathBuf> {
        Some(self.top()?.join(OsStr::from_bytes(path)))
    }

    /// Reads files, and keeps what they hold as objects.
    pub(super) fn files<'a>(
        &self,
        paths: &[&'a [u8]],
        index: &gix::index::File,
    ) -> Option<Vec<File<'a>>> {
        let top = self.top()?;
        let paths: BTreeSet<&[u8]> = paths.iter().copied().collect();
        let dirs: BTreeSet<&Path> = paths.iter().flat_map(|path| above(path)).collect();
        if self.converts(top, &dirs, index) {
            return None;
        }
        if dirs.iter().any(|dir| is_link(&top.join(dir))) {
            return None;
        }
        let file = |path: &'a [u8]| {
            let state = self.state(&self.file(path)?)?;
            let is_usual = match state {
                State::Gone => true,
                State::There { kind, .. } => is_usual_path(path, kind),
            };
            is_usual.then(|| File { path: path.as_bstr(), state })
        };
        paths.into_iter().map(file).collect()
    }

    fn state(&self, path: &Path) -> Option<State> {
        match fs::symlink_metadata(path) {
            Err(error) if is_absent(&error) => return Some(State::Gone),
            Err(_) => return None,
            Ok(_) => {}
        }
        let (kind, bytes, stat) = self.content(path)?;
        let object = self.store(&Blob { data: bytes }, Lasting::AsUsual)?;
        Some(State::There { kind, object, stat })
    }

    /// Reads a file or a link.
    pub(super) fn content(&self, path: &Path) -> Option<(EntryKind, Vec<u8>, Stat)> {
        let about = fs::symlink_metadata(path).ok()?;
        let (kind, bytes) = if about.is_symlink() {
            (EntryKind::Link, fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec())
        } else if about.is_file() && about.len() <= FILE_BYTES_MAX {
            let is_program = about.permissions().mode() & 0o100 != 0;
            let kind = if is_program { EntryKind::BlobExecutable } else { EntryKind::Blob };
            (kind, fs::read(path).ok()?)
        } else {
            return None;
        };
        let stat = stat_of(path)?;
        // It may have changed while it was read.
        is_same(&about, &fs::symlink_metadata(path).ok()?).then_some((kind, bytes, stat))
    }

    /// Returns whether settings or rules for files below these directories may make git read or
    /// write something else than their bytes.
    pub(super) fn converts(
        &self,
        top: &Path,
        dirs: &BTreeSet<&Path>,
        index: &gix::index::File,
    ) -> bool {
        // Git takes rules that are not in the worktree from the index.
        let is_ruled = |dir: &&Path| {
            let rules = dir.join(".gitattributes");
            let file = top.join(&rules);
            let is_listed =
                || index.entry_by_path(rules.as_os_str().as_bytes().as_bstr()).is_some();
            is_converting(&file) || (file.symlink_metadata().is_err() && is_listed())
        };
        !self.treats_files_as_usual() || self.converts_everywhere() || dirs.iter().any(is_ruled)
    }

    /// Returns whether rules that lie in no worktree may do so.
    pub(super) fn converts_everywhere(&self) -> bool {
        self.rules_elsewhere().iter().any(|file| is_converting(file))
    }

    /// Returns the files with rules that lie in no worktree.
    fn rules_elsewhere(&self) -> Vec<PathBuf> {
        let config = self.repo.config_snapshot();
        let home = |name: &str| variable(name).filter(|dir| !dir.is_empty());
        let own = home("XDG_CONFIG_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(Path::new(&home("HOME")?).join(".config")));
        // Where a path is not clear it counts as one that converts: a directory cannot be read.
        let named = config.trusted_path("core.attributesFile").unwrap_or(Some("/".into()));
        let named = named.map(|file| if file.is_absolute() { file } else { "/".into() });
        [
            named.or_else(|| own.map(|dir| dir.join("git/attributes"))),
            Some(self.layout.common.join("info/attributes")),
            self.system.parent().map(|dir| dir.join("gitattributes")),
            Some(PathBuf::from("/etc/gitattributes")),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Returns whether git takes all parts of a path for names like any other, wherever it runs.
fn is_usual_path(path: &[u8], kind: EntryKind) -> bool {
    let (dirs, name) = path.rsplit_once_str("/").unwrap_or((b"", path));
    is_usual_name(name.as_bstr(), kind == EntryKind::Link)
        && (dirs.is_empty() || dirs.split_str("/").all(|dir| is_usual_name(dir.as_bstr(), false)))
}

/// Returns whether git takes a name for that of a file like any other, wherever it runs.
pub(super) fn is_usual_name(name: &BStr, is_link: bool) -> bool {
    let mode = is_link.then_some(component::Mode::Symlink);
    let options = Options { protect_windows: false, protect_hfs: true, protect_ntfs: true };
    gix::validate::path::component(name, mode, options).is_ok() && !name.contains(&b'\\')
}

/// Returns the directories above a file, the top too: a worktree may be reached by a link, which
/// does not count, since it is looked at with a slash behind it.
pub(super) fn above(path: &[u8]) -> impl Iterator<Item = &Path> {
    Path::new(OsStr::from_bytes(path)).ancestors().skip(1)
}

/// Returns whether something is a link: behind one lies somebody else's directory, whatever the
/// system says of the files in it.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink())
}

/// Returns what an index keeps about a file to know it again.
pub(super) fn stat_of(path: &Path) -> Option<Stat> {
    let about = gix::index::fs::Metadata::from_path_no_follow(path).ok()?;
    Stat::from_fs(&about).ok()
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let about = |file: &Metadata| {
        (file.ino(), file.len(), file.mode(), file.mtime(), file.mtime_nsec(), file.ctime_nsec())
    };
    about(one) == about(other)
}

fn is_converting(file: &Path) -> bool {
    fs::read(file).map_or_else(|error| !is_absent(&error), |rules| say_converting(&rules))
}

/// Returns whether rules may change the content of files.
pub(super) fn say_converting(rules: &[u8]) -> bool {
    let rules = rules.to_ascii_lowercase();
    CONVERTING.iter().any(|word| rules.contains_str(word))
}

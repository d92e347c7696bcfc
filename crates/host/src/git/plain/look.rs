//! What is not committed in a worktree, found without git.
//!
//! As git does, the last commit is compared with the index, and the index with the files: by what
//! the system says of them, and by their content where that does not tell.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::hash::ObjectId;
use gix::index::entry::{Flags, Mode, Stage};
use gix::index::extension::Tree;
use gix::worktree::stack::state::ignore::Source;

use super::files::{above, is_absent, stat_of};
use super::{Plain, index};
use crate::commit::Paths;
use crate::git::is_below;

/// How many files a worktree may have that is looked through here; git uses all cores for more.
const ENTRIES_MAX: usize = 20_000;

/// A file as a commit or an index knows it.
type Known = (Mode, ObjectId);

/// What a commit holds as far as the index may differ from it.
#[derive(Default)]
struct Committed {
    files: BTreeMap<BString, Known>,
    /// Directories that the index holds as they are.
    same: BTreeSet<BString>,
}

impl Plain {
    /// Lists what is to be committed; `None` where git is to be asked.
    pub(crate) fn changed(&self, paths: &Paths) -> Option<Vec<BString>> {
        let start = match paths {
            Paths::Only(_) => return None,
            Paths::Folder(dir) => dir.as_str(),
            Paths::All | Paths::AllBut(_) => "",
        };
        let is_meant = |path: &[u8]| match paths {
            Paths::AllBut(dir) => !is_below(path, dir.as_bytes()),
            Paths::Folder(dir) => is_below(path, dir.as_bytes()),
            Paths::All | Paths::Only(_) => true,
        };
        let index = index::read(&self.layout.own.join("index"))?;
        if index.entries().len() > ENTRIES_MAX {
            return None;
        }
        let committed = self.committed(&index)?;
        let (mut known, mut changed, mut dirs) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for entry in index.entries() {
            let path = entry.path(&index);
            known.insert(path);
            dirs.extend(above(path));
            if is_meant(path) && self.differs(entry, path, &index, &committed)? {
                changed.insert(path.to_owned());
            }
        }
        // Behind a link lie other files, whatever the system says of them.
        let is_link = |dir: &Path| fs::symlink_metadata(dir).is_ok_and(|about| about.is_symlink());
        let top = self.top()?;
        if dirs.iter().any(|dir| is_link(&top.join(dir))) {
            return None;
        }
        let is_gone = |path: &&BString| !known.contains(path.as_bstr()) && is_meant(path);
        changed.extend(committed.files.keys().filter(is_gone).cloned());
        changed.extend(self.new_files(start, &index, &known)?.into_iter().filter(|p| is_meant(p)));
        Some(changed.into_iter().collect())
    }

    /// Returns whether a file differs from the last commit, or the index does.
    fn differs(
        &self,
        entry: &gix::index::Entry,
        path: &BStr,
        index: &gix::index::File,
        committed: &Committed,
    ) -> Option<bool> {
        let is_told = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
        let is_file = matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE | Mode::SYMLINK);
        let is_odd = entry.stage() != Stage::Unconflicted || entry.flags.intersects(is_told);
        if is_odd || !is_file {
            return None;
        }
        let is_same = above(path).any(|dir| committed.same.contains(dir.as_os_str().as_bytes()))
            || committed.files.get(path) == Some(&(entry.mode, entry.id));
        if !is_same {
            return Some(true);
        }
        let file = self.top()?.join(OsStr::from_bytes(path));
        if index::is_older(entry, index) && stat_of(&file) == Some(entry.stat) {
            return Some(false);
        }
        Some(!self.holds(&file, path, entry)?)
    }

    /// Returns whether a file holds what the index says, by its content.
    pub(super) fn holds(
        &self,
        file: &Path,
        path: &BStr,
        entry: &gix::index::Entry,
    ) -> Option<bool> {
        let top = self.top()?;
        let dirs: BTreeSet<&Path> = above(path).collect();
        if self.converts(top, &dirs) {
            return None;
        }
        match fs::symlink_metadata(file) {
            Err(error) if is_absent(&error) => return Some(false),
            Ok(about) if about.is_dir() => return Some(false),
            _ => {}
        }
        let (kind, bytes, _) = self.content(file)?;
        let object =
            gix::objs::compute_hash(self.repo.object_hash(), gix::objs::Kind::Blob, &bytes);
        let mode = Mode::from(gix::objs::tree::EntryMode::from(kind));
        Some((mode, object.ok()?) == (entry.mode, entry.id))
    }

    /// Lists what the last commit holds, without the directories that the index knows to be the same.
    fn committed(&self, index: &gix::index::File) -> Option<Committed> {
        let (_, head) = self.branch()?;
        let tree = self.repo.find_commit(head).ok()?.tree_id().ok()?.detach();
        let mut committed = Committed::default();
        let mut left = vec![(BString::default(), tree, index.tree())];
        while let Some((dir, tree, cached)) = left.pop() {
            let is_known = |cached: &Tree| cached.num_entries.is_some() && cached.id == tree;
            if cached.is_some_and(is_known) {
                committed.same.insert(dir);
                continue;
            }
            for entry in self.repo.find_tree(tree).ok()?.iter() {
                let entry = entry.ok()?;
                let name = entry.filename();
                let gap: &[u8] = if dir.is_empty() { b"" } else { b"/" };
                let path = BString::from([&dir[..], gap, name].concat());
                if entry.mode().is_tree() {
                    let find = |tree: &&Tree| tree.name.as_slice() == name.as_bytes();
                    let cached = cached.and_then(|cached| cached.children.iter().find(find));
                    left.push((path, entry.object_id(), cached));
                } else {
                    committed.files.insert(path, (Mode::from(entry.mode()), entry.object_id()));
                }
            }
            if committed.files.len() > ENTRIES_MAX {
                return None;
            }
        }
        Some(committed)
    }

    /// Lists the files below a directory that git does not know and is not told to ignore; `None`
    /// when there is a repository of its own.
    fn new_files(
        &self,
        start: &str,
        index: &gix::index::File,
        known: &BTreeSet<&BStr>,
    ) -> Option<Vec<BString>> {
        let top = self.top()?;
        let mut ignored = self.repo.excludes(index, None, Source::default()).ok()?;
        let (mut left, mut new, mut count) = (vec![BString::from(start)], Vec::new(), 0);
        while let Some(dir) = left.pop() {
            let entries = match fs::read_dir(top.join(OsStr::from_bytes(&dir))) {
                Ok(entries) => entries,
                Err(error) if is_absent(&error) => continue,
                Err(_) => return None,
            };
            for entry in entries {
                let entry = entry.ok()?;
                let name = entry.file_name().into_vec();
                count += 1;
                if dir.is_empty() && name == b".git" {
                    continue;
                }
                if count > ENTRIES_MAX || name.eq_ignore_ascii_case(b".git") {
                    return None;
                }
                let gap: &[u8] = if dir.is_empty() { b"" } else { b"/" };
                let path = BString::from([&dir[..], gap, &name].concat());
                let is_dir = entry.file_type().ok()?.is_dir();
                let mode = if is_dir { Mode::DIR } else { Mode::FILE };
                if (!is_dir && known.contains(path.as_bstr()))
                    || ignored.at_entry(path.as_bstr(), Some(mode)).ok()?.is_excluded()
                {
                    continue;
                }
                if is_dir { &mut left } else { &mut new }.push(path);
            }
        }
        Some(new)
    }
}

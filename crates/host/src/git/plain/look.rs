//! What is not committed in a worktree, found without git.
//!
//! As git does, the last commit is compared with the index, and the index with the files: by what
//! the system says of them, and by their content where that does not tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::hash::ObjectId;
use gix::index::entry::Mode;
use gix::index::extension::Tree;
use gix::worktree::stack::state::ignore::Source;

use super::files::{above, is_absent, is_link, stat_of};
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

/// What can be said of a file without reading it.
enum Look {
    Same,
    Differs,
    /// By what the system says of it, it may have changed.
    Doubtful,
}

impl Committed {
    /// Looks whether a file differs from the last commit, or the index does; `None` where git was
    /// told something about it.
    fn look(
        &self,
        entry: &gix::index::Entry,
        path: &BStr,
        (plain, index): (&Plain, &gix::index::File),
    ) -> Option<Look> {
        if !index::is_usual(entry) {
            return None;
        }
        let is_same = self.files.get(path) == Some(&(entry.mode, entry.id))
            || above(path).any(|dir| self.same.contains(dir.as_os_str().as_bytes()));
        if !is_same {
            return Some(Look::Differs);
        }
        let file = plain.file(path)?;
        // A size of zero may be git's mark for a file in doubt.
        let is_marked = entry.stat.size == 0 && !entry.id.is_empty_blob();
        let is_known =
            index::is_older(entry, index) && !is_marked && stat_of(&file) == Some(entry.stat);
        Some(if is_known { Look::Same } else { Look::Doubtful })
    }
}

impl Plain {
    /// Lists what is to be committed; `None` where git is to be asked.
    pub(crate) fn changed(&self, paths: &Paths) -> Option<Vec<BString>> {
        if matches!(paths, Paths::Only(_)) {
            return None;
        }
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
        let top = self.top()?;
        let (mut known, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let (mut doubtful, mut dir): (Vec<_>, &[u8]) = (Vec::new(), b"");
        for entry in index.entries() {
            let path = entry.path(&index);
            known.insert(path);
            if !is_meant(path) {
                continue;
            }
            if parent(path) != dir && above(path).any(|dir| is_link(&top.join(dir))) {
                return None;
            }
            dir = parent(path);
            match committed.look(entry, path, (self, &index))? {
                Look::Same => {}
                Look::Differs => drop(changed.insert(path.to_owned())),
                Look::Doubtful => doubtful.push(entry),
            }
        }
        let hold = self.hold(&index, &doubtful)?;
        let others = doubtful.iter().zip(hold).filter(|(_, holds)| !holds);
        changed.extend(others.map(|(entry, _)| entry.path(&index).to_owned()));
        let is_gone = |path: &&BString| !known.contains(path.as_bstr()) && is_meant(path);
        for path in committed.files.keys().filter(is_gone) {
            // Git would not take it in again if it is ignored by now.
            if *paths == Paths::All && self.file(path)?.symlink_metadata().is_ok() {
                return None;
            }
            changed.insert(path.clone());
        }
        changed.extend(self.new_files(paths, &index, &known)?);
        Some(changed.into_iter().collect())
    }

    /// Returns which files hold what the index says, by their content.
    pub(super) fn hold(
        &self,
        index: &gix::index::File,
        entries: &[&gix::index::Entry],
    ) -> Option<Vec<bool>> {
        let top = self.top()?;
        let mut dirs: BTreeSet<&Path> = BTreeSet::new();
        let mut last: &[u8] = b"/";
        for entry in entries {
            let path = entry.path(index);
            if parent(path) != last {
                last = parent(path);
                dirs.extend(above(path));
            }
        }
        if !entries.is_empty() && self.converts(top, &dirs, index) {
            return None;
        }
        entries.iter().map(|entry| self.holds(&self.file(entry.path(index))?, entry)).collect()
    }

    fn holds(&self, file: &Path, entry: &gix::index::Entry) -> Option<bool> {
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
        let tree = self.tree_of(self.branch()?.1)?;
        let mut committed = Committed::default();
        let mut left = vec![(BString::default(), tree, index.tree())];
        while let Some((dir, tree, cached)) = left.pop() {
            let is_known = |cached: &Tree| cached.num_entries.is_some() && cached.id == tree;
            if cached.is_some_and(is_known) {
                committed.same.insert(dir);
                continue;
            }
            for entry in self.entries(tree)? {
                let name = entry.filename.as_bstr();
                let path = below(&dir, name);
                if entry.mode.is_tree() {
                    let find = |tree: &&Tree| tree.name.as_slice() == name.as_bytes();
                    let cached = cached.and_then(|cached| cached.children.iter().find(find));
                    left.push((path, entry.oid, cached));
                } else {
                    committed.files.insert(path, (Mode::from(entry.mode), entry.oid));
                }
            }
            if committed.files.len() > ENTRIES_MAX {
                return None;
            }
        }
        Some(committed)
    }

    /// Lists the files that git does not know and is not told to ignore; `None`
    /// when there is a repository of its own.
    fn new_files(
        &self,
        paths: &Paths,
        index: &gix::index::File,
        known: &BTreeSet<&BStr>,
    ) -> Option<Vec<BString>> {
        let rules = self.repo.config_snapshot().trusted_path("core.excludesFile").ok()?;
        // Git looks for it from the top, gix from where we are.
        if rules.is_some_and(|file| !file.is_absolute()) {
            return None;
        }
        let mut ignored = self.repo.excludes(index, None, Source::default()).ok()?;
        let start = if let Paths::Folder(dir) = paths { dir } else { "" };
        let is_left =
            |path: &[u8]| matches!(paths, Paths::AllBut(dir) if is_below(path, dir.as_bytes()));
        let (mut left, mut new, mut count) = (vec![BString::from(start)], Vec::new(), 0);
        while let Some(dir) = left.pop() {
            let entries = match fs::read_dir(self.file(&dir)?) {
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
                let path = below(&dir, &name);
                let is_dir = entry.file_type().ok()?.is_dir();
                let mode = if is_dir { Mode::DIR } else { Mode::FILE };
                if is_left(&path)
                    || (!is_dir && known.contains(path.as_bstr()))
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

/// Returns the directory of a file.
fn parent(path: &[u8]) -> &[u8] {
    path.rfind_byte(b'/').map_or(&[], |end| &path[..end])
}

/// Returns the name of what lies in a directory, or at the top.
fn below(dir: &[u8], name: &[u8]) -> BString {
    let gap: &[u8] = if dir.is_empty() { b"" } else { b"/" };
    [dir, gap, name].concat().into()
}

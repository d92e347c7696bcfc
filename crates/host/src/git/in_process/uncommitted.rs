//! Finds the uncommitted files of a worktree without git.
//!
//! Like git, it compares the last commit with the index, and the index with the files: first by
//! stat, then by content where the stat does not tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::hash::ObjectId;
use gix::index::entry::Mode;
use gix::index::extension::Tree;
use gix::worktree::stack::state::ignore::Source;

use super::files::{is_absent, is_link, parent_dirs, stat_of};
use super::{InProcessRepo, index};
use crate::commit::Paths;
use crate::git::is_below;

/// The largest number of files that is compared here. Git uses all cores, so it is faster for more.
const ENTRIES_MAX: usize = 20_000;

/// Mode and object of a file in a commit or an index.
type ModeAndId = (Mode, ObjectId);

/// The files of the last commit, as far as the index may differ from it.
#[derive(Default)]
struct CommittedTree {
    files: BTreeMap<BString, ModeAndId>,
    /// Directories whose tree is the same in the index.
    same: BTreeSet<BString>,
}

/// The result of comparing a file without reading its content.
enum StatComparison {
    Same,
    Differs,
    /// The stat does not tell; the content must be compared.
    Uncertain,
}

impl CommittedTree {
    /// Compares a file with the index and the last commit by stat; `None` when the entry has
    /// special flags.
    fn compare_entry(
        &self,
        entry: &gix::index::Entry,
        path: &BStr,
        (repo, index): (&InProcessRepo, &gix::index::File),
    ) -> Option<StatComparison> {
        if !index::is_ordinary(entry) {
            return None;
        }
        let is_same = self.files.get(path) == Some(&(entry.mode, entry.id))
            || parent_dirs(path).any(|dir| self.same.contains(dir.as_os_str().as_bytes()));
        if !is_same {
            return Some(StatComparison::Differs);
        }
        let file = repo.file(path)?;
        // A size of zero may be git's mark for a racy entry.
        let is_marked = entry.stat.size == 0 && !entry.id.is_empty_blob();
        let is_known = index::is_older_than_index(entry, index)
            && !is_marked
            && stat_of(&file) == Some(entry.stat);
        Some(if is_known { StatComparison::Same } else { StatComparison::Uncertain })
    }
}

impl InProcessRepo {
    /// Lists the uncommitted paths, sorted; `None` when git must be asked.
    pub(crate) fn uncommitted_paths(&self, paths: &Paths) -> Option<Vec<BString>> {
        if matches!(paths, Paths::Only(_)) {
            return None;
        }
        let is_selected = |path: &[u8]| match paths {
            Paths::AllExcept(dir) => !is_below(path, dir.as_bytes()),
            Paths::Directory(dir) => is_below(path, dir.as_bytes()),
            Paths::All | Paths::Only(_) => true,
        };
        let index = index::read(&self.dirs.git_dir.join("index"))?;
        if index.entries().len() > ENTRIES_MAX {
            return None;
        }
        let committed = self.committed(&index)?;
        let top = self.top()?;
        let (mut tracked, mut changed) = (BTreeSet::new(), BTreeSet::new());
        let (mut uncertain, mut dir): (Vec<_>, &[u8]) = (Vec::new(), b"");
        for entry in index.entries() {
            let path = entry.path(&index);
            tracked.insert(path);
            if !is_selected(path) {
                continue;
            }
            if parent_dir(path) != dir && parent_dirs(path).any(|dir| is_link(&top.join(dir))) {
                return None;
            }
            dir = parent_dir(path);
            match committed.compare_entry(entry, path, (self, &index))? {
                StatComparison::Same => {}
                StatComparison::Differs => drop(changed.insert(path.to_owned())),
                StatComparison::Uncertain => uncertain.push(entry),
            }
        }
        let matching = self.match_contents(&index, &uncertain)?;
        let others = uncertain.iter().zip(matching).filter(|(_, matches)| !matches);
        changed.extend(others.map(|(entry, _)| entry.path(&index).to_owned()));
        let is_gone = |path: &&BString| !tracked.contains(path.as_bstr()) && is_selected(path);
        for path in committed.files.keys().filter(is_gone) {
            // Git would not add the file again if it is ignored by now.
            if *paths == Paths::All && self.file(path)?.symlink_metadata().is_ok() {
                return None;
            }
            changed.insert(path.clone());
        }
        changed.extend(self.new_files(paths, &index, &tracked)?);
        Some(changed.into_iter().collect())
    }

    /// Returns for each entry whether the file's content is the one in the index.
    pub(super) fn match_contents(
        &self,
        index: &gix::index::File,
        entries: &[&gix::index::Entry],
    ) -> Option<Vec<bool>> {
        let top = self.top()?;
        let mut dirs: BTreeSet<&Path> = BTreeSet::new();
        let mut last: &[u8] = b"/";
        for entry in entries {
            let path = entry.path(index);
            if parent_dir(path) != last {
                last = parent_dir(path);
                dirs.extend(parent_dirs(path));
            }
        }
        if !entries.is_empty() && self.converts(top, &dirs, index) {
            return None;
        }
        entries
            .iter()
            .map(|entry| self.matches_content(&self.file(entry.path(index))?, entry))
            .collect()
    }

    fn matches_content(&self, file: &Path, entry: &gix::index::Entry) -> Option<bool> {
        match fs::symlink_metadata(file) {
            Err(error) if is_absent(&error) => return Some(false),
            Ok(metadata) if metadata.is_dir() => return Some(false),
            _ => {}
        }
        let (kind, bytes, _) = self.content(file)?;
        let object =
            gix::objs::compute_hash(self.repo.object_hash(), gix::objs::Kind::Blob, &bytes);
        let mode = Mode::from(gix::objs::tree::EntryMode::from(kind));
        Some((mode, object.ok()?) == (entry.mode, entry.id))
    }

    /// Lists the files of the last commit, without directories that the index knows to be the same.
    fn committed(&self, index: &gix::index::File) -> Option<CommittedTree> {
        let tree = self.tree_of(self.current_branch()?.1)?;
        let mut committed = CommittedTree::default();
        let mut left = vec![(BString::default(), tree, index.tree())];
        while let Some((dir, tree, cached)) = left.pop() {
            let is_known = |cached: &Tree| cached.num_entries.is_some() && cached.id == tree;
            if cached.is_some_and(is_known) {
                committed.same.insert(dir);
                continue;
            }
            for entry in self.entries(tree)? {
                let name = entry.filename.as_bstr();
                let path = join_path(&dir, name);
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

    /// Lists untracked files that are not ignored; `None` when there is a nested repository.
    fn new_files(
        &self,
        paths: &Paths,
        index: &gix::index::File,
        tracked: &BTreeSet<&BStr>,
    ) -> Option<Vec<BString>> {
        let rules = self.repo.config_snapshot().trusted_path("core.excludesFile").ok()?;
        // Git resolves a relative path from the worktree's top, gix from the current directory.
        if rules.is_some_and(|file| !file.is_absolute()) {
            return None;
        }
        let mut ignored = self.repo.excludes(index, None, Source::default()).ok()?;
        let start = if let Paths::Directory(dir) = paths { dir } else { "" };
        let is_excepted =
            |path: &[u8]| matches!(paths, Paths::AllExcept(dir) if is_below(path, dir.as_bytes()));
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
                let path = join_path(&dir, &name);
                let is_dir = entry.file_type().ok()?.is_dir();
                let mode = if is_dir { Mode::DIR } else { Mode::FILE };
                if is_excepted(&path)
                    || (!is_dir && tracked.contains(path.as_bstr()))
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

/// Returns the directory part of a path.
fn parent_dir(path: &[u8]) -> &[u8] {
    path.rfind_byte(b'/').map_or(&[], |end| &path[..end])
}

/// Joins a directory and a name; an empty directory is the top.
fn join_path(dir: &[u8], name: &[u8]) -> BString {
    let gap: &[u8] = if dir.is_empty() { b"" } else { b"/" };
    [dir, gap, name].concat().into()
}

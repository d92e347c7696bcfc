//! What changed below one directory of a worktree, found without git.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use gix::bstr::{BStr, BString, ByteSlice};
use gix::hash::ObjectId;
use gix::index::entry::Mode;
use gix::worktree::stack::state::ignore::Source;

use super::files::stat_of;
use super::{Plain, index};

/// How many entries a directory may have that is looked through here.
const ENTRIES_MAX: usize = 1_000;

type Listing = BTreeMap<BString, (u32, ObjectId)>;

impl Plain {
    /// Returns the files below a directory that may differ from the last commit: more than those
    /// that do, but never less.
    pub(crate) fn changed_below(&self, dir: &str) -> Option<Vec<BString>> {
        let index = index::read(&self.layout.own.join("index"))?;
        let prefix = BString::from(format!("{dir}/"));
        let (top, mut changed) = (self.top()?, BTreeSet::new());
        let committed = self.committed_below(dir)?;
        let mut known: Listing = BTreeMap::new();
        for entry in index.prefixed_entries(prefix.as_bstr()).unwrap_or_default() {
            let path = entry.path(&index);
            let now = stat_of(&top.join(OsStr::from_bytes(path)));
            let at = index.timestamp();
            let is_older = (i64::from(entry.stat.mtime.secs), entry.stat.mtime.nsecs)
                < (at.unix_seconds(), at.nanoseconds());
            let staged = (entry.mode.bits(), entry.id);
            if now != Some(entry.stat) || !is_older || committed.get(path) != Some(&staged) {
                changed.insert(path.to_owned());
            }
            known.insert(path.to_owned(), staged);
        }
        changed.extend(committed.into_keys().filter(|path| !known.contains_key(path)));
        changed.extend(self.new_below(dir, &index, &known)?);
        Some(changed.into_iter().collect())
    }

    /// Lists the files of the last commit below a directory.
    fn committed_below(&self, dir: &str) -> Option<Listing> {
        let (_, head) = self.branch()?;
        let tree = self.repo.find_commit(head).ok()?.tree().ok()?;
        let mut files = Listing::new();
        let Some(entry) = tree.lookup_entry_by_path(dir).ok()? else { return Some(files) };
        let mut left = vec![(BString::from(dir), entry.object_id())];
        while let Some((dir, tree)) = left.pop() {
            for entry in self.repo.find_tree(tree).ok()?.iter() {
                let entry = entry.ok()?;
                let path = BString::from([&dir[..], b"/", entry.filename()].concat());
                if entry.mode().is_tree() {
                    left.push((path, entry.object_id()));
                } else {
                    let mode = Mode::from(entry.mode()).bits();
                    files.insert(path, (mode, entry.object_id()));
                }
            }
        }
        Some(files)
    }

    /// Lists the files below a directory that git does not know and is not told to ignore; `None`
    /// when there are many entries, or a repository of its own.
    fn new_below(
        &self,
        dir: &str,
        index: &gix::index::File,
        known: &Listing,
    ) -> Option<Vec<BString>> {
        let top = self.top()?;
        let mut ignored = self.repo.excludes(index, None, Source::default()).ok()?;
        let (mut left, mut new, mut count) = (vec![BString::from(dir)], Vec::new(), 0);
        while let Some(dir) = left.pop() {
            for entry in fs::read_dir(top.join(OsStr::from_bytes(&dir))).ok()? {
                let entry = entry.ok()?;
                let name = entry.file_name().into_vec();
                count += 1;
                if count > ENTRIES_MAX || name.eq_ignore_ascii_case(b".git") {
                    return None;
                }
                let path = BString::from([&dir[..], b"/", &name].concat());
                let is_dir = entry.file_type().ok()?.is_dir();
                let mode = if is_dir { Mode::DIR } else { Mode::FILE };
                if known.contains_key(&path) {
                    continue;
                }
                let path_ref: &BStr = path.as_ref();
                if ignored.at_entry(path_ref, Some(mode)).ok()?.is_excluded() {
                    continue;
                }
                let list = if is_dir { &mut left } else { &mut new };
                list.push(path);
            }
        }
        Some(new)
    }
}

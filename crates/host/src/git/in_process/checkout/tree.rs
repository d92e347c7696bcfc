//! Reads the tree of a commit that is to be checked out.
//!
//! Only trees count that git would have written itself and would check out without special
//! handling; others are `None`. Nothing is written here.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::objs::{TreeRefIter, tree};
use gix::prelude::HeaderExt;

use crate::git::in_process::InProcessRepo;
use crate::git::in_process::files::{FILE_BYTES_MAX, is_ordinary_name, mention_conversion};

/// The deepest nesting of directories.
const DEPTH_MAX: usize = 100;
/// The highest compression ratio of deflate, so a small loose object cannot hold a large file.
const DEFLATE_RATIO_MAX: u64 = 1032;

/// The largest tree that is cached for the next checkout, in files.
const CACHED_FILES_MAX: u32 = 10_000;

/// The tree of the last checkout.
///
/// The next checkout holds almost the same, and trees with the same hash are the same.
static LAST_TREE: Mutex<Option<Arc<CheckoutTree>>> = Mutex::new(None);

/// A directory with everything in it.
pub(super) struct CheckoutTree {
    pub(super) id: ObjectId,
    /// Sorted in the order of git's tree objects.
    pub(super) items: Vec<(BString, TreeItem)>,
    /// The number of files in this directory and below.
    pub(super) count: u32,
}

/// An entry of a directory.
pub(super) enum TreeItem {
    File(FileKind, ObjectId),
    Directory(Arc<CheckoutTree>),
}

/// The kind of a file, with its mode in git.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Regular = 0o100_644,
    Executable = 0o100_755,
    Link = 0o120_000,
}

impl InProcessRepo {
    /// Reads the tree of a commit, reusing parts of the last checkout's tree.
    pub(super) fn load_tree(&self, id: ObjectId) -> Option<Arc<CheckoutTree>> {
        let last = || LAST_TREE.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = last().clone();
        let tree = self.read_tree(id, 0, cached.as_ref())?;
        *last() = (tree.count <= CACHED_FILES_MAX).then(|| Arc::clone(&tree));
        Some(tree)
    }

    /// Reads a tree and its subtrees, except those that `cached` holds under the same hash.
    fn read_tree(
        &self,
        id: ObjectId,
        depth: usize,
        cached: Option<&Arc<CheckoutTree>>,
    ) -> Option<Arc<CheckoutTree>> {
        if let Some(cached) = cached.filter(|cached| cached.id == id) {
            return Some(Arc::clone(cached));
        }
        let bytes = self.read(id, gix::objs::Kind::Tree, |bytes| Some(bytes.to_vec()))?;
        let mut dir = CheckoutTree { id, items: Vec::new(), count: 0 };
        let mut last: Option<(&BStr, bool)> = None;
        for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
            let entry = entry.ok()?;
            let (name, id) = (entry.filename, entry.oid.to_owned());
            let item = match entry.mode.value() {
                0o040_000 if depth < DEPTH_MAX => {
                    let cached = cached.and_then(|cached| cached.child_dir(name));
                    TreeItem::Directory(self.read_tree(id, depth + 1, cached)?)
                }
                0o100_644 => TreeItem::File(FileKind::Regular, id),
                0o100_755 => TreeItem::File(FileKind::Executable, id),
                0o120_000 => TreeItem::File(FileKind::Link, id),
                _ => return None,
            };
            let this = (name, matches!(item, TreeItem::Directory(_)));
            let is_next = last.is_none_or(|(name, is_dir)| {
                tree::name_order(name, is_dir, this.0, this.1).is_lt()
            });
            if !is_next || !self.is_supported_item(name, &item)? {
                return None;
            }
            last = Some(this);
            dir.count = dir.count.checked_add(item.count())?;
            dir.items.push((name.to_owned(), item));
        }
        // Git writes no empty directories.
        (depth == 0 || dir.count > 0).then(|| Arc::new(dir))
    }

    /// Returns whether git checks out an entry without special handling.
    fn is_supported_item(&self, name: &BStr, item: &TreeItem) -> Option<bool> {
        if !is_ordinary_name(name, matches!(item, TreeItem::File(FileKind::Link, _))) {
            return None;
        }
        if matches!(item, TreeItem::File(_, id) if !self.is_small(id)) {
            return None;
        }
        match item {
            _ if name != ".gitattributes" => Some(true),
            TreeItem::File(FileKind::Regular, id) => {
                self.read(*id, gix::objs::Kind::Blob, |rules| Some(!mention_conversion(rules)))
            }
            _ => None,
        }
    }

    /// Returns whether the content of a file exists and is not too large.
    fn is_small(&self, id: &ObjectId) -> bool {
        // Faster than reading the object's header.
        fs::metadata(self.loose_path(id))
            .is_ok_and(|file| file.len() <= FILE_BYTES_MAX / DEFLATE_RATIO_MAX)
            || self.repo.objects.header(id).is_ok_and(|header| {
                header.size() <= FILE_BYTES_MAX && header.kind() == gix::objs::Kind::Blob
            })
    }
}

impl CheckoutTree {
    /// Returns the subdirectory of this name.
    fn child_dir(&self, name: &BStr) -> Option<&Arc<Self>> {
        let order = |(own, item): &(BString, TreeItem)| {
            tree::name_order(own.as_ref(), matches!(item, TreeItem::Directory(_)), name, true)
        };
        let position = self.items.binary_search_by(order).ok()?;
        match &self.items[position].1 {
            TreeItem::Directory(dir) => Some(dir),
            TreeItem::File(..) => None,
        }
    }
}

impl TreeItem {
    fn count(&self) -> u32 {
        match self {
            Self::File(..) => 1,
            Self::Directory(dir) => dir.count,
        }
    }
}

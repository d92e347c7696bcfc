//! What a tree holds that is to become files.
//!
//! Only trees count that git would have made itself and would check out without a word: others are
//! `None`. Nothing is written here.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::bstr::{BStr, BString};
use gix::objs::{TreeRefIter, tree};
use gix::prelude::HeaderExt;

use crate::git::plain::Plain;
use crate::git::plain::files::{FILE_BYTES_MAX, is_usual_name, say_converting};

/// Folders in folders in folders.
const DEEPEST: usize = 100;
/// How many bytes can have become one in an object of its own.
const MOST: u64 = 1032;

/// The largest folder that is kept for the next one to be compared with, in files.
const KEPT_MAX: u32 = 10_000;

/// The top folder of the last worktree.
///
/// The next one holds almost the same, and a tree that is called the same is the same.
static LAST: Mutex<Option<Arc<Folder>>> = Mutex::new(None);

/// A folder, with all that is in it.
pub(super) struct Folder {
    pub(super) id: ObjectId,
    /// In the order of the index.
    pub(super) items: Vec<(BString, Item)>,
    /// How many files are below.
    pub(super) count: u32,
}

/// A part of a folder.
pub(super) enum Item {
    File(Kind, ObjectId),
    Folder(Arc<Folder>),
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text = 0o100_644,
    Program = 0o100_755,
    Link = 0o120_000,
}

impl Plain {
    /// Reads the tree of a commit, where it is not known from the last worktree.
    pub(super) fn known_folder(&self, id: ObjectId) -> Option<Arc<Folder>> {
        let last = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last().clone();
        let folder = self.folder(id, 0, known.as_ref())?;
        *last() = (folder.count <= KEPT_MAX).then(|| Arc::clone(&folder));
        Some(folder)
    }

    /// Reads a tree, and those in it, but for what is known.
    fn folder(
        &self,
        id: ObjectId,
        depth: usize,
        known: Option<&Arc<Folder>>,
    ) -> Option<Arc<Folder>> {
        if let Some(known) = known.filter(|known| known.id == id) {
            return Some(Arc::clone(known));
        }
        let bytes = self.read(id, gix::objs::Kind::Tree, |bytes| Some(bytes.to_vec()))?;
        let mut folder = Folder { id, items: Vec::new(), count: 0 };
        let mut last: Option<(&BStr, bool)> = None;
        for entry in TreeRefIter::from_bytes(&bytes, id.kind()) {
            let entry = entry.ok()?;
            let (name, id) = (entry.filename, entry.oid.to_owned());
            let item = match entry.mode.value() {
                0o040_000 if depth < DEEPEST => {
                    let known = known.and_then(|known| known.inner(name));
                    Item::Folder(self.folder(id, depth + 1, known)?)
                }
                0o100_644 => Item::File(Kind::Text, id),
                0o100_755 => Item::File(Kind::Program, id),
                0o120_000 => Item::File(Kind::Link, id),
                _ => return None,
            };
            let this = (name, matches!(item, Item::Folder(_)));
            let is_next = last.is_none_or(|(name, is_folder)| {
                tree::name_order(name, is_folder, this.0, this.1).is_lt()
            });
            if !is_next || !self.is_plain(name, &item)? {
                return None;
            }
            last = Some(this);
            folder.count = folder.count.checked_add(item.count())?;
            folder.items.push((name.to_owned(), item));
        }
        // Git makes no folder without files.
        (depth == 0 || folder.count > 0).then(|| Arc::new(folder))
    }

    /// Returns whether git takes the name for that of a file like any other.
    fn is_plain(&self, name: &BStr, item: &Item) -> Option<bool> {
        if !is_usual_name(name, matches!(item, Item::File(Kind::Link, _))) {
            return None;
        }
        if matches!(item, Item::File(_, id) if !self.is_small(id)) {
            return None;
        }
        match item {
            _ if name != ".gitattributes" => Some(true),
            Item::File(Kind::Text, id) => {
                self.read(*id, gix::objs::Kind::Blob, |rules| Some(!say_converting(rules)))
            }
            _ => None,
        }
    }

    /// Returns whether the content of a file is there, and not too much.
    fn is_small(&self, id: &ObjectId) -> bool {
        // Quicker than to open it.
        fs::metadata(self.loose(id)).is_ok_and(|file| file.len() <= FILE_BYTES_MAX / MOST)
            || self.repo.objects.header(id).is_ok_and(|header| {
                header.size() <= FILE_BYTES_MAX && header.kind() == gix::objs::Kind::Blob
            })
    }
}

impl Folder {
    /// Finds a folder in this one.
    fn inner(&self, name: &BStr) -> Option<&Arc<Self>> {
        let order = |(own, item): &(BString, Item)| {
            tree::name_order(own.as_ref(), matches!(item, Item::Folder(_)), name, true)
        };
        let at = self.items.binary_search_by(order).ok()?;
        match &self.items[at].1 {
            Item::Folder(folder) => Some(folder),
            Item::File(..) => None,
        }
    }
}

impl Item {
    fn count(&self) -> u32 {
        match self {
            Self::File(..) => 1,
            Self::Folder(folder) => folder.count,
        }
    }
}

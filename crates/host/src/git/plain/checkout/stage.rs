//! The index of a worktree whose files were just written, in the form that git gives it: version 2,
//! with the trees that the folders are.
//!
//! Only bytes are made here.

use gix::ObjectId;
use rustix::fs::{Stat, Timestamps};

use super::folder::{Folder, Item, Kind};

/// Longer names say that they are.
const LONG: u16 = 0xfff;

/// An index while it is made, entry by entry in its order.
pub(super) struct Stage {
    bytes: Vec<u8>,
    /// The folder that is filled, with a slash behind it; nothing at the top.
    folder: Vec<u8>,
    /// When files are said to be written.
    pub(super) times: Timestamps,
}

impl Stage {
    pub(super) fn new(count: u32, times: Timestamps) -> Self {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend_from_slice(&2_u32.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        Self { bytes, folder: Vec::new(), times }
    }

    /// Goes into a folder; returns what to [`leave`](Self::leave) it with.
    pub(super) fn enter(&mut self, name: &[u8]) -> usize {
        let outer = self.folder.len();
        self.folder.extend_from_slice(name);
        self.folder.push(b'/');
        outer
    }

    pub(super) fn leave(&mut self, outer: usize) {
        self.folder.truncate(outer);
    }

    /// Adds a file of the folder. Git keeps the low bits of larger numbers.
    pub(super) fn add(&mut self, name: &[u8], kind: Kind, id: &ObjectId, stat: &Stat) {
        let start = self.bytes.len();
        let numbers = [
            stat.st_ctime as u32,
            stat.st_ctime_nsec as u32,
            stat.st_mtime as u32,
            stat.st_mtime_nsec as u32,
            stat.st_dev as u32,
            stat.st_ino as u32,
            kind as u32,
            stat.st_uid,
            stat.st_gid,
            stat.st_size as u32,
        ];
        self.bytes.extend(numbers.into_iter().flat_map(u32::to_be_bytes));
        self.bytes.extend_from_slice(id.as_bytes());
        let length = u16::try_from(self.folder.len() + name.len()).unwrap_or(LONG).min(LONG);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&self.folder);
        self.bytes.extend_from_slice(name);
        // At least one zero, and as many as it takes to a multiple of eight.
        let written = self.bytes.len() - start;
        self.bytes.resize(start + (written / 8 + 1) * 8, 0);
    }

    /// Returns the whole index.
    pub(super) fn finish(mut self, top: &Folder) -> Option<Vec<u8>> {
        let mut trees = Vec::new();
        list(&mut trees, b"", top);
        self.bytes.extend_from_slice(b"TREE");
        self.bytes.extend_from_slice(&u32::try_from(trees.len()).ok()?.to_be_bytes());
        self.bytes.extend_from_slice(&trees);
        let mut hasher = gix::hash::hasher(top.id.kind());
        hasher.update(&self.bytes);
        let hash = hasher.try_finalize().ok()?;
        self.bytes.extend_from_slice(hash.as_bytes());
        Some(self.bytes)
    }
}

/// Lists a folder and those in it.
fn list(trees: &mut Vec<u8>, name: &[u8], folder: &Folder) {
    let inner = folder.items.iter().filter_map(|(name, item)| match item {
        Item::Folder(folder) => Some((name, folder)),
        Item::File(..) => None,
    });
    let mut inner: Vec<_> = inner.collect();
    // Git's own order.
    inner.sort_by_key(|(name, _)| (name.len(), *name));
    trees.extend_from_slice(name);
    trees.extend_from_slice(format!("\0{} {}\n", folder.count, inner.len()).as_bytes());
    trees.extend_from_slice(folder.id.as_bytes());
    for (name, folder) in inner {
        list(trees, name, folder);
    }
}

//! Builds the index of a worktree whose files were just written, in git's form: version 2, with the
//! cached-tree extension.
//!
//! Only bytes are produced here; nothing is written to disk.

use gix::ObjectId;
use rustix::fs::{Stat, Timestamps};

use super::tree::{CheckoutTree, FileKind, TreeItem};

/// The largest length that an entry's name field can state; longer names store this value.
const NAME_LENGTH_MAX: u16 = 0xfff;

/// An index under construction; entries must be added in index order.
pub(super) struct IndexWriter {
    bytes: Vec<u8>,
    /// The current directory with a slash at its end; empty at the top.
    dir: Vec<u8>,
    /// The backdated times that new files get.
    pub(super) times: Timestamps,
}

impl IndexWriter {
    pub(super) fn new(count: u32, times: Timestamps) -> Self {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend_from_slice(&2_u32.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        Self { bytes, dir: Vec::new(), times }
    }

    /// Enters a subdirectory; returns the value to [`leave`](Self::leave) it with.
    pub(super) fn enter(&mut self, name: &[u8]) -> usize {
        let outer = self.dir.len();
        self.dir.extend_from_slice(name);
        self.dir.push(b'/');
        outer
    }

    pub(super) fn leave(&mut self, outer: usize) {
        self.dir.truncate(outer);
    }

    /// Adds a file of the current directory. Like git, only the low 32 bits of stat fields are
    /// stored.
    pub(super) fn add(&mut self, name: &[u8], kind: FileKind, id: &ObjectId, stat: &Stat) {
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
        let length = u16::try_from(self.dir.len() + name.len())
            .unwrap_or(NAME_LENGTH_MAX)
            .min(NAME_LENGTH_MAX);
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.bytes.extend_from_slice(&self.dir);
        self.bytes.extend_from_slice(name);
        // Entries end with one to eight zero bytes, up to a multiple of eight.
        let written = self.bytes.len() - start;
        self.bytes.resize(start + (written / 8 + 1) * 8, 0);
    }

    /// Returns the bytes of the complete index.
    pub(super) fn finish(mut self, top: &CheckoutTree) -> Option<Vec<u8>> {
        let mut trees = Vec::new();
        append_cached_trees(&mut trees, b"", top);
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

/// Appends a directory and its subdirectories to the cached-tree extension.
fn append_cached_trees(trees: &mut Vec<u8>, name: &[u8], tree: &CheckoutTree) {
    let children = tree.items.iter().filter_map(|(name, item)| match item {
        TreeItem::Directory(child) => Some((name, child)),
        TreeItem::File(..) => None,
    });
    let mut children: Vec<_> = children.collect();
    // Git sorts cached trees by length, then by name.
    children.sort_by_key(|(name, _)| (name.len(), *name));
    trees.extend_from_slice(name);
    trees.extend_from_slice(format!("\0{} {}\n", tree.count, children.len()).as_bytes());
    trees.extend_from_slice(tree.id.as_bytes());
    for (name, child) in children {
        append_cached_trees(trees, name, child);
    }
}

//! Reads and writes git objects; trees and commits only in the canonical form that git writes
//! today.
//!
//! An object that exists already is not written again.

#![expect(clippy::disallowed_methods, reason = "git's own files, which only this module writes")]

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use filetime::FileTime;
use gix::ObjectId;
use gix::bstr::ByteSlice;
use gix::hash::oid;
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{
    CommitRef, Data, Find, FindExt, Kind, TreeRef, WriteTo, compute_hash, encode::loose_header,
};
use gix::zlib::stream::deflate::{Compress, FlushCompress};
use gix::zlib::{Compression, Decompress, FlushDecompress, Status};

use super::InProcessRepo;
use super::settings::has_variable;
use crate::git::is_hash;

/// The step in which buffers for compressed and uncompressed objects grow.
const BUFFER_STEP_BYTES: usize = 16 * 1024;
/// Variables that make git see other parents than the commit objects name.
const REDIRECTIONS: [&str; 3] = ["GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"];

impl InProcessRepo {
    /// Returns whether git sees the parents that commit objects name: no shallow clone, no grafts.
    pub(super) fn has_real_parents(&self) -> bool {
        !self.dirs.common_dir.join("shallow").exists()
            && !REDIRECTIONS.iter().any(|name| has_variable(name))
    }

    /// Parses a full hash.
    pub(super) fn id(name: &str) -> Option<ObjectId> {
        is_hash(name.as_bytes()).then(|| ObjectId::from_hex(name.as_bytes()).ok())?
    }

    /// Reads a commit and passes it to `make`.
    pub(super) fn read_commit<T>(
        &self,
        id: ObjectId,
        make: impl FnOnce(&CommitRef<'_>) -> Option<T>,
    ) -> Option<T> {
        let kind = self.repo.object_hash();
        self.read(id, Kind::Commit, |bytes| make(&CommitRef::from_bytes(bytes, kind).ok()?))
    }

    pub(super) fn parents(&self, id: ObjectId) -> Option<Vec<ObjectId>> {
        self.read_commit(id, |commit| Some(commit.parents().collect()))
    }

    pub(super) fn tree_of(&self, commit: ObjectId) -> Option<ObjectId> {
        self.read_commit(commit, |commit| Some(commit.tree()))
    }

    /// Reads a tree; `None` also when git would have written it in another form.
    pub(super) fn entries(&self, tree: ObjectId) -> Option<Vec<Entry>> {
        if tree.is_empty_tree() {
            return Some(Vec::new());
        }
        let kind = self.repo.object_hash();
        self.read(tree, Kind::Tree, |bytes| {
            canonical_entries(TreeRef::from_bytes(bytes, kind).ok()?)
        })
    }

    /// Reads an object and passes its bytes to `make`, which must not read another object.
    ///
    /// A loose object is read into a reused buffer. gix would map each file into memory, and
    /// unmapping stops all threads of a process.
    pub(super) fn read<T>(
        &self,
        id: ObjectId,
        kind: Kind,
        make: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut buffer = self.buffer.try_borrow_mut().ok()?;
        match fs::File::open(self.loose_path(&id)) {
            Ok(mut file) => {
                buffer.read_file(&mut file).ok()?;
                make(buffer.inflate(kind)?)
            }
            Err(_) => {
                let found = self.repo.objects.find(&id, &mut buffer.bytes).ok()?;
                (found.kind == kind).then(|| make(found.data))?
            }
        }
    }

    /// Returns whether an object exists.
    pub(super) fn has(&self, id: &ObjectId) -> bool {
        self.repo.objects.exists_without_refresh(id)
    }

    /// Returns the path that an object has as a loose object.
    pub(super) fn loose_path(&self, id: &ObjectId) -> PathBuf {
        let hex = id.to_string();
        self.dirs.common_dir.join("objects").join(&hex[..2]).join(&hex[2..])
    }

    /// Writes an object unless it exists; returns its hash.
    pub(super) fn store(&self, object: &impl WriteTo, durability: Durability) -> Option<ObjectId> {
        let mut bytes = Vec::new();
        object.write_to(&mut bytes).ok()?;
        let kind = object.kind();
        let id = compute_hash(self.repo.object_hash(), kind, &bytes).ok()?;
        let file = self.loose_path(&id);
        if self.has(&id) {
            // Git's garbage collection spares recently written files. The object may be in a pack,
            // so failing is fine.
            filetime::set_file_mtime(&file, FileTime::now()).ok();
            return Some(id);
        }
        let mut buffer = self.buffer.try_borrow_mut().ok()?;
        let packed = buffer.deflate(&[&loose_header(kind, bytes.len() as u64), &bytes])?;
        write_object_file(&file, packed, durability).ok().map(|()| id)
    }
}

/// Lets gix's tree editor read trees through [`InProcessRepo::read`].
impl Find for InProcessRepo {
    fn try_find<'a>(
        &self,
        id: &oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::error::Result<Option<Data<'a>>> {
        buffer.clear();
        let take = |bytes: &[u8]| {
            buffer.extend_from_slice(bytes);
            Some(())
        };
        let is_there = self.read(id.to_owned(), Kind::Tree, take).is_some();
        let tree = Data { kind: Kind::Tree, object_hash: id.kind(), data: buffer };
        Ok(is_there.then_some(tree))
    }
}

/// Returns the entries of a tree; `None` when git would not have written it in this form.
fn canonical_entries(tree: TreeRef<'_>) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::with_capacity(tree.entries.len());
    for entry in tree.entries {
        let mut entry = Entry::from(entry);
        let kind = entry.mode.kind();
        // Git writes no empty directories.
        let is_noncanonical = entry.mode.value() != kind as u16
            || (kind == EntryKind::Tree && entry.oid.is_empty_tree())
            || entry.oid.is_null()
            || entry.filename.is_empty()
            || entry.filename.find_byte(b'/').is_some()
            || entries.last().is_some_and(|last| *last >= entry);
        if is_noncanonical {
            return None;
        }
        entry.mode = kind.into();
        entries.push(entry);
    }
    Some(entries)
}

/// When a new object reaches the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before it gets its final name. After a power failure git would take a truncated object for a
    /// complete one, and never write it again.
    Synced,
    /// When the system flushes its cache, as with git's own commits.
    Deferred,
}

/// Buffers that are reused for one object after another.
#[derive(Default)]
pub(super) struct ObjectBuffer {
    packed: Vec<u8>,
    bytes: Vec<u8>,
    inflate: Decompress,
    /// Created on first use: it needs a quarter of a megabyte, and many processes never write.
    deflate: Option<Compress>,
}

impl ObjectBuffer {
    /// Reads a file without asking for its length: most files are shorter than one step.
    fn read_file(&mut self, file: &mut fs::File) -> io::Result<()> {
        let mut length = 0;
        loop {
            self.packed.resize(self.packed.len().max(length + BUFFER_STEP_BYTES), 0);
            let read = file.read(&mut self.packed[length..])?;
            length += read;
            // A short read means the end of the file.
            if length < self.packed.len() {
                self.packed.truncate(length);
                return Ok(());
            }
        }
    }

    /// Inflates a loose object; returns its content without the header.
    fn inflate(&mut self, kind: Kind) -> Option<&[u8]> {
        let Self { packed, bytes, inflate, .. } = self;
        inflate.reset();
        bytes.resize(bytes.len().max(BUFFER_STEP_BYTES), 0);
        loop {
            let read = usize::try_from(inflate.total_in()).ok()?;
            let made = usize::try_from(inflate.total_out()).ok()?;
            if made == bytes.len() {
                bytes.resize(made * 2, 0);
            }
            let into = &mut bytes[made..];
            match inflate.decompress(&packed[read..], into, FlushDecompress::None).ok()? {
                Status::StreamEnd => break,
                Status::Ok | Status::BufError if inflate.total_out() as usize == made => {
                    return None;
                }
                Status::Ok | Status::BufError => {}
            }
        }
        let object = &bytes[..usize::try_from(inflate.total_out()).ok()?];
        let (size, content) = object.strip_prefix(kind.as_bytes())?.split_once_str(b"\0")?;
        let size = size.strip_prefix(b" ")?;
        let size: usize = std::str::from_utf8(size).ok()?.parse().ok()?;
        (size == content.len()).then_some(content)
    }

    /// Deflates an object that is given in parts.
    fn deflate(&mut self, parts: &[&[u8]]) -> Option<&[u8]> {
        let Self { packed, deflate, .. } = self;
        let deflate = deflate.get_or_insert_with(|| Compress::new(Compression::BEST_SPEED));
        deflate.reset();
        packed.clear();
        for (number, part) in parts.iter().enumerate() {
            let is_last = number + 1 == parts.len();
            let flush = if is_last { FlushCompress::Finish } else { FlushCompress::None };
            let before = deflate.total_in();
            loop {
                let read = usize::try_from(deflate.total_in() - before).ok()?;
                let made = usize::try_from(deflate.total_out()).ok()?;
                packed.resize(made + BUFFER_STEP_BYTES, 0);
                let status = deflate.compress(&part[read..], &mut packed[made..], flush).ok()?;
                let is_read = deflate.total_in() - before == part.len() as u64;
                if status == Status::StreamEnd || (is_read && !is_last) {
                    break;
                }
                if status == Status::BufError {
                    return None;
                }
            }
        }
        packed.truncate(usize::try_from(deflate.total_out()).ok()?);
        Some(packed)
    }
}

/// Writes a file under a temporary name that git's garbage collection recognises, then renames it.
fn write_object_file(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unfinished = dir.join(format!("tmp_obj_{}_{number}", process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(&unfinished)?;
    let mut result = file.write_all(bytes);
    if durability == Durability::Synced {
        result = result.and_then(|()| file.sync_all());
    }
    let result = result.and_then(|()| fs::rename(&unfinished, path));
    if result.is_err() {
        // The file may be gone already; the caller gets the first error anyway.
        fs::remove_file(&unfinished).ok();
    }
    result
}

#[cfg(test)]
mod tests;

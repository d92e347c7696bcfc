//! Objects: how they are written, and trees and commits, read in the one form that git writes today.
//!
//! An object that is there already is not written again.

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

use super::Plain;
use super::settings::has_variable;
use crate::git::is_hash;

/// How much memory is taken at once for an object that is unpacked or packed.
const STEP_BYTES: usize = 16 * 1024;
/// Variables by which git sees other parents than are in the files.
const REDIRECTIONS: [&str; 3] = ["GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE"];

impl Plain {
    /// Returns whether commits have the parents that they name.
    pub(super) fn is_whole(&self) -> bool {
        !self.layout.common.join("shallow").exists()
            && !REDIRECTIONS.iter().any(|name| has_variable(name))
    }

    /// Returns the object of a name that is written out.
    pub(super) fn id(name: &str) -> Option<ObjectId> {
        is_hash(name.as_bytes()).then(|| ObjectId::from_hex(name.as_bytes()).ok())?
    }

    /// Reads a commit.
    pub(super) fn commit<T>(
        &self,
        id: ObjectId,
        make: impl FnOnce(&CommitRef<'_>) -> Option<T>,
    ) -> Option<T> {
        let kind = self.repo.object_hash();
        self.read(id, Kind::Commit, |bytes| make(&CommitRef::from_bytes(bytes, kind).ok()?))
    }

    pub(super) fn parents(&self, id: ObjectId) -> Option<Vec<ObjectId>> {
        self.commit(id, |commit| Some(commit.parents().collect()))
    }

    pub(super) fn tree_of(&self, commit: ObjectId) -> Option<ObjectId> {
        self.commit(commit, |commit| Some(commit.tree()))
    }

    /// Reads a tree; `None` also where git would have written it otherwise.
    pub(super) fn entries(&self, tree: ObjectId) -> Option<Vec<Entry>> {
        if tree.is_empty_tree() {
            return Some(Vec::new());
        }
        let kind = self.repo.object_hash();
        self.read(tree, Kind::Tree, |bytes| usual(TreeRef::from_bytes(bytes, kind).ok()?))
    }

    /// Reads an object. What is made of it must not read another one meanwhile.
    ///
    /// One that has a file of its own is read into memory that is used again; gix maps each, and to
    /// take a map away stops all threads of a process.
    pub(super) fn read<T>(
        &self,
        id: ObjectId,
        kind: Kind,
        make: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut content = self.content.try_borrow_mut().ok()?;
        match fs::File::open(self.loose(&id)) {
            Ok(mut file) => {
                content.take(&mut file).ok()?;
                make(content.unpack(kind)?)
            }
            Err(_) => {
                let found = self.repo.objects.find(&id, &mut content.bytes).ok()?;
                (found.kind == kind).then(|| make(found.data))?
            }
        }
    }

    /// Returns whether an object is there.
    pub(super) fn has(&self, id: &ObjectId) -> bool {
        self.repo.objects.exists_without_refresh(id)
    }

    /// Returns where an object lies that has a file of its own.
    pub(super) fn loose(&self, id: &ObjectId) -> PathBuf {
        let hex = id.to_string();
        self.layout.common.join("objects").join(&hex[..2]).join(&hex[2..])
    }

    /// Writes an object.
    pub(super) fn store(&self, object: &impl WriteTo, lasting: Lasting) -> Option<ObjectId> {
        let mut bytes = Vec::new();
        object.write_to(&mut bytes).ok()?;
        let kind = object.kind();
        let id = compute_hash(self.repo.object_hash(), kind, &bytes).ok()?;
        let file = self.loose(&id);
        if self.has(&id) {
            // Git's housekeeping leaves alone what was written lately. It may be in a pack.
            filetime::set_file_mtime(&file, FileTime::now()).ok();
            return Some(id);
        }
        let mut content = self.content.try_borrow_mut().ok()?;
        let packed = content.pack(&[&loose_header(kind, bytes.len() as u64), &bytes])?;
        put(&file, packed, lasting).ok().map(|()| id)
    }
}

/// Lets gix read trees as we do.
impl Find for Plain {
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

/// Returns the entries of a tree that git would have written in the same way.
fn usual(tree: TreeRef<'_>) -> Option<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::with_capacity(tree.entries.len());
    for entry in tree.entries {
        let mut entry = Entry::from(entry);
        let kind = entry.mode.kind();
        // Directories are there for the sake of files: git makes no empty ones.
        let is_odd = entry.mode.value() != kind as u16
            || (kind == EntryKind::Tree && entry.oid.is_empty_tree())
            || entry.oid.is_null()
            || entry.filename.is_empty()
            || entry.filename.find_byte(b'/').is_some()
            || entries.last().is_some_and(|last| *last >= entry);
        if is_odd {
            return None;
        }
        entry.mode = kind.into();
        entries.push(entry);
    }
    Some(entries)
}

/// When an object is on the disk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasting {
    /// Before it has its name: after a power failure git would take half of one for the whole, and
    /// never write it again.
    Now,
    /// When the system comes to it, as with git's own commits.
    AsUsual,
}

/// Memory for the content of one object after another.
#[derive(Default)]
pub(super) struct Content {
    packed: Vec<u8>,
    bytes: Vec<u8>,
    inflate: Decompress,
    /// It needs a quarter of a megabyte, and not everybody writes.
    deflate: Option<Compress>,
}

impl Content {
    /// Reads a file. Nobody is asked how long it is: most are shorter than what is read at once.
    fn take(&mut self, file: &mut fs::File) -> io::Result<()> {
        let mut length = 0;
        loop {
            self.packed.resize(self.packed.len().max(length + STEP_BYTES), 0);
            let read = file.read(&mut self.packed[length..])?;
            length += read;
            // A part of a file that is there is read as a whole.
            if length < self.packed.len() {
                self.packed.truncate(length);
                return Ok(());
            }
        }
    }

    /// Unpacks the file of an object.
    fn unpack(&mut self, kind: Kind) -> Option<&[u8]> {
        let Self { packed, bytes, inflate, .. } = self;
        inflate.reset();
        bytes.resize(bytes.len().max(STEP_BYTES), 0);
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

    /// Packs an object that is given in parts.
    fn pack(&mut self, parts: &[&[u8]]) -> Option<&[u8]> {
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
                packed.resize(made + STEP_BYTES, 0);
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

/// Writes a file under a name that git's housekeeping knows as a leftover, then gives it its own.
fn put(path: &Path, bytes: &[u8], lasting: Lasting) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let dir = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unfinished = dir.join(format!("tmp_obj_{}_{number}", process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(&unfinished)?;
    let mut done = file.write_all(bytes);
    if lasting == Lasting::Now {
        done = done.and_then(|()| file.sync_all());
    }
    let done = done.and_then(|()| fs::rename(&unfinished, path));
    if done.is_err() {
        // It may be there no more; what failed is told anyway.
        fs::remove_file(&unfinished).ok();
    }
    done
}

#[cfg(test)]
mod tests;

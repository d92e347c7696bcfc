//! Caches the contents of small files that were written into worktrees: most files of the next
//! worktree are the same.
//!
//! Objects are named by their content, so the cache is never out of date.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;

use crate::git::in_process::InProcessRepo;

/// The largest cached blob; for larger ones reading takes longer than the lookup that a cache
/// saves.
const BLOB_BYTES_MAX: usize = 16 * 1024;
/// The largest size of all cached blobs together. When it is reached, other blobs are read each
/// time.
const CACHE_BYTES_MAX: usize = 4 << 20;

/// Blob contents by object hash.
#[derive(Default)]
struct BlobCache {
    bytes: usize,
    blobs: HashMap<ObjectId, Arc<[u8]>>,
}

static CACHE: Mutex<Option<BlobCache>> = Mutex::new(None);

impl InProcessRepo {
    /// Passes the content of a blob to `make`, from the cache if possible.
    pub(super) fn with_content<T>(
        &self,
        id: ObjectId,
        make: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let cached = lock_cache().as_ref().and_then(|cache| cache.blobs.get(&id).cloned());
        if let Some(content) = cached {
            return make(&content);
        }
        self.read(id, Kind::Blob, |content| {
            insert(id, content);
            make(content)
        })
    }
}

fn lock_cache() -> MutexGuard<'static, Option<BlobCache>> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn insert(id: ObjectId, content: &[u8]) {
    let mut cache = lock_cache();
    let cache = cache.get_or_insert_default();
    if content.len() <= BLOB_BYTES_MAX && cache.bytes + content.len() <= CACHE_BYTES_MAX {
        cache.bytes += content.len();
        cache.blobs.insert(id, content.into());
    }
}

//! The contents of small files that were written into worktrees, for the next worktree: most of its
//! files are the same.
//!
//! What an object is called says what it holds, so nothing here can be out of date.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;

use crate::git::plain::Plain;

/// The largest content that is kept; reading more takes longer than to ask for it.
const CONTENT_BYTES_MAX: usize = 16 * 1024;
/// How much is kept of all. What comes later is read each time.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Contents by the names of their objects.
#[derive(Default)]
struct Kept {
    bytes: usize,
    contents: HashMap<ObjectId, Arc<[u8]>>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

impl Plain {
    /// Makes something of the content of a file.
    pub(super) fn with_content<T>(
        &self,
        id: ObjectId,
        make: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let known = kept().as_ref().and_then(|kept| kept.contents.get(&id).cloned());
        if let Some(content) = known {
            return make(&content);
        }
        self.read(id, Kind::Blob, |content| {
            keep(id, content);
            make(content)
        })
    }
}

fn kept() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(id: ObjectId, content: &[u8]) {
    let mut kept = kept();
    let kept = kept.get_or_insert_default();
    if content.len() <= CONTENT_BYTES_MAX && kept.bytes + content.len() <= KEPT_BYTES_MAX {
        kept.bytes += content.len();
        kept.contents.insert(id, content.into());
    }
}

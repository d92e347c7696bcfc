//! Wakes a loop when files change.
//!
//! The kernel tells which file of a directory was written. Where it cannot, or a note is lost, the
//! loop looks by itself every few seconds; nothing depends on being woken.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a loop looks by itself.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);

/// A note that something changed, sent once until it is read.
#[derive(Clone, Debug, Default)]
pub struct Bell {
    rung: Arc<AtomicBool>,
}

impl Bell {
    /// Returns whether the bell was silent before.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing rings it there"))]
    fn ring(&self) -> bool {
        !self.rung.swap(true, Ordering::AcqRel)
    }

    /// Makes the next change ring again. Call it before looking.
    pub fn reset(&self) {
        self.rung.store(false, Ordering::Release);
    }
}

/// Calls `wake` from a thread whenever a file of a directory changes whose name is of interest.
///
/// Watching is best effort: what cannot be watched is looked at now and then.
#[cfg(target_os = "linux")]
pub fn watch(
    dirs: &[&Path],
    concerns: impl Fn(&str) -> bool + Send + 'static,
    bell: Bell,
    wake: impl Fn() -> bool + Send + 'static,
) {
    use rustix::fs::inotify;
    let Ok(fd) = inotify::init(inotify::CreateFlags::CLOEXEC) else { return };
    let flags = inotify::WatchFlags::MODIFY
        | inotify::WatchFlags::CREATE
        | inotify::WatchFlags::MOVED_TO
        | inotify::WatchFlags::CLOSE_WRITE;
    for dir in dirs {
        inotify::add_watch(&fd, *dir, flags).ok();
    }
    let look = move || {
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 4096];
        let mut reader = inotify::Reader::new(&fd, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            if name.is_some_and(|name| concerns(&name)) && bell.ring() && !wake() {
                return;
            }
        }
    };
    // Without the thread the loop looks by itself.
    std::thread::Builder::new().name("mow-watch".to_owned()).spawn(look).ok();
}

/// There is no watching here: the loop looks by itself.
#[cfg(not(target_os = "linux"))]
pub fn watch(
    _dirs: &[&Path],
    _concerns: impl Fn(&str) -> bool + Send + 'static,
    _bell: Bell,
    _wake: impl Fn() -> bool + Send + 'static,
) {
}

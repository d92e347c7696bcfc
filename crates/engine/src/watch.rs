//! Wakes a loop when files in a directory change, by inotify on Linux.
//!
//! Watching is an optimisation: where it is missing or an event is lost, the loop still polls the
//! files every [`POLL_INTERVAL`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a loop polls its files without being woken.
pub const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A flag that merges many file changes into one wake-up, until the loop resets it.
#[derive(Clone, Debug, Default)]
pub struct WakeFlag {
    raised: Arc<AtomicBool>,
}

impl WakeFlag {
    /// Raises the flag; returns whether it was not raised before.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "nothing is watched on other systems")
    )]
    fn raise(&self) -> bool {
        !self.raised.swap(true, Ordering::AcqRel)
    }

    /// Resets the flag. Call it before reading files, so that no later change is missed.
    pub fn reset(&self) {
        self.raised.store(false, Ordering::Release);
    }
}

/// Calls `wake` from a thread when a file in `dirs` changes whose name `is_relevant` accepts.
///
/// `wake` is called once until the flag is reset; the thread ends when `wake` returns false. A
/// directory that cannot be watched is only polled.
#[cfg(target_os = "linux")]
pub fn watch_dirs(
    dirs: &[&Path],
    is_relevant: impl Fn(&str) -> bool + Send + 'static,
    flag: WakeFlag,
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
    let watch_loop = move || {
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 4096];
        let mut reader = inotify::Reader::new(&fd, &mut buffer);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
            if name.is_some_and(|name| is_relevant(&name)) && flag.raise() && !wake() {
                return;
            }
        }
    };
    // If the thread cannot be started, the loop still polls.
    std::thread::Builder::new().name("mow-watch".to_owned()).spawn(watch_loop).ok();
}

/// Does nothing: files are watched on Linux only, so the loop polls.
#[cfg(not(target_os = "linux"))]
pub fn watch_dirs(
    _dirs: &[&Path],
    _is_relevant: impl Fn(&str) -> bool + Send + 'static,
    _bell: WakeFlag,
    _wake: impl Fn() -> bool + Send + 'static,
) {
}

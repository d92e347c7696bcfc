//! Wakes a loop when files change.
//!
//! Watching is an optimisation: where it fails or an event is lost, the loop still polls the files
//! every [`POLL_INTERVAL`].

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// How often a loop polls its files without being woken.
pub const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// A flag that merges many file changes into one wake-up, until the loop resets it.
#[derive(Clone, Debug, Default)]
pub struct WakeFlag {
    raised: Arc<AtomicBool>,
}

impl WakeFlag {
    /// Raises the flag; returns whether it was not raised before.
    fn raise(&self) -> bool {
        !self.raised.swap(true, Ordering::AcqRel)
    }

    /// Resets the flag. Call it before reading files, so that no later change is missed.
    pub fn reset(&self) {
        self.raised.store(false, Ordering::Release);
    }
}

/// The thread that watches files. Dropping it ends the watch.
#[derive(Debug, Default)]
#[must_use]
pub struct FileWatch {
    /// `None` if the system cannot watch files.
    _watcher: Option<RecommendedWatcher>,
}

/// Calls `wake` from a thread when a file changes whose name `is_relevant` accepts.
///
/// Each path is a directory, whose files are watched, or a single file. `wake` is called once until
/// the flag is reset, and must not block. A path that cannot be watched is only polled.
pub fn watch_files(
    paths: &[&Path],
    is_relevant: impl Fn(&str) -> bool + Send + 'static,
    flag: WakeFlag,
    wake: impl Fn() + Send + 'static,
) -> FileWatch {
    let on_event = move |event: notify::Result<Event>| {
        if is_change(event, &is_relevant) && flag.raise() {
            wake();
        }
    };
    let mut watcher = notify::recommended_watcher(on_event).ok();
    for path in paths {
        if let Some(watcher) = &mut watcher {
            watcher.watch(path, RecursiveMode::NonRecursive).ok();
        }
    }
    FileWatch { _watcher: watcher }
}

/// Returns whether an event may mean that a relevant file has new contents.
fn is_change(event: notify::Result<Event>, is_relevant: impl Fn(&str) -> bool) -> bool {
    // After an error or an overflow of the system's queue, nobody knows what changed.
    let Ok(event) = event else { return true };
    let has_contents =
        matches!(event.kind, EventKind::Any | EventKind::Create(_) | EventKind::Modify(_));
    let mut names = event.paths.iter().filter_map(|path| path.file_name()?.to_str());
    event.need_rescan() || (has_contents && names.any(is_relevant))
}

#[cfg(test)]
mod tests;

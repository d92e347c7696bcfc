//! Files of ours in git's directories that are named after the process they belong to, so that what a
//! killed one left behind is known as such.

#![expect(clippy::disallowed_methods, reason = "only what carries a name of ours is removed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Returns the path of a file or directory that belongs to this process.
pub(super) fn path(dir: &Path, prefix: &str, name: &str) -> PathBuf {
    dir.join(format!("{prefix}{}.{name}", process::id()))
}

/// Removes what belongs to processes that are gone. What stays harms nobody.
pub(super) fn sweep(dir: &Path, prefix: &str) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(prefix)?.split_once('.'));
        let pid = owner.and_then(|(pid, _)| Pid::from_raw(pid.parse().ok()?));
        if !pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            fs::remove_dir_all(entry.path()).ok();
        } else {
            fs::remove_file(entry.path()).ok();
        }
    }
}

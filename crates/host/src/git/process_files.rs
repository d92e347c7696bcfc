//! Names mow's temporary files in git directories after the process that owns them, so that files
//! of killed processes can be recognised and removed.

#![expect(clippy::disallowed_methods, reason = "only files with mow's own prefix are removed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// Returns the path of a file or directory that this process owns.
pub(super) fn path_for_this_process(dir: &Path, prefix: &str, name: &str) -> PathBuf {
    dir.join(format!("{prefix}{}.{name}", process::id()))
}

/// Removes files and directories whose processes are gone. Failures are ignored: the files harm
/// nobody.
pub(super) fn remove_stale(dir: &Path, prefix: &str) {
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

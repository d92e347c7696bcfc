//! Writes command output that is too long to print to a file that is kept for a day.
//!
//! These files are in a cache directory and belong to no project: no lock and no sync are needed,
//! and their names cannot be guessed.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::DiskError;
use super::replace::random;

/// The age after which an output file is removed.
const AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes bytes to a new file in `dir` and returns its path. Removes files older than a day.
pub fn write_large_output(dir: &Path, bytes: &[u8]) -> Result<PathBuf, DiskError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(DiskError::io("create", dir))?;
    remove_old(dir);
    let path = dir.join(format!("mow-{:016x}.json", random()));
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(DiskError::io("create", &path))?;
    file.write_all(bytes).map_err(DiskError::io("write", &path))?;
    Ok(path)
}

/// Removes old output files. A file that cannot be removed is left for a later call.
fn remove_old(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let Some(limit) = SystemTime::now().checked_sub(AGE_MAX) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_output = name.starts_with("mow-") && name.ends_with(".json");
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if is_output && modified.is_ok_and(|time| time < limit) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

//! Answers too long to print, kept for a day in a directory that may vanish.
//!
//! These files belong to nobody's project: no lock, no sync, a name nobody can guess.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::DiskError;
use super::replace::random;

/// How long a spilled answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Writes bytes to a new file in `dir`, removes those that are older than a day, and returns where
/// the new one is.
pub fn spill(dir: &Path, bytes: &[u8]) -> Result<PathBuf, DiskError> {
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

/// Removes old answers; one that cannot be removed now can be removed later.
fn remove_old(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let Some(limit) = SystemTime::now().checked_sub(KEPT) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = name.starts_with("mow-") && name.ends_with(".json");
        let old = entry.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time < limit);
        if ours && old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

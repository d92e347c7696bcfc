//! How much room is left.

use std::io;
use std::path::Path;

/// Returns how many bytes an ordinary user may still write on the filesystem of a path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

//! Asks the filesystem for write permission and free space.

use std::io;
use std::path::Path;

/// Returns whether this process may write to a path, according to `access(2)`.
pub fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns how many free bytes an unprivileged user can use on the filesystem of a path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statvfs(path)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

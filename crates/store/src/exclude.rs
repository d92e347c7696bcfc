//! `info/exclude`: keeps files out of git without touching the user's own ignore files.

use crate::disk::{DiskError, WAIT_DEFAULT, Writer};
use crate::project::Project;

/// Adds a line unless it is there; outside of a repository there is nothing to keep out of.
pub fn add(project: &Project, line: &str) -> Result<(), DiskError> {
    let Some(repository) = &project.repository else { return Ok(()) };
    let common = &repository.common_dir;
    let writer = Writer::open_engine(project, WAIT_DEFAULT)?.with_root(common)?;
    writer.create_dir(&common.join("info"))?;
    writer.update(&common.join("info/exclude"), |old| {
        let old = old.unwrap_or_default();
        if old.split(|byte| *byte == b'\n').any(|own| own.trim_ascii() == line.as_bytes()) {
            return Ok::<_, DiskError>(None);
        }
        let close: &[u8] = if old.is_empty() || old.ends_with(b"\n") { b"" } else { b"\n" };
        Ok(Some([old, close, line.as_bytes(), b"\n"].concat()))
    })?;
    Ok(())
}

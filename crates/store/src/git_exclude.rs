//! Adds lines to `info/exclude`: keeps files out of git without changing the user's `.gitignore`.

use crate::disk::{DiskError, WAIT_DEFAULT, Writer};
use crate::project::Project;

/// Adds a line unless the file has it already. Does nothing outside of a repository.
pub fn add_line(project: &Project, line: &str) -> Result<(), DiskError> {
    let Some(repository) = &project.repository else { return Ok(()) };
    let common = &repository.common_dir;
    let writer = Writer::open_engine(project, WAIT_DEFAULT)?.with_root(common)?;
    writer.create_dir(&common.join("info"))?;
    writer.update(&common.join("info/exclude"), |old| {
        let old = old.unwrap_or_default();
        if old.split(|byte| *byte == b'\n').any(|old_line| old_line.trim_ascii() == line.as_bytes())
        {
            return Ok::<_, DiskError>(None);
        }
        let separator: &[u8] = if old.is_empty() || old.ends_with(b"\n") { b"" } else { b"\n" };
        Ok(Some([old, separator, line.as_bytes(), b"\n"].concat()))
    })?;
    Ok(())
}

//! Updates one file repeatedly; tests start many of these processes at once.
//!
//! `storm FILE NAME COUNT` adds the lines `- NAME-1` to `- NAME-COUNT` to a Markdown list, one
//! update each, and prints a line's label once the update is acknowledged. `storm FILE NAME fill
//! BYTES` replaces the file with that many bytes. Any failure ends it with a message and code 1.
//! For tests only.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use mow_store::disk::{self, DiskError};
use mow_store::project::Project;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [file, _, "fill", size] => fill(Path::new(file), size.parse()?),
        [file, name, count] => add_lines(Path::new(file), name, count.parse()?),
        _ => anyhow::bail!("usage: storm FILE NAME (COUNT | fill BYTES)"),
    }
}

fn project_of(file: &Path) -> Result<Project> {
    Ok(Project::find(file.parent().context("the file has no directory")?)?)
}

fn add_lines(file: &Path, name: &str, count: usize) -> Result<()> {
    let project = project_of(file)?;
    let mut acknowledge = io::stdout().lock();
    for number in 1..=count {
        let label = format!("{name}-{number}");
        disk::update(&project, file, |old| {
            let line = format!("- {label}\n");
            Ok::<_, DiskError>(Some([old.unwrap_or_default(), line.as_bytes()].concat()))
        })?;
        // One write for label and line break, so that a kill cannot leave half a label.
        acknowledge.write_all(format!("{label}\n").as_bytes())?;
        acknowledge.flush()?;
    }
    Ok(())
}

fn fill(file: &Path, size: usize) -> Result<()> {
    disk::update(&project_of(file)?, file, |_| Ok::<_, DiskError>(Some(vec![b'x'; size])))?;
    Ok(())
}

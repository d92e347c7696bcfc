//! Does only the I/O of a command: the lower bound that `cargo xtask bench` compares mow with.
//!
//! No parsing, no checks, no messages beyond those of the system.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

fn main() -> io::Result<()> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Some((what, paths)) = words.split_first() else {
        return Err(io::Error::other(
            "usage: io_floor nothing|read|durable-write|scan|read-status PATH…",
        ));
    };
    match (what.to_str(), paths) {
        (Some("nothing"), _) => Ok(()),
        (Some("read"), paths) => paths.iter().try_for_each(|path| fs::read(path).map(drop)),
        (Some("durable-write"), [path]) => write_durably(Path::new(path)),
        (Some("scan"), [planning]) => scan(Path::new(planning)),
        (Some("read-status"), [planning]) => read_status(Path::new(planning)),
        _ => Err(io::Error::other("unknown work")),
    }
}

/// Replaces a file with its own content, so that a crash leaves the old or the new one.
fn write_durably(path: &Path) -> io::Result<()> {
    let content = fs::read(path)?;
    let temporary = path.with_extension("floor");
    let mut file = File::create(&temporary)?;
    file.write_all(&content)?;
    file.sync_data()?;
    fs::rename(&temporary, path)
}

/// Lists every phase folder and reads the roadmap.
fn scan(planning: &Path) -> io::Result<()> {
    let mut names_length = fs::read(planning.join("ROADMAP.md"))?.len();
    for folder in fs::read_dir(planning.join("phases"))? {
        for entry in fs::read_dir(folder?.path())? {
            names_length += entry?.file_name().len();
        }
    }
    // Without a use of the names the compiler might leave the reading out.
    std::hint::black_box(names_length);
    Ok(())
}

/// Reads the state and the STATUS.md of every phase.
fn read_status(planning: &Path) -> io::Result<()> {
    let mut length = fs::read(planning.join("STATE.md"))?.len();
    for folder in fs::read_dir(planning.join("phases"))? {
        let folder = folder?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.split('-').next().unwrap_or(&name);
        length += fs::read(folder.join(format!("{number}-STATUS.md")))?.len();
    }
    std::hint::black_box(length);
    Ok(())
}

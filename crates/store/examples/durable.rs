//! Compares the time of a durable update with the bare system calls: `durable DIRECTORY`.
//!
//! The three methods alternate, because the speed of a disk changes from one second to the next.
//! Creates `.planning/` in the directory and leaves one small file there.

#![expect(clippy::disallowed_methods, reason = "it measures the bare system calls")]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use mow_store::disk::{self, DiskError};
use mow_store::project::Project;

const ROUNDS: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).ok_or("usage: durable DIRECTORY")?;
    let planning = Path::new(&dir).join(".planning");
    fs::create_dir_all(&planning)?;
    let project = Project::find(Path::new(&dir))?;
    let path = planning.join("LIST.md");
    let mut times = [vec![], vec![], vec![]];
    for round in 0..ROUNDS {
        let text = format!("{round:08}\n").repeat(500);
        times[0].push(measure(|| replace_without_lock(&path, text.as_bytes(), false))?);
        times[1]
            .push(measure(|| replace_without_lock(&path, text.to_uppercase().as_bytes(), true))?);
        let bytes = [text.as_bytes(), b"\n"].concat();
        times[2].push(measure(|| {
            disk::update(&project, &path, |_| Ok::<_, DiskError>(Some(bytes.clone()))).map(drop)
        })?);
    }
    let names = ["write, fdatasync, rename", "the same and fsync of the directory", "disk::update"];
    let mut out = std::io::stdout();
    for (name, mut times) in names.iter().zip(times) {
        times.sort();
        writeln!(
            out,
            "{name:36} median {:?}, p95 {:?}",
            times[ROUNDS / 2],
            times[ROUNDS * 95 / 100]
        )?;
    }
    Ok(())
}

fn measure<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Writes a temporary file and renames it, without a lock.
fn replace_without_lock(path: &Path, bytes: &[u8], sync_dir: bool) -> std::io::Result<()> {
    let temp = path.with_extension("bare");
    let mut file = File::create(&temp)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&temp, path)?;
    if sync_dir { File::open(path.with_file_name("."))?.sync_all() } else { Ok(()) }
}

//! Reads an activity file while it is written, and continues when the writer starts a new file.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_store::run_files::RunDir;

use super::ActivityRecord;

/// How often one poll continues with a newer file, in case that the writer is faster.
const FILES_MAX: usize = 10;

/// Reads the records of one attempt, each once.
///
/// A reader that falls behind by more than two files misses the records between.
#[derive(Debug)]
pub struct ActivityReader {
    path: PathBuf,
    older: PathBuf,
    part: Option<OpenPart>,
}

impl ActivityReader {
    /// Returns a reader that begins with the oldest record; the files need not exist yet.
    pub fn new(run: &RunDir, phase: &PhaseNumber, attempt: u32) -> Self {
        let (path, older) = (run.activity(phase, attempt), run.older_activity(phase, attempt));
        Self { path, older, part: None }
    }

    /// Returns the records since the last call.
    ///
    /// A line that cannot be read was cut off by a kill and is left out.
    pub fn poll(&mut self) -> io::Result<Vec<ActivityRecord>> {
        let mut records = Vec::new();
        for _ in 0..FILES_MAX {
            // The newest file is opened before the current one is read: if they differ, the writer
            // has left the current one, and its end is the last thing that it will ever hold.
            let newest = OpenPart::open(&self.path)?;
            if let Some(part) = &mut self.part {
                part.read_new(&mut records)?;
            }
            let Some(newest) = newest else { break };
            if self.part.as_ref().is_some_and(|part| part.id == newest.id) {
                break;
            }
            // The file before the newest one may have been missed.
            let known = self.part.as_ref().map(|part| part.id);
            if let Some(mut older) = OpenPart::open(&self.older)?
                && Some(older.id) != known
                && older.id != newest.id
            {
                older.read_new(&mut records)?;
            }
            self.part = Some(newest);
        }
        Ok(records)
    }
}

/// A file that is being read.
#[derive(Debug)]
struct OpenPart {
    file: File,
    /// The device and inode, which stay the same when the file is renamed.
    id: (u64, u64),
    /// The position after the last complete line.
    offset: u64,
}

impl OpenPart {
    /// Opens a file; `None` if it does not exist.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        Ok(Some(Self { file, id: (metadata.dev(), metadata.ino()), offset: 0 }))
    }

    /// Reads the complete lines since the last call.
    fn read_new(&mut self, records: &mut Vec<ActivityRecord>) -> io::Result<()> {
        let length = self.file.metadata()?.len().saturating_sub(self.offset);
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        let filled = self.file.read_at(&mut bytes, self.offset)?;
        let complete =
            bytes[..filled].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = bytes[..complete].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        records.extend(lines.filter_map(|line| serde_json::from_slice(line).ok()));
        self.offset += complete as u64;
        Ok(())
    }
}

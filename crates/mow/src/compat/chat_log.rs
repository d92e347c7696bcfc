//! `mow chat-log …` records the messages between two workers.
//!
//! The log is in the main worktree, so that all worktrees share it.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{self, AppendOptions, LineLimit, WAIT_DEFAULT, Writer};
use mow_store::ndjson::{self, InvalidChatId};
use mow_store::project::Project;
use serde_json::json;

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// The maximum number of entries in a log.
const ENTRIES_KEPT: usize = 200;

/// The subcommands of `mow chat-log`.
#[derive(Debug, Subcommand)]
pub(crate) enum ChatLogCommand {
    /// Add an entry; the log keeps the last 200
    Append {
        #[command(flatten)]
        pair: WorkerPair,
        /// The message; cut after 500 characters
        #[arg(long, allow_hyphen_values = true)]
        msg: String,
    },
    /// Print all entries, in both directions
    Read {
        #[command(flatten)]
        pair: WorkerPair,
    },
    /// Drop all entries except the last ones
    Prune {
        #[command(flatten)]
        pair: WorkerPair,
        /// The number of entries to keep
        #[arg(long, allow_hyphen_values = true, default_value_t = ENTRIES_KEPT)]
        keep: usize,
    },
}

/// The two workers of a log, in either order.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerPair {
    /// The worker that sends the message
    #[arg(long, allow_hyphen_values = true)]
    from: String,
    /// The worker that receives the message
    #[arg(long, allow_hyphen_values = true)]
    to: String,
}

impl From<InvalidChatId> for Failure {
    fn from(error: InvalidChatId) -> Self {
        Self::refused(error.to_string()).hint("name a worker such as phase-03")
    }
}

impl WorkerPair {
    fn path(&self, project: &Project) -> Result<PathBuf, Failure> {
        let name = ndjson::chat_file_name(&self.from, &self.to)?;
        Ok(project.planning.join("chat-logs").join(name))
    }
}

impl ChatLogCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let project = context.main_project()?;
        match self {
            Self::Append { pair, msg } => append(&project, pair, msg),
            Self::Read { pair } => {
                let bytes = disk::read(&pair.path(&project)?)?.unwrap_or_default();
                Ok(Output::with_compact(ndjson::objects(&bytes)))
            }
            Self::Prune { pair, keep } => prune_lines(&project, &pair.path(&project)?, *keep),
        }
    }
}

fn append(project: &Project, pair: &WorkerPair, msg: &str) -> Result<Output, Failure> {
    let path = pair.path(project)?;
    if msg.is_empty() {
        return Err(Failure::refused("--msg is empty"));
    }
    let line = ndjson::chat_line(&pair.from, &pair.to, &now(), msg);
    let keep = Some(LineLimit { lines_max: ENTRIES_KEPT, lines_kept: ENTRIES_KEPT });
    let writer = Writer::open(project, WAIT_DEFAULT)?;
    writer.create_dir(path.parent().expect("a log lies in a directory"))?;
    writer.append_line(
        &path,
        line.trim_end().as_bytes(),
        AppendOptions { durable: true, line_limit: keep },
    )?;
    let path = path.display().to_string();
    Ok(Output::with_compact(json!({ "appended": true, "path": path, "entry_size": line.len() })))
}

/// Drops all lines of a log file except the last ones.
pub(crate) fn prune_lines(project: &Project, path: &Path, keep: usize) -> Result<Output, Failure> {
    // Without a log nothing is locked, so that a call that changes nothing creates no file.
    if disk::read(path)?.is_none() {
        return Ok(Output::with_compact(json!({ "pruned": false, "reason": "File not found" })));
    }
    let mut counts = (0, 0);
    disk::update(project, path, |old| {
        let old = old.unwrap_or_default();
        let kept = ndjson::keep_last(old, keep);
        counts = (ndjson::line_count(old), ndjson::line_count(&kept));
        Ok::<_, Failure>((counts.0 != counts.1).then_some(kept))
    })?;
    let (before, after) = counts;
    Ok(Output::with_compact(json!({ "pruned": true, "before": before, "after": after })))
}

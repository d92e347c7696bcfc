//! `mow chat-log …`: what two workers say to each other, kept where all worktrees find it.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{self, Append, Keep, WAIT_DEFAULT, Writer};
use mow_store::ndjson::{self, BadId};
use mow_store::project::Project;
use serde_json::json;

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// How many entries a log keeps.
const ENTRIES_KEPT: usize = 200;

/// Commands on the log of two workers.
#[derive(Debug, Subcommand)]
pub(crate) enum ChatLog {
    /// Add an entry; the log keeps the last 200
    Append {
        #[command(flatten)]
        pair: Pair,
        /// What is said; cut at 500 characters
        #[arg(long, allow_hyphen_values = true)]
        msg: String,
    },
    /// Print all entries, in both directions
    Read {
        #[command(flatten)]
        pair: Pair,
    },
    /// Drop all entries but the last ones
    Prune {
        #[command(flatten)]
        pair: Pair,
        /// How many entries to keep
        #[arg(long, allow_hyphen_values = true, default_value_t = ENTRIES_KEPT)]
        keep: usize,
    },
}

/// The two workers of a log, in either order.
#[derive(Debug, clap::Args)]
pub(crate) struct Pair {
    /// The worker who speaks
    #[arg(long, allow_hyphen_values = true)]
    from: String,
    /// The worker who is spoken to
    #[arg(long, allow_hyphen_values = true)]
    to: String,
}

impl From<BadId> for Failure {
    fn from(error: BadId) -> Self {
        Self::refused(error.to_string()).hint("name a worker such as phase-03")
    }
}

impl Pair {
    fn path(&self, project: &Project) -> Result<PathBuf, Failure> {
        let name = ndjson::chat_file_name(&self.from, &self.to)?;
        Ok(project.planning.join("chat-logs").join(name))
    }
}

impl ChatLog {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let project = context.shared()?;
        match self {
            Self::Append { pair, msg } => append(&project, pair, msg),
            Self::Read { pair } => {
                let bytes = disk::read(&pair.path(&project)?)?.unwrap_or_default();
                Ok(Output::with_compact(ndjson::objects(&bytes)))
            }
            Self::Prune { pair, keep } => prune(&project, &pair.path(&project)?, *keep),
        }
    }
}

fn append(project: &Project, pair: &Pair, msg: &str) -> Result<Output, Failure> {
    let path = pair.path(project)?;
    if msg.is_empty() {
        return Err(Failure::refused("--msg is empty"));
    }
    let line = ndjson::chat_line(&pair.from, &pair.to, &now(), msg);
    let keep = Some(Keep { lines_max: ENTRIES_KEPT, lines_kept: ENTRIES_KEPT });
    let writer = Writer::open(project, WAIT_DEFAULT)?;
    writer.create_dir(path.parent().expect("a log lies in a directory"))?;
    writer.append_line(&path, line.trim_end().as_bytes(), Append { durable: true, keep })?;
    let path = path.display().to_string();
    Ok(Output::with_compact(json!({ "appended": true, "path": path, "entry_size": line.len() })))
}

/// Keeps the last lines of a log.
pub(super) fn prune(project: &Project, path: &Path, keep: usize) -> Result<Output, Failure> {
    // Without a file there is nothing to lock, and a call that changes nothing creates nothing.
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

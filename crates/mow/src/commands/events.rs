//! `mow events`: prints the events of a run, one per line, and can follow a live run.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use mow_core::lead::Lead;
use mow_core::machine::Machine;
use mow_engine::lead::parse_events;
use mow_engine::watch::{POLL_INTERVAL, WakeFlag, watch_dirs};
use mow_store::journal::JournalReader;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use super::log::LogLine;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, compact, stream};
use crate::runs::{self, JournalEntry, find_run_dir, is_over};

/// How often `--follow` checks whether a first run has started.
const FIND_EVERY: Duration = Duration::from_millis(300);

/// The arguments of `events`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Wait for new events until the run is over
    #[arg(long, short)]
    follow: bool,
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let no_output = Output::Text(String::new());
    let Some(dir) = wait_for_run(context, args)? else { return Err(runs::no_run_yet()) };
    let flag = WakeFlag::default();
    let changes = args.follow.then(|| watch_journal(dir.path(), &flag));
    let mut reader = EventReader {
        tail: JournalReader::new(&dir.journal()).without_sync(),
        dir,
        lead: Lead::default(),
    };
    loop {
        flag.reset();
        let text = reader.read_new(context.wants_json())?;
        if !text.is_empty() && !stream(&text)? {
            return Ok(no_output);
        }
        let Some(changes) = changes.as_ref().filter(|_| !is_over(&reader.lead)) else {
            return Ok(no_output);
        };
        // A timeout is no error: the next read finds what is new in the journal.
        changes.recv_timeout(POLL_INTERVAL).ok();
    }
}

/// Finds the run; with `--follow` waits until a run exists.
fn wait_for_run(context: &Context, args: &Args) -> Result<Option<RunDir>, Failure> {
    let project = context.main_project()?;
    loop {
        let name = args.run.as_deref();
        if let Some(dir) = find_run_dir(&project, name)? {
            return Ok(Some(dir));
        }
        if !args.follow {
            return Ok(None);
        }
        std::thread::sleep(FIND_EVERY);
    }
}

/// Starts a thread that sends a message when the journal changes.
fn watch_journal(dir: &Path, flag: &WakeFlag) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    let is_journal = |name: &str| name == "journal.ndjson";
    watch_dirs(&[dir], is_journal, flag.clone(), move || sender.send(()).is_ok());
    receiver
}

/// Reads new events of a growing journal.
struct EventReader {
    tail: JournalReader,
    dir: RunDir,
    lead: Lead,
}

impl EventReader {
    /// Returns the lines of the events since the last call.
    fn read_new(&mut self, as_json: bool) -> Result<String, Failure> {
        let mut text = String::new();
        for record in self.tail.poll()? {
            for event in parse_events(&self.dir, &record)? {
                let entry = JournalEntry { seq: record.seq, at: record.at, event };
                let line = LogLine::from_lead(&entry, &self.lead);
                self.lead.apply(&entry.event, entry.at);
                let shown = if as_json { Some(self.to_json(&line)) } else { line.render() };
                text.extend(shown.map(|line| line + "\n"));
            }
        }
        Ok(text)
    }

    /// Returns a line as a JSON object, with the id of the run.
    fn to_json(&self, line: &LogLine) -> String {
        let mut object = json!({ "run": self.dir.run() });
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, json!(line)) {
            object.extend(fields);
        }
        compact(&object)
    }
}

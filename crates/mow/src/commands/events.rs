//! `mow events`: prints the events of a run, one per line, and can follow a live run.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use mow_core::view::EventFold;
use mow_engine::lead::parse_events;
use mow_engine::watch::{FileWatch, POLL_INTERVAL, WakeFlag, watch_files};
use mow_store::journal::JournalReader;
use mow_store::run_files::RunDir;

use super::log::render_event;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, compact, stream};
use crate::runs::{self, find_run_dir};
use crate::wire::event::EventJson;

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
        fold: EventFold::default(),
    };
    loop {
        flag.reset();
        let text = reader.read_new(context.wants_json())?;
        if !text.is_empty() && !stream(&text)? {
            return Ok(no_output);
        }
        let Some((changes, _watch)) = changes.as_ref().filter(|_| !reader.fold.is_over()) else {
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
fn watch_journal(dir: &Path, flag: &WakeFlag) -> (Receiver<()>, FileWatch) {
    // One message is enough: the loop reads everything that is new.
    let (sender, receiver) = mpsc::sync_channel(1);
    let wake = move || {
        sender.try_send(()).ok();
    };
    let is_journal = |name: &str| name == "journal.ndjson";
    (receiver, watch_files(&[dir], is_journal, flag.clone(), wake))
}

/// Reads new events of a growing journal.
struct EventReader {
    tail: JournalReader,
    dir: RunDir,
    fold: EventFold,
}

impl EventReader {
    /// Returns the lines of the events since the last call.
    fn read_new(&mut self, as_json: bool) -> Result<String, Failure> {
        let mut text = String::new();
        for record in self.tail.poll()? {
            for event in parse_events(&self.dir, &record)? {
                let view = self.fold.read(&event, (record.seq, record.at));
                let line = if as_json {
                    Some(compact(&EventJson::of_lead(self.dir.run(), &view)))
                } else {
                    render_event(&view)
                };
                text.extend(line.map(|line| line + "\n"));
            }
        }
        Ok(text)
    }
}

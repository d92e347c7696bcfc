//! `mow events`: prints the events of a run, one per line, and can follow a live run.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use mow_core::view::{EventFold, MessageFold};
use mow_engine::contract_messages;
use mow_engine::lead::parse_events;
use mow_engine::watch::{FileWatch, POLL_INTERVAL, WakeFlag, watch_files};
use mow_store::journal::JournalReader;
use mow_store::project::Project;
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
    /// Print the contract messages of the events instead, one compact JSON object per line
    #[arg(long)]
    messages: bool,
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let no_output = Output::Text(String::new());
    let Some(dir) = wait_for_run(context, args)? else { return Err(runs::no_run_yet()) };
    let flag = WakeFlag::default();
    let changes = args.follow.then(|| watch_journal(dir.path(), &flag));
    let format = LineFormat::of(context, args)?;
    let mut reader = EventReader {
        tail: JournalReader::new(&dir.journal()).without_sync(),
        dir,
        fold: EventFold::default(),
        messages: MessageFold::default(),
        format,
    };
    loop {
        flag.reset();
        let text = reader.read_new()?;
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

/// What is printed of an event.
enum LineFormat {
    /// A line for people.
    Text,
    /// A JSON object.
    Json,
    /// Its contract messages; with `lean`, only milestones.
    Messages { project: Box<Project>, lean: bool },
}

impl LineFormat {
    fn of(context: &Context, args: &Args) -> Result<Self, Failure> {
        if args.messages {
            let lean = contract_messages::is_lean(&context.config()?);
            return Ok(Self::Messages { project: Box::new(context.main_project()?), lean });
        }
        Ok(if context.wants_json() { Self::Json } else { Self::Text })
    }
}

/// Reads new events of a growing journal.
struct EventReader {
    tail: JournalReader,
    dir: RunDir,
    fold: EventFold,
    messages: MessageFold,
    format: LineFormat,
}

impl EventReader {
    /// Returns the lines of the events since the last call.
    fn read_new(&mut self) -> Result<String, Failure> {
        let mut text = String::new();
        for record in self.tail.poll()? {
            for event in parse_events(&self.dir, &record)? {
                let view = self.fold.read(&event, (record.seq, record.at));
                let lines: Vec<_> = match &self.format {
                    LineFormat::Text => render_event(&view).into_iter().collect(),
                    LineFormat::Json => vec![compact(&EventJson::of_lead(self.dir.run(), &view))],
                    LineFormat::Messages { project, lean } => self
                        .messages
                        .read(&event, record.at)
                        .iter()
                        .filter(|message| !lean || message.kind().is_milestone())
                        .map(|message| contract_messages::render(project, message))
                        .collect(),
                };
                text.extend(lines.into_iter().map(|line| line + "\n"));
            }
        }
        Ok(text)
    }
}

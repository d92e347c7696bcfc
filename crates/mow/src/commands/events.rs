//! `mow events`: a run as a stream, one event on each line, also while it goes on.

use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use mow_core::lead::Lead;
use mow_core::machine::Machine;
use mow_engine::lead::parse_events;
use mow_engine::watch::{Bell, LOOK_EVERY, watch};
use mow_store::journal::Tail;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use super::log::Line;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, compact, stream};
use crate::runs::{self, Entry, find, is_over};

/// How often a run is looked for that was not started yet.
const FIND_EVERY: Duration = Duration::from_millis(300);

/// The arguments of `events`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Wait for new events until the run is over
    #[arg(long, short)]
    follow: bool,
    /// The run; the newest if not given
    #[arg(long, value_name = "ID")]
    run: Option<String>,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let done = Output::Text(String::new());
    let Some(dir) = wait_for_run(context, args)? else { return Err(runs::none()) };
    let bell = Bell::default();
    let changes = args.follow.then(|| changes(dir.path(), &bell));
    let mut reader =
        Reader { tail: Tail::new(&dir.journal()).without_sync(), dir, lead: Lead::default() };
    loop {
        bell.reset();
        let text = reader.news(context.wants_json())?;
        if !text.is_empty() && !stream(&text)? {
            return Ok(done);
        }
        let Some(changes) = changes.as_ref().filter(|_| !is_over(&reader.lead)) else {
            return Ok(done);
        };
        // Whether woken or not, the journal says what is new.
        changes.recv_timeout(LOOK_EVERY).ok();
    }
}

/// Finds the run; with `--follow` it may still be about to begin.
fn wait_for_run(context: &Context, args: &Args) -> Result<Option<RunDir>, Failure> {
    let project = context.shared()?;
    loop {
        let name = args.run.as_deref();
        if let Some(dir) = find(&project, name)? {
            return Ok(Some(dir));
        }
        if !args.follow {
            return Ok(None);
        }
        std::thread::sleep(FIND_EVERY);
    }
}

/// Lets a thread tell when the journal has grown.
fn changes(dir: &Path, bell: &Bell) -> Receiver<()> {
    let (sender, receiver) = mpsc::channel();
    let concerns = |name: &str| name == "journal.ndjson";
    watch(&[dir], concerns, bell.clone(), move || sender.send(()).is_ok());
    receiver
}

/// Reads a journal that grows.
struct Reader {
    tail: Tail,
    dir: RunDir,
    lead: Lead,
}

impl Reader {
    /// Returns the lines of what is new.
    fn news(&mut self, as_json: bool) -> Result<String, Failure> {
        let mut text = String::new();
        for record in self.tail.poll()? {
            for event in parse_events(&self.dir, &record)? {
                let entry = Entry { seq: record.seq, at: record.at, event };
                let line = Line::of_lead(&entry, &self.lead);
                self.lead.apply(&entry.event, entry.at);
                let shown = if as_json { Some(self.json(&line)) } else { line.shown() };
                text.extend(shown.map(|line| line + "\n"));
            }
        }
        Ok(text)
    }

    /// Returns a line as an object that also says of which run it is.
    fn json(&self, line: &Line) -> String {
        let mut object = json!({ "run": self.dir.run() });
        if let (Value::Object(object), Value::Object(fields)) = (&mut object, json!(line)) {
            object.extend(fields);
        }
        compact(&object)
    }
}

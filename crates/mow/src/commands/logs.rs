//! `mow logs`: shows what the agents and commands of a phase say and do, and can follow them.

mod render;
mod watched_phase;
mod wire;

use std::path::Path;
use std::sync::mpsc::{self, Receiver};

use mow_core::phase::PhaseNumber;
use mow_engine::activity::{ActivityReader, ActivityRecord};
use mow_engine::watch::{self, FileWatch, POLL_INTERVAL, WakeFlag};
use mow_store::run_files::RunDir;

use crate::context::Context;
use crate::failure::{Failure, code};
use crate::output::{Output, compact, notice, stream};
use crate::runs::{find_run_dir, no_run_yet};
use render::Renderer;
use watched_phase::WatchedPhase;
use wire::ActivityLine;

/// How many entries are shown first, unless `--tail` says otherwise.
const TAIL_DEFAULT: usize = 200;

/// The arguments of `logs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The phase, such as 3 or 03
    phase: String,
    /// Show only this attempt; default: the newest one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Show new entries, also of later attempts, until the phase is over
    #[arg(long, short)]
    follow: bool,
    /// How many of the last entries to show first
    #[arg(long, value_name = "N", default_value_t = TAIL_DEFAULT)]
    tail: usize,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let project = context.main_project()?;
    let dir = find_run_dir(&project, args.run.as_deref())?.ok_or_else(no_run_yet)?;
    let flag = WakeFlag::default();
    let wakeups = args.follow.then(|| watch_files(&dir, &flag));
    let phase = WatchedPhase::new(project, dir, &args.phase);
    let printer = Printer { as_json: context.wants_json(), renderer: Renderer::current() };
    let mut viewer = Viewer { args, phase, printer, shown: None, has_noted_wait: false };
    loop {
        flag.reset();
        let is_complete = viewer.show_new()?;
        let Some((wakeups, _watch)) = wakeups.as_ref().filter(|_| !is_complete) else {
            return Ok(Output::Text(String::new()));
        };
        // A timeout is no error: the next round finds what is new.
        wakeups.recv_timeout(POLL_INTERVAL).ok();
    }
}

/// Sends a message whenever the lead's journal or an activity file changes, while the watch is kept.
fn watch_files(dir: &RunDir, flag: &WakeFlag) -> (Receiver<()>, FileWatch) {
    let (sender, receiver) = mpsc::sync_channel(1);
    let is_relevant = |name: &str| name == "journal.ndjson" || name.ends_with(".activity.ndjson");
    let dirs: [&Path; 2] = [dir.path(), &dir.path().join("logs")];
    let wake = move || {
        // One waiting message wakes the reader, who then reads everything.
        sender.try_send(()).ok();
    };
    (receiver, watch::watch_files(&dirs, is_relevant, flag.clone(), wake))
}

/// Shows the activity of a phase, one attempt after the other.
struct Viewer<'a> {
    args: &'a Args,
    phase: WatchedPhase,
    printer: Printer,
    /// The attempt that is shown, and its reader.
    shown: Option<(u32, ActivityReader)>,
    /// Whether a note has said that the phase has not started.
    has_noted_wait: bool,
}

impl Viewer<'_> {
    /// Shows what is new; returns whether nothing more is to come.
    fn show_new(&mut self) -> Result<bool, Failure> {
        // The state is read before the activity: what happened until the end is then in the files.
        self.phase.refresh()?;
        let is_over = !self.args.follow || self.phase.is_over()?;
        let Some(newest) = self.phase.newest_attempt()? else {
            if is_over {
                return Err(self.phase.not_started());
            }
            if !std::mem::replace(&mut self.has_noted_wait, true) {
                notice(&format!("phase {} has not started yet; waiting", self.args.phase));
            }
            return Ok(false);
        };
        let wanted = self.args.attempt.unwrap_or(newest);
        if wanted > newest {
            return Err(self.phase.no_such_attempt(wanted, newest));
        }
        let number = self.phase.number()?;
        if !self.show_attempt(number, wanted)? {
            return Ok(true);
        }
        let is_complete = is_over || wanted < newest;
        if is_complete && self.args.follow && !self.printer.as_json {
            notice(&self.phase.describe()?);
        }
        Ok(is_complete)
    }

    /// Shows what is new of an attempt, after the rest of the one before; returns whether anybody
    /// reads it.
    fn show_attempt(&mut self, phase: PhaseNumber, attempt: u32) -> Result<bool, Failure> {
        let dir = self.phase.dir().clone();
        if let Some((old, reader)) = &mut self.shown
            && *old < attempt
        {
            let records = poll(reader, &dir.activity(&phase, *old))?;
            if !self.printer.print(&records, (dir.run(), phase, *old))? {
                return Ok(false);
            }
            self.shown = None;
        }
        let (path, is_first) = (dir.activity(&phase, attempt), self.shown.is_none());
        let new = || (attempt, ActivityReader::new(&dir, &phase, attempt));
        let (_, reader) = self.shown.get_or_insert_with(new);
        let mut records = poll(reader, &path)?;
        if is_first && !self.args.follow && records.is_empty() && !path.exists() {
            return Err(no_activity(&phase, attempt));
        }
        if is_first {
            let title = self.phase.title(attempt)?;
            records.drain(..records.len().saturating_sub(self.args.tail));
            if !self.printer.print_title(&title)? {
                return Ok(false);
            }
        }
        self.printer.print(&records, (dir.run(), phase, attempt))
    }
}

fn poll(reader: &mut ActivityReader, path: &Path) -> Result<Vec<ActivityRecord>, Failure> {
    reader.poll().map_err(|error| {
        let failure = Failure::refused(format!("cannot read {}: {error}", path.display()));
        Failure { code: code::OUTSIDE, kind: "disk", ..failure }
    })
}

fn no_activity(phase: &PhaseNumber, attempt: u32) -> Failure {
    let message = format!("there is no activity of phase {phase}, attempt {attempt}");
    Failure::refused(message).hint(format!(
        "it has just begun, or an older mow ran it; `mow log {phase}` shows its events and logs"
    ))
}

/// Prints records as text or as JSON.
struct Printer {
    as_json: bool,
    renderer: Renderer,
}

impl Printer {
    /// Prints the line above an attempt; returns whether anybody reads it.
    fn print_title(&self, title: &str) -> Result<bool, Failure> {
        if self.as_json { Ok(true) } else { stream(&self.renderer.title(title)) }
    }

    /// Prints records; returns whether anybody reads them.
    fn print(
        &self,
        records: &[ActivityRecord],
        (run, phase, attempt): (&str, PhaseNumber, u32),
    ) -> Result<bool, Failure> {
        let phase = phase.to_string();
        let text: String = if self.as_json {
            let line = |record| ActivityLine::new(run, &phase, attempt, record);
            let lines = records.iter().filter_map(line);
            lines.map(|line| compact(&line) + "\n").collect()
        } else {
            records.iter().map(|record| self.renderer.entry(record)).collect()
        };
        if text.is_empty() { Ok(true) } else { stream(&text) }
    }
}

//! Reads the journals of a phase's workers, and finds the log files of their commands.

use std::collections::BTreeSet;
use std::fs;

use mow_core::view::{EventView, PhaseView, Tone};
use mow_core::worker::{Effect, Event};
use mow_store::journal::JournalReader;

use super::LogLine;
use crate::runs::Run;

/// Lists the log files of all attempts of a phase.
pub(super) fn log_files(run: &Run, phase: &PhaseView) -> Vec<String> {
    let dir = run.dir.path().join("logs");
    let number = phase.number.padded();
    let names = fs::read_dir(&dir).into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_own = |name: &String| {
        (1..=phase.attempt).any(|attempt| {
            let rest = name.strip_prefix(&format!("{number}-{attempt}"));
            rest.is_some_and(|rest| rest.starts_with(['-', '.']))
        })
    };
    let mut names: Vec<_> = names.filter(is_own).collect();
    names.sort_unstable();
    names.into_iter().map(|name| dir.join(name).display().to_string()).collect()
}

/// Reads the journals of all attempts; also returns the attempts that have a journal.
pub(super) fn journal_lines(
    run: &Run,
    phase: &PhaseView,
    logs: &[String],
) -> (Vec<LogLine>, BTreeSet<u32>) {
    let (mut lines, mut attempts_read) = (Vec::new(), BTreeSet::new());
    for attempt in 1..=phase.attempt {
        let own = attempt_lines(run, phase, attempt, logs);
        if own.iter().any(|line| line.event.seq > 0) {
            attempts_read.insert(attempt);
        }
        lines.extend(own);
    }
    (lines, attempts_read)
}

fn attempt_lines(run: &Run, phase: &PhaseView, attempt: u32, logs: &[String]) -> Vec<LogLine> {
    let number = phase.number;
    let line = |event: EventView| LogLine { event, is_of_worker: true, log: None };
    let unreadable = |text: String, tone: Tone, place: (u64, u64)| {
        line(EventView::unreadable(text, tone, (number, attempt), place))
    };
    let mut tail = JournalReader::new(&run.dir.worker_journal(&number, attempt)).without_sync();
    let records = match tail.poll() {
        Ok(records) => records,
        // The lead's journal has the worker's reports, so the rest of the log can be shown.
        Err(error) => {
            let text = format!("attempt {attempt}: {error}");
            return vec![unreadable(text, Tone::Bad, (0, phase.since))];
        }
    };
    let mut current: Option<Effect> = None;
    let mut lines = Vec::new();
    for record in records {
        let place = (record.seq, record.at);
        let Ok(event) = record.parse::<Event>() else {
            let text = "a record that mow cannot read".to_owned();
            lines.push(unreadable(text, Tone::Plain, place));
            continue;
        };
        let mut line = line(EventView::of_worker(&event, (number, attempt), place));
        if event.is_failure() {
            line.log = current
                .as_ref()
                .and_then(|effect| log_of_effect(run, phase, attempt, effect, logs));
        }
        match event {
            Event::Intended {
                effect: Effect::Checkpoint { .. } | Effect::NoteStatus { .. },
                ..
            } => {}
            Event::Intended { effect, .. } => current = Some(effect),
            _ => {}
        }
        lines.push(line);
    }
    lines
}

/// Returns the newest log file of a worker's effect.
fn log_of_effect(
    run: &Run,
    phase: &PhaseView,
    attempt: u32,
    effect: &Effect,
    logs: &[String],
) -> Option<String> {
    let stem = format!("{}-{attempt}-{}", phase.number.padded(), effect.log_label()?);
    let prefix = run.dir.path().join("logs").join(stem).display().to_string();
    let own = logs.iter().filter(|log| log.starts_with(&prefix));
    let changed = |log: &&String| fs::metadata(log.as_str()).and_then(|m| m.modified()).ok();
    own.max_by_key(changed).cloned()
}

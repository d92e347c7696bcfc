//! What the workers of a phase wrote down, and the logs of what they ran.

use std::collections::BTreeSet;
use std::fs;

use mow_core::lead::Track;
use mow_core::worker::{Effect, Event};
use mow_store::journal::Tail;
use serde_json::{Value, json};

use super::{Line, Tone};
use crate::runs::{Run, time_text};
use crate::terminal::fit;

/// Lists the logs of all attempts at a phase.
pub(super) fn logs(run: &Run, track: &Track) -> Vec<String> {
    let dir = run.dir.path().join("logs");
    let number = track.spec.number.padded();
    let names = fs::read_dir(&dir).into_iter().flatten();
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_own = |name: &String| {
        (1..=track.attempt).any(|attempt| {
            let rest = name.strip_prefix(&format!("{number}-{attempt}"));
            rest.is_some_and(|rest| rest.starts_with(['-', '.']))
        })
    };
    let mut names: Vec<_> = names.filter(is_own).collect();
    names.sort_unstable();
    names.into_iter().map(|name| dir.join(name).display().to_string()).collect()
}

/// Reads the journals of all attempts; also returns which attempts have one.
pub(super) fn lines(run: &Run, track: &Track, logs: &[String]) -> (Vec<Line>, BTreeSet<u64>) {
    let (mut lines, mut read) = (Vec::new(), BTreeSet::new());
    for attempt in 1..=track.attempt {
        let own = of_attempt(run, track, attempt, logs);
        if own.iter().any(|line| line.seq > 0) {
            read.insert(u64::from(attempt));
        }
        lines.extend(own);
    }
    (lines, read)
}

fn of_attempt(run: &Run, track: &Track, attempt: u32, logs: &[String]) -> Vec<Line> {
    let number = track.spec.number;
    let line = |seq: u64, at: u64, text: Option<String>, event: Value| Line {
        seq,
        at,
        time: time_text(at),
        source: "worker",
        attempt: Some(attempt),
        phase: Some(number.to_string()),
        text: text.map(|text| fit(&text, usize::MAX)),
        log: None,
        event,
        tone: Tone::Plain,
    };
    let mut tail = Tail::new(&run.dir.worker_journal(&number, attempt)).without_sync();
    let records = match tail.poll() {
        Ok(records) => records,
        // What the lead heard is in its own journal; the rest can be shown.
        Err(error) => {
            let text = format!("attempt {attempt}: {error}");
            return vec![Line { tone: Tone::Bad, ..line(0, track.since, Some(text), json!(null)) }];
        }
    };
    let mut doing: Option<Effect> = None;
    let mut lines = Vec::new();
    for record in records {
        let Ok(event) = record.parse::<Event>() else {
            let text = "a record that cannot be read".to_owned();
            lines.push(line(record.seq, record.at, Some(text), json!(null)));
            continue;
        };
        let mut line = line(record.seq, record.at, event.sentence(), json!(event));
        if event.is_failure() {
            line.tone = Tone::Bad;
            line.log = doing.as_ref().and_then(|effect| log_of(run, track, attempt, effect, logs));
        }
        match event {
            Event::Intended {
                effect: Effect::Checkpoint { .. } | Effect::NoteStatus { .. },
                ..
            } => {}
            Event::Intended { effect, .. } => doing = Some(effect),
            _ => {}
        }
        lines.push(line);
    }
    lines
}

/// Returns the last log that something a worker did has written.
fn log_of(
    run: &Run,
    track: &Track,
    attempt: u32,
    effect: &Effect,
    logs: &[String],
) -> Option<String> {
    let stem = format!("{}-{attempt}-{}", track.spec.number.padded(), effect.log_label()?);
    let prefix = run.dir.path().join("logs").join(stem).display().to_string();
    let own = logs.iter().filter(|log| log.starts_with(&prefix));
    let changed = |log: &&String| fs::metadata(log.as_str()).and_then(|m| m.modified()).ok();
    own.max_by_key(changed).cloned()
}

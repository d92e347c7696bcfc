//! Journals after a power failure: what was acknowledged is there, and nothing that nobody wrote.

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::disk::tape::{Call, Faults};
use mow_store::journal::{Header, Journal, JournalError, Record, Tail};
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use super::disk::Outcome;
use super::{ALL, Notes, Stage, Story};

/// What is said of a journal whose records are numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said {
    /// The journal is there.
    Opened,
    /// Records up to this one were or are about to be written.
    Tried(u64),
    /// Records up to this one are durable, somebody was told.
    Acked(u64),
}

pub(crate) fn header() -> Header {
    Header::worker("r1", "03", 2)
}

/// Makes a body whose text is as long as wanted, so that lines end anywhere in a sector.
pub(crate) fn body(n: u64, length: usize) -> Value {
    json!({ "n": n, "text": "x".repeat(length) })
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.parse::<Value>().unwrap()["n"].as_u64().unwrap()).collect()
}

fn fixture() -> (Stage, PathBuf) {
    let stage = Stage::new();
    fs::create_dir(stage.path("runs")).unwrap();
    let path = stage.path("runs/journal.ndjson");
    (stage, path)
}

/// Checks what is left of a journal, and that it goes on from there.
pub(crate) fn check(path: &Path, said: &[&Said], outcome: &Outcome) -> Result<(), String> {
    let is_opened = said.iter().any(|said| matches!(said, Said::Opened));
    let acked = said.iter().filter_map(|s| if let Said::Acked(n) = s { Some(*n) } else { None });
    let tried = said.iter().filter_map(|s| if let Said::Tried(n) = s { Some(*n) } else { None });
    let (acked, tried) = (acked.max().unwrap_or(0), tried.max().unwrap_or(0));
    if outcome.content(path).is_none() && is_opened {
        return Err("the journal is gone".to_owned());
    }
    if !path.parent().unwrap().is_dir() {
        return Ok(());
    }
    let before = fs::read(path).unwrap_or_default();
    let read = Tail::new(path).poll();
    let (mut journal, records) = match Journal::open(path, &header()) {
        Ok(opened) => opened,
        Err(JournalError::Corrupt { .. }) if outcome.is_mixed(path) => {
            let is_whole = fs::read(path).unwrap() == before && read.is_err();
            let sound = before.iter().filter(|byte| **byte == b'\n').count() as u64;
            let kept = is_whole && sound > acked;
            return if kept { Ok(()) } else { Err("a refused journal was changed".to_owned()) };
        }
        Err(error) => return Err(format!("it cannot be opened: {error}")),
    };
    let found = numbers(&records);
    if found != (1..=found.len() as u64).collect::<Vec<_>>() {
        return Err(format!("the records are {found:?}"));
    }
    let last = found.len() as u64;
    if last < acked || last > tried {
        return Err(format!("{last} records, {acked} acknowledged and {tried} tried"));
    }
    if numbers(&read.map_err(|error| error.to_string())?) != found {
        return Err("a reader sees other records".to_owned());
    }
    journal.append(8, &[body(last + 1, 1)]).map_err(|error| error.to_string())?;
    let (_, again) = Journal::open(path, &header()).map_err(|error| error.to_string())?;
    if again.len() as u64 == last + 1 { Ok(()) } else { Err("it does not go on".to_owned()) }
}

/// Checks a journal that must not even need a person.
fn check_sound(path: &Path, said: &[&Said], outcome: &Outcome) -> Result<(), String> {
    check(path, said, outcome)?;
    Journal::open(path, &header()).map(drop).map_err(|error| format!("it was refused: {error}"))
}

fn append(journal: &mut Journal, notes: &mut Notes<Said>, lengths: &[usize]) {
    let first = journal.last_seq() + 1;
    let bodies: Vec<_> = (first..).zip(lengths).map(|(n, length)| body(n, *length)).collect();
    notes.say(Said::Tried(first + lengths.len() as u64 - 1));
    if let Ok(last) = journal.append(7, &bodies) {
        notes.say(Said::Acked(last));
    }
}

fn open(path: &Path, notes: &mut Notes<Said>) -> Journal {
    let (journal, records) = Journal::open(path, &header()).unwrap();
    notes.say(Said::Opened);
    notes.say(Said::Acked(records.len() as u64));
    journal
}

/// A new journal gets records one by one and several at once, small ones and larger than a sector.
fn story(stage: &Stage, path: &Path, faults: Faults) -> Story<Said> {
    Story::tell(stage, faults, |notes| {
        let mut journal = open(path, notes);
        append(&mut journal, notes, &[3]);
        append(&mut journal, notes, &[1, 400, 2]);
        append(&mut journal, notes, &[700]);
    })
}

#[test]
fn a_journal_cut_off_anywhere_keeps_what_was_acknowledged() {
    let (stage, path) = fixture();
    let story = story(&stage, &path, Faults::default());
    let check = |said: &[&Said], outcome: &Outcome| check(&path, said, outcome);
    let images = story.cut_everywhere(&stage, ALL, check).unwrap();
    assert!(images > 1_000, "{images} images");
}

#[test]
fn a_run_directory_made_in_a_fresh_repository_stays() {
    let stage = Stage::new();
    fs::create_dir(stage.path("git")).unwrap();
    let run = RunDir::new(&stage.path("git/mow"), "r1").unwrap();
    let path = run.journal();
    let story = Story::tell(&stage, Faults::default(), |notes| {
        // The lead takes its lock first, which makes the engine's directory.
        let lock = stage.path("git/mow/locks/lead.lock");
        let _lock = mow_store::disk::Lock::acquire(&lock, std::time::Duration::ZERO).unwrap();
        run.create().unwrap();
        let mut journal = open(&path, notes);
        append(&mut journal, notes, &[3]);
    });
    let check = |said: &[&Said], outcome: &Outcome| {
        let is_opened = said.iter().any(|said| matches!(said, Said::Opened));
        if is_opened {
            check(&path, said, outcome)
        } else {
            run.create().map_err(|e| e.to_string())
        }
    };
    story.cut_everywhere(&stage, ALL, check).unwrap();
}

#[test]
fn a_torn_tail_that_is_cut_off_and_written_over_does_no_harm() {
    let (stage, path) = fixture();
    let first = story(&stage, &path, Faults::default());
    let whole = fs::read(&path).unwrap();
    drop(first);
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for torn in [1, 30, 200, whole.len() - last - 1] {
        fs::write(&path, &whole[..last + torn]).unwrap();
        let story = Story::tell(&stage, Faults::default(), |notes| {
            notes.say(Said::Opened);
            notes.say(Said::Acked(4));
            notes.say(Said::Tried(4));
            let mut journal = open(&path, notes);
            append(&mut journal, notes, &[5]);
            append(&mut journal, notes, &[6]);
        });
        story
            .cut_everywhere(&stage, ALL, |said, outcome| check_sound(&path, said, outcome))
            .unwrap();
        // The same, found by a writer that has been at work all the time.
        fs::write(&path, &whole[..last]).unwrap();
        let (mut journal, _) = Journal::open(&path, &header()).unwrap();
        fs::write(&path, &whole[..last + torn]).unwrap();
        let story = Story::tell(&stage, Faults::default(), |notes| {
            notes.say(Said::Opened);
            notes.say(Said::Acked(4));
            append(&mut journal, notes, &[5]);
        });
        story
            .cut_everywhere(&stage, ALL, |said, outcome| check_sound(&path, said, outcome))
            .unwrap();
    }
}

#[test]
fn whoever_was_handed_a_record_may_count_on_it() {
    let (stage, path) = fixture();
    let story = Story::tell(&stage, Faults::default(), |notes| {
        let mut journal = open(&path, notes);
        let mut other = open(&path, notes);
        let mut tail = Tail::new(&path);
        for (n, reader) in [(1, 0), (2, 1), (3, 2)] {
            notes.say(Said::Tried(n));
            journal.append_unsynced(7, &[body(n, 2)]).unwrap();
            let read = match reader {
                0 => tail.poll().unwrap(),
                1 => other.catch_up().unwrap(),
                _ => {
                    // What it finds while it writes is handed out later.
                    notes.say(Said::Tried(n + 1));
                    other.append_unsynced(7, &[body(n + 1, 2)]).unwrap();
                    other.catch_up().unwrap()
                }
            };
            notes.say(Said::Acked(numbers(&read).into_iter().max().unwrap()));
        }
    });
    let check = |said: &[&Said], outcome: &Outcome| check(&path, said, outcome);
    story.cut_everywhere(&stage, ALL, check).unwrap();
}

#[test]
fn without_its_syncs_a_journal_loses_records() {
    let (stage, path) = fixture();
    let check = |said: &[&Said], outcome: &Outcome| check(&path, said, outcome);
    let bare = story(&stage, &path, Faults::default()).without(|c| matches!(c, Call::Sync { .. }));
    let problem = bare.cut_everywhere(&stage, ALL, check).unwrap_err();
    assert!(problem.contains("acknowledged"), "{problem}");
    let (stage, path) = fixture();
    let check = |said: &[&Said], outcome: &Outcome| self::check(&path, said, outcome);
    let bare =
        story(&stage, &path, Faults::default()).without(|c| matches!(c, Call::SyncDir { .. }));
    let problem = bare.cut_everywhere(&stage, ALL, check).unwrap_err();
    assert!(problem.contains("gone"), "{problem}");
}

//! Tests that after a power failure a journal has all acknowledged records, and no other bytes.

use std::fs;
use std::path::{Path, PathBuf};

use mow_store::disk::call_recorder::{Faults, RecordedCall};
use mow_store::journal::{Header, Journal, JournalError, JournalReader, Record};
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use super::simulated_disk::DiskImage;
use super::{IMAGES_MAX, RecordedScenario, StatementLog, TestDir};

/// A statement about a journal whose records are numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum JournalStatement {
    /// The journal exists.
    Opened,
    /// Records up to this number are about to be written.
    Tried(u64),
    /// Records up to this number were acknowledged as durable.
    Acked(u64),
}

pub(crate) fn header() -> Header {
    Header::worker("r1", "03", 2)
}

/// Makes a body with a text of some length, so that lines end anywhere in a sector.
pub(crate) fn body(n: u64, length: usize) -> Value {
    json!({ "n": n, "text": "x".repeat(length) })
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.parse::<Value>().unwrap()["n"].as_u64().unwrap()).collect()
}

fn fixture() -> (TestDir, PathBuf) {
    let test_dir = TestDir::new();
    fs::create_dir(test_dir.path("runs")).unwrap();
    let path = test_dir.path("runs/journal.ndjson");
    (test_dir, path)
}

/// Checks the records of a journal, and that records can be appended to it.
pub(crate) fn check(
    path: &Path,
    statements: &[&JournalStatement],
    image: &DiskImage,
) -> Result<(), String> {
    let is_opened =
        statements.iter().any(|statement| matches!(statement, JournalStatement::Opened));
    let acked = statements
        .iter()
        .filter_map(|s| if let JournalStatement::Acked(n) = s { Some(*n) } else { None });
    let tried = statements
        .iter()
        .filter_map(|s| if let JournalStatement::Tried(n) = s { Some(*n) } else { None });
    let (acked, tried) = (acked.max().unwrap_or(0), tried.max().unwrap_or(0));
    if image.content(path).is_none() && is_opened {
        return Err("the journal is gone".to_owned());
    }
    if !path.parent().unwrap().is_dir() {
        return Ok(());
    }
    let before = fs::read(path).unwrap_or_default();
    let read = JournalReader::new(path).poll();
    let (mut journal, records) = match Journal::open(path, &header()) {
        Ok(opened) => opened,
        Err(JournalError::Corrupt { .. }) if image.is_mixed(path) => {
            let is_unchanged = fs::read(path).unwrap() == before && read.is_err();
            let lines = before.iter().filter(|byte| **byte == b'\n').count() as u64;
            let is_kept = is_unchanged && lines > acked;
            return if is_kept { Ok(()) } else { Err("a refused journal was changed".to_owned()) };
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
    if again.len() as u64 == last + 1 {
        Ok(())
    } else {
        Err("no record can be appended".to_owned())
    }
}

/// Checks a journal that must not be refused.
fn check_not_refused(
    path: &Path,
    statements: &[&JournalStatement],
    image: &DiskImage,
) -> Result<(), String> {
    check(path, statements, image)?;
    Journal::open(path, &header()).map(drop).map_err(|error| format!("it was refused: {error}"))
}

fn append(journal: &mut Journal, log: &mut StatementLog<JournalStatement>, lengths: &[usize]) {
    let first = journal.last_seq() + 1;
    let bodies: Vec<_> = (first..).zip(lengths).map(|(n, length)| body(n, *length)).collect();
    log.add(JournalStatement::Tried(first + lengths.len() as u64 - 1));
    if let Ok(last) = journal.append(7, &bodies) {
        log.add(JournalStatement::Acked(last));
    }
}

fn open(path: &Path, log: &mut StatementLog<JournalStatement>) -> Journal {
    let (journal, records) = Journal::open(path, &header()).unwrap();
    log.add(JournalStatement::Opened);
    log.add(JournalStatement::Acked(records.len() as u64));
    journal
}

/// A scenario: a new journal gets single and several records, smaller and larger than a sector.
fn scenario(test_dir: &TestDir, path: &Path, faults: Faults) -> RecordedScenario<JournalStatement> {
    RecordedScenario::record(test_dir, faults, |log| {
        let mut journal = open(path, log);
        append(&mut journal, log, &[3]);
        append(&mut journal, log, &[1, 400, 2]);
        append(&mut journal, log, &[700]);
    })
}

#[test]
fn a_crash_after_any_call_keeps_the_acknowledged_records() {
    let (test_dir, path) = fixture();
    let scenario = scenario(&test_dir, &path, Faults::default());
    let check =
        |statements: &[&JournalStatement], image: &DiskImage| check(&path, statements, image);
    let images = scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
    assert!(images > 1_000, "{images} images");
}

#[test]
fn a_run_directory_in_a_new_repository_is_durable() {
    let test_dir = TestDir::new();
    fs::create_dir(test_dir.path("git")).unwrap();
    let run = RunDir::new(&test_dir.path("git/mow"), "r1").unwrap();
    let path = run.journal();
    let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
        // The lead takes its lock first, which creates the engine's directory.
        let lock = test_dir.path("git/mow/locks/lead.lock");
        let _lock = mow_store::disk::Lock::acquire(&lock, std::time::Duration::ZERO).unwrap();
        run.create().unwrap();
        let mut journal = open(&path, log);
        append(&mut journal, log, &[3]);
    });
    let check = |statements: &[&JournalStatement], image: &DiskImage| {
        let is_opened =
            statements.iter().any(|statement| matches!(statement, JournalStatement::Opened));
        if is_opened {
            check(&path, statements, image)
        } else {
            run.create().map_err(|e| e.to_string())
        }
    };
    scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
}

#[test]
fn a_torn_line_that_is_truncated_and_overwritten_does_no_harm() {
    let (test_dir, path) = fixture();
    let first = scenario(&test_dir, &path, Faults::default());
    let whole = fs::read(&path).unwrap();
    drop(first);
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for torn in [1, 30, 200, whole.len() - last - 1] {
        fs::write(&path, &whole[..last + torn]).unwrap();
        let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
            log.add(JournalStatement::Opened);
            log.add(JournalStatement::Acked(4));
            log.add(JournalStatement::Tried(4));
            let mut journal = open(&path, log);
            append(&mut journal, log, &[5]);
            append(&mut journal, log, &[6]);
        });
        scenario
            .crash_after_every_call(&test_dir, IMAGES_MAX, |statements, image| {
                check_not_refused(&path, statements, image)
            })
            .unwrap();
        // The same, found by a writer that had the journal open already.
        fs::write(&path, &whole[..last]).unwrap();
        let (mut journal, _) = Journal::open(&path, &header()).unwrap();
        fs::write(&path, &whole[..last + torn]).unwrap();
        let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
            log.add(JournalStatement::Opened);
            log.add(JournalStatement::Acked(4));
            append(&mut journal, log, &[5]);
        });
        scenario
            .crash_after_every_call(&test_dir, IMAGES_MAX, |statements, image| {
                check_not_refused(&path, statements, image)
            })
            .unwrap();
    }
}

#[test]
fn every_record_that_a_reader_got_is_durable() {
    let (test_dir, path) = fixture();
    let scenario = RecordedScenario::record(&test_dir, Faults::default(), |log| {
        let mut journal = open(&path, log);
        let mut other = open(&path, log);
        let mut reader = JournalReader::new(&path);
        for (n, way) in [(1, 0), (2, 1), (3, 2)] {
            log.add(JournalStatement::Tried(n));
            journal.append_unsynced(7, &[body(n, 2)]).unwrap();
            let read = match way {
                0 => reader.poll().unwrap(),
                1 => other.catch_up().unwrap(),
                _ => {
                    // Records that it reads during an append are returned later.
                    log.add(JournalStatement::Tried(n + 1));
                    other.append_unsynced(7, &[body(n + 1, 2)]).unwrap();
                    other.catch_up().unwrap()
                }
            };
            log.add(JournalStatement::Acked(numbers(&read).into_iter().max().unwrap()));
        }
    });
    let check =
        |statements: &[&JournalStatement], image: &DiskImage| check(&path, statements, image);
    scenario.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap();
}

#[test]
fn without_its_syncs_a_journal_loses_records() {
    let (test_dir, path) = fixture();
    let check =
        |statements: &[&JournalStatement], image: &DiskImage| check(&path, statements, image);
    let bare = scenario(&test_dir, &path, Faults::default())
        .without(|c| matches!(c, RecordedCall::Sync { .. }));
    let problem = bare.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap_err();
    assert!(problem.contains("acknowledged"), "{problem}");
    let (test_dir, path) = fixture();
    let check =
        |statements: &[&JournalStatement], image: &DiskImage| self::check(&path, statements, image);
    let bare = scenario(&test_dir, &path, Faults::default())
        .without(|c| matches!(c, RecordedCall::SyncDir { .. }));
    let problem = bare.crash_after_every_call(&test_dir, IMAGES_MAX, check).unwrap_err();
    assert!(problem.contains("gone"), "{problem}");
}

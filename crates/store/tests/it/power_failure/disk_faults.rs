//! Tests a disk that is full after any number of bytes, and a disk on which any sync fails.

use std::fs;

use mow_store::disk::call_recorder::{self, Faults};
use mow_store::journal::{Journal, JournalError, JournalReader};

use super::journals::{self, body, header};
use super::{IMAGES_FEW, RecordedScenario, TestDir, files};

/// More syncs than the longest scenario makes.
const SYNCS_MAX: usize = 40;

/// Appends records, also after a refused append; states which of them were acknowledged.
fn fill(
    test_dir: &TestDir,
    faults: Faults,
) -> (RecordedScenario<journals::JournalStatement>, bool) {
    let path = test_dir.path("journal.ndjson");
    let mut is_refused = false;
    let scenario = RecordedScenario::record(test_dir, faults, |log| {
        let Ok((mut journal, _)) = Journal::open(&path, &header()) else {
            is_refused = true;
            return;
        };
        log.add(journals::JournalStatement::Opened);
        for (count, length) in [(1, 3), (3, 40), (1, 600), (2, 1)] {
            let first = journal.last_seq() + 1;
            let bodies: Vec<_> = (first..first + count).map(|n| body(n, length)).collect();
            log.add(journals::JournalStatement::Tried(first + count - 1));
            match journal.append(7, &bodies) {
                Ok(last) => log.add(journals::JournalStatement::Acked(last)),
                Err(_) => is_refused = true,
            }
        }
    });
    (scenario, is_refused)
}

fn journal_test_dir() -> TestDir {
    let test_dir = TestDir::new();
    fs::write(test_dir.path("other"), "").unwrap();
    test_dir
}

#[test]
fn a_journal_on_a_full_disk_keeps_acknowledged_records() {
    let mut refused = 0;
    for room in (0..1_600).step_by(13) {
        let test_dir = journal_test_dir();
        let (scenario, is_refused) =
            fill(&test_dir, Faults { room: Some(room), ..Faults::default() });
        refused += usize::from(is_refused);
        let path = test_dir.path("journal.ndjson");
        scenario
            .crash_after_every_call(&test_dir, IMAGES_FEW, |statements, image| {
                journals::check(&path, statements, image)
            })
            .unwrap_or_else(|problem| panic!("room for {room} bytes: {problem}"));
    }
    assert!((60..123).contains(&refused), "{refused} were refused");
}

#[test]
fn after_a_failed_sync_a_journal_acknowledges_nothing() {
    for failing in 0..SYNCS_MAX {
        let test_dir = journal_test_dir();
        let faults = Faults { failing_sync: Some(failing), ..Faults::default() };
        let (scenario, is_refused) = fill(&test_dir, faults);
        let failed = scenario
            .calls
            .iter()
            .position(|c| matches!(c, call_recorder::RecordedCall::SyncFailed { .. }));
        assert_eq!(failed.is_some(), is_refused);
        let Some(failed) = failed else {
            assert!(failing > 4, "only {failing} syncs");
            return;
        };
        let late = scenario.statements.iter().any(|(at, s)| *at > failed && !is_tried(s));
        assert!(!late, "{:?}", scenario.statements);
        let path = test_dir.path("journal.ndjson");
        scenario
            .crash_after_every_call(&test_dir, IMAGES_FEW, |statements, image| {
                journals::check(&path, statements, image)
            })
            .unwrap_or_else(|problem| panic!("sync {failing} failed: {problem}"));
    }
    panic!("the scenario makes too many syncs");
}

fn is_tried(statement: &journals::JournalStatement) -> bool {
    matches!(statement, journals::JournalStatement::Tried(_))
}

#[test]
fn after_a_failed_sync_a_reader_returns_no_records() {
    let test_dir = journal_test_dir();
    let path = test_dir.path("journal.ndjson");
    let (mut journal, _) = Journal::open(&path, &header()).unwrap();
    let mut reader = JournalReader::new(&path);
    journal.append_unsynced(7, &[body(1, 1)]).unwrap();
    call_recorder::start(Faults { failing_sync: Some(0), ..Faults::default() });
    assert!(reader.poll().is_err());
    assert!(matches!(reader.poll(), Err(JournalError::Unsynced { .. })));
    call_recorder::stop();
    journal.append(7, &[body(2, 1)]).unwrap();
    assert!(matches!(reader.poll(), Err(JournalError::Unsynced { .. })));
}

#[test]
fn a_writer_on_a_full_disk_leaves_old_files_or_new_ones() {
    for room in (0..3_000).step_by(61) {
        let (test_dir, project) = files::fixture();
        let scenario =
            files::scenario(&test_dir, &project, Faults { room: Some(room), ..Faults::default() });
        scenario
            .crash_after_every_call(&test_dir, IMAGES_FEW, |statements, _| files::check(statements))
            .unwrap_or_else(|problem| panic!("room for {room} bytes: {problem}"));
    }
}

#[test]
fn after_a_failed_sync_files_are_old_or_new() {
    for failing in 0..SYNCS_MAX {
        let (test_dir, project) = files::fixture();
        let faults = Faults { failing_sync: Some(failing), ..Faults::default() };
        let scenario = files::scenario(&test_dir, &project, faults);
        scenario
            .crash_after_every_call(&test_dir, IMAGES_FEW, |statements, _| files::check(statements))
            .unwrap_or_else(|problem| panic!("sync {failing} failed: {problem}"));
        if !scenario
            .calls
            .iter()
            .any(|call| matches!(call, call_recorder::RecordedCall::SyncFailed { .. }))
        {
            assert!(failing > 8, "only {failing} syncs");
            return;
        }
    }
    panic!("the scenario makes too many syncs");
}

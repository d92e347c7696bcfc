//! A disk that is full after any number of bytes, and one that fails at any sync.

use std::fs;

use mow_store::disk::tape::{self, Faults};
use mow_store::journal::{Journal, JournalError, Tail};

use super::journals::{self, body, header};
use super::{SOME, Stage, Story, files};

/// More than the longest history makes.
const SYNCS: usize = 40;

/// Appends until something is refused, then once more; says what was acknowledged.
fn fill(stage: &Stage, faults: Faults) -> (Story<journals::Said>, bool) {
    let path = stage.path("journal.ndjson");
    let mut is_refused = false;
    let story = Story::tell(stage, faults, |notes| {
        let Ok((mut journal, _)) = Journal::open(&path, &header()) else {
            is_refused = true;
            return;
        };
        notes.say(journals::Said::Opened);
        for (count, length) in [(1, 3), (3, 40), (1, 600), (2, 1)] {
            let first = journal.last_seq() + 1;
            let bodies: Vec<_> = (first..first + count).map(|n| body(n, length)).collect();
            notes.say(journals::Said::Tried(first + count - 1));
            match journal.append(7, &bodies) {
                Ok(last) => notes.say(journals::Said::Acked(last)),
                Err(_) => is_refused = true,
            }
        }
    });
    (story, is_refused)
}

fn journal_stage() -> Stage {
    let stage = Stage::new();
    fs::write(stage.path("other"), "").unwrap();
    stage
}

#[test]
fn a_journal_on_a_full_disk_loses_nothing_acknowledged() {
    let mut refused = 0;
    for room in (0..1_600).step_by(13) {
        let stage = journal_stage();
        let (story, is_refused) = fill(&stage, Faults { room: Some(room), ..Faults::default() });
        refused += usize::from(is_refused);
        let path = stage.path("journal.ndjson");
        story
            .cut_everywhere(&stage, SOME, |said, outcome| journals::check(&path, said, outcome))
            .unwrap_or_else(|problem| panic!("room for {room} bytes: {problem}"));
    }
    assert!((60..123).contains(&refused), "{refused} were refused");
}

#[test]
fn after_a_sync_that_failed_a_journal_acknowledges_nothing() {
    for failing in 0..SYNCS {
        let stage = journal_stage();
        let faults = Faults { failing_sync: Some(failing), ..Faults::default() };
        let (story, is_refused) = fill(&stage, faults);
        let failed = story.calls.iter().position(|c| matches!(c, tape::Call::SyncFailed { .. }));
        assert_eq!(failed.is_some(), is_refused);
        let Some(failed) = failed else {
            assert!(failing > 4, "only {failing} syncs");
            return;
        };
        let late = story.said.iter().any(|(at, s)| *at > failed && !is_tried(s));
        assert!(!late, "{:?}", story.said);
        let path = stage.path("journal.ndjson");
        story
            .cut_everywhere(&stage, SOME, |said, outcome| journals::check(&path, said, outcome))
            .unwrap_or_else(|problem| panic!("sync {failing} failed: {problem}"));
    }
    panic!("there is no end of syncs");
}

fn is_tried(said: &journals::Said) -> bool {
    matches!(said, journals::Said::Tried(_))
}

#[test]
fn a_reader_hands_out_nothing_after_a_sync_that_failed() {
    let stage = journal_stage();
    let path = stage.path("journal.ndjson");
    let (mut journal, _) = Journal::open(&path, &header()).unwrap();
    let mut tail = Tail::new(&path);
    journal.append_unsynced(7, &[body(1, 1)]).unwrap();
    tape::start(Faults { failing_sync: Some(0), ..Faults::default() });
    assert!(tail.poll().is_err());
    assert!(matches!(tail.poll(), Err(JournalError::Unsynced { .. })));
    tape::stop();
    journal.append(7, &[body(2, 1)]).unwrap();
    assert!(matches!(tail.poll(), Err(JournalError::Unsynced { .. })));
}

#[test]
fn a_writer_on_a_full_disk_leaves_old_files_or_new_ones() {
    for room in (0..3_000).step_by(61) {
        let (stage, project) = files::fixture();
        let story =
            files::story(&stage, &project, Faults { room: Some(room), ..Faults::default() });
        story
            .cut_everywhere(&stage, SOME, |said, _| files::check(said))
            .unwrap_or_else(|problem| panic!("room for {room} bytes: {problem}"));
    }
}

#[test]
fn after_a_sync_that_failed_a_writer_has_old_files_or_new_ones() {
    for failing in 0..SYNCS {
        let (stage, project) = files::fixture();
        let faults = Faults { failing_sync: Some(failing), ..Faults::default() };
        let story = files::story(&stage, &project, faults);
        story
            .cut_everywhere(&stage, SOME, |said, _| files::check(said))
            .unwrap_or_else(|problem| panic!("sync {failing} failed: {problem}"));
        if !story.calls.iter().any(|call| matches!(call, tape::Call::SyncFailed { .. })) {
            assert!(failing > 8, "only {failing} syncs");
            return;
        }
    }
    panic!("there is no end of syncs");
}

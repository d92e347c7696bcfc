//! Tests of several writers of one journal.

use std::fs::OpenOptions;
use std::io::Write;
use std::thread;
use std::time::Duration;

use super::super::{JournalError, JournalReader};
use super::{Fixture, body, count_to, numbers};
use crate::disk::{DiskError, JournalFile, WAIT_DEFAULT};

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: u64 = 6;
    const EACH: u64 = 20;
    let fixture = Fixture::new();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let fixture = &fixture;
            scope.spawn(move || {
                let (mut journal, _) = fixture.open();
                for n in (0..EACH).step_by(2) {
                    let n = writer * EACH + n + 1;
                    let seq = journal.append(7, &[body(n), body(n + 1)]).unwrap();
                    assert_eq!(seq, journal.last_seq());
                }
            });
        }
        let mut reader = JournalReader::new(&fixture.path());
        let mut seen = Vec::new();
        while seen.len() < usize::try_from(WRITERS * EACH).unwrap() {
            seen.extend(reader.poll().unwrap());
            thread::yield_now();
        }
        assert!(seen.iter().zip(1..).all(|(record, seq)| record.seq == seq));
    });
    let (_, records) = fixture.open();
    assert!(records.iter().zip(1..).all(|(record, seq)| record.seq == seq));
    let mut found = numbers(&records);
    found.sort_unstable();
    assert_eq!(found, count_to(WRITERS * EACH));
}

#[test]
fn a_writer_reads_the_records_of_others_and_appends_after_them() {
    let fixture = Fixture::with_records(1);
    let ((mut one, _), (mut other, _)) = (fixture.open(), fixture.open());
    other.append(7, &[body(2), body(3)]).unwrap();
    assert_eq!(one.append(7, &[body(4)]).unwrap(), 4);
    assert_eq!(numbers(&one.catch_up().unwrap()), [2, 3]);
    assert_eq!(one.catch_up().unwrap(), []);
    assert_eq!(numbers(&other.catch_up().unwrap()), [4]);
    assert_eq!(numbers(&fixture.open().1), count_to(4));
}

#[test]
fn other_writers_truncate_the_torn_line_of_a_killed_writer() {
    let fixture = Fixture::with_records(1);
    let ((mut one, _), (mut other, _)) = (fixture.open(), fixture.open());
    let mut reader = JournalReader::new(&fixture.path());
    reader.poll().unwrap();
    let tear = || {
        let file = OpenOptions::new().append(true).open(fixture.path());
        file.unwrap().write_all(b"{\"seq\":2,\"crc\":\"0000").unwrap();
    };
    tear();
    let torn = fixture.bytes();
    assert_eq!(reader.poll().unwrap(), []);
    assert_eq!(fixture.bytes(), torn);
    assert_eq!(one.catch_up().unwrap(), []);
    assert!(fixture.bytes().len() < torn.len());
    tear();
    assert_eq!(other.append(7, &[body(2)]).unwrap(), 2);
    assert_eq!(numbers(&reader.poll().unwrap()), [2]);
    assert_eq!(numbers(&one.catch_up().unwrap()), [2]);
}

#[test]
fn waiting_for_another_writer_times_out() {
    let fixture = Fixture::with_records(1);
    let open = || JournalFile::open(&fixture.path()).unwrap();
    let (mut one, mut other) = (open(), open());
    one.with_lock(Duration::ZERO, |_| {
        for wait in [Duration::ZERO, Duration::from_millis(20)] {
            let waited = other.with_lock(wait, |_| Ok::<_, JournalError>(()));
            assert!(matches!(waited, Err(JournalError::Disk(DiskError::Busy { .. }))));
        }
        Ok::<_, JournalError>(())
    })
    .unwrap();
    other.with_lock(WAIT_DEFAULT, |_| Ok::<_, JournalError>(())).unwrap();
}

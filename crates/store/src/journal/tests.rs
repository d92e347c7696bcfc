//! Tests of journals: acknowledged records stay, torn lines are truncated, damage is refused.

mod damage;
mod properties;
mod sharing;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Header, Journal, JournalError, JournalKind, JournalReader, Record, line};

/// A temporary directory for a journal.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Creates a journal with the records `{"n":1}` to `{"n":count}`.
    fn with_records(count: u64) -> Self {
        let fixture = Self::new();
        let bodies: Vec<Value> = (1..=count).map(body).collect();
        assert_eq!(fixture.open().0.append(7, &bodies).unwrap(), count);
        fixture
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("journal.ndjson")
    }

    fn open(&self) -> (Journal, Vec<Record>) {
        Journal::open(&self.path(), &header()).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
    }
}

fn header() -> Header {
    Header::worker("r1", "03", 2)
}

fn body(n: u64) -> Value {
    json!({ "n": n })
}

fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.parse::<Value>().unwrap()["n"].as_u64().unwrap()).collect()
}

fn count_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

/// Returns the damaged line that an error names.
fn damaged_line(error: &JournalError, journal: &Path) -> u64 {
    let JournalError::Corrupt { path, line, .. } = error else { panic!("{error}") };
    assert_eq!(path, journal);
    let text = error.to_string();
    assert!(text.contains("journal.ndjson") && text.contains(&format!("line {line}")), "{text}");
    *line
}

#[test]
fn appended_records_read_back() {
    let fixture = Fixture::new();
    let (mut journal, records) = fixture.open();
    assert_eq!((records.len(), journal.last_seq()), (0, 0));
    let odd = json!({ "text": "a\nb\0\u{2028}}", "list": [1.5, null], "{\"seq\":9": {} });
    assert_eq!(journal.append(5, &[json!("first"), odd.clone()]).unwrap(), 2);
    assert_eq!(journal.append::<Value>(6, &[]).unwrap(), 2);
    assert_eq!(journal.append(6, &[body(3)]).unwrap(), 3);
    assert_eq!(journal.catch_up().unwrap(), []);
    let (journal, records) = fixture.open();
    assert_eq!((journal.header(), journal.last_seq()), (&header(), 3));
    let found: Vec<_> =
        records.iter().map(|record| (record.seq, record.at, record.parse().unwrap())).collect();
    assert_eq!(found, [(1, 5, json!("first")), (2, 5, odd), (3, 6, body(3))]);
    assert!(matches!(records[0].parse::<u64>(), Err(JournalError::Body { seq: 1, .. })));
}

#[test]
fn the_first_version_stays_readable_and_is_still_written() {
    let golden = include_bytes!("tests/golden-v1.ndjson");
    let fixture = Fixture::new();
    fixture.write(golden);
    let (_, records) = fixture.open();
    assert_eq!(fixture.bytes(), golden);
    let bodies: Vec<Value> = records.iter().map(|record| record.parse().unwrap()).collect();
    assert_eq!(
        bodies,
        [json!({ "said": { "type": "claim", "phase": "03" } }), json!("Grüße \"\n")]
    );
    assert_eq!(records[1].at, 1_763_251_812_346);
    let mut written = Vec::new();
    line::encode(&mut written, 0, 1_763_251_812_000, &header()).unwrap();
    for (record, body) in records.iter().zip(bodies) {
        line::encode(&mut written, record.seq, record.at, &body).unwrap();
    }
    assert_eq!(written, golden);
}

#[test]
fn every_kind_has_its_header() {
    let headers = [
        (Header::lead("r"), JournalKind::Lead, "the lead of run r"),
        (Header::commands("r"), JournalKind::Commands, "the commands of run r"),
        (
            Header::worker("r", "02.1", 3),
            JournalKind::Worker,
            "a worker of run r, phase 02.1, attempt 3",
        ),
        (
            Header::inbox("r", "02.1", 3),
            JournalKind::Inbox,
            "an inbox of run r, phase 02.1, attempt 3",
        ),
    ];
    for (header, kind, text) in headers {
        let fixture = Fixture::new();
        Journal::open(&fixture.path(), &header).unwrap();
        let mut reader = JournalReader::new(&fixture.path());
        reader.poll().unwrap();
        assert_eq!(reader.header(), Some(&header));
        assert_eq!((header.kind, header.to_string()), (kind, text.to_owned()));
    }
}

#[test]
fn a_journal_with_another_header_is_refused_and_not_changed() {
    let fixture = Fixture::with_records(2);
    let torn = [&fixture.bytes()[..], b"{\"seq\":3,"].concat();
    fixture.write(&torn);
    let error = Journal::open(&fixture.path(), &Header::lead("r1")).unwrap_err();
    assert!(matches!(error, JournalError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("phase 03, attempt 2, not of the lead"), "{error}");
    assert_eq!(fixture.bytes(), torn);
}

#[test]
fn a_newer_format_is_refused_with_its_version() {
    let fixture = Fixture::new();
    let mut bytes = Vec::new();
    let newer = json!({ "format": "mow journal", "version": 2, "kind": "choir", "run": 1 });
    line::encode(&mut bytes, 0, 1, &newer).unwrap();
    bytes.extend_from_slice(b"whatever version 2 has\n");
    fixture.write(&bytes);
    for error in [
        Journal::open(&fixture.path(), &header()).unwrap_err(),
        JournalReader::new(&fixture.path()).poll().unwrap_err(),
    ] {
        assert!(matches!(error, JournalError::Newer { version: 2, .. }), "{error}");
        assert!(error.to_string().contains("use a newer one"), "{error}");
    }
    assert_eq!(fixture.bytes(), bytes);
}

#[test]
fn a_file_that_is_not_a_journal_is_not_changed() {
    let mut other = Vec::new();
    line::encode(&mut other, 0, 1, &json!({ "format": "other", "version": 9 })).unwrap();
    for bytes in [&b"hello"[..], b"hello\n", b"{}", b"\n", b"{\"seq\":1,\"crc\":\"", &other] {
        let fixture = Fixture::new();
        fixture.write(bytes);
        let error = Journal::open(&fixture.path(), &header()).unwrap_err();
        assert_eq!(damaged_line(&error, &fixture.path()), 1);
        assert_eq!(fixture.bytes(), bytes);
    }
}

#[test]
fn only_a_plain_file_can_be_a_journal() {
    let fixture = Fixture::with_records(1);
    let link = fixture.dir.path().join("link");
    std::os::unix::fs::symlink(fixture.path(), &link).unwrap();
    for path in [&link, fixture.dir.path(), &fixture.dir.path().join("none/j")] {
        let opened = Journal::open(path, &header());
        assert!(matches!(opened, Err(JournalError::Disk(_))), "{}", path.display());
    }
    assert!(JournalReader::new(fixture.dir.path()).poll().is_err());
}

#[test]
fn a_reader_does_not_change_the_file() {
    let fixture = Fixture::new();
    let mut reader = JournalReader::new(&fixture.path());
    assert_eq!((reader.poll().unwrap().len(), reader.header()), (0, None));
    assert!(!fixture.path().exists());
    let (mut journal, _) = fixture.open();
    assert_eq!((reader.poll().unwrap().len(), reader.header()), (0, Some(&header())));
    journal.append(1, &[body(1), body(2)]).unwrap();
    assert_eq!(numbers(&reader.poll().unwrap()), [1, 2]);
    assert_eq!((reader.poll().unwrap().len(), reader.last_seq()), (0, 2));
    journal.append(1, &[body(3)]).unwrap();
    assert_eq!(numbers(&reader.clone().without_sync().poll().unwrap()), [3]);
    assert_eq!(numbers(&reader.poll().unwrap()), [3]);
}

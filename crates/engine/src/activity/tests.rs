//! Tests the bounds of activity files, and readers that follow a writer.
#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::fs;

use mow_core::phase::PhaseNumber;
use mow_host::agent::{ToolOutcome, Usage};
use mow_store::run_files::RunDir;
use serde_json::json;

use super::output_lines::OutputLines;
use super::*;

struct ActivityFixture {
    _dir: tempfile::TempDir,
    run: RunDir,
    phase: PhaseNumber,
}

impl ActivityFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::new(dir.path(), "run").unwrap();
        run.create().unwrap();
        Self { _dir: dir, run, phase: PhaseNumber::parse("1").unwrap() }
    }

    fn stream(&self) -> ActivityStream {
        let writer = ActivityWriter::new(&self.run, &self.phase, 1);
        writer.stream("executor", Some(("01-01", 2)))
    }

    fn reader(&self) -> ActivityReader {
        ActivityReader::new(&self.run, &self.phase, 1)
    }

    fn bytes(&self) -> u64 {
        let files = [self.run.activity(&self.phase, 1), self.run.older_activity(&self.phase, 1)];
        files.iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
    }
}

fn kinds(records: Vec<ActivityRecord>) -> Vec<ActivityKind> {
    records.into_iter().map(|record| record.kind).collect()
}

fn output(text: &str) -> ActivityKind {
    ActivityKind::Output { text: text.to_owned() }
}

fn take_all(stream: &ActivityStream, pieces: &[&[u8]]) {
    let mut lines = OutputLines::new(stream);
    pieces.iter().for_each(|piece| lines.take(piece));
    lines.finish();
}

#[test]
fn events_of_an_agent_are_kept_as_records() {
    let fixture = ActivityFixture::new();
    let stream = fixture.stream().within(std::path::Path::new("/w"));
    let call = ToolUse {
        id: "c1".to_owned(),
        name: "Write".to_owned(),
        summary: "/w/a.rs".to_owned(),
        edits: vec!["/w/a.rs".to_owned(), "/else/b.rs".to_owned()],
        input: json!({ "content": "x" }),
    };
    stream.record_event(&Event::Started { session: "s".to_owned() });
    stream.record_event(&Event::Text(" \n".to_owned()));
    stream.record_event(&Event::Text("I write.\n".to_owned()));
    stream.record_event(&Event::Tool(call.clone()));
    stream.record_event(&Event::Tool(ToolUse { edits: Vec::new(), ..call }));
    let outcome = ToolOutcome { id: "c1".to_owned(), is_ok: false, text: "no".to_owned() };
    stream.record_event(&Event::ToolEnded(outcome));
    stream.record_event(&Event::Usage(Usage { input: 1, output: 2, cached: 3, usd: Some(0.5) }));
    let records = fixture.reader().poll().unwrap();
    let source = &records[0].source;
    assert_eq!((source.role.as_str(), source.plan.as_deref()), ("executor", Some("01-01")));
    assert_eq!(source.task, Some(2));
    let (call, name, input) = ("c1".to_owned(), "Write".to_owned(), json!({ "content": "x" }));
    let paths = vec!["a.rs".to_owned(), "/else/b.rs".to_owned()];
    let expected = [
        ActivityKind::Text { text: "I write.".to_owned() },
        ActivityKind::Edit { call: call.clone(), name: name.clone(), paths, input: input.clone() },
        ActivityKind::Tool { call: call.clone(), name, summary: "/w/a.rs".to_owned(), input },
        ActivityKind::Result { call, ok: false, text: "no".to_owned() },
        ActivityKind::Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 3, usd: Some(0.5) },
    ];
    assert_eq!(kinds(records), expected);
}

#[test]
fn output_is_split_into_lines() {
    let fixture = ActivityFixture::new();
    let long = [b'x'; 5_000];
    take_all(
        &fixture.stream(),
        &[b"one\ntw", b"o\r\n\n10%\r20%", b"\r30%\n", &long, b"\nbad \xff\nend"],
    );
    let cut = "x".repeat(1 << 10);
    let expected = ["one", "two", "30%", &cut, "bad \u{fffd}", "end"];
    assert_eq!(kinds(fixture.reader().poll().unwrap()), expected.map(output));
}

#[test]
fn a_flood_of_lines_is_bounded_and_its_end_is_kept() {
    let fixture = ActivityFixture::new();
    let stream = fixture.stream();
    let flood: String = (0..5_000).map(|n| format!("{n}\n")).collect();
    take_all(&stream, &[flood.as_bytes()]);
    let records = kinds(fixture.reader().poll().unwrap());
    assert_eq!(records[0], ActivityKind::Skipped { lines: 4_000 });
    assert_eq!((records.len(), records.last()), (1_001, Some(&output("4999"))));
    for _ in 0..300 {
        take_all(&stream, &[flood.as_bytes()]);
    }
    assert!(fixture.bytes() <= 2 * FILE_BYTES_MAX, "{}", fixture.bytes());
    let records = kinds(fixture.reader().poll().unwrap());
    assert_eq!(records.last(), Some(&output("4999")), "the newest records are kept");
}

#[test]
fn no_record_exceeds_its_bound() {
    let fixture = ActivityFixture::new();
    let stream = fixture.stream();
    // Every character becomes six bytes of JSON.
    let text = "\u{1}".repeat(TEXT_BYTES_MAX);
    stream.record_event(&Event::Text(text.clone()));
    stream.command_started(&text, std::path::Path::new("log"));
    stream.record(ActivityKind::Edit {
        call: text.clone(),
        name: text.clone(),
        paths: vec![text.clone(); 50],
        input: json!({ "text": text }),
    });
    let stored = fs::read(fixture.run.activity(&fixture.phase, 1)).unwrap();
    let longest = stored.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap();
    assert!(longest < RECORD_BYTES_MAX, "{longest}");
    assert_eq!(fixture.reader().poll().unwrap().len(), 3);
}

#[test]
fn a_reader_returns_each_record_once_over_rotations() {
    let fixture = ActivityFixture::new();
    let (stream, mut reader) = (fixture.stream(), fixture.reader());
    assert_eq!(reader.poll().unwrap(), [], "there is no file yet");
    let mut expected = 0;
    let mut seen = 0;
    let filler = "x".repeat(1_000);
    // About three files, with polls at uneven distances.
    for n in 0..12_000 {
        stream.record(output(&format!("{n} {filler}")));
        expected += 1;
        if n % 777 == 0 {
            for record in reader.poll().unwrap() {
                let ActivityKind::Output { text } = record.kind else { panic!() };
                assert!(text.starts_with(&format!("{seen} ")), "{seen}: {text}");
                seen += 1;
            }
            assert_eq!(seen, expected);
        }
    }
    assert!(fixture.bytes() <= 2 * FILE_BYTES_MAX);
    assert_eq!(reader.poll().unwrap().len(), expected - seen);
    assert_eq!(reader.poll().unwrap(), []);
}

#[test]
fn a_reader_that_was_away_for_one_rotation_misses_nothing() {
    let fixture = ActivityFixture::new();
    let (stream, mut reader) = (fixture.stream(), fixture.reader());
    stream.record(output("first"));
    assert_eq!(reader.poll().unwrap().len(), 1);
    let filler = "x".repeat(1_000);
    // More than one file and less than two.
    (0..6_000).for_each(|_| stream.record(output(&filler)));
    assert_eq!(reader.poll().unwrap().len(), 6_000);
}

#[test]
fn lines_that_cannot_be_read_are_left_out() {
    let fixture = ActivityFixture::new();
    let file = fixture.run.activity(&fixture.phase, 1);
    let new = r#"{"at":1,"role":"r","kind":"of a later version","x":1}"#;
    fs::write(&file, format!("{new}\nrubbish\n{{\"at\":1")).unwrap();
    let mut reader = fixture.reader();
    assert_eq!(kinds(reader.poll().unwrap()), [ActivityKind::Unknown]);
    fixture.stream().record(output("after a kill"));
    assert_eq!(kinds(reader.poll().unwrap()), [output("after a kill")]);
}

#[test]
fn a_writer_that_cannot_write_does_nothing() {
    let fixture = ActivityFixture::new();
    fs::create_dir(fixture.run.activity(&fixture.phase, 1)).unwrap();
    fixture.stream().record(output("lost"));
    ActivityWriter::default().stream("executor", None).record(output("nowhere"));
    assert!(fixture.run.activity(&fixture.phase, 1).is_dir());
}

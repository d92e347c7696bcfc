//! Property tests: writers, readers and crashes in any order.

use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Journal, JournalReader, Record, line, parse};
use super::{Fixture, header};

#[derive(Clone, Debug)]
enum Step {
    /// One of two writers appends some texts.
    Append {
        first: bool,
        texts: Vec<String>,
    },
    /// A writer is killed after this share of a line.
    Tear {
        text: String,
        share: f64,
    },
    /// One of the writers opens the journal again.
    Reopen {
        first: bool,
    },
    Poll,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let text = "\\PC{0,12}|[\\n\\x00\"{}]{0,6}";
    let step = prop_oneof![
        (any::<bool>(), prop::collection::vec(text, 0..4))
            .prop_map(|(first, texts)| Step::Append { first, texts }),
        (text, 0.0..1.0).prop_map(|(text, share)| Step::Tear { text, share }),
        any::<bool>().prop_map(|first| Step::Reopen { first }),
        Just(Step::Poll),
    ];
    prop::collection::vec(step, 0..12)
}

fn texts(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| record.parse().unwrap()).collect()
}

/// A writer and the records it has returned so far, in the order of the file.
struct TestWriter {
    journal: Journal,
    records: Vec<Record>,
}

impl TestWriter {
    fn open(fixture: &Fixture) -> Self {
        let (journal, records) = fixture.open();
        Self { journal, records }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn all_writers_and_readers_see_the_acknowledged_records(steps in steps()) {
        let fixture = Fixture::new();
        let mut writers = [TestWriter::open(&fixture), TestWriter::open(&fixture)];
        let mut reader = JournalReader::new(&fixture.path()).without_sync();
        let (mut expected, mut polled) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Append { first, texts } => {
                    let writer = &mut writers[usize::from(first)];
                    let seq = writer.journal.append(3, &texts).unwrap();
                    expected.extend(texts);
                    prop_assert_eq!(seq, expected.len() as u64);
                }
                Step::Tear { text, share } => tear(&fixture, &text, share),
                Step::Reopen { first } => {
                    writers[usize::from(first)] = TestWriter::open(&fixture);
                    prop_assert_eq!(texts(&writers[usize::from(first)].records), &expected[..]);
                }
                Step::Poll => {
                    polled.extend(reader.poll().unwrap());
                    prop_assert_eq!(texts(&polled), &expected[..]);
                }
            }
        }
        polled.extend(reader.poll().unwrap());
        prop_assert_eq!(texts(&polled), &expected[..]);
        for writer in &mut writers {
            writer.records.extend(writer.journal.catch_up().unwrap());
            prop_assert!(writer.records.is_sorted_by_key(|record| record.seq));
        }
        prop_assert_eq!(texts(&fixture.open().1), expected);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let path = Fixture::new().path();
        parse(&path, &bytes).ok();
        let mut journal = Vec::new();
        line::encode(&mut journal, 0, 1, &header()).unwrap();
        let whole = journal.len();
        journal.extend(bytes);
        if let Ok(parsed) = parse(&path, &journal) {
            prop_assert_eq!((parsed.whole_bytes, parsed.header), (whole, Some(header())));
        }
    }

    #[test]
    fn every_body_reads_back(text in "\\PC*", number in any::<i64>(), at in any::<u64>()) {
        let body = json!({ "text": text, "list": [number, { "seq": text }] });
        let mut bytes = Vec::new();
        line::encode(&mut bytes, at, at, &body).unwrap();
        let record = line::parse(bytes.strip_suffix(b"\n").unwrap()).unwrap();
        prop_assert_eq!((record.seq, record.at, record.parse::<Value>().unwrap()), (at, at, body));
    }
}

/// Appends the beginning of the next line, unless the file ends with a torn line already.
fn tear(fixture: &Fixture, text: &str, share: f64) {
    let bytes = fixture.bytes();
    let parsed = parse(&fixture.path(), &bytes).unwrap();
    if parsed.whole_bytes < bytes.len() {
        return;
    }
    let mut line = Vec::new();
    line::encode(&mut line, parsed.records.len() as u64 + 1, 3, &text).unwrap();
    let kept = (0..line.len()).rfind(|&at| at as f64 <= line.len() as f64 * share).unwrap_or(0);
    let mut file = OpenOptions::new().append(true).open(fixture.path()).unwrap();
    file.write_all(&line[..kept]).unwrap();
}

//! Worker journals of the first format must be read for ever, and be written again unchanged.

use serde_json::Value;

use crate::machine::Machine;
use crate::worker::{Event, Worker};

#[test]
fn a_worker_journal_of_the_first_format_is_read_and_written_unchanged() {
    let mut worker = Worker::default();
    for line in include_str!("golden/v1.ndjson").lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let event: Event = serde_json::from_value(record["event"].clone()).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), record["event"]);
        if matches!(event, Event::Briefed { .. }) {
            worker = Worker::default();
        }
        worker.apply(&event, record["at"].as_u64().unwrap());
    }
}

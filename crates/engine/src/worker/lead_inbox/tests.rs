//! An inbox file that a lead writes, with and without numbers.

use mow_core::phase::PhaseNumber;
use mow_core::report::HaltReason;
use mow_store::journal::{Header, Journal};

use super::*;

/// Writes an inbox file with a brief; returns it open for more.
fn inbox(path: &Path) -> Journal {
    let (mut journal, _) = Journal::open(path, &Header::inbox("r", "01", 1)).unwrap();
    let brief = serde_json::json!({
        "note": "brief", "run": "r", "phase": PhaseNumber::whole(1), "name": "One", "attempt": 1,
        "base": "b", "answers": [],
    });
    journal.append(0, &[brief]).unwrap();
    journal
}

fn halt(n: Option<u32>, how: HaltReason) -> NumberedMessage {
    NumberedMessage { n, message: LeadMessage::Halt(how.into()) }
}

#[test]
fn a_note_that_was_written_before_the_worker_began_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("inbox");
    inbox(&path).append(0, &[halt(Some(1), HaltReason::Paused)]).unwrap();
    let (mut inbox, brief) = LeadInbox::open(&path).unwrap();
    assert_eq!(brief.unwrap().name, "One");
    let how = HaltReason::Paused;
    assert_eq!(inbox.read_notes().unwrap(), [LeadMessage::Halt(how.into())]);
    assert_eq!(inbox.read_notes().unwrap(), []);
}

#[test]
fn a_note_is_taken_once_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("inbox");
    let mut journal = inbox(&path);
    let (mut inbox, _) = LeadInbox::open(&path).unwrap();
    let (pause, cancel) = (HaltReason::Paused, HaltReason::Cancelled);
    // A lead without numbers wrote the first note; its successor writes it again.
    journal.append(0, &[halt(None, pause), halt(Some(1), pause)]).unwrap();
    assert_eq!(inbox.read_notes().unwrap(), [LeadMessage::Halt(pause.into())]);
    journal.append(0, &[NumberedMessage::from(LeadMessage::Through { seq: 5 })]).unwrap();
    journal.append(0, &[halt(Some(2), cancel), halt(Some(2), cancel)]).unwrap();
    assert_eq!(inbox.read_notes().unwrap(), [LeadMessage::Halt(cancel.into())]);
    assert_eq!(inbox.acknowledged_seq(), 5);
}

#[test]
fn a_file_without_a_brief_has_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(LeadInbox::open(&dir.path().join("inbox")).unwrap().1.is_none());
}

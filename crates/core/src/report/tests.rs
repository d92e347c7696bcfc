//! Messages in inbox files, with and without numbers.

use super::*;

fn halt() -> LeadMessage {
    LeadMessage::Halt(HaltReason::Paused.into())
}

fn answer() -> LeadMessage {
    let [question, text] = ["q", "t"].map(str::to_owned);
    LeadMessage::Answer(InboxAnswer { key: "k".parse().unwrap(), question, text })
}

#[test]
fn an_order_goes_further_only_if_it_is_stronger() {
    let [pause, cancel] = [HaltReason::Paused, HaltReason::Cancelled].map(HaltOrder::from);
    let now = HaltOrder { now: true, ..cancel.clone() };
    let all = [&pause, &cancel, &now];
    for (at, order) in all.iter().enumerate() {
        assert!(order.exceeds(None));
        for (before, other) in all.iter().enumerate() {
            assert_eq!(order.exceeds(Some(other)), at > before, "{order:?} after {other:?}");
        }
    }
}

#[test]
fn a_number_stands_beside_the_message() {
    let message = NumberedMessage { n: Some(2), message: halt() };
    let line = serde_json::to_string(&message).unwrap();
    assert_eq!(line, r#"{"n":2,"note":"halt","how":"paused"}"#);
    assert_eq!(serde_json::from_str::<NumberedMessage>(&line).unwrap(), message);
    let through = NumberedMessage::from(LeadMessage::Through { seq: 7 });
    assert_eq!(serde_json::to_string(&through).unwrap(), r#"{"note":"through","seq":7}"#);
}

#[test]
fn workers_and_leads_of_both_kinds_read_each_other() {
    for message in [halt(), answer(), LeadMessage::Through { seq: 7 }] {
        let numbered = NumberedMessage { n: Some(3), message: message.clone() };
        let line = serde_json::to_string(&numbered).unwrap();
        assert_eq!(serde_json::from_str::<LeadMessage>(&line).unwrap(), message, "an old worker");
        let line = serde_json::to_string(&message).unwrap();
        let read: NumberedMessage = serde_json::from_str(&line).unwrap();
        assert_eq!(read, NumberedMessage { n: None, message }, "an old lead");
    }
}

#[test]
fn each_note_is_new_once() {
    let note = |n: Option<u32>| NumberedMessage { n, message: halt() };
    let mut numbers = NoteNumbers::default();
    // An old lead wrote two notes; a new lead writes the second one again, and a third one.
    assert!(numbers.add(&note(None)) && numbers.add(&note(None)));
    assert!(numbers.add(&LeadMessage::Through { seq: 1 }.into()));
    assert!(!numbers.add(&note(Some(2))));
    assert!(!numbers.contains(3) && numbers.add(&note(Some(3))) && numbers.contains(3));
    assert!(!numbers.add(&note(Some(3))) && !numbers.add(&note(Some(1))));
    // Notes may come in another order.
    assert!(numbers.add(&note(Some(5))) && numbers.add(&note(Some(4))));
}

//! Tests of events, pins, and the events that remove pins.

use proptest::prelude::*;

use super::*;

fn event(kind: &str, phase: Option<&str>, detail: &str) -> Event {
    let phase = phase.map(str::to_owned);
    Event { kind: kind.to_owned(), phase, detail: detail.to_owned(), ts: "t".to_owned() }
}

#[test]
fn events_are_read_as_written() {
    let written = event("error", Some("3"), "a \"b\"\n$&");
    let line = written.line();
    assert!(line.starts_with("{\"type\":\"error\",\"phase\":\"3\",\"detail\":"), "{line}");
    let file = format!("{{\"phase\":1}}\n{line}{{\"type\":\"x\",\"phase\":4}}\n");
    assert_eq!(
        parse_events(file.as_bytes()),
        [written, Event { ts: String::new(), ..event("x", Some("4"), "") }]
    );
}

#[test]
fn a_later_event_of_the_phase_removes_its_pins() {
    let mut state = DashboardState::default();
    assert!(state.record_event(&event("input_needed", Some("03"), "stage_gate")));
    assert!(state.record_event(&event("error", None, "lost")));
    assert!(!state.record_event(&event("commit_made", Some("4"), "")));
    assert!(!state.record_event(&event("commit_made", None, "")));
    assert_eq!(state.pinned[0].input_type.as_deref(), Some("stage_gate"));
    assert!(state.record_event(&event("commit_made", Some("3"), "")));
    assert_eq!(state.pinned.len(), 1);
    assert_eq!(state.pinned[0].phase, None);
    assert_eq!(DashboardState::parse(state.render().as_bytes()), state);
}

#[test]
fn a_broken_state_file_counts_as_empty() {
    let empty = "{\n  \"pinned\": [],\n  \"last_line_count\": 0,\n  \"last_render_ts\": null\n}\n";
    assert_eq!(DashboardState::parse(b"{oops").render(), empty);
}

#[test]
fn a_long_events_file_keeps_its_last_lines() {
    let file: String = (0..101).map(|n| event("x", None, &n.to_string()).line()).collect();
    let kept = parse_events(&pruned(file.as_bytes()).unwrap());
    assert_eq!((kept.len(), kept[0].detail.as_str()), (50, "51"));
    assert_eq!(pruned(&file.as_bytes()[file.find('\n').unwrap() + 1..]), None);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        parse_events(&bytes);
        DashboardState::parse(&bytes);
    }
}

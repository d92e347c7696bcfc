//! Tests of which line a field name means and which frontmatter key it updates.

use super::{lookup, set};

fn check_set(before: &str, name: &str, value: &str, after: &str) {
    let result = set(before.as_bytes(), name, value).map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(result.as_deref(), Some(after));
    let windows = before.replace('\n', "\r\n");
    let result = set(windows.as_bytes(), name, value).unwrap();
    assert_eq!(String::from_utf8(result).unwrap(), after.replace('\n', "\r\n"));
}

#[test]
fn the_first_bold_field_wins_over_plain_prose() {
    let text = "Status: prose\n\n**Status:** a\n\n## X\n\n**Status:** b\n";
    check_set(text, "status", "c", "Status: prose\n\n**Status:** c\n\n## X\n\n**Status:** b\n");
    assert_eq!(lookup(text.as_bytes(), "STATUS").as_deref(), Some("a"));
}

#[test]
fn a_plain_field_of_the_position_wins_over_later_bold_ones() {
    let text = "## Current Position\n\nStatus: a\n\n## Log\n\n**Status:** b\n";
    check_set(text, "Status", "c", "## Current Position\n\nStatus: c\n\n## Log\n\n**Status:** b\n");
    assert_eq!(lookup(text.as_bytes(), "Status").as_deref(), Some("a"));
}

#[test]
fn plain_fields_count_at_the_start_of_a_line_only() {
    check_set("- Mode: a\nMode: b\n", "Mode", "c", "- Mode: a\nMode: c\n");
    assert_eq!(set(b"- Mode: a\n  Mode: b\n", "Mode", "c"), None);
    assert_eq!(set(b"```\n**Mode:** a\n```\n", "Mode", "c"), None);
}

#[test]
fn an_empty_field_stays_on_its_line() {
    let text = "**Paused At:**\n\n## Decisions\n";
    assert_eq!(lookup(text.as_bytes(), "Paused At").as_deref(), Some(""));
    check_set(text, "Paused At", "x", "**Paused At:** x\n\n## Decisions\n");
    check_set("**A:** \n**B:** 1\n", "A", "2", "**A:** 2\n**B:** 1\n");
    check_set("**A:** 1", "A", "", "**A:** ");
}

#[test]
fn sections_reach_to_the_next_heading_of_their_level() {
    let text = "# S\n\n## A\n\nx\n\n### B\n\ny\n\n## C\n";
    assert_eq!(lookup(text.as_bytes(), "a").as_deref(), Some("x\n\n### B\n\ny"));
    assert_eq!(lookup(text.as_bytes(), "B").as_deref(), Some("y"));
    assert_eq!(lookup(text.as_bytes(), "C").as_deref(), Some(""));
    assert_eq!(lookup(text.as_bytes(), "D"), None);
    assert_eq!(lookup(b"", "D"), None);
}

#[test]
fn setting_a_field_updates_its_frontmatter_key() {
    let head = "---\nstatus: old # why\nlast_activity: 2026-01-01\nprogress:\n  percent: 5\n---\n";
    let body = "\n**Status:** a\n**Last Activity:** b\n**Progress:** 5%\n**Stopped At:** s\n";
    let text = format!("{head}{body}");
    let expect = |name: &str, value: &str, old: &str, new: &str| {
        let result = String::from_utf8(set(text.as_bytes(), name, value).unwrap()).unwrap();
        assert!(result.contains(new) && !result.contains(old), "{name}: {result}");
    };
    expect("Status", "Ready: now", "status: old", "status: \"Ready: now\"");
    expect("Last Activity", "2026-02-02 — x", "2026-01-01", "last_activity: 2026-02-02\n");
    expect("Progress", "[█] 40%", "percent: 5", "  percent: 40\n");
    // A missing key is not added.
    let stopped = set(text.as_bytes(), "Stopped At", "here").unwrap();
    assert!(stopped.starts_with(head.as_bytes()));
}

#[test]
fn a_phase_line_updates_several_frontmatter_keys() {
    let text = "---\ncurrent_phase: 1\ncurrent_phase_name: A\nprogress:\n  total_phases: 2\n---\n\
                ## Current Position\nPhase: 1 of 2 (A)\n";
    let wanted = "---\ncurrent_phase: 3\ncurrent_phase_name: C\nprogress:\n  total_phases: 4\n---\n\
                  ## Current Position\nPhase: 3 of 4 (C)\n";
    check_set(text, "Phase", "3 of 4 (C)", wanted);
}

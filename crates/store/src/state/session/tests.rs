//! Tests that the session section says where a session or a run stopped.

use super::{RunStand, SessionEnd, record_end, record_run, record_session};

fn check_run(before: &str, has_stopped: bool, after: &str) {
    let stand = RunStand { now: "NOW", stopped_at: "run r", command: "mow run 3", has_stopped };
    let bytes = record_run(before.as_bytes(), stand);
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), after);
    let later = RunStand { now: "LATER", ..stand };
    assert_eq!(record_run(&bytes, later), bytes, "a second write changes nothing");
}

#[test]
fn a_run_writes_where_it_stands_in_the_dialect_of_the_document() {
    let head = "Stopped at: log\n\n";
    let file = |fields: &str| format!("{head}## Session Continuity\n\n{fields}\n## Next\n");
    check_run(
        &file("Last session: a\nStopped at: b\nResume file: c\n"),
        true,
        &file("Last session: NOW\nStopped at: run r\nResume file: None\nResume: mow run 3\n"),
    );
    check_run(
        &file("Last session: a\nStopped at: b\nResume: x\nResume file: c\n"),
        false,
        &file("Last session: NOW\nStopped at: run r\nResume: mow run 3\nResume file: c\n"),
    );
    check_run(
        "## Session\r\n- **Last Date:** a\r\n- **Stopped At:**\r\n",
        true,
        "## Session\r\n- **Last Date:** NOW\r\n- **Stopped At:** run r\r\n\
         - **Resume:** mow run 3\r\n",
    );
}

#[test]
fn a_document_without_session_fields_stays_as_it_is() {
    for text in ["# State\n", "## Session Continuity\n\nWe stopped for lunch.\n"] {
        check_run(text, true, text);
    }
}

#[test]
fn session_fields_are_those_of_the_session() {
    let end = SessionEnd { now: "NOW", stopped_at: Some("$1 here"), resume_file: None };
    let check = |before: &str, after: &str, names: &[&str]| {
        let (bytes, updated) = record_session(before.as_bytes(), end);
        assert_eq!((String::from_utf8(bytes).unwrap().as_str(), &updated[..]), (after, names));
    };
    check(
        "**Stopped at:** log\n\n## Session Continuity\n\nLast session: a\nStopped at: b\nResume file: c\n",
        "**Stopped at:** log\n\n## Session Continuity\n\nLast session: NOW\nStopped at: $1 here\nResume file: None\n",
        &["Last session", "Stopped At", "Resume File"],
    );
    check(
        "## Session\n**Last Date:** a\n**Stopped At:**\n**Resume File:** c\n",
        "## Session\n**Last Date:** NOW\n**Stopped At:** $1 here\n**Resume File:** None\n",
        &["Last Date", "Stopped At", "Resume File"],
    );
    check("# State\n", "# State\n", &[]);
}

#[test]
fn the_end_of_a_run_makes_its_section_once() {
    let end = |now| RunStand { now, stopped_at: "Closed", command: "mow", has_stopped: true };
    let first = record_end(b"# State\n", end("t1"));
    let section = "# State\n\n## Session Continuity\n\nLast session: t1\nStopped at: Closed\n\
                   Resume file: None\nResume: mow\n";
    assert_eq!(String::from_utf8(first.clone()).unwrap(), section);
    assert_eq!(record_end(&first, end("t2")), first, "a second write changes nothing");
}

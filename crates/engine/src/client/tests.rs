//! Tests of which environments mark a process of an agent.

use mow_host::process::AncestryEnd;

use super::caller::{AgentMark, mark_of_end, parse_mark};

#[test]
fn a_role_a_token_or_an_agent_marks_a_process() {
    let check = |environment: &str, is_marked: bool| {
        let bytes = environment.replace(' ', "\0").into_bytes();
        assert_eq!(parse_mark(&bytes).is_some(), is_marked, "{environment}");
    };
    check("", false);
    check("PATH=/bin HOME=/root", false);
    check("MOW_ROLE=worker", true);
    check("MOW_ROLE=lead", false);
    check("MOW_ROLE= MOW_AGENT=", false);
    check("PATH=/bin MOW_TOKEN=run/03/1", true);
    check("MOW_AGENT=42", true);
    check("MOW_AGENTS=42 XMOW_AGENT=1 MOW_ROLE_NAME=executor", false);
}

#[test]
fn a_mark_names_run_and_phase_if_the_environment_does() {
    let mark = parse_mark(b"MOW_RUN=r1\0MOW_AGENT=42\0MOW_PHASE=2.1");
    let (run, phase) = (Some("r1".to_owned()), Some("2.1".to_owned()));
    assert_eq!(mark, Some(AgentMark { run, phase }));
    assert_eq!(parse_mark(b"MOW_AGENT=42"), Some(AgentMark::default()));
}

#[test]
fn too_many_ancestors_count_as_a_mark_and_hidden_ones_do_not() {
    assert!(mark_of_end(AncestryEnd::TooMany).is_some());
    assert!(mark_of_end(AncestryEnd::Hidden).is_none(), "people work below root's login, too");
    assert!(mark_of_end(AncestryEnd::Top).is_none());
}

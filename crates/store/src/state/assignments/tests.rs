//! Tests that rows are added and removed without other changes.

use super::{Assignment, NO_PLAN, add, ensure, parse, remove, replace_own, set_plan};

fn row(worktree: &str, phase: &str) -> Assignment {
    Assignment {
        worktree: worktree.to_owned(),
        branch: "main".to_owned(),
        phase: phase.to_owned(),
        plan: NO_PLAN.to_owned(),
        status: "executing".to_owned(),
        started: "2026-01-01T00:00:00.000Z".to_owned(),
        agent: "a|b".to_owned(),
    }
}

const STATE: &str = "# State\n\n## Current Position\n\nPhase: 1\n\n## Session Continuity\n\nx\n";

#[test]
fn a_section_is_made_before_session_continuity() {
    let bytes = add(STATE.as_bytes(), &row("/a b", "3"));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let expected = "Phase: 1\n\n## Worktree Assignments\n\n\
        | Worktree | Branch | Phase | Plan | Status | Started | Agent |\n\
        |----------|--------|-------|------|--------|---------|-------|\n\
        | /a b | main | 3 | — | executing | 2026-01-01T00:00:00.000Z | a\\|b |\n\n\
        ## Session Continuity\n\nx\n";
    assert!(text.ends_with(expected), "{text}");
    assert_eq!(parse(&bytes), [row("/a b", "3")]);
}

#[test]
fn a_section_is_made_at_the_end_of_a_file_without_a_final_newline() {
    let text = String::from_utf8(ensure(b"# State\n\nx")).unwrap();
    assert!(text.starts_with("# State\n\nx\n\n## Worktree Assignments\n\n| Worktree |"), "{text}");
    assert_eq!(ensure(text.as_bytes()), text.as_bytes());
}

#[test]
fn d12_adding_and_removing_a_row_restores_the_file() {
    let empty = ensure(STATE.as_bytes());
    let one = add(&empty, &row("/a", "3"));
    let two = add(&one, &row("/b", "4"));
    assert_eq!(parse(&two), [row("/a", "3"), row("/b", "4")]);
    let back = remove(&two, |row| row.is_for("04")).unwrap();
    assert_eq!(back, one);
    assert_eq!(remove(&back, |row| row.worktree == "/a").unwrap(), empty);
    assert_eq!(remove(&empty, |_| true), None);
}

#[test]
fn a_plan_is_written_into_the_row_of_its_worktree_alone() {
    let two = add(&add(STATE.as_bytes(), &row("/a", "3")), &row("/b", "3"));
    let set = set_plan(&two, "/b", "03", "03-02").unwrap();
    let plans: Vec<_> = parse(&set).into_iter().map(|row| row.plan).collect();
    assert_eq!(plans, ["—", "03-02"]);
    assert_eq!(set_plan(&two, "/c", "3", "x"), None);
}

#[test]
fn columns_are_found_by_name_and_unknown_ones_kept() {
    let state =
        "## Worktree Assignments\n\n| Phase | Worktree | Note |\n|--|--|--|\n| 3 | /a | n |\n";
    let rows = parse(state.as_bytes());
    assert_eq!((rows[0].worktree.as_str(), rows[0].phase.as_str()), ("/a", "3"));
    let text = String::from_utf8(add(state.as_bytes(), &row("/b", "4"))).unwrap();
    assert!(text.ends_with("| 3 | /a | n |\n| 4 | /b |  |\n"), "{text}");
}

#[test]
fn own_rows_are_replaced_and_other_rows_stay() {
    let own = |row: &Assignment| row.agent == "own";
    let own_row = |worktree: &str, phase: &str| Assignment {
        agent: "own".to_owned(),
        ..row(worktree, phase)
    };
    let other = add(STATE.as_bytes(), &row("/a", "3"));
    let two = replace_own(&other, &[own_row("/b", "4"), own_row("/c", "5")], own);
    assert_eq!(parse(&two), [row("/a", "3"), own_row("/b", "4"), own_row("/c", "5")]);
    let changed = Assignment { plan: "05-01".to_owned(), ..own_row("/c", "05") };
    let one = replace_own(&two, std::slice::from_ref(&changed), own);
    assert_eq!(parse(&one), [row("/a", "3"), changed]);
    assert_eq!(replace_own(&one, &[], own), other);
    assert_eq!(replace_own(STATE.as_bytes(), &[], own), STATE.as_bytes(), "no section is made");
}

//! Tests that written progress changes the row, the section and the checkbox, and nothing else.

use mow_core::phase::PhaseNumber;

use super::{RoadmapProgress, set_progress};

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

const COMPLETE: RoadmapProgress<'_> = RoadmapProgress {
    plans: Some("2/2"),
    status: "Complete",
    section_plans: "2/2 plans complete",
    completed: Some("2026-05-06"),
};

#[test]
fn progress_is_written_to_row_section_and_box() {
    let before = "- [ ] **Phase 1: A** - x\n- [ ] **Phase 10: B** - y\n\n### Phase 1: A\n\n\
                  **Plans**: 2 plans\n\nPlans:\n- [ ] 01-01: a\n\n### Phase 10: B\n**Plans**: TBD\n\n\
                  | Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n\
                  | 1. A | 0/2 | Not started | - |\n| 10. B | 0/2 | Not started | - |\n";
    let after = text(set_progress(before.as_bytes(), &number("01"), &COMPLETE));
    let expected = before
        .replace("- [ ] **Phase 1: A** - x", "- [x] **Phase 1: A** - x (completed 2026-05-06)")
        .replace("**Plans**: 2 plans", "**Plans**: 2/2 plans complete")
        .replace("| 1. A | 0/2 | Not started | - |", "| 1. A | 2/2 | Complete    | 2026-05-06 |");
    assert_eq!(after, expected);
    let again = text(set_progress(after.as_bytes(), &number("1"), &COMPLETE));
    assert_eq!(again, after, "what is written stays as it is");
}

#[test]
fn d3_cells_are_found_by_the_names_of_their_columns() {
    let before = "| Phase | Milestone | Plans Complete | Status | Completed |\n|---|---|---|---|---|\n\
                  | 5. Five | v1.1 | 0/3 | Not started | 2020-01-01 |\n";
    let progress =
        RoadmapProgress { plans: Some("1/3"), status: "In Progress", completed: None, ..COMPLETE };
    let after = text(set_progress(before.as_bytes(), &number("5"), &progress));
    let row = "| 5. Five | v1.1 | 1/3 | In Progress |            |\n";
    assert_eq!(after, before.replace("| 5. Five | v1.1 | 0/3 | Not started | 2020-01-01 |\n", row));
}

#[test]
fn progress_of_an_unknown_phase_or_in_code_changes_nothing() {
    let before = "```\n- [ ] **Phase 1: A**\n```\n\n<!-- ### Phase 1: A -->\n\n| Phase | Plans |\n|--|--|\n| 1. A | 0/1 |\n";
    assert_eq!(text(set_progress(before.as_bytes(), &number("1"), &COMPLETE)), before);
    assert_eq!(set_progress(b"", &number("1"), &COMPLETE), b"");
}

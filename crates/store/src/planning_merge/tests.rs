//! Tests of merging roadmaps and requirements that two sides changed.

use super::merge_file;

const ROADMAP: &str = "# Roadmap\n\n## Phases\n\n- [ ] **Phase 1: Sow** - a\n- [ ] **Phase 2: Reap** - b\n\n\
     ## Phase Details\n\n### Phase 1: Sow\n\n**Goal**: Sown\n\nPlans:\n- [ ] 01-01-PLAN.md\n";

fn merged(file: &str, base: &str, ours: &str, theirs: &str) -> Option<String> {
    let bytes = merge_file(file, [base, ours, theirs].map(str::as_bytes))?;
    Some(String::from_utf8(bytes).unwrap())
}

#[test]
fn boxes_that_the_two_sides_ticked_are_all_ticked() {
    let ours = ROADMAP.replace("[ ] **Phase 1", "[x] **Phase 1").replace("[ ] 01-01", "[x] 01-01");
    let theirs = ROADMAP.replace("[ ] **Phase 2", "[x] **Phase 2");
    let wanted = ours.replace("[ ] **Phase 2", "[x] **Phase 2");
    assert_eq!(merged("ROADMAP.md", ROADMAP, &ours, &theirs), Some(wanted));
}

#[test]
fn a_phase_that_one_side_added_is_kept() {
    let ours = ROADMAP.replace("[ ] **Phase 2", "[x] **Phase 2");
    let theirs = ROADMAP.replace("- b\n", "- b\n- [ ] **Phase 3: Rest** - c\n");
    let both = merged("ROADMAP.md", ROADMAP, &ours, &theirs).unwrap();
    assert!(both.contains("- [x] **Phase 2: Reap** - b\n- [ ] **Phase 3: Rest** - c\n"), "{both}");
}

#[test]
fn an_entry_that_both_changed_differently_is_left_to_a_person() {
    let ours = ROADMAP.replace("[ ] **Phase 1", "[x] **Phase 1");
    let theirs = ROADMAP.replace("[ ] **Phase 1: Sow**", "[ ] **Phase 1: Sow wheat**");
    assert_eq!(merged("ROADMAP.md", ROADMAP, &ours, &theirs), None);
    let base = "- [ ] **REQ-01**: Fast\n";
    let [ours, theirs] = ["- [x] **REQ-01**: Fast\n", "- [ ] **REQ-01**: Very fast\n"];
    assert_eq!(merged("REQUIREMENTS.md", base, ours, theirs), None);
}

#[test]
fn other_files_are_not_merged() {
    assert_eq!(merged("PROJECT.md", "a\n", "b\n", "c\n"), None);
    assert!(merged("STATE.md", "# S\n", "# S\n\n- a\n", "# S\n\n- b\n").is_some());
}

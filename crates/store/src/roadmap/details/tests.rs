//! Tests of looking up one phase and of finding the next phase.

use mow_core::phase::PhaseNumber;

use super::{PhaseLookup, describe_phase, next_phase};

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

const ROADMAP: &str = "# Roadmap

## Phases

- [ ] **Phase 3: Listed** - only here

### Phase 1: Base (INSERTED)

**Goal**: Stand
**Requirements**: [A-01, b.2] <!-- all -->
**Success Criteria** (what must be TRUE):
  1. One holds
  2. Two holds

Plans:
1. no criterion

### Phase 10: Ten

## Progress

| Phase | Status |
|---|---|
| 4. Row | Open |
";

#[test]
fn a_section_is_read_completely_with_padded_and_unpadded_numbers() {
    for asked in ["1", "01"] {
        let PhaseLookup::Found(found) = describe_phase(ROADMAP.as_bytes(), &number(asked)) else {
            panic!("phase {asked} has a section");
        };
        assert_eq!(found.name, "Base (INSERTED)");
        assert_eq!(found.goal.as_deref(), Some("Stand"));
        assert_eq!(found.success_criteria, ["One holds", "Two holds"]);
        assert_eq!(found.requirements, ["A-01", "b.2"]);
        assert!(found.section.starts_with("### Phase 1: Base (INSERTED)\n\n**Goal**"));
        assert!(found.section.ends_with("1. no criterion"));
    }
}

#[test]
fn d20_the_last_section_ends_at_the_next_heading() {
    let PhaseLookup::Found(found) = describe_phase(ROADMAP.as_bytes(), &number("10")) else {
        panic!("phase 10 has a section");
    };
    assert_eq!(found.section, "### Phase 10: Ten");
    assert_eq!((found.goal, found.success_criteria.len()), (None, 0));
}

#[test]
fn a_phase_without_a_section_is_listed_only_or_missing() {
    let listed = PhaseLookup::ListedOnly { name: "Listed".to_owned() };
    assert_eq!(describe_phase(ROADMAP.as_bytes(), &number("3")), listed);
    assert_eq!(describe_phase(ROADMAP.as_bytes(), &number("4")), PhaseLookup::Missing);
    assert_eq!(describe_phase(ROADMAP.as_bytes(), &number("99")), PhaseLookup::Missing);
}

#[test]
fn d15_the_next_phase_is_of_the_roadmap_or_the_disk_and_of_the_same_milestone() {
    let text = "### 🚧 v1.1 Now (In Progress)\n\n- [ ] **Phase 2: Two**\n- [ ] **Phase 3: Three**\n\n\
                ### 📋 v1.2 Later\n\n- [ ] **Phase 4: Four**\n\n## Details\n\n### Phase 2: Two\n\n\
                ### Phase 3: Three\n\n### Phase 4: Four\n\n### Phase 999.1: Backlog\n";
    let after = |of: &str, disk: &[&str]| {
        let disk: Vec<_> = disk.iter().map(|text| number(text)).collect();
        next_phase(text.as_bytes(), &number(of), &disk).map(|number| number.to_string())
    };
    assert_eq!(after("2", &[]).as_deref(), Some("3"));
    assert_eq!(after("2", &["2.1", "2"]).as_deref(), Some("2.1"));
    assert_eq!(after("3", &["3"]), None, "phase 4 is of another milestone");
    assert_eq!(after("3", &["5"]).as_deref(), Some("5"));
    assert_eq!(after("4", &[]), None, "the backlog is no next phase");
}

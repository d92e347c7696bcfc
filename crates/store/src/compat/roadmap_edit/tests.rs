//! Tests of which lines change when phases are added and removed, and that no others do.

mod properties;

use mow_core::phase::PhaseNumber;

use super::{NewPhase, highest_number, insert, remove};
use crate::roadmap::edit::{RoadmapProgress, set_progress};

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

const THREE: &str = "# Roadmap

## Phases

- [x] **Phase 1: A** - first
- [ ] **Phase 2: B** - second
  more of it

## Phase Details

### Phase 1: A

**Goal**: a

### Phase 2: B
**Depends on**: Phase 1
**Plans**: 0 plans

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 1. A | 1/1 | Complete | 2026-01-01 |
| 2. B | 0/0 | Not started | - |
";

fn entry(number: &str, name: &str, after: &str) -> String {
    format!(
        "### Phase {number}: {name}\n\n**Goal:** [To be planned]\n**Depends on:** {after}\n\
         **Plans:** 0 plans\n\nPlans:\n- [ ] TBD (run /mow:plan-phase {number} to break it down)\n"
    )
}

#[test]
fn d52_an_added_phase_stands_before_the_table_with_its_line_and_row() {
    let new =
        NewPhase { number: number("3"), name: "C $& d", after: Some(number("2")), inserted: false };
    let after = text(insert(THREE.as_bytes(), &new));
    let expected = THREE
        .replace("  more of it\n", "  more of it\n- [ ] **Phase 3: C $& d**\n")
        .replace(
            "**Plans**: 0 plans\n",
            &format!("**Plans**: 0 plans\n\n{}", entry("3", "C $& d", "Phase 2")),
        )
        .replace(
            "| 2. B | 0/0 | Not started | - |\n",
            "| 2. B | 0/0 | Not started | - |\n| 3. C $& d | 0/0 | Not started | - |\n",
        );
    assert_eq!(after, expected);
    assert_eq!(highest_number(after.as_bytes()), Some(3));
}

#[test]
fn d18_an_inserted_phase_stands_behind_its_siblings() {
    let new =
        |of| NewPhase { number: number(of), name: "Fix", after: Some(number("1")), inserted: true };
    let once = text(insert(THREE.as_bytes(), &new("1.1")));
    assert!(
        once.contains(&format!(
            "**Goal**: a\n\n{}\n### Phase 2: B",
            entry("01.1", "Fix (INSERTED)", "Phase 1")
        )),
        "{once}"
    );
    assert!(once.contains("first\n- [ ] **Phase 1.1: Fix (INSERTED)**\n- [ ] **Phase 2"), "{once}");
    assert!(once.contains("| 1.1. Fix | 0/0 | Not started | - |\n| 2. B"), "{once}");
    let twice = text(insert(once.as_bytes(), &new("1.2")));
    let at = |what: &str| twice.find(what).unwrap();
    assert!(
        at("### Phase 01.1:") < at("### Phase 01.2:") && at("### Phase 01.2:") < at("### Phase 2:")
    );
}

#[test]
fn an_entry_goes_before_a_closing_rule_and_into_an_empty_roadmap() {
    let new = NewPhase { number: number("1"), name: "A", after: None, inserted: false };
    let ruled = text(insert(b"# Roadmap\n---\n*made*\n", &new));
    assert_eq!(ruled, format!("# Roadmap\n\n{}\n---\n*made*\n", entry("1", "A", "Nothing")));
    assert_eq!(text(insert(b"", &new)), entry("1", "A", "Nothing"));
    assert_eq!(text(insert(b"# R", &new)), format!("# R\n\n{}", entry("1", "A", "Nothing")));
    let second = NewPhase { number: number("2"), after: Some(number("1")), ..new };
    let after = text(insert(b"### Phase 1: A\r\n\r\ntext\r\n\r\n---\r\n*made*\r\n", &second));
    let body = entry("2", "A", "Phase 1").replace('\n', "\r\n");
    assert_eq!(after, format!("### Phase 1: A\r\n\r\ntext\r\n\r\n{body}\r\n---\r\n*made*\r\n"));
}

const FIVE: &str = "# Roadmap

- [ ] **Phase 1: A** - from 2025-03-04
- [ ] **Phase 2: B** - gone
  with its second line
- [ ] **Phase 3: C** - see Phase 4
- [x] **Phase 3.1: D** (completed 2025-04-01)
1. [ ] Phase 10: E

### Phase 1: A
**Parallel with**: Phase 3

### Phase 2: B
**Depends on**: Phase 1

### Phase 3: C
**Depends on**: Phase 2 (done 2025-03-04)
Plans:
- [ ] 03-01: one
- [ ] `03-02-PLAN.md` after 10-01-PLAN.md, on 2003-03-01, 04-05 to 03-2025

### Phase 3.1: D
**Depends on**: Phases 1, 3 and 10 (since 2025-04-03)
- [x] 03.1-01-PLAN.md

### Phase 10: E
**Depends on**: Phase 2, Phase 3.1
- [ ] 10-01-PLAN.md

### Phase 999.1: Backlog

## Progress

| Phase | Plans | Status | Completed |
|---|---|---|---|
| 1. A | 1/1 | Open | 2025-03-04 |
| 2. B | 1/1 | Open | - |
| 3. C | 3/10 | Open | - |
| 10. E | 3/10 | Open | 2010-10-10 |

Phase 3 is hard; 03-01 too.
";

const FOUR: &str = "# Roadmap

- [ ] **Phase 1: A** - from 2025-03-04
- [ ] **Phase 2: C** - see Phase 4
- [x] **Phase 2.1: D** (completed 2025-04-01)
1. [ ] Phase 9: E

### Phase 1: A
**Parallel with**: Phase 2

### Phase 2: C
**Depends on**: Phase 1
Plans:
- [ ] 02-01: one
- [ ] `02-02-PLAN.md` after 09-01-PLAN.md, on 2003-03-01, 04-05 to 03-2025

### Phase 2.1: D
**Depends on**: Phases 1, 2 and 9 (since 2025-04-03)
- [x] 02.1-01-PLAN.md

### Phase 9: E
**Depends on**: Phase 1, Phase 2.1
- [ ] 09-01-PLAN.md

### Phase 999.1: Backlog

## Progress

| Phase | Plans | Status | Completed |
|---|---|---|---|
| 1. A | 1/1 | Open | 2025-03-04 |
| 2. C | 3/10 | Open | - |
| 9. E | 3/10 | Open | 2010-10-10 |

Phase 3 is hard; 03-01 too.
";

#[test]
fn d1_a_removal_moves_later_phases_up_by_one_and_leaves_dates_alone() {
    assert_eq!(text(remove(FIVE.as_bytes(), &number("2")).unwrap()), FOUR);
    let windows = |text: &str| text.replace('\n', "\r\n");
    let after = text(remove(windows(FIVE).as_bytes(), &number("02")).unwrap());
    assert_eq!(after, windows(FOUR));
}

#[test]
fn a_removed_decimal_moves_its_siblings_only() {
    let before = "### Phase 03: A\n### Phase 03.1: B\n### Phase 03.2: C\n**Depends on**: Phase 03.1\n\
                  - [ ] 03.2-01-PLAN.md\n### Phase 04: D\n**Depends on**: Phase 03.2\n\n---\n*made*\n";
    let after = "### Phase 03: A\n### Phase 03.1: C\n**Depends on**: Nothing\n\
                 - [ ] 03.1-01-PLAN.md\n### Phase 04: D\n**Depends on**: Phase 03.1\n\n---\n*made*\n";
    assert_eq!(text(remove(before.as_bytes(), &number("3.1")).unwrap()), after);
    let rest = text(remove(before.as_bytes(), &number("4")).unwrap());
    assert!(rest.ends_with("03.2-01-PLAN.md\n---\n*made*\n"), "a footer is no part: {rest}");
}

#[test]
fn a_number_that_two_phases_have_is_refused() {
    let twice = "## v1.0 One\n\n### Phase 1: Alpha\n\n## v2.0 Two\n\n### Phase 1: Beta\n";
    assert!(remove(twice.as_bytes(), &number("1")).is_err());
}

#[test]
fn real_roadmaps_lose_one_phase_and_keep_the_others() {
    let mut removals = 0;
    for (path, bytes) in crate::corpus::files(|name| name == "ROADMAP.md", FIVE) {
        let before = crate::roadmap::parse(&bytes).entries;
        let headed: Vec<_> = before.iter().filter(|entry| entry.phase.sources.heading).collect();
        for entry in headed.iter().step_by(headed.len() / 3 + 1) {
            let removed = entry.phase.number;
            let Ok(after) = remove(&bytes, &removed) else { continue };
            let block = entry.phase.block;
            let expected = headed.iter().filter_map(|other| {
                let number = other.phase.number;
                let is_removed = other.phase.block == block
                    && (number == removed || number.is_descendant_of(&removed));
                let moved = if other.phase.block == block {
                    number.after_removal(&removed)
                } else {
                    number
                };
                (!is_removed).then(|| (moved, other.phase.name.clone()))
            });
            let mut expected: Vec<_> = expected.collect();
            let entries = crate::roadmap::parse(&after).entries;
            let found = entries.iter().filter(|entry| entry.phase.sources.heading);
            let mut found: Vec<_> =
                found.map(|entry| (entry.phase.number, entry.phase.name.clone())).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{path} without {removed}");
            removals += 1;
        }
    }
    crate::corpus::print_line(&format!("roadmaps: {removals} phases removed"));
}

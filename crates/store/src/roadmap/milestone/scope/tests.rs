//! Tests which milestone a phase belongs to, and which milestone is current.

use mow_core::phase::PhaseNumber;

use super::{milestone_scope, shipped_ranges};

/// Returns the current milestones, then the milestone of each phase from 1 to 9.
fn check(roadmap: &str, open: &[u32], expected: &str) {
    let scope = milestone_scope(roadmap.as_bytes());
    let open: Vec<_> = open.iter().map(|number| (PhaseNumber::whole(*number), 0)).collect();
    let current = scope.current(&open).join("+");
    let homes = (1..=9).filter_map(|number| {
        let home = scope.of_phase(PhaseNumber::whole(number), 0)?;
        Some(format!(" {number}:{home}"))
    });
    assert_eq!(format!("{current}{}", homes.collect::<String>()), expected, "{roadmap}");
}

#[test]
fn headings_lists_and_columns_assign_phases() {
    let headings = "## v1.0 MVP (Shipped)\n\n- [x] Phase 1: A\n\n## 🚧 v1.1 Next (In Progress)\n\n### Phase 2: B\n\n\
                    ## 📋 v2.0 Later\n\n### Phase 3: C\n";
    check(headings, &[2, 3], "v1.1 1:v1.0 2:v1.1 3:v2.0");
    check(headings, &[3], "v1.1 1:v1.0 2:v1.1 3:v2.0");
    let list = "- ✅ **v1.0 MVP** - Phases 1-2 (shipped)\n- 🚧 **v1.1 Next** - Phases 3-4 (in progress)\n\
                - 📋 **v2.0 Later** - Phase 5 (planned)\n\n### Phase 3: C\n\n### Phase 4: D\n\n### Phase 5: E\n";
    check(list, &[3, 5], "v1.1 3:v1.1 4:v1.1 5:v2.0");
    assert_eq!(shipped_ranges(list.as_bytes()), [(PhaseNumber::whole(1), PhaseNumber::whole(2))]);
    let numbered =
        "## Milestone 1: Core\n\n### Phase 1: A\n\n## Milestone 2: More\n\n### Phase 2: B\n";
    check(numbered, &[1, 2], "Milestone 1 1:Milestone 1 2:Milestone 2");
    check(numbered, &[2], "Milestone 2 1:Milestone 1 2:Milestone 2");
    let column = "- 🚧 **v1.1 Next**\n- 📋 **v1.2 Later**\n\n| Phase | Milestone | Status |\n|---|---|---|\n| 1. A | v1.1 | Planned |\n| 2. B | v1.2 | Planned |\n";
    check(column, &[1, 2], "v1.1 1:v1.1 2:v1.2");
}

#[test]
fn a_roadmap_without_clear_milestones_has_no_current_one() {
    check("# Roadmap: Acme v1.0\n\n### Phase 1: A\n", &[1], "");
    check("- 🚧 **v1.1 Next** (in progress)\n\n## Phases\n\n### Phase 1: A\n", &[1], "");
    let scope = milestone_scope(b"## v1.1 Big Step\n\n### Phase 1: A\n");
    for wanted in ["v1.1", "1.1", "V1.1", "big step"] {
        assert_eq!(scope.find(wanted).unwrap().key, "v1.1");
    }
    assert_eq!(scope.find("v9"), None);
}

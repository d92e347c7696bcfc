//! Tests of which declarations belong to one phase.

use crate::roadmap::parse;

/// Checks each phase as `number name done`, with a question mark if the roadmap contradicts itself.
fn check(roadmap: &str, expected: &[&str]) {
    let phases = parse(roadmap.as_bytes()).entries;
    let shown: Vec<_> = phases
        .iter()
        .map(|entry| {
            let phase = &entry.phase;
            let done = if phase.completion.done { "x" } else { "-" };
            let unsure = if phase.completion.certain { "" } else { "?" };
            format!("{} {} {done}{unsure}", phase.number, phase.name)
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn all_mentions_of_a_number_are_one_phase() {
    check(
        "## Phases\n- [x] **Phase 1: Base** - x\n- [ ] Phase 2: Rest\n\n### Phase 1: Base\n\n### Phase 2: All the rest\n\n| Phase | Status |\n|---|---|\n| 1. Base | Complete |\n| 2. Rest | Not started |\n",
        &["1 Base x", "2 All the rest -"],
    );
}

#[test]
fn a_checkbox_that_differs_from_the_table_is_a_contradiction() {
    check("- [ ] Phase 1: A\n\n| Phase | Status |\n|---|---|\n| 1. A | Complete |\n", &["1 A -?"]);
}

#[test]
fn numbering_that_starts_over_gives_two_phases() {
    check(
        "<details>\n<summary>v1.0 Shop — SHIPPED</summary>\n\n- [x] Phase 1: Foundation\n- [x] Phase 2: Basket\n\n</details>\n\n### v2.0 Mobile (In Progress)\n\n- [ ] **Phase 1: Push notices**\n\n## Phase Details\n\n### Phase 1: Push notices\n**Depends on**: Nothing\n\n| Phase | Milestone | Status |\n|---|---|---|\n| 1. Foundation | v1.0 | Complete |\n| 2. Basket | v1.0 | Complete |\n| 1. Push notices | v2.0 | Not started |\n",
        &["1 Foundation x", "1 Push notices -", "2 Basket x"],
    );
}

#[test]
fn headings_of_a_collapsed_milestone_keep_their_own_checkboxes() {
    check(
        "<details>\n<summary>✅ v1.0</summary>\n\n#### Phase 1: Foundation\n\n#### Phase 2: Basket\n\n</details>\n\n## v2.0 Mobile\n\n- [ ] Phase 1: Push notices\n- [ ] Phase 2: Offline mode\n\n### Phase 1: Push notices\n\n### Phase 2: Offline mode\n",
        &["1 Foundation x", "1 Push notices -", "2 Basket x", "2 Offline mode -"],
    );
}

#[test]
fn a_phase_with_two_names_stays_one_phase() {
    check(
        "## Phases\n- [x] Phase 3: Old words\n\n## Details\n### Phase 3: Fresh title\n",
        &["3 Fresh title x"],
    );
}

//! One line for each way of writing dependencies.

use super::{DependencyContext, has_placeholder, named_phases, parse, states_no_dependency};
use crate::phase::PhaseNumber;

/// Parses the field of phase 9 in a roadmap of phases 1 to 12, 2.1, 3.1c and 36a.
///
/// Phases 1 and 2 belong to an earlier milestone.
fn check(text: &str, expected: &str) {
    let mut phases: Vec<_> = (1..=12).map(PhaseNumber::whole).collect();
    phases.extend(["2.1", "3.1c", "36a"].iter().filter_map(|number| PhaseNumber::parse(number)));
    phases.sort();
    let found = parse(
        text,
        DependencyContext {
            phase: &PhaseNumber::whole(9),
            block_phases: &phases,
            milestone_phases: &phases[2..],
        },
    );
    let found: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found.join(" "), expected, "{text:?}");
}

#[test]
fn simple_lists_are_parsed() {
    check("Phase 3", "3");
    check("Phase 03", "3");
    check("phase 3, phase 4", "3 4");
    check("Phases 3 and 4", "3 4");
    check("Phases 3, 4 and 5", "3 4 5");
    check("Phase 3 + Phase 2.1", "2.1 3");
    check("3, 4", "3 4");
    check("3.1c (the harness)", "3.1c");
    check("Fase 2 e Fase 3", "2 3");
    check("阶段 3、阶段 4", "3 4");
    check("Phase 10/11", "10 11");
    check("Depends on Phase 2（data）", "2");
}

#[test]
fn many_phrases_mean_no_dependency() {
    for text in [
        "Nothing",
        "None (first phase)",
        "N/A",
        "—",
        "-",
        "",
        "Nothing hard; benefits from 2/3",
        "Nothing (parallel-eligible with Phases 4 and 5; must precede Phase 10)",
        "Nenhuma",
        "无",
    ] {
        check(text, "");
    }
    check("Phase 3 (nothing else)", "3");
}

#[test]
fn d19_text_without_a_phase_number_differs_from_none() {
    for text in ["None", "Nothing (first phase)", "-", "all previous phases", "v1.0 shipped", ""] {
        assert!(states_no_dependency(text), "{text:?}");
    }
    for text in
        ["the login work", "Auth (see above)", "TBD", "后端", "Phaze 3", "login, part 2", "Phase 9"]
    {
        assert!(!states_no_dependency(text), "{text:?}");
        check(text, "");
    }
}

#[test]
fn all_named_phases_are_found_whether_they_exist_or_not() {
    let existing: Vec<_> = (1..=12).map(PhaseNumber::whole).collect();
    for (text, expected) in [
        ("Phase 3, Phase 77", "3 77"),
        ("Phases 11-14", "11 12 14"),
        ("Phases 20-22", "20 22"),
        ("Phase 9", "9"),
        ("Phase 3b", "3b"),
        ("Phase 3 and 48h of soak", "3"),
        ("Nothing", ""),
        ("All previous phases", ""),
        ("v1.2 shipped", ""),
    ] {
        let found = named_phases(text, &existing);
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    }
}

#[test]
fn placeholders_are_recognised() {
    for text in ["Phase 3, TBD", "TBD", "Phase X", "Phases 2 and ?", "Phase ?", "unknown"] {
        assert!(has_placeholder(text), "{text:?}");
    }
    for text in
        ["Phase 3", "None", "Phase 3 (TBD)", "Phase 3 and its tests", "n/a", "Phase 3, x-ray"]
    {
        assert!(!has_placeholder(text), "{text:?}");
    }
}

#[test]
fn phases_in_remarks_are_no_dependencies() {
    check("Phase 3 (Phase 4 is done)", "3");
    check("Phase 3 (can run parallel to Phase 5)", "3");
    check("Phase 3 (a), Phase 4 (b — see Phase 5)", "3 4");
    check("v1.0 complete (Phase 8)", "8");
    check("Phase 3 (also depends on Phase 5)", "3 5");
    check("Phase 3 — reviews what Phase 2 made", "3");
    check("Phase 3 — COMPLETE", "3");
}

#[test]
fn phases_after_soft_words_are_no_dependencies() {
    check("Phase 3. Independent of Phases 4", "3");
    check("Phase 3; best AFTER 4.3", "3");
    check("Phase 3. Parallel-safe with Phase 6", "3");
    check("Phase 3, parallel with Phase 4, 5", "3");
    check("Phase 3. Must complete before Phase 10", "3");
    check("Phase 3. Typically follows Phase 4, but Phase 5 and Phase 6 are parallel", "3");
    check("Phase 3. Also Phase 4", "3 4");
    check("Phase 3, Phase 4 and can run beside", "3 4");
    check("Phase 2 and runs in parallel with Phase 3", "2");
}

#[test]
fn ranges_and_all_previous_phases_are_expanded() {
    check("Phases 1-3", "1 2 2.1 3");
    check("Phases 3–5", "3 3.1c 4 5");
    check("Phase 3 through 4", "3 3.1c 4");
    check("Phases 10-12", "10 11 12");
    check("All previous phases", "2.1 3 3.1c 4 5 6 7 8");
    check("All prior v10.0 phases", "2.1 3 3.1c 4 5 6 7 8");
}

#[test]
fn counts_versions_and_durations_are_no_phases() {
    check("Phase 3 and 48h of soak", "3");
    check("Phase 2, 3 days of soak", "2");
    check("Phases 2, 3 and 4", "2 3 4");
    check("Phases 1, 2, & 3", "1 2 3");
    check("v1.2 shipped", "");
    check("an outside library 3.2", "");
    check("Phase 3 plan 2", "3");
    check("Phase 9", "");
    check("Phase 77", "77");
}

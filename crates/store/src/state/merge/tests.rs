//! Tests that a merge keeps the additions of both sides and one position.

use proptest::prelude::*;

use super::merge;

const BASE: &str = "# Project State

## Current Position

Phase: 3 of 7 (Auth)
Status: Executing
Last activity: 2026-01-01 — planned

## Active Phases

| Phase | Name | Status | Worker | Plans | Last Update |
|-------|------|--------|--------|-------|-------------|
| 3 | Auth | executing | w1 | 0/2 | 2026-01-01T10:00:00.000Z |
| 4 | Api | executing | w2 | 0/2 | 2026-01-01T10:00:00.000Z |

**Next unblockable:** --

## Accumulated Context

### Decisions

- [Phase 1]: use Rust

### Blockers/Concerns

None yet.

## Session Continuity

Last session: 2026-01-01
Stopped at: here
";

fn changed(changes: &[(&str, &str)]) -> String {
    changes.iter().fold(BASE.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

fn merged(ours: &str, theirs: &str) -> String {
    String::from_utf8(merge(BASE.as_bytes(), ours.as_bytes(), theirs.as_bytes())).unwrap()
}

#[test]
fn both_additions_to_a_list_are_kept_ours_first() {
    let ours =
        changed(&[("- [Phase 1]: use Rust\n", "- [Phase 1]: use Rust\n- [Phase 3]: ours\n")]);
    let theirs =
        changed(&[("- [Phase 1]: use Rust\n", "- [Phase 1]: use Rust\n- [Phase 4]: theirs\n")]);
    let both = "- [Phase 1]: use Rust\n- [Phase 3]: ours\n- [Phase 4]: theirs\n\n### Blockers";
    assert!(merged(&ours, &theirs).contains(both));
}

#[test]
fn a_placeholder_is_removed_if_either_side_replaced_it() {
    let ours = changed(&[("None yet.", "- slow disk")]);
    let theirs = changed(&[("None yet.", "- no key")]);
    let both = "### Blockers/Concerns\n\n- slow disk\n- no key\n\n## Session";
    assert!(merged(&ours, &theirs).contains(both), "{}", merged(&ours, &theirs));
    assert_eq!(merged(&ours, BASE), ours);
    assert_eq!(merged(BASE, &theirs), theirs);
}

#[test]
fn the_later_position_wins_as_a_whole() {
    let ours = changed(&[("Phase: 3", "Phase: 4"), ("2026-01-01 — planned", "2026-01-02 — ours")]);
    let theirs =
        changed(&[("Phase: 3", "Phase: 5"), ("2026-01-01 — planned", "2026-01-03 — theirs")]);
    for text in [merged(&ours, &theirs), merged(&theirs, &ours)] {
        assert!(text.contains("Phase: 5 of 7"), "{text}");
        assert!(text.contains("2026-01-03 — theirs"), "{text}");
        assert!(!text.contains("ours"), "{text}");
    }
}

#[test]
fn each_row_is_taken_from_the_side_that_wrote_it_last() {
    let three = "| 3 | Auth | executing | w1 | 0/2 | 2026-01-01T10:00:00.000Z |";
    let four = "| 4 | Api | executing | w2 | 0/2 | 2026-01-01T10:00:00.000Z |";
    let ours = changed(&[
        (three, "| 3 | Auth | complete | w1 | 2/2 | 2026-01-02T10:00:00.000Z |"),
        (four, "| 4 | Api | failed | w2 | 0/2 | 2026-01-02T10:00:00.000Z |"),
    ]);
    let theirs = changed(&[(
        four,
        "| 04 | Api | complete | w2 | 2/2 | 2026-01-03T10:00:00.000Z |\n| 5 | New | executing | w3 | 0/1 | x |",
    )]);
    let text = merged(&ours, &theirs);
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert_eq!(
        rows,
        [
            "| 3 | Auth | complete | w1 | 2/2 | 2026-01-02T10:00:00.000Z |",
            "| 04 | Api | complete | w2 | 2/2 | 2026-01-03T10:00:00.000Z |",
            "| 5 | New | executing | w3 | 0/1 | x |",
        ]
    );
}

#[test]
fn what_one_side_removed_stays_removed_unless_the_other_changed_it() {
    let without = changed(&[("- [Phase 1]: use Rust\n", "")]);
    assert!(!merged(BASE, &without).contains("use Rust"));
    let more = changed(&[("None yet.", "- x")]);
    assert!(!merged(&more, &without).contains("use Rust"));
    assert!(!merged(&without, &more).contains("use Rust"));
}

#[test]
fn a_new_section_keeps_its_position() {
    let section =
        "## Worktree Assignments\n\n| Worktree | Phase |\n|---|---|\n| /a | 3 |\n\n## Session";
    let theirs = changed(&[("## Session", section)]);
    let ours = changed(&[("None yet.", "- x")]);
    let text = merged(&ours, &theirs);
    assert!(text.contains("- x\n\n## Worktree Assignments\n"), "{text}");
    assert!(text.contains("| /a | 3 |\n\n## Session Continuity"), "{text}");
}

#[test]
fn without_a_common_base_nothing_is_lost() {
    let ours = "# State\n\n### Decisions\n\n- a\n";
    let theirs = "# State\n\n### Decisions\n\n- b\n\n## Notes\n\nText\n";
    let text = String::from_utf8(merge(b"", ours.as_bytes(), theirs.as_bytes())).unwrap();
    assert_eq!(text, "# State\n\n### Decisions\n\n- a\n- b\n\n## Notes\n\nText\n");
}

fn document() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("## A".to_owned()),
        Just("### B".to_owned()),
        Just(String::new()),
        "- [a-e]{1,2}",
        "\\| [0-3] \\| [xy] \\|",
        Just("|--|--|".to_owned()),
        "(Phase|Status): [0-9]",
        "\\*\\*F:\\*\\* [0-9]",
        "```",
    ];
    proptest::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn one_sided_changes_are_taken_as_they_are(base in document(), other in document()) {
        let (base, other) = (base.as_bytes(), other.as_bytes());
        prop_assert_eq!(merge(base, other, base), other);
        prop_assert_eq!(merge(base, base, other), other);
        prop_assert_eq!(merge(base, other, other), other);
    }

    #[test]
    fn list_items_that_either_side_added_are_kept(
        base in document(), ours in document(), theirs in document()
    ) {
        let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes());
        let merged = String::from_utf8(merged).unwrap();
        for line in ours.lines().chain(theirs.lines()).filter(|line| line.starts_with("- ")) {
            let was = base.lines().any(|other| other == line);
            prop_assert!(was || merged.lines().any(|other| other == line), "{} lost", line);
        }
    }
}

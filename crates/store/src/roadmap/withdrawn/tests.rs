//! One line for each way of withdrawing a phase, and for names that only look so.

use super::WithdrawalKind;
use crate::roadmap;

/// Returns the lines of a roadmap that withdraw a phase, by phase number.
fn withdrawn(roadmap: &str) -> Vec<(String, usize)> {
    let entries = roadmap::parse(roadmap.as_bytes()).entries.into_iter();
    entries
        .filter_map(|entry| Some((entry.phase.number.to_string(), entry.withdrawn?.line)))
        .collect()
}

#[test]
fn marks_on_the_line_of_a_phase_withdraw_it() {
    for line in [
        "### Phase 7: Cleanup (REMOVED)",
        "### Phase 7: Cleanup (removed)",
        "### Phase 7: Cleanup (DEFERRED to v2)",
        "### Phase 7: Cleanup (Deferred until the budget is clear)",
        "### Phase 7: Cleanup [SUPERSEDED by 9]",
        "### Phase 7: Cleanup (superseded by Phase 9)",
        "### Phase 7: Cleanup — cancelled",
        "### Phase 7: Cleanup - CANCELED, not needed",
        "### Phase 7: Cleanup — out of scope for v1",
        "### Phase 7 (REMOVED): Cleanup",
        "### ~~Phase 7: Cleanup~~",
        "### Phase 7: ~~Cleanup~~",
        "### Phase 7: Cleanup (merged into Phase 8)",
        "### Phase 7: Removed",
        "### ⛔ Phase 7: Cleanup — DEFERRED TO v1.9",
        "- [ ] ~~**Phase 7: Cleanup**~~ - Tidy the house",
        "- [ ] ~~Phase 7: Cleanup~~ REMOVED",
        "- [~] **Phase 7: Cleanup** - Tidy the house",
        "- [~] Phase 7: Cleanup",
        "- [-] Phase 7: Cleanup",
        "- [ ] **Phase 7: Cleanup** (deferred)",
        "- [ ] **Phase 7: Cleanup** — **dropped from scope** 2026-05-19",
        "- [ ] **Phase 7: Cleanup** - Deferred to v2.0",
        "- ~~Phase 7: Cleanup~~",
        "### Fase 7: Limpeza (cancelada)",
        "### Phase 7: Cleanup\n\n**Status:** Deferred",
        "### Phase 7: Cleanup\n\n**Status**: ❌ Cancelled — see Phase 9",
        "### Phase 7: Cleanup\nStatus: Out of scope",
        "### Phase 7: Cleanup\n\n> **DEFERRED** to v2.0",
        "| Phase | Plans | Status | Completed |\n|---|---|---|---|\n| 7. Cleanup | 0/2 | Deferred | - |",
        "| Phase | Status |\n|---|---|\n| 7. Cleanup | Out of scope |",
        "| Phase | Status |\n|---|---|\n| ~~7. Cleanup~~ | Not started |",
    ] {
        let found = withdrawn(&format!("# Roadmap\n\n{line}\n"));
        assert_eq!(found.len(), 1, "{line}");
        assert_eq!(found[0].0, "7", "{line}");
    }
}

#[test]
fn ordinary_names_with_such_words_are_phases() {
    for line in [
        "### Phase 7: Remove legacy API",
        "### Phase 7: Removed items view",
        "### Phase 7: Cancelled orders page",
        "### Phase 7: Deferred rendering",
        "### Phase 7: DEFERRED RENDERING",
        "### Phase 7: Renderer - deferred shading",
        "### Phase 7: Orders (cancelled and refunded)",
        "### Phase 7: Superseded document handling",
        "### Phase 7: JOB — Dropped-enqueue sweep",
        "### Phase 7: Deferred UAT + evaluator proof",
        "- [ ] **Phase 7: Orders** - Cancelled orders are shown",
        "- [ ] **Phase 7: Sync** - Deferred to a background job",
        "- [ ] **Phase 7: Payments** - Stripe and others (PayPal deferred)",
        "### Phase 7: Orders\n\n**Status:** Not started (one plan deferred)",
        "### Phase 7: Orders\n\nDeferred rendering makes this fast.",
        "### Phase 7: Orders\n\n**Goal**: x\n\n**Out of scope**:\n- Phase 8: does that",
        "| Phase | Status |\n|---|---|\n| 7. Deferred rendering | Not started |",
        "### Phase 7: Moved files",
    ] {
        let found = withdrawn(&format!("# Roadmap\n\n{line}\n"));
        assert!(found.iter().all(|(number, _)| number != "7"), "{line}");
    }
}

#[test]
fn sections_of_withdrawn_and_shipped_phases_count() {
    let phases = "- [ ] **Phase 7: Cleanup**\n\n### Phase 8: Other\n\n**Goal**: x\n";
    for title in [
        "## Out of Scope",
        "## Deferred Phases",
        "## 🚫 Cancelled",
        "## Phases deferred to v2",
        "## v2.0 Ideas (Deferred)",
        "## Removed",
        "## v1.0 MVP (Shipped 2025-01-02)",
        "## ✅ v1.0 MVP — SHIPPED",
        "## Completed Milestones",
    ] {
        let roadmap = format!(
            "# Roadmap\n\n- [ ] **Phase 1: One**\n\n{title}\n\n{phases}\n## Next\n\n- [ ] **Phase 9: Nine**\n"
        );
        assert_eq!(withdrawn(&roadmap), [("7".into(), 5), ("8".into(), 5)], "{title}");
    }
    for title in ["## Phases", "## Deferred rendering", "## v1.1 Next (In Progress)", "## 🚧 v1.1"]
    {
        assert_eq!(withdrawn(&format!("# Roadmap\n\n{title}\n\n{phases}")), [], "{title}");
    }
    let folded = "<details>\n<summary>✅ v1.0 MVP (Phases 1-4) — SHIPPED</summary>\n\n- [ ] Phase 4: Four\n\n</details>\n";
    let entries = roadmap::parse(folded.as_bytes()).entries;
    assert_eq!(entries[0].withdrawn.as_ref().unwrap().kind, WithdrawalKind::Shipped);
    assert_eq!(
        withdrawn("<details>\n<summary>Phase details</summary>\n\n### Phase 4: Four\n</details>\n"),
        []
    );
}

#[test]
fn a_phase_that_moved_to_another_milestone_is_open_there() {
    let roadmap = "# Roadmap\n\n## v1.2 Next\n\n- [ ] **Phase 7: Cleanup**\n\n## v1.1 Now\n\n- [→] **Phase 7: Cleanup** — carried to v1.2\n";
    assert_eq!(withdrawn(roadmap), []);
    let ticked = "- [x] ~~**Phase 7: Cleanup**~~\n";
    assert_eq!(withdrawn(ticked), [], "a phase that is done is not withdrawn");
}

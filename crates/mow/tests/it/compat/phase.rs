//! Tests of `phase add`, `phase insert` and `phase complete`.

use serde_json::{Value, json};

use crate::table::{Answer, Case, Files, check};
use crate::{sandbox, today};

const ROADMAP: &str = ".planning/ROADMAP.md";
const STATE: &str = ".planning/STATE.md";
const REQUIREMENTS: &str = ".planning/REQUIREMENTS.md";

const TWO: &str = "# Roadmap

- [x] **Phase 1: Base** - ground
- [ ] **Phase 2: Api** - calls

### Phase 1: Base
**Goal**: Stand

### Phase 2: Api
**Depends on**: Phase 1

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 1. Base | 1/1 | Complete | 2026-01-01 |
| 2. Api | 0/1 | Not started | - |
";

fn entry(number: &str, title: &str, depends: &str) -> String {
    format!(
        "### Phase {number}: {title}\n\n**Goal:** [To be planned]\n**Depends on:** {depends}\n\
         **Plans:** 0 plans\n\nPlans:\n- [ ] TBD (run /mow:plan-phase {number} to break it down)\n"
    )
}

#[test]
fn d5_d52_phase_add_adds_section_line_row_and_directory() {
    let after = TWO
        .replace("- calls\n", "- calls\n- [ ] **Phase 3: New $& thing**\n")
        .replace(
            "**Depends on**: Phase 1\n",
            &format!("**Depends on**: Phase 1\n\n{}", entry("3", "New $& thing", "Phase 2")),
        )
        .replace(
            "| 2. Api | 0/1 | Not started | - |\n",
            "| 2. Api | 0/1 | Not started | - |\n| 3. New $& thing | 0/0 | Not started | - |\n",
        );
    let answer = || {
        Answer::Json(json!({
            "phase_number": 3, "padded": "03", "name": "New $& thing", "slug": "new-thing",
            "directory": ".planning/phases/03-new-thing",
        }))
    };
    let keep = (".planning/phases/03-new-thing/.gitkeep", "");
    check(&[Case {
        about: "words are joined",
        files: &[(ROADMAP, TWO)],
        call: &["phase", "add", "New", "$&", "thing"],
        answer: answer(),
        after: &[(ROADMAP, &after), keep],
    }]);
}

#[test]
fn d52_phase_add_counts_collapsed_archived_and_undeclared_phases() {
    let numbered = |files: Files<'_>, raw: &str| {
        let mut project = sandbox();
        for (path, text) in files {
            project = project.file(path, text);
        }
        project.call(["phase", "add", "x", "--raw"]).run().prints(raw);
        project.text(ROADMAP)
    };
    let first = numbered(&[(ROADMAP, "# Roadmap\n")], "01");
    assert_eq!(first, format!("# Roadmap\n\n{}", entry("1", "x", "Nothing")));
    let listed = numbered(&[(ROADMAP, "- [x] **Phase 4: Four**\n")], "05");
    assert!(listed.contains("**Depends on:** Phase 4"), "{listed}");
    numbered(&[(ROADMAP, "# R\n"), (".planning/phases/07-x/y", "")], "08");
    numbered(&[(ROADMAP, "# R\n"), (".planning/milestones/v1.0-phases/06-x/y", "")], "07");
    numbered(&[(ROADMAP, "### Phase 3: A\n### Phase 999.1: Later\n")], "04");
    let ruled = numbered(&[(ROADMAP, "### Phase 1: A\n\n---\n\n*made*\n")], "02");
    assert!(ruled.ends_with("to break it down)\n\n---\n\n*made*\n"), "{ruled}");
}

#[test]
fn phase_add_refuses_bad_descriptions_and_a_missing_roadmap() {
    let case = |about, files, call, message| Case {
        about,
        files,
        call,
        answer: Answer::Refused(message),
        after: &[],
    };
    check(&[
        case("no roadmap", &[(STATE, "")], &["phase", "add", "x"], "ROADMAP.md not found"),
        case("no description", &[(ROADMAP, TWO)], &["phase", "add"], "DESCRIPTION"),
        case("a blank", &[(ROADMAP, TWO)], &["phase", "add", " "], "description required"),
        case("two lines", &[(ROADMAP, TWO)], &["phase", "add", "a\nb"], "one line"),
    ]);
}

#[test]
fn d16_d18_phase_insert_puts_a_decimal_phase_after_its_phase() {
    let after = TWO
        .replace("- ground\n", "- ground\n- [ ] **Phase 1.3: Quick fix (INSERTED)**\n")
        .replace(
            "**Goal**: Stand\n",
            &format!("**Goal**: Stand\n\n{}", entry("01.3", "Quick fix (INSERTED)", "Phase 1")),
        )
        .replace("2026-01-01 |\n", "2026-01-01 |\n| 1.3. Quick fix | 0/0 | Not started | - |\n");
    let case = |typed: &'static str| {
        json!({
            "phase_number": "01.3", "after_phase": typed, "name": "Quick fix", "slug": "quick-fix",
            "directory": ".planning/phases/01.3-quick-fix",
        })
    };
    let files: Files<'_> = &[(ROADMAP, TWO), (".planning/phases/01.2-x/y", "")];
    let keep = (".planning/phases/01.3-quick-fix/.gitkeep", "");
    check(&[
        Case {
            about: "unpadded",
            files,
            call: &["phase", "insert", "1", "Quick", "fix"],
            answer: Answer::Json(case("1")),
            after: &[(ROADMAP, &after), keep],
        },
        Case {
            about: "padded",
            files,
            call: &["phase", "insert", "01", "Quick fix", "--raw"],
            answer: Answer::Text("01.3"),
            after: &[(ROADMAP, &after), keep],
        },
    ]);
    let refused = |about, files, call, message| Case {
        about,
        files,
        call,
        answer: Answer::Refused(message),
        after: &[],
    };
    check(&[
        refused("unknown", files, &["phase", "insert", "9", "x"], "not found"),
        refused(
            "only listed",
            &[(ROADMAP, "- [ ] **Phase 1: A**\n")],
            &["phase", "insert", "1", "x"],
            "not found",
        ),
        refused("d35 a pattern", files, &["phase", "insert", "1|2", "x"], "not a phase number"),
        refused(
            "no roadmap",
            &[(STATE, "")],
            &["phase", "insert", "1", "x"],
            "ROADMAP.md not found",
        ),
        refused("no words", files, &["phase", "insert", "1"], "DESCRIPTION"),
        refused("nothing", files, &["phase", "insert"], "AFTER"),
    ]);
}

#[test]
fn d18_an_inserted_phase_is_found_without_padding() {
    let project = sandbox().file(ROADMAP, TWO);
    project.call(["phase", "insert", "1", "Fix"]).run().json();
    for typed in ["1.1", "01.1"] {
        let found = project.call(["roadmap", "get-phase", typed]).run().json();
        assert_eq!(found["found"], true, "{typed}");
    }
}

const PLANNED: &str = "# Roadmap

- [ ] **Phase 3: Three** - a
- [ ] **Phase 4: Four** - b

### Phase 3: Three
**Requirements**: A-03
**Plans**: 1 plans

### Phase 4: Four
**Goal**: none of the requirements

## Progress

| Phase | Milestone | Plans Complete | Status | Completed |
|---|---|---|---|---|
| 3. Three | v1.1 | 0/1 | In Progress | - |
| 4. Four | v1.1 | 0/0 | Not started | - |
";

const BOLD: &str = "**Current Phase:** 03
**Current Phase Name:** Three
**Current Plan:** 1
**Status:** Executing
**Last Activity:** 2026-01-01
**Last Activity Description:** x
";

const IDS: &str = "- [ ] **A-03**: three
- [ ] **A-04**: four

| Requirement | Phase | Status |
|---|---|---|
| A-03 | 3 | In Progress |
| A-04 | 4 | Pending |
";

const THREE_DIR: (&str, &str) = (".planning/phases/03-three/03-01-PLAN.md", "");
const THREE_DONE: (&str, &str) = (".planning/phases/03-three/03-01-SUMMARY.md", "");

fn completed(phase: &str, name: &str, counts: &str, next: Option<(&str, &str)>) -> Value {
    json!({
        "completed_phase": phase, "phase_name": name, "plans_executed": counts,
        "next_phase": next.map(|next| next.0), "next_phase_name": next.map(|next| next.1),
        "is_last_phase": next.is_none(), "date": today(), "roadmap_updated": true,
        "state_updated": true,
    })
}

#[test]
fn d3_d15_phase_complete_updates_roadmap_requirements_and_state() {
    let today = today();
    let roadmap = PLANNED
        .replace(
            "- [ ] **Phase 3: Three** - a",
            &format!("- [x] **Phase 3: Three** - a (completed {today})"),
        )
        .replace("**Plans**: 1 plans", "**Plans**: 1/1 plans complete")
        .replace("| 0/1 | In Progress | - |", &format!("| 0/1 | Complete    | {today} |"));
    let ids =
        IDS.replace("[ ] **A-03", "[x] **A-03").replace("| 3 | In Progress", "| 3 | Complete");
    let state = BOLD
        .replace("Phase:** 03", "Phase:** 04")
        .replace("Name:** Three", "Name:** Four")
        .replace("Plan:** 1", "Plan:** Not started")
        .replace("Executing", "Ready to plan")
        .replace("2026-01-01", &today)
        .replace("Description:** x", "Description:** Phase 3 complete, transitioned to Phase 4");
    check(&[Case {
        about: "d15 the next phase has no directory yet",
        files: &[(ROADMAP, PLANNED), (STATE, BOLD), (REQUIREMENTS, IDS), THREE_DIR, THREE_DONE],
        call: &["phase", "complete", "3"],
        answer: Answer::Json(completed("3", "three", "1/1", Some(("04", "four")))),
        after: &[(ROADMAP, &roadmap), (STATE, &state), (REQUIREMENTS, &ids)],
    }]);
}

#[test]
fn d2_phase_complete_ticks_only_the_requirements_of_its_phase() {
    let project = sandbox()
        .file(ROADMAP, PLANNED)
        .file(REQUIREMENTS, IDS)
        .file(STATE, BOLD)
        .file(".planning/phases/04-last-one/x", "");
    let answer = project.call(["phase", "complete", "04"]).run().json();
    assert_eq!(answer, completed("04", "last-one", "0/0", None));
    assert_eq!(project.text(REQUIREMENTS), IDS);
    let state = project.text(STATE);
    assert!(state.contains("**Status:** Milestone complete\n"), "{state}");
    assert!(state.contains("**Current Phase:** 03\n"), "{state}");
}

#[test]
fn d26_phase_complete_reads_the_plain_dialect_of_state() {
    let state = "## Current Position\n\nPhase: 3 of 9 (Three)\nPlan: 1 of 1 in current phase\n\
                 Status: In progress\nLast activity: 2026-01-01 — x\n";
    let project = sandbox().file(ROADMAP, PLANNED).file(STATE, state);
    project.write(".planning/phases/03-three/x", "");
    project.write(".planning/phases/04-four-and-more/x", "");
    project.call(["phase", "complete", "3"]).run().json();
    let expected = format!(
        "## Current Position\n\nPhase: 4 of 9 (four and more)\nPlan: Not started\n\
         Status: Ready to plan\nLast activity: {} — Phase 3 complete, transitioned to Phase 4\n",
        today()
    );
    assert_eq!(project.text(STATE), expected);
}

#[test]
fn phase_complete_needs_only_a_phase_directory() {
    let alone = json!({
        "completed_phase": "3", "phase_name": "three", "plans_executed": "0/1",
        "next_phase": null, "next_phase_name": null, "is_last_phase": true, "date": today(),
        "roadmap_updated": false, "state_updated": false,
    });
    let case = |about, files, call, answer| Case { about, files, call, answer, after: &[] };
    check(&[
        case("only a directory", &[THREE_DIR], &["phase", "complete", "3"], Answer::Json(alone)),
        case(
            "no directory",
            &[(ROADMAP, PLANNED)],
            &["phase", "complete", "3"],
            Answer::Refused("not found"),
        ),
        case(
            "d17 no decimal",
            &[(".planning/phases/03.1-x/y", "")],
            &["phase", "complete", "3"],
            Answer::Refused("not found"),
        ),
        case("no argument", &[THREE_DIR], &["phase", "complete"], Answer::Refused("PHASE")),
    ]);
}

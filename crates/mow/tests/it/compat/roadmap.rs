//! Tests of `roadmap phases` and `roadmap analyze`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check};

const ROADMAP: &str = ".planning/ROADMAP.md";

/// A roadmap with one phase for every disk status.
const LADDER: &str = "# Roadmap: Demo

## Milestones

- 🚧 **v1.1 Next** - Phases 1-10

### 🚧 v1.1 Next (In Progress)

## Phases

- [x] **Phase 1: Base** - ground (completed 2026-01-01)
- [ ] **Phase 10: Late** - last
- [ ] **Phase 11: Unwritten** - no section

### Phase 1: Base
**Goal**: Stand `firm` $& | 🎉
**Depends on**: Nothing (first phase)

### Phase 2: Half
**Goal:** Half of it
**Depends on:** Phase 01

### Phase 3: Planned
**Depends on**: Phases 1 and 2

### Phase 4: Read
### Phase 5: Talked
### Phase 6: Empty
### Phase 7: Absent (INSERTED)
### Phase 10: Late

## Notes

**Goal**: not a phase's
";

const LADDER_FILES: &[(&str, &str)] = &[
    (ROADMAP, LADDER),
    (".planning/phases/01-base/01-01-PLAN.md", ""),
    (".planning/phases/01-base/01-01-SUMMARY.md", ""),
    (".planning/phases/02-half/PLAN.md", ""),
    (".planning/phases/02-half/SUMMARY.md", ""),
    (".planning/phases/02-half/02-02-PLAN.md", ""),
    (".planning/phases/03-planned/03-01-PLAN.md", ""),
    (".planning/phases/03-planned/03-RESEARCH.md", ""),
    (".planning/phases/04-read/04-RESEARCH.md", ""),
    (".planning/phases/04-read/04-CONTEXT.md", ""),
    (".planning/phases/05-talked/CONTEXT.md", ""),
    (".planning/phases/06-empty/.gitkeep", ""),
    // The directory of a decimal phase does not belong to the whole number.
    (".planning/phases/07.1-other/07.1-01-PLAN.md", ""),
];

/// The `analyze` output of a phase without goal, dependencies and files.
fn bare(number: &str, name: &str, disk_status: &str) -> Value {
    json!({
        "number": number, "name": name, "goal": null, "depends_on": null, "depends_on_parsed": [],
        "plan_count": 0, "summary_count": 0, "has_context": false, "has_research": false,
        "disk_status": disk_status, "roadmap_complete": false,
    })
}

/// Returns the value with some fields replaced.
fn with(mut value: Value, fields: &Value) -> Value {
    for (key, field) in fields.as_object().expect("fields are an object") {
        value[key] = field.clone();
    }
    value
}

fn ladder_analysis() -> Value {
    json!({
        "milestones": [{ "heading": "🚧 v1.1 Next", "version": "v1.1" }],
        "phases": [
            with(bare("1", "Base", "complete"), &json!({
                "goal": "Stand `firm` $& | 🎉", "depends_on": "Nothing (first phase)",
                "plan_count": 1, "summary_count": 1, "roadmap_complete": true,
            })),
            with(bare("2", "Half", "partial"), &json!({
                "goal": "Half of it", "depends_on": "Phase 01", "depends_on_parsed": ["1"],
                "plan_count": 2, "summary_count": 1,
            })),
            with(bare("3", "Planned", "planned"), &json!({
                "depends_on": "Phases 1 and 2", "depends_on_parsed": ["1", "2"],
                "plan_count": 1, "has_research": true,
            })),
            with(bare("4", "Read", "researched"), &json!({
                "has_context": true, "has_research": true,
            })),
            with(bare("5", "Talked", "discussed"), &json!({ "has_context": true })),
            bare("6", "Empty", "empty"),
            bare("7", "Absent", "no_directory"),
            bare("10", "Late", "no_directory"),
        ],
        "phase_count": 8,
        "completed_phases": 1,
        "total_plans": 4,
        "total_summaries": 2,
        "progress_percent": 50,
        "current_phase": "2",
        "next_phase": "4",
        "missing_phase_details": ["11"],
    })
}

#[test]
fn analyze_compares_the_roadmap_with_the_directories() {
    let nothing = json!({
        "milestones": [], "phases": [], "phase_count": 0, "completed_phases": 0, "total_plans": 0,
        "total_summaries": 0, "progress_percent": 0, "current_phase": null, "next_phase": null,
        "missing_phase_details": null,
    });
    let missing = json!({
        "error": "ROADMAP.md not found", "milestones": [], "phases": [], "current_phase": null,
    });
    check(&[
        Case {
            about: "every state of the disk, in this order",
            files: LADDER_FILES,
            call: &["roadmap", "analyze"],
            answer: Answer::Json(ladder_analysis()),
            after: &[],
        },
        Case {
            about: "raw is the same",
            files: LADDER_FILES,
            call: &["--raw", "roadmap", "analyze"],
            answer: Answer::Json(ladder_analysis()),
            after: &[],
        },
        Case {
            about: "no roadmap is a soft miss",
            files: &[(".planning/STATE.md", "")],
            call: &["roadmap", "analyze"],
            answer: Answer::Json(missing.clone()),
            after: &[],
        },
        Case {
            about: "no project is the same miss",
            files: &[],
            call: &["roadmap", "analyze", "--raw"],
            answer: Answer::Json(missing),
            after: &[],
        },
        Case {
            about: "an empty roadmap",
            files: &[(ROADMAP, "")],
            call: &["roadmap", "analyze"],
            answer: Answer::Json(nothing),
            after: &[],
        },
    ]);
}

#[test]
fn analyze_compares_numbers_and_not_texts() {
    let roadmap = "- [x] Phase 10: Ten\n- [ ] Phase 1: One\n\n## Phase 1: One\n\n## Phase 10: Ten\n\
                   \n## Phase 09.05: Early\n";
    let files = [
        (ROADMAP, roadmap),
        (".planning/phases/1-one/1-01-PLAN.md", ""),
        (".planning/phases/010-ten/10-01-PLAN.md", ""),
        (".planning/phases/09.05-early/09.05-01-PLAN.md", ""),
    ];
    let mut project = sandbox();
    for (path, text) in files {
        project = project.file(path, text);
    }
    let analysis = project.call(["roadmap", "analyze"]).run().json();
    let column = |key: &str| -> Vec<Value> {
        let phases = analysis["phases"].as_array().unwrap();
        phases.iter().map(|phase| phase[key].clone()).collect()
    };
    assert_eq!(column("number"), ["1", "10", "09.05"]);
    assert_eq!(column("roadmap_complete"), [false, true, false]);
    assert_eq!(column("plan_count"), [1, 1, 1]);
}

#[test]
fn percentages_are_rounded_and_capped() {
    for (plans, summaries, percent) in [(3, 1, 33), (3, 2, 67), (8, 1, 13), (1, 2, 100)] {
        let mut project = sandbox().file(ROADMAP, "## Phase 1: A\n");
        for plan in 0..plans {
            project = project.file(&format!(".planning/phases/01-a/01-0{plan}-PLAN.md"), "");
        }
        for summary in 0..summaries {
            project = project.file(&format!(".planning/phases/01-a/01-0{summary}-SUMMARY.md"), "");
        }
        let analysis = project.call(["roadmap", "analyze"]).run().json();
        assert_eq!(analysis["progress_percent"], percent, "{summaries} of {plans}");
    }
}

const PHASES: &str = "# Roadmap

- [x] **Phase 6.2: Two** - done
- [ ] **Phase 6.10: Ten** - later

### Phase 6.10: Ten
**Depends on**: Phase 06.2, Phase 99

### Phase 7: Seven | $& `x` 🎉
**Depends on**: Phases 6.2 and 6.10

```
### Phase 8: Fenced
- [ ] Phase 9: Fenced too
```
<!--
### Phase 10: Hidden
- [ ] Phase 11: Hidden too
-->

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 6.2. Two | 1/1 | Complete | 2026-01-01 |
| 7. Seven | 1/1 | Complete | 2026-01-02 |
";

fn listed(number: &str, name: &str, needs: &[&str]) -> Value {
    json!({
        "number": number, "name": name, "completed": false, "completed_certain": true,
        "depends_on": needs, "depends_stated": !needs.is_empty(), "sources": "", "archived": false,
        "line": 0,
    })
}

#[test]
fn phases_are_listed_in_the_order_of_their_numbers() {
    let expected = json!([
        with(listed("6.2", "Two", &[]), &json!({ "completed": true, "sources": "CT", "line": 3 })),
        with(listed("6.10", "Ten", &["6.2", "99"]), &json!({ "sources": "CH", "line": 6 })),
        with(
            listed("7", "Seven | $& x 🎉", &["6.2", "6.10"]),
            &json!({
                "completed": true, "sources": "HT", "line": 9,
            })
        ),
    ]);
    let text = "\
[x]  6.2  Two
[ ] 6.10  Ten  needs 6.2, 99
[x]    7  Seven | $& x 🎉  needs 6.2, 6.10

3 phases, 2 done
";
    let pretty = serde_json::to_string_pretty(&expected).unwrap() + "\n";
    let answers = |call, answer| Case {
        about: "fences and comments declare nothing",
        files: &[(ROADMAP, PHASES)],
        call,
        answer,
        after: &[],
    };
    check(&[
        answers(&["roadmap", "phases"], Answer::Text(text)),
        answers(&["roadmap", "phases", "--json"], Answer::Text(&pretty)),
        answers(&["--json", "roadmap", "phases"], Answer::Text(&pretty)),
        answers(&["roadmap", "phases", "--raw"], Answer::Text(&pretty)),
        Case {
            about: "no roadmap",
            files: &[(".planning/STATE.md", "")],
            call: &["roadmap", "phases"],
            answer: Answer::Refused("ROADMAP.md not found"),
            after: &[],
        },
        Case {
            about: "contradictions are shown as such",
            files: &[(
                ROADMAP,
                "- [ ] Phase 1: A\n\n| Phase | Status |\n|--|--|\n| 1. A | Complete |\n",
            )],
            call: &["roadmap", "phases"],
            answer: Answer::Text(
                "[?] 1  A\n\n1 phase, 0 done\n[?] the roadmap marks 1 phase as both done and not done \
                 (checkbox against table or status)\n",
            ),
            after: &[],
        },
    ]);
}

#[test]
fn dependencies_are_read_in_every_shape() {
    let shapes = [
        ("Phase 3", "3"),
        ("Phase 03", "3"),
        ("3, 4", "3 4"),
        ("Phases 3 and 3.1", "3 3.1"),
        ("Phases 4-5", "4 5"),
        ("Phases 3–5", "3 3.1 4 5"),
        ("Phase 3 (nothing else)", "3"),
        ("Phase 3 + Phase 4", "3 4"),
        ("Phase 3 (can run beside Phase 4)", "3"),
        ("Phase 3. Independent of Phase 4", "3"),
        ("Phase 3; best after Phase 4", "3"),
        ("Nothing", ""),
        ("Nothing (first phase)", ""),
        ("Nothing hard; benefits from Phase 3", ""),
        ("None", ""),
        ("N/A", ""),
        ("—", ""),
    ];
    for (text, expected) in shapes {
        let sections = ["3", "3.1", "4", "5"].map(|number| format!("### Phase {number}: P\n\n"));
        let roadmap = format!("{}### Phase 9: Last\n**Depends on**: {text}\n", sections.concat());
        let project = sandbox().file(ROADMAP, roadmap);
        let phases = project.call(["roadmap", "phases", "--json"]).run().json();
        let needs: Vec<_> = phases[4]["depends_on"].as_array().unwrap().iter().collect();
        let expected: Vec<_> = expected.split_whitespace().collect();
        assert_eq!(needs, expected, "{text}");
    }
}

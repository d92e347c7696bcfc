//! Tests of `phase remove`.

use serde_json::json;

use crate::sandbox;
use crate::table::{Answer, Case, Files, check};

const ROADMAP: &str = ".planning/ROADMAP.md";
const STATE: &str = ".planning/STATE.md";

const FOUR: &str = "# Roadmap

- [x] **Phase 1: A** (completed 2025-01-01)
- [ ] **Phase 2: B**
- [ ] **Phase 3: C** - by 2025-03-04
- [ ] **Phase 10: D**

### Phase 1: A

### Phase 2: B
**Depends on**: Phase 1

### Phase 3: C
**Depends on**: Phase 2
- [ ] 03-01: one, by 2003-03-01

### Phase 10: D
**Depends on**: Phase 3
- [ ] 10-01-PLAN.md

| Phase | Plans | Status | Completed |
|---|---|---|---|
| 1. A | 1/1 | Complete | 2025-01-01 |
| 2. B | 0/0 | Not started | - |
| 3. C | 0/1 | Not started | - |
| 10. D | 0/1 | Not started | - |
";

const THREE: &str = "# Roadmap

- [x] **Phase 1: A** (completed 2025-01-01)
- [ ] **Phase 2: C** - by 2025-03-04
- [ ] **Phase 9: D**

### Phase 1: A

### Phase 2: C
**Depends on**: Phase 1
- [ ] 02-01: one, by 2003-03-01

### Phase 9: D
**Depends on**: Phase 2
- [ ] 09-01-PLAN.md

| Phase | Plans | Status | Completed |
|---|---|---|---|
| 1. A | 1/1 | Complete | 2025-01-01 |
| 2. C | 0/1 | Not started | - |
| 9. D | 0/1 | Not started | - |
";

const STATE_TEXT: &str = "**Total Phases:** 4\n\n## Current Position\n\nPhase: 1 of 4 (A)\nSince 2025-04-04 of 4 people\n";

fn rename(from: &str, to: &str) -> serde_json::Value {
    json!({ "from": from, "to": to })
}

#[test]
fn d1_phase_remove_shifts_later_phases_by_exactly_one() {
    let project = sandbox().file(ROADMAP, FOUR).file(STATE, STATE_TEXT);
    for (path, text) in [
        ("01-a/01-01-PLAN.md", "one"),
        ("02-b/.gitkeep", ""),
        ("03-c/03-01-PLAN.md", "three"),
        ("03-c/notes.md", "stays"),
        ("03.1-x/03.1-CONTEXT.md", "decimal"),
        ("10-d/10-01-PLAN.md", "ten"),
        ("999.1-later/x", "backlog"),
    ] {
        project.write(&format!(".planning/phases/{path}"), text);
    }
    project.call(["phase", "remove", "02"]).run().prints_json(&json!({
        "removed": "02",
        "directory_deleted": "02-b",
        "renamed_directories": [
            rename("03-c", "02-c"), rename("03.1-x", "02.1-x"), rename("10-d", "09-d"),
        ],
        "renamed_files": [
            rename("03-01-PLAN.md", "02-01-PLAN.md"),
            rename("03.1-CONTEXT.md", "02.1-CONTEXT.md"),
            rename("10-01-PLAN.md", "09-01-PLAN.md"),
        ],
        "roadmap_updated": true,
        "state_updated": true,
    }));
    let state = STATE_TEXT.replace("Phases:** 4", "Phases:** 3").replace("1 of 4 (", "1 of 3 (");
    let expected = [
        (".planning/ROADMAP.md", THREE),
        (".planning/STATE.md", &state),
        (".planning/phases/01-a/01-01-PLAN.md", "one"),
        (".planning/phases/02-c/02-01-PLAN.md", "three"),
        (".planning/phases/02-c/notes.md", "stays"),
        (".planning/phases/02.1-x/02.1-CONTEXT.md", "decimal"),
        (".planning/phases/09-d/09-01-PLAN.md", "ten"),
        (".planning/phases/999.1-later/x", "backlog"),
    ];
    let files = project.files();
    let files: Vec<_> =
        files.iter().map(|(path, bytes)| (path.as_str(), str::from_utf8(bytes).unwrap())).collect();
    assert_eq!(files, expected);
    assert!(!project.root().join(".planning/phases/03-c").exists());
}

#[test]
fn removing_a_decimal_phase_renumbers_its_siblings() {
    let project = sandbox()
        .file(ROADMAP, "### Phase 3: A\n### Phase 3.1: B\n### Phase 3.2: C\n### Phase 4: D\n");
    project.write(".planning/phases/03.1-b/x", "");
    project.write(".planning/phases/03.2-c/03.2-01-PLAN.md", "");
    project.write(".planning/phases/04-d/x", "");
    let answer = project.call(["phase", "remove", "3.1", "--raw"]).run().json();
    assert_eq!(answer["renamed_directories"], json!([rename("03.2-c", "03.1-c")]));
    assert_eq!(answer["state_updated"], false);
    assert_eq!(project.text(ROADMAP), "### Phase 3: A\n### Phase 3.1: C\n### Phase 4: D\n");
    let left: Vec<_> = project.files().into_keys().filter(|path| path.contains("phases")).collect();
    assert_eq!(left, [".planning/phases/03.1-c/03.1-01-PLAN.md", ".planning/phases/04-d/x"]);
}

#[test]
fn a_phase_without_a_directory_can_be_removed() {
    let after = "### Phase 1: A\n";
    check(&[Case {
        about: "no directory",
        files: &[(ROADMAP, "### Phase 1: A\n### Phase 2: B\n")],
        call: &["phase", "remove", "2"],
        answer: Answer::Json(json!({
            "removed": "2", "directory_deleted": null, "renamed_directories": [],
            "renamed_files": [], "roadmap_updated": true, "state_updated": false,
        })),
        after: &[(ROADMAP, after)],
    }]);
}

#[test]
fn d9_phase_remove_refuses_and_changes_nothing() {
    let executed: Files<'_> =
        &[(ROADMAP, FOUR), (STATE, STATE_TEXT), (".planning/phases/02-b/02-01-SUMMARY.md", "")];
    let decimals: Files<'_> = &[(ROADMAP, "### Phase 2: B\n### Phase 2.1: C\n")];
    let stray: Files<'_> = &[(ROADMAP, FOUR), (".planning/phases/02.1-c/x", "")];
    let archived: Files<'_> =
        &[(ROADMAP, "# R\n"), (".planning/milestones/v1.0-phases/02-b/x", "")];
    let twins: Files<'_> =
        &[(ROADMAP, FOUR), (".planning/phases/02-a/x", ""), (".planning/phases/02-b/x", "")];
    let case = |about, files, call, message| Case {
        about,
        files,
        call,
        answer: Answer::Refused(message),
        after: &[],
    };
    check(&[
        case(
            "d9 unknown",
            &[(ROADMAP, FOUR), (STATE, STATE_TEXT)],
            &["phase", "remove", "7"],
            "not found",
        ),
        case("executed", executed, &["phase", "remove", "2"], "executed plan"),
        case("executed", executed, &["phase", "remove", "2"], "--force"),
        case("d1 its decimals", decimals, &["phase", "remove", "2"], "--force"),
        case("d1 its decimals on disk", stray, &["phase", "remove", "2"], "--force"),
        case("archived", archived, &["phase", "remove", "2"], "not found"),
        case("two directories", twins, &["phase", "remove", "2"], "more than one directory"),
        case("no roadmap", &[(STATE, "")], &["phase", "remove", "2"], "ROADMAP.md not found"),
        case("no argument", executed, &["phase", "remove"], "PHASE"),
        case("no number", executed, &["phase", "remove", "../02-b"], "not a phase number"),
    ]);
}

#[test]
fn force_removes_executed_phases_and_their_decimals() {
    let project = sandbox()
        .file(ROADMAP, "### Phase 1: A\n### Phase 2: B\n### Phase 2.1: C\n### Phase 3: D\n");
    project.write(".planning/phases/02-b/02-01-SUMMARY.md", "");
    project.write(".planning/phases/02.1-c/x", "");
    let answer = project.call(["phase", "remove", "2", "--force"]).run().json();
    assert_eq!(answer["directory_deleted"], "02-b");
    assert_eq!(project.text(ROADMAP), "### Phase 1: A\n### Phase 2: D\n");
    assert_eq!(project.files().len(), 1, "{:?}", project.files().keys());
}

#[test]
fn an_interrupted_removal_is_finished_and_not_repeated() {
    let project = sandbox().file(ROADMAP, "### Phase 1: A\n### Phase 2: C\n");
    project.write(".planning/phases/03-c/03-01-PLAN.md", "three");
    project.write(".planning/.removed-02-b/x", "");
    let intention = r#"{"removed":"2","roadmap":1,"state":null,"renames":[
        {"from":"phases/02-b","to":".removed-02-b"},
        {"from":"phases/03-c","to":"phases/02-c"},
        {"from":"phases/02-c/03-01-PLAN.md","to":"phases/02-c/02-01-PLAN.md"}]}"#;
    project.write(".planning/.phase-removal.json", intention);
    let ran = project.call(["phase", "remove", "2"]).run();
    assert_eq!(ran.status.code(), Some(1), "{}", ran.transcript());
    assert!(ran.stderr.contains("is finished now"), "{}", ran.transcript());
    let files = project.files();
    let left: Vec<_> = files.keys().map(String::as_str).collect();
    assert_eq!(left, [ROADMAP, ".planning/phases/02-c/02-01-PLAN.md"]);
}

#[test]
fn verification_chain_files_are_renamed_with_their_phase() {
    let project = sandbox()
        .file(ROADMAP, FOUR)
        .file(".planning/phases/03-c/VERIFICATION-CHAIN-P03.md", "chain")
        .file(".planning/phases/03-c/VERIFICATION-CHAIN-P03/grill-me.md", "grilled")
        .file(".planning/phases/03-c/VERIFICATION-CHAIN-P3.1.md", "of another phase")
        .file(".planning/phases/10-d/VERIFICATION-CHAIN-P10/scope.md", "scope");
    let answer = project.call(["phase", "remove", "2"]).run().json();
    let rename = |from: &str, to: &str| json!({ "from": from, "to": to });
    assert_eq!(
        answer["renamed_files"],
        json!([
            rename("VERIFICATION-CHAIN-P03.md", "VERIFICATION-CHAIN-P02.md"),
            rename("VERIFICATION-CHAIN-P03", "VERIFICATION-CHAIN-P02"),
            rename("VERIFICATION-CHAIN-P10", "VERIFICATION-CHAIN-P09"),
        ])
    );
    let read = |path: &str| project.text(&format!(".planning/phases/{path}"));
    assert_eq!(read("02-c/VERIFICATION-CHAIN-P02.md"), "chain");
    assert_eq!(read("02-c/VERIFICATION-CHAIN-P02/grill-me.md"), "grilled");
    assert_eq!(read("02-c/VERIFICATION-CHAIN-P3.1.md"), "of another phase");
    assert_eq!(read("09-d/VERIFICATION-CHAIN-P09/scope.md"), "scope");
}

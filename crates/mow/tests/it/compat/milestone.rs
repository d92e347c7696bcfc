//! Tests of `milestone complete` and `requirements mark-complete`.

use serde_json::json;

use crate::table::{Answer, Case, Files, check};
use crate::{sandbox, today};

const ROADMAP: &str = ".planning/ROADMAP.md";
const REQUIREMENTS: &str = ".planning/REQUIREMENTS.md";
const STATE: &str = ".planning/STATE.md";

const SUMMARY: &str =
    "---\none-liner: Auth with $1 tokens\n---\n\n## Task 1: a\n\n### Task 2\n\n## Tasks\n";

fn project() -> mow_testkit::sandbox::Sandbox {
    sandbox()
        .file(ROADMAP, "# R\n")
        .file(REQUIREMENTS, "# Requirements\n")
        .file(STATE, "**Status:** Executing\n**Last Activity:** 2026-01-01\n**Last Activity Description:** x\n")
        .file(".planning/v1.0-MILESTONE-AUDIT.md", "audit")
        .file(".planning/phases/01-a/01-01-PLAN.md", "")
        .file(".planning/phases/01-a/01-01-SUMMARY.md", SUMMARY)
        .file(".planning/phases/02-b/02-01-PLAN.md", "plan")
}

#[test]
fn milestone_complete_archives_and_records() {
    let today = today();
    let project = project();
    let call = ["milestone", "complete", "v1.0", "--name", "First", "Light", "--archive-phases"];
    project.call(call).run().prints_json(&json!({
        "version": "v1.0", "name": "First Light", "date": today, "phases": 2, "plans": 2,
        "tasks": 2, "accomplishments": ["Auth with $1 tokens"],
        "archived": { "roadmap": true, "requirements": true, "audit": true, "phases": true },
        "milestones_updated": true, "state_updated": true,
    }));
    assert_eq!(project.text(".planning/milestones/v1.0-ROADMAP.md"), "# R\n");
    assert_eq!(project.text(ROADMAP), "# R\n");
    let archived = project.text(".planning/milestones/v1.0-REQUIREMENTS.md");
    let header = format!(
        "# Requirements Archive: v1.0 First Light\n\n**Archived:** {today}\n**Status:** SHIPPED\n"
    );
    assert!(
        archived.starts_with(&header) && archived.ends_with("---\n\n# Requirements\n"),
        "{archived}"
    );
    assert_eq!(project.text(".planning/milestones/v1.0-MILESTONE-AUDIT.md"), "audit");
    assert_eq!(project.text(".planning/milestones/v1.0-phases/02-b/02-01-PLAN.md"), "plan");
    assert!(!project.files().keys().any(|path| path.starts_with(".planning/phases/")));
    let state = project.text(STATE);
    assert_eq!(
        state,
        format!(
            "**Status:** v1.0 milestone complete\n**Last Activity:** {today}\n\
         **Last Activity Description:** v1.0 milestone completed and archived\n"
        )
    );
    let milestones = project.text(".planning/MILESTONES.md");
    assert!(
        milestones
            .starts_with(&format!("# Milestones\n\n## v1.0 First Light (Shipped: {today})\n"))
    );
    assert!(
        milestones.contains("2 phases, 2 plans, 2 tasks")
            && milestones.contains("- Auth with $1 tokens\n")
    );
}

#[test]
fn milestone_complete_works_when_documents_are_missing() {
    let project = sandbox().file(ROADMAP, "# R\n").file(".planning/phases/01-a/x", "");
    project.call(["milestone", "complete", "v2.0"]).run().prints_json(&json!({
        "version": "v2.0", "name": "v2.0", "date": today(), "phases": 1, "plans": 0, "tasks": 0,
        "accomplishments": [],
        "archived": { "roadmap": true, "requirements": false, "audit": false, "phases": false },
        "milestones_updated": true, "state_updated": false,
    }));
    assert!(project.text(".planning/MILESTONES.md").contains("- (none recorded)\n"));
    assert_eq!(project.text(".planning/phases/01-a/x"), "");
    let before = project.files();
    project.call(["milestone", "complete", "v2.0"]).run().json();
    assert_eq!(project.files(), before, "a second call finds everything done");
}

#[test]
fn milestone_complete_refuses_bad_versions_and_never_overwrites() {
    let taken: Files<'_> =
        &[(ROADMAP, "# new\n"), (".planning/milestones/v1.0-ROADMAP.md", "# old\n")];
    let home: Files<'_> =
        &[(".planning/phases/01-a/x", ""), (".planning/milestones/v1.0-phases/01-a/x", "")];
    let case = |about, files, call, message| Case {
        about,
        files,
        call,
        answer: Answer::Refused(message),
        after: &[],
    };
    check(&[
        case("an archive", taken, &["milestone", "complete", "v1.0"], "exists already"),
        case(
            "archived phases",
            home,
            &["milestone", "complete", "v1.0", "--archive-phases"],
            "exists already",
        ),
        case("out of the directory", taken, &["milestone", "complete", "../v1.0"], "not a version"),
        case("an absolute path", taken, &["milestone", "complete", "/tmp/v1.0"], "not a version"),
        case("no version", taken, &["milestone", "complete"], "VERSION"),
        case("an empty one", taken, &["milestone", "complete", ""], "not a version"),
    ]);
}

const IDS: &str = "- [ ] **AUTH-01**: a
- [x] **AUTH-02**: b
- [ ] **AUTH-010**: c

| Requirement | Phase | Status |
|---|---|---|
| AUTH-01 | 1 | In Progress |
| AUTH-02 | 1 | Complete |
| AUTH-010 | 2 | Pending |
";

#[test]
fn d35_d36_requirements_mark_complete_reports_marked_missing_and_already_complete_ids() {
    let after = IDS
        .replace("[ ] **AUTH-01**", "[x] **AUTH-01**")
        .replace("AUTH-01 | 1 | In Progress", "AUTH-01 | 1 | Complete");
    check(&[
        Case {
            about: "brackets and commas",
            files: &[(REQUIREMENTS, IDS)],
            call: &["requirements", "mark-complete", "[auth-01,", "AUTH-02]", "AUTH-.*"],
            answer: Answer::Json(json!({
                "updated": true, "marked_complete": ["auth-01"], "not_found": ["AUTH-.*"],
                "total": 3, "already_complete": ["AUTH-02"],
            })),
            after: &[(REQUIREMENTS, &after)],
        },
        Case {
            about: "raw",
            files: &[(REQUIREMENTS, IDS)],
            call: &["requirements", "mark-complete", "AUTH-01,AUTH-02", "--raw"],
            answer: Answer::Text("1/2 requirements marked complete"),
            after: &[(REQUIREMENTS, &after)],
        },
        Case {
            about: "no file",
            files: &[(ROADMAP, "")],
            call: &["requirements", "mark-complete", "A-1,B-2"],
            answer: Answer::Json(json!({
                "updated": false, "reason": "REQUIREMENTS.md not found", "ids": ["A-1", "B-2"],
            })),
            after: &[],
        },
        Case {
            about: "no file, raw",
            files: &[(ROADMAP, "")],
            call: &["requirements", "mark-complete", "A-1", "--raw"],
            answer: Answer::Text("no requirements file"),
            after: &[],
        },
        Case {
            about: "nothing named",
            files: &[(REQUIREMENTS, IDS)],
            call: &["requirements", "mark-complete", "[,]"],
            answer: Answer::Refused("ids required"),
            after: &[],
        },
        Case {
            about: "no argument",
            files: &[(REQUIREMENTS, IDS)],
            call: &["requirements", "mark-complete"],
            answer: Answer::Refused("IDS"),
            after: &[],
        },
    ]);
}

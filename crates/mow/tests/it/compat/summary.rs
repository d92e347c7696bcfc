//! Tests of `history-digest`, `summary-extract` and `verify-summary`.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check};

fn case<'a>(about: &'a str, files: Files<'a>, call: &'a [&'a str], answer: Answer<'a>) -> Case<'a> {
    Case { about, files, call, answer, after: &[] }
}

const SUMMARY: &str = "---
phase: \"01\"
name: Base
provides: [store]
affects: [api]
tech-stack:
  added: [axum, { name: serde }]
key-files:
  created: [src/a.rs]
key-decisions:
  - \"Use axum: it is small\"
  - Keep it plain
patterns-established: [one error type]
requirements-completed: [A-01]
one-liner: It stores
---

# Summary

**Something else**
";

#[test]
fn history_digest_combines_the_summaries() {
    let files: Files<'_> = &[
        (".planning/milestones/v1.0-phases/01-base/01-01-SUMMARY.md", SUMMARY),
        (".planning/phases/02-user-auth/02-01-SUMMARY.md", "# No block\n"),
        (
            ".planning/phases/03-api/03-01-SUMMARY.md",
            "---\nphase: 03-api\ndependency-graph:\n  provides: [routes]\n  affects: [ui]\n---\n",
        ),
    ];
    let phase = |name: &str, provides: Value, affects: Value, patterns: Value| json!({ "name": name, "provides": provides, "affects": affects, "patterns": patterns });
    let all = json!({
        "phases": {
            "01": phase("Base", json!(["store"]), json!(["api"]), json!(["one error type"])),
            "02": phase("user auth", json!([]), json!([]), json!([])),
            "03-api": phase("api", json!(["routes"]), json!(["ui"]), json!([])),
        },
        "decisions": [
            { "phase": "01", "decision": "Use axum: it is small" },
            { "phase": "01", "decision": "Keep it plain" },
        ],
        "tech_stack": ["axum", "serde"],
    });
    let none = json!({ "phases": {}, "decisions": [], "tech_stack": [] });
    check(&[
        case("archived first", files, &["history-digest"], Answer::Json(all.clone())),
        case("raw is the same", files, &["history-digest", "--raw"], Answer::Json(all)),
        case("no phases", &[], &["history-digest"], Answer::Json(none)),
    ]);
}

#[test]
fn d58_history_digest_reads_affects_and_scalar_values() {
    let files: Files<'_> = &[(
        ".planning/phases/01-base/01-01-SUMMARY.md",
        "---\nphase: 1\nprovides: store\naffects: [api]\nkey-decisions: [x]\n---\n",
    )];
    let answer = json!({
        "phases": { "1": { "name": "base", "provides": ["store"], "affects": ["api"], "patterns": [] } },
        "decisions": [{ "phase": "1", "decision": "x" }],
        "tech_stack": [],
    });
    check(&[case("digest", files, &["history-digest"], Answer::Json(answer))]);
}

fn extracted(path: &str) -> Value {
    json!({
        "path": path,
        "one_liner": "It stores",
        "key_files": { "created": ["src/a.rs"] },
        "tech_added": ["axum", "serde"],
        "patterns": ["one error type"],
        "decisions": [
            { "summary": "Use axum", "rationale": "it is small" },
            { "summary": "Keep it plain", "rationale": null },
        ],
        "requirements_completed": ["A-01"],
    })
}

#[test]
fn summary_extract_prints_the_keys() {
    let files: Files<'_> = &[("s.md", SUMMARY), ("bare.md", "# Bare\n\n**Bold**\n")];
    let bare = json!({
        "path": "bare.md", "one_liner": null, "key_files": [], "tech_added": [], "patterns": [],
        "decisions": [], "requirements_completed": [],
    });
    let some = json!({ "path": "s.md", "patterns": ["one error type"], "one_liner": "It stores" });
    let gone = json!({ "error": "File not found", "path": "gone.md" });
    check(&[
        case("all", files, &["summary-extract", "s.md"], Answer::Json(extracted("s.md"))),
        case("raw", files, &["summary-extract", "s.md", "--raw"], Answer::Json(extracted("s.md"))),
        case("nothing in it", files, &["summary-extract", "bare.md"], Answer::Json(bare)),
        case(
            "some",
            files,
            &["summary-extract", "s.md", "--fields", "patterns, nope,one_liner"],
            Answer::Json(some),
        ),
        case("missing", files, &["summary-extract", "gone.md"], Answer::Json(gone)),
        case("no path", files, &["summary-extract"], Answer::Refused("required")),
    ]);
}

#[test]
fn d54_summary_extract_takes_several_files_and_hyphens() {
    let files: Files<'_> = &[("a.md", SUMMARY), ("b.md", "# None\n")];
    let answer = json!([
        { "path": "a.md", "key_files": { "created": ["src/a.rs"] } },
        { "path": "b.md", "key_files": [] },
    ]);
    let call = ["summary-extract", "a.md", "b.md", "--fields", "key-files"];
    check(&[case("two", files, &call, Answer::Json(answer))]);
}

#[test]
fn d47_summary_extract_fields_without_a_value_is_refused() {
    let files: Files<'_> = &[("s.md", SUMMARY)];
    let call = ["summary-extract", "s.md", "--fields"];
    check(&[case("no value", files, &call, Answer::Refused("--fields"))]);
}

fn verdict(passed: bool, checks: [&Value; 4], errors: &[&str]) -> Value {
    let [exists, files, commits, self_check] = checks;
    json!({
        "passed": passed,
        "checks": {
            "summary_exists": exists, "files_created": files, "commits_exist": commits,
            "self_check": self_check,
        },
        "errors": errors,
    })
}

fn files_checked(checked: usize, found: usize, missing: &[&str]) -> Value {
    json!({ "checked": checked, "found": found, "missing": missing })
}

#[test]
fn verify_summary_looks_for_files() {
    let files: Files<'_> = &[
        ("src/a.rs", ""),
        (
            "good.md",
            "Made `src/a.rs`, see `http://x/y.z` and `b.rs`.\n\n## Self-Check\n\nAll pass\n",
        ),
        ("bad.md", "Created: src/gone.rs\n- `src/a.rs`\n- `src/third.rs`\n"),
        ("failed.md", "## Self-Check: FAILED\n"),
    ];
    let (yes, no) = (json!(true), json!(false));
    let none = files_checked(0, 0, &[]);
    let good = verdict(true, [&yes, &files_checked(1, 1, &[]), &no, &json!("passed")], &[]);
    let missing = files_checked(2, 1, &["src/gone.rs"]);
    let bad =
        verdict(false, [&yes, &missing, &no, &json!("not_found")], &["Missing files: src/gone.rs"]);
    let gone = verdict(false, [&no, &none, &no, &json!("not_found")], &["SUMMARY.md not found"]);
    check(&[
        case("good", files, &["verify-summary", "good.md"], Answer::Json(good)),
        case("raw", files, &["verify-summary", "good.md", "--raw"], Answer::Text("passed")),
        case("bad", files, &["verify-summary", "bad.md"], Answer::Json(bad)),
        case(
            "nothing checked",
            files,
            &["verify-summary", "bad.md", "--check-count", "0", "--raw"],
            Answer::Text("passed"),
        ),
        case("gone", files, &["verify-summary", "gone.md"], Answer::Json(gone)),
        case("failed", files, &["verify-summary", "failed.md", "--raw"], Answer::Text("failed")),
        case("no path", files, &["verify-summary"], Answer::Refused("required")),
    ]);
}

fn repository(summary: &str) -> Sandbox {
    let project = sandbox().file("src/a.rs", "a\n");
    project.git(".", &["init", "--quiet"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "--quiet", "-m", "first"]);
    let hash = project.git(".", &["rev-parse", "HEAD"]);
    project.write("s.md", summary.replace("HASH", hash.trim_end()));
    project
}

#[test]
fn verify_summary_looks_for_commits() {
    let commits = |text: &str| {
        let project = repository(text);
        project.call(["verify-summary", "s.md"]).run().json()["checks"]["commits_exist"].clone()
    };
    assert_eq!(commits("## Task Commits\n\n1. Task - `HASH`\n"), json!(true));
    assert_eq!(commits("Commit: HASH\n"), json!(true));
    assert_eq!(commits("## Task Commits\n\n1. Task - `0badc0d`\n"), json!(false));
    let project = repository("## Task Commits\n\n- `0badc0d`\n");
    let answer = project.call(["verify-summary", "s.md"]).run().json();
    assert_eq!(answer["passed"], json!(true), "an unknown commit does not fail");
    assert_eq!(answer["errors"].as_array().unwrap().len(), 1);
}

#[test]
fn d37_verify_summary_ignores_words_outside_of_the_self_check() {
    let text = "## Verification\n\nEarlier runs failed and were blocked.\n\n## Notes\n\nThe value \
        cafebabe1 is no commit.\n\n## Self-Check: PASSED\n\n## Later\n\nThis failed once.\n";
    let files: Files<'_> = &[("s.md", text)];
    let none = files_checked(0, 0, &[]);
    let good = verdict(true, [&json!(true), &none, &json!(false), &json!("passed")], &[]);
    check(&[case("passed", files, &["verify-summary", "s.md"], Answer::Json(good))]);
}

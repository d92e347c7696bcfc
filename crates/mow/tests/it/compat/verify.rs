//! Tests of `verify …`, `frontmatter merge` and `frontmatter validate`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check};

fn case<'a>(about: &'a str, files: Files<'a>, call: &'a [&'a str], answer: Answer<'a>) -> Case<'a> {
    Case { about, files, call, answer, after: &[] }
}

const BLOCK: &str = "---
phase: 03-auth
plan: 01
type: execute
wave: 1
depends_on: []
files_modified: []
autonomous: false
must_haves:
  truths: []
---
";

const KEYS: [&str; 8] =
    ["phase", "plan", "type", "wave", "depends_on", "files_modified", "autonomous", "must_haves"];

fn task(name: &str, has: [bool; 4]) -> Value {
    let [files, action, verify, done] = has;
    json!({
        "name": name, "hasFiles": files, "hasAction": action, "hasVerify": verify, "hasDone": done,
    })
}

#[test]
fn verify_plan_structure_lists_missing_keys_and_elements() {
    let good = format!(
        "{BLOCK}<task type=\"auto\">\n<name>A</name>\n<files>a</files>\n<action>b</action>\n\
         <verify>c</verify>\n<done>d</done>\n</task>\n"
    );
    let bad = "---\nphase: 1\nwave: 2\n---\n<task>\n<action>x</action>\n</task>\n<task>\n<name>B</name>\n</task>\n";
    let files: Files<'_> = &[("good.md", &good), ("bad.md", bad), ("none.md", "# No plan\n")];
    let passed = json!({
        "valid": true, "errors": [], "warnings": [], "task_count": 1,
        "tasks": [task("A", [true; 4])], "frontmatter_fields": KEYS,
    });
    let gone = json!({ "error": "File not found", "path": "gone.md" });
    check(&[
        case("good", files, &["verify", "plan-structure", "good.md"], Answer::Json(passed)),
        case(
            "raw",
            files,
            &["verify", "plan-structure", "good.md", "--raw"],
            Answer::Text("valid"),
        ),
        case(
            "bad",
            files,
            &["verify", "plan-structure", "bad.md", "--raw"],
            Answer::Text("invalid"),
        ),
        case("gone", files, &["verify", "plan-structure", "gone.md"], Answer::Json(gone)),
        case("no file", files, &["verify", "plan-structure"], Answer::Refused("required")),
    ]);
    let project = sandbox().file("bad.md", bad).file("none.md", "# No plan\n");
    let found = project.call(["verify", "plan-structure", "bad.md"]).run().json();
    let list = |key: &str| found[key].as_array().unwrap().clone();
    let has_entry = |key: &str, words: &[&str]| {
        let has = |item: &Value| words.iter().all(|word| item.as_str().unwrap().contains(word));
        list(key).iter().any(has)
    };
    for key in ["plan", "type", "depends_on", "files_modified", "autonomous", "must_haves"] {
        assert!(has_entry("errors", &[key]), "{key}: {found}");
    }
    assert!(has_entry("errors", &["<name>"]) && has_entry("errors", &["B", "<action>"]), "{found}");
    assert!(
        has_entry("warnings", &["depends_on"]) && has_entry("warnings", &["unnamed", "<verify>"])
    );
    assert_eq!(list("errors").len(), 8);
    assert_eq!(found["tasks"][0], task("unnamed", [false, true, false, false]));
    let found = project.call(["verify", "plan-structure", "none.md"]).run().json();
    assert!(found["warnings"][0].as_str().unwrap().contains("<task>"));
}

#[test]
fn d32_checkpoints_need_neither_name_nor_action() {
    let text = format!(
        "{BLOCK}<task type=\"checkpoint:human-verify\" gate=\"blocking\">\n<what-built>x</what-built>\n</task>\n"
    );
    let eager = text.replace("autonomous: false", "autonomous: true");
    let files: Files<'_> = &[("p.md", &text), ("eager.md", &eager)];
    let passed = json!({
        "valid": true, "errors": [], "warnings": [], "task_count": 1,
        "tasks": [task("unnamed", [false; 4])], "frontmatter_fields": KEYS,
    });
    check(&[
        case("exempt", files, &["verify", "plan-structure", "p.md"], Answer::Json(passed)),
        case(
            "eager",
            files,
            &["verify", "plan-structure", "eager.md", "--raw"],
            Answer::Text("invalid"),
        ),
    ]);
}

#[test]
fn verify_phase_completeness_matches_plans_with_summaries() {
    let files: Files<'_> = &[
        (".planning/phases/03-auth/03-01-PLAN.md", ""),
        (".planning/phases/03-auth/03-01-SUMMARY.md", ""),
        (".planning/phases/03-auth/03-02-plan.md", ""),
        (".planning/phases/03-auth/03-03-SUMMARY.md", ""),
        (".planning/phases/03-auth/PLAN.md", ""),
        (".planning/phases/04-api/04-CONTEXT.md", ""),
    ];
    let open = json!({
        "complete": false, "phase": "3", "plan_count": 2, "summary_count": 2,
        "incomplete_plans": ["03-02"], "orphan_summaries": ["03-03"],
        "errors": ["Plans without summaries: 03-02"],
        "warnings": ["Summaries without plans: 03-03"],
    });
    let gone = json!({ "error": "Phase not found", "phase": "9" });
    check(&[
        case("open", files, &["verify", "phase-completeness", "3"], Answer::Json(open)),
        case(
            "raw",
            files,
            &["verify", "phase-completeness", "03", "--raw"],
            Answer::Text("incomplete"),
        ),
        case(
            "empty",
            files,
            &["verify", "phase-completeness", "4", "--raw"],
            Answer::Text("complete"),
        ),
        case("gone", files, &["verify", "phase-completeness", "9"], Answer::Json(gone)),
        case("no phase", files, &["verify", "phase-completeness"], Answer::Refused("required")),
    ]);
}

#[test]
fn verify_references_checks_that_files_exist() {
    let text = "@.planning/STATE.md, @src/gone.rs (@src/a.rs)\n`src/a.rs` `src/b.rs` `${X}/a.b`\n";
    let files: Files<'_> =
        &[(".planning/STATE.md", ""), ("src/a.rs", ""), ("p.md", text), ("fine.md", "@src/a.rs\n")];
    let found = json!({
        "valid": false, "found": 2, "missing": ["src/gone.rs", "src/b.rs"], "total": 4,
    });
    let gone = json!({ "error": "File not found", "path": "gone.md" });
    check(&[
        case("some", files, &["verify", "references", "p.md"], Answer::Json(found)),
        case("raw", files, &["verify", "references", "p.md", "--raw"], Answer::Text("invalid")),
        case("fine", files, &["verify", "references", "fine.md", "--raw"], Answer::Text("valid")),
        case("gone", files, &["verify", "references", "gone.md"], Answer::Json(gone)),
        case("no file", files, &["verify", "references"], Answer::Refused("required")),
    ]);
    let project = sandbox().file("p.md", "@~/notes/a.md\n");
    project.write("../home/notes/a.md", "");
    project.call(["verify", "references", "p.md", "--raw"]).run().prints("valid");
}

#[test]
fn verify_commits_distinguishes_commits_from_other_objects() {
    let project = sandbox().file("a", "a\n");
    project.git(".", &["init", "--quiet"]);
    project.git(".", &["add", "."]);
    project.git(".", &["commit", "--quiet", "-m", "first"]);
    let rev = |name: &str| project.git(".", &["rev-parse", name]).trim_end().to_owned();
    let (commit, tree) = (rev("HEAD"), rev("HEAD^{tree}"));
    let call = ["verify", "commits", &commit, &tree, "0badc0d"];
    project.call(call).run().prints_json(&json!({
        "all_valid": false, "valid": [commit], "invalid": [tree, "0badc0d"], "total": 3,
    }));
    project.call(["verify", "commits", &commit, "--raw"]).run().prints("valid");
    project.call(["verify", "commits"]).run().refuses("required");
    project.call(["verify", "commits", "--batch"]).run().refuses("--batch");
}

const GOALS: &str = "---
must_haves:
  truths: [it works]
  artifacts:
    - path: src/a.ts
      provides: a
      min_lines: 3
      contains: \"hello\"
      exports: [\"run\", \"stop\"]
    - path: src/gone.ts
  key_links:
    - from: src/a.ts
      to: src/b.ts
      via: import
      pattern: \"import\\\\s+\\\\{.*\\\\}\"
    - from: src/a.ts
      to: b.ts
    - from: src/a.ts
      to: src/b.ts
      pattern: \"target (only|alone)\"
    - from: src/a.ts
      to: src/b.ts
      pattern: \"(\"
    - from: src/gone.ts
      to: x
---
";

#[test]
fn d30_verify_artifacts_and_key_links_read_any_indentation() {
    let wide = GOALS.replace("\n  ", "\n    ");
    let files: Files<'_> = &[
        ("p.md", GOALS),
        ("wide.md", &wide),
        ("none.md", BLOCK),
        ("src/a.ts", "import { b } from 'b.ts'\nexport run"),
        ("src/b.ts", "target only\n"),
    ];
    let artifacts = json!({
        "all_passed": false, "passed": 0, "total": 2,
        "artifacts": [
            {
                "path": "src/a.ts", "exists": true,
                "issues": ["Only 2 lines, need 3", "Missing text: hello", "Missing export: stop"],
                "passed": false,
            },
            { "path": "src/gone.ts", "exists": false, "issues": ["File not found"], "passed": false },
        ],
    });
    let gone = |path: &str| Answer::Json(json!({ "error": "File not found", "path": path }));
    check(&[
        case("artifacts", files, &["verify", "artifacts", "p.md"], Answer::Json(artifacts.clone())),
        case("four blanks", files, &["verify", "artifacts", "wide.md"], Answer::Json(artifacts)),
        case("raw", files, &["verify", "artifacts", "p.md", "--raw"], Answer::Text("invalid")),
        case("gone", files, &["verify", "artifacts", "gone.md"], gone("gone.md")),
        case("links gone", files, &["verify", "key-links", "gone.md"], gone("gone.md")),
        case("no plan", files, &["verify", "artifacts"], Answer::Refused("required")),
        case("no plan", files, &["verify", "key-links"], Answer::Refused("required")),
    ]);
    let mut project = sandbox();
    for (path, text) in files {
        project = project.file(path, text);
    }
    for plan in ["p.md", "wide.md"] {
        let found = project.call(["verify", "key-links", plan]).run().json();
        let verified: Vec<_> = found["links"]
            .as_array()
            .unwrap()
            .iter()
            .map(|link| link["verified"].clone())
            .collect();
        assert_eq!(json!(verified), json!([true, true, true, false, false]), "{found}");
        assert_eq!(
            (&found["all_verified"], &found["verified"], &found["total"]),
            (&json!(false), &json!(3), &json!(5))
        );
        assert_eq!(found["links"][0]["via"], json!("import"));
        assert_eq!(found["links"][2]["detail"], json!("Pattern found in target"));
        assert!(found["links"][3]["detail"].as_str().unwrap().starts_with("Invalid regex"));
        let keys: Vec<_> = found["links"][1].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["from", "to", "via", "verified", "detail"]);
    }
    for leaf in ["artifacts", "key-links"] {
        let none = project.call(["verify", leaf, "none.md"]).run().json();
        assert_eq!(none["path"], json!("none.md"));
        assert!(none["error"].as_str().unwrap().contains(&leaf.replace('-', "_")));
    }
}

#[test]
fn frontmatter_validate_needs_a_schema() {
    let files: Files<'_> =
        &[("p.md", BLOCK), ("old.md", "---\nfiles-modified: []\nwave:\n---\n"), ("none.md", "x\n")];
    let valid = json!({ "valid": true, "missing": [], "present": KEYS, "schema": "plan" });
    let old = json!({
        "valid": false,
        "missing": ["phase", "plan", "type", "depends_on", "autonomous", "must_haves"],
        "present": ["wave", "files_modified"],
        "schema": "plan",
    });
    let none = json!({
        "valid": false, "missing": ["phase", "verified", "status", "score"], "present": [],
        "schema": "verification",
    });
    let gone = json!({ "error": "File not found", "path": "gone.md" });
    let call = |file, schema| ["frontmatter", "validate", file, "--schema", schema];
    check(&[
        case("valid", files, &call("p.md", "plan"), Answer::Json(valid)),
        case("older spelling", files, &call("old.md", "plan"), Answer::Json(old)),
        case("no block", files, &call("none.md", "verification"), Answer::Json(none)),
        case("gone", files, &call("gone.md", "summary"), Answer::Json(gone)),
        case("no such schema", files, &call("p.md", "poem"), Answer::Refused("poem")),
        case("no schema", files, &["frontmatter", "validate", "p.md"], Answer::Refused("--schema")),
        case(
            "raw",
            files,
            &["frontmatter", "validate", "p.md", "--schema", "summary", "--raw"],
            Answer::Text("invalid"),
        ),
    ]);
}

#[test]
fn d10_frontmatter_merge_changes_only_the_named_keys() {
    let text = "---\nwave: 1  # first\n# why\ndepends_on: []\nmust_haves:\n  artifacts:\n    - path: a\n---\nbody\n";
    let merged = "---\nwave: 2  # first\n# why\ndepends_on: [03-01]\nmust_haves:\n  artifacts:\n    - path: a\nnew: \"a: b\"\n---\nbody\n";
    let files: Files<'_> = &[("p.md", text), ("none.md", "body\n")];
    let data = "{\"wave\": 2, \"depends_on\": [\"03-01\"], \"new\": \"a: b\"}";
    let answer = json!({ "merged": true, "fields": ["wave", "depends_on", "new"] });
    let gone = json!({ "error": "File not found", "path": "gone.md" });
    let merge = |file, data| ["frontmatter", "merge", file, "--data", data];
    let mut good = case("merge", files, &[], Answer::Json(answer));
    let call = merge("p.md", data);
    good.call = &call;
    let changed = [("p.md", merged)];
    good.after = &changed;
    let new = [("none.md", "---\na: 1\n---\n\nbody\n")];
    let call = merge("none.md", "{\"a\": 1}");
    let mut fresh =
        case("new block", files, &call, Answer::Json(json!({ "merged": true, "fields": ["a"] })));
    fresh.after = &new;
    check(&[
        good,
        fresh,
        case("gone", files, &merge("gone.md", "{}"), Answer::Json(gone)),
        case("no JSON", files, &merge("p.md", "{x"), Answer::Refused("--data")),
        case("no object", files, &merge("p.md", "[1]"), Answer::Refused("--data")),
        case("no data", files, &["frontmatter", "merge", "p.md"], Answer::Refused("--data")),
        case(
            "raw",
            files,
            &["frontmatter", "merge", "p.md", "--data", "{}", "--raw"],
            Answer::Text("true"),
        ),
    ]);
}

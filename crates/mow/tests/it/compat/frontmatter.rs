//! Tests of `frontmatter get` and `frontmatter set`.

use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, check};

const PLAN: &str = "---
phase: 03-user-auth
plan: 01
wave: 1  # first
# what it needs
depends_on: []  # ids
user_setup:
  - service: mail
    env_vars: [{ name: KEY, source: \"a: b\" }]
must_haves:
  truths:
    - \"It works: always\"
  artifacts:
    - path: src/a.rs
      min_lines: 3
---

# Plan

wave: 7
";

fn plan() -> Value {
    json!({
        "phase": "03-user-auth", "plan": "01", "wave": "1", "depends_on": [],
        "user_setup": [{ "service": "mail", "env_vars": [{ "name": "KEY", "source": "a: b" }] }],
        "must_haves": {
            "truths": ["It works: always"],
            "artifacts": [{ "path": "src/a.rs", "min_lines": "3" }],
        },
    })
}

#[test]
fn get_prints_the_block_or_a_field() {
    let answers = |about, call, answer| Case {
        about,
        files: &[("p.md", PLAN), ("none.md", "# No block\n"), ("empty.md", "")],
        call,
        answer,
        after: &[],
    };
    let get = ["frontmatter", "get", "p.md", "--field"];
    let field = |name| [&get[..], &[name]].concat();
    let raw = |name| [&["--raw"], &get[..], &[name]].concat();
    let gone = |path: &str| Answer::Json(json!({ "error": "File not found", "path": path }));
    let artifacts = json!([{ "path": "src/a.rs", "min_lines": "3" }]);
    check(&[
        answers("the whole block", &["frontmatter", "get", "p.md"], Answer::Json(plan())),
        answers("raw is the same", &["frontmatter", "get", "p.md", "--raw"], Answer::Json(plan())),
        answers(
            "a comment is no value",
            &field("depends_on"),
            Answer::Json(json!({ "depends_on": [] })),
        ),
        answers("a field, raw", &raw("phase"), Answer::Text("\"03-user-auth\"")),
        answers(
            "a nested field",
            &field("must_haves.artifacts"),
            Answer::Json(json!({ "must_haves.artifacts": artifacts })),
        ),
        answers(
            "a nested field, raw, is compact",
            &raw("must_haves.artifacts"),
            Answer::Text("[{\"path\":\"src/a.rs\",\"min_lines\":\"3\"}]"),
        ),
        answers(
            "an unknown field",
            &field("nope"),
            Answer::Json(json!({ "error": "Field not found", "field": "nope" })),
        ),
        answers("no block", &["frontmatter", "get", "none.md"], Answer::Json(json!({}))),
        answers(
            "no block, a field",
            &["frontmatter", "get", "none.md", "--field", "a"],
            Answer::Json(json!({ "error": "Field not found", "field": "a" })),
        ),
        answers("an empty file", &["frontmatter", "get", "empty.md"], gone("empty.md")),
        answers("no file", &["frontmatter", "get", "gone/x.md"], gone("gone/x.md")),
        answers("no argument", &["frontmatter", "get"], Answer::Refused("<FILE>")),
    ]);
}

#[test]
fn set_changes_only_the_line_of_its_field() {
    let updated = |field: &str, value: Value| {
        Answer::Json(json!({ "updated": true, "field": field, "value": value }))
    };
    let set = |field, value| ["frontmatter", "set", "p.md", "--field", field, "--value", value];
    let literal = "a $& `b` | \\1 🎉";
    let edited = [
        ("a number", "wave", "2", json!(2), PLAN.replace("wave: 1  #", "wave: 2  #")),
        (
            "a list",
            "depends_on",
            "[\"03-02\"]",
            json!(["03-02"]),
            PLAN.replace("[]  #", "[03-02]  #"),
        ),
        (
            "a text",
            "phase",
            "--x",
            json!("--x"),
            PLAN.replace("phase: 03-user-auth", "phase: \"--x\""),
        ),
        (
            "a new key",
            "note",
            literal,
            json!(literal),
            PLAN.replace("\n---\n\n#", &format!("\nnote: {literal}\n---\n\n#")),
        ),
    ];
    for (about, field, value, json, after) in edited {
        check(&[Case {
            about,
            files: &[("p.md", PLAN)],
            call: &set(field, value),
            answer: updated(field, json),
            after: &[("p.md", &after)],
        }]);
    }
    check(&[
        Case {
            about: "raw",
            files: &[("p.md", PLAN)],
            call: &[&["--raw"], &set("wave", "2")[..]].concat(),
            answer: Answer::Text("true"),
            after: &[("p.md", &PLAN.replace("wave: 1  #", "wave: 2  #"))],
        },
        Case {
            about: "a file without a block gets one",
            files: &[("p.md", "# Plan\n")],
            call: &set("wave", "2"),
            answer: updated("wave", json!(2)),
            after: &[("p.md", "---\nwave: 2\n---\n\n# Plan\n")],
        },
    ]);
}

#[test]
fn set_refuses_missing_arguments_and_files() {
    let case = |about, call, answer| Case {
        about,
        files: &[("p.md", PLAN), ("e.md", "")],
        call,
        answer,
        after: &[],
    };
    let gone = |path: &str| Answer::Json(json!({ "error": "File not found", "path": path }));
    check(&[
        case("no file argument", &["frontmatter", "set"], Answer::Refused("<FILE>")),
        case(
            "no field",
            &["frontmatter", "set", "p.md", "--value", "1"],
            Answer::Refused("--field"),
        ),
        case(
            "no value",
            &["frontmatter", "set", "p.md", "--field", "a"],
            Answer::Refused("--value"),
        ),
        case(
            "no such file",
            &["frontmatter", "set", "x.md", "--field", "a", "--value", "1"],
            gone("x.md"),
        ),
        case(
            "an empty file",
            &["frontmatter", "set", "e.md", "--field", "a", "--value", "1"],
            gone("e.md"),
        ),
    ]);
}

#[test]
fn every_value_reads_back() {
    let values = [
        "null-ish",
        "yes",
        "1.10",
        "a: b",
        "- x",
        "#c",
        "@me",
        "'q\"",
        "line\nbreak",
        " lead",
        "{",
        "é🎉",
        "~",
        "[a",
        "&x",
        "*y",
        "!z",
        "%",
    ];
    for value in values {
        let project = sandbox().file("p.md", PLAN);
        let set = ["frontmatter", "set", "p.md", "--field", "note", "--value", value];
        project
            .call(set)
            .run()
            .prints_json(&json!({ "updated": true, "field": "note", "value": value }));
        let all = project.call(["frontmatter", "get", "p.md"]).run().json();
        let mut expected = plan();
        expected["note"] = json!(value);
        assert_eq!(all, expected, "{value:?}");
    }
}

/// A block that is not valid YAML is read as far as possible, with a warning.
#[test]
fn a_broken_block_is_read_with_a_warning() {
    let project = sandbox().file("p.md", "---\nphase: 3\ntitle: @me: `x`\nwave: 2\n---\n");
    let ran = project.call(["frontmatter", "get", "p.md", "--field", "wave", "--raw"]).run();
    assert_eq!(
        (ran.status.code(), ran.stdout.as_str()),
        (Some(0), "\"2\""),
        "{}",
        ran.transcript()
    );
    assert!(ran.stderr.starts_with("Warning: p.md:3: "), "{}", ran.transcript());
}

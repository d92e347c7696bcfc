//! Tests of the small commands: slugs, timestamps, paths, models, web search, todos and settings.

use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::table::{Answer, Case, Files, check, check_as_written};

fn case<'a>(
    about: &'a str,
    files: Files<'a>,
    call: &'a [&'a str],
    answer: Answer<'a>,
    after: Files<'a>,
) -> Case<'a> {
    Case { about, files, call, answer, after }
}

fn today(project: &Sandbox) -> String {
    project.call(["current-timestamp", "date", "--raw"]).run().stdout_on_success()
}

fn json_of(project: &Sandbox, call: &[&str]) -> Value {
    project.call(call).run().json()
}

#[test]
fn generate_slug_and_verify_path_exists() {
    let none: Files<'_> = &[];
    let files: Files<'_> = &[("src/a.rs", "")];
    let kind = |exists: bool, kind: Value| Answer::Json(json!({ "exists": exists, "type": kind }));
    check(&[
        case(
            "a slug",
            none,
            &["generate-slug", "Café Über: 2!"],
            Answer::Json(json!({ "slug": "caf-ber-2" })),
            &[],
        ),
        case("a bare slug", none, &["generate-slug", "A  B", "--raw"], Answer::Text("a-b"), &[]),
        case("no text", none, &["generate-slug"], Answer::Refused("required"), &[]),
        case("empty text", none, &["generate-slug", ""], Answer::Refused("required"), &[]),
        case("a file", files, &["verify-path-exists", "src/a.rs"], kind(true, json!("file")), &[]),
        case(
            "a directory",
            files,
            &["verify-path-exists", "src"],
            kind(true, json!("directory")),
            &[],
        ),
        case(
            "a device",
            files,
            &["verify-path-exists", "/dev/null"],
            kind(true, json!("other")),
            &[],
        ),
        case("nothing", files, &["verify-path-exists", "b"], kind(false, Value::Null), &[]),
        case("raw", files, &["--raw", "verify-path-exists", "b"], Answer::Text("false"), &[]),
        case("no path", files, &["verify-path-exists"], Answer::Refused("required"), &[]),
    ]);
}

#[test]
fn current_timestamp_has_three_forms() {
    let project = sandbox();
    let raw =
        |word: &str| project.call(["current-timestamp", word, "--raw"]).run().stdout_on_success();
    let shape = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
    };
    assert_eq!(shape(&raw("full")), "0000-00-00T00:00:00.000Z");
    assert_eq!(shape(&raw("anything")), "0000-00-00T00:00:00.000Z");
    assert_eq!(shape(&raw("date")), "0000-00-00");
    assert_eq!(shape(&raw("filename")), "0000-00-00T00-00-00");
    let keys = json_of(&project, &["current-timestamp"]);
    assert_eq!(shape(keys["timestamp"].as_str().unwrap()), "0000-00-00T00:00:00.000Z");
}

const CONFIG: &str = ".planning/config.json";

#[test]
fn resolve_model_depends_on_the_profile() {
    let model =
        |model: &str, profile: &str| Answer::Json(json!({ "model": model, "profile": profile }));
    let quality: Files<'_> = &[(CONFIG, "{\"model_profile\": \"quality\"}")];
    let odd: Files<'_> = &[(CONFIG, "{\"model_profile\": \"odd\"}")];
    let unknown = json!({ "model": "sonnet", "profile": "balanced", "unknown_agent": true });
    check(&[
        case("balanced", &[], &["resolve-model", "mow-planner"], model("inherit", "balanced"), &[]),
        case(
            "quality",
            quality,
            &["resolve-model", "mow-executor"],
            model("inherit", "quality"),
            &[],
        ),
        case(
            "odd profile",
            odd,
            &["resolve-model", "mow-codebase-mapper"],
            model("haiku", "odd"),
            &[],
        ),
        case("unknown", &[], &["resolve-model", "nobody"], Answer::Json(unknown), &[]),
        case("raw", &[], &["resolve-model", "mow-verifier", "--raw"], Answer::Text("sonnet"), &[]),
        case("no agent", &[], &["resolve-model"], Answer::Refused("required"), &[]),
    ]);
}

#[test]
fn d29_a_model_set_for_an_agent_overrides_the_profile() {
    let files: Files<'_> = &[(
        CONFIG,
        "{\"model_overrides\": {\"mow-executor\": \"haiku\", \"gsd-verifier\": \"opus\", \"mine\": \"x\"}}",
    )];
    let raw = |about, agent: &'static [&'static str], text| {
        case(about, files, agent, Answer::Text(text), &[])
    };
    check(&[
        raw("set", &["resolve-model", "mow-executor", "--raw"], "haiku"),
        raw("set by the older name", &["resolve-model", "mow-verifier", "--raw"], "inherit"),
        raw("asked by the older name", &["resolve-model", "gsd-executor", "--raw"], "haiku"),
        raw("an agent of the project", &["resolve-model", "mine", "--raw"], "x"),
        raw("a lead has a row", &["resolve-model", "mow-team-lead", "--raw"], "sonnet"),
    ]);
}

#[test]
fn websearch_reports_why_it_is_not_available() {
    let project = sandbox();
    let call = ["websearch", "rust", "--limit", "3", "--freshness", "day"];
    let reason = json!({ "available": false, "reason": "BRAVE_API_KEY not set" });
    project.call(call).run().prints_json(&reason);
    project.call(["websearch", "rust", "--raw"]).run().prints("");
    let keyed = project.call(call).env("BRAVE_API_KEY", "k").run().json();
    assert_eq!(keyed["available"], json!(false));
    assert!(keyed["reason"].is_string());
    let empty = project.call(["websearch"]).env("BRAVE_API_KEY", "k").run().json();
    assert!(empty["error"].is_string());
}

#[test]
fn list_todos_lists_todos_in_progress_first() {
    let files: Files<'_> = &[
        (
            ".planning/todos/pending/b.md",
            "---\ntitle: \"B: x\"\narea: api\ncreated: 2026-01-02\n---\n",
        ),
        (".planning/todos/pending/a.md", "no keys\n"),
        (".planning/todos/pending/notes.txt", "title: no\n"),
        (".planning/todos/in-progress/c.md", "title: C\narea: api\nstarted: 2026-01-03\n"),
    ];
    let a = json!({
        "file": "a.md", "created": "unknown", "title": "Untitled", "area": "general",
        "state": "pending", "path": ".planning/todos/pending/a.md",
    });
    let b = json!({
        "file": "b.md", "created": "2026-01-02", "title": "B: x", "area": "api",
        "state": "pending", "path": ".planning/todos/pending/b.md",
    });
    let c = json!({
        "file": "c.md", "created": "unknown", "started": "2026-01-03", "title": "C", "area": "api",
        "state": "in-progress", "path": ".planning/todos/in-progress/c.md",
    });
    let all = json!({ "count": 3, "in_progress_count": 1, "todos": [c, a, b] });
    let api = json!({ "count": 2, "in_progress_count": 1, "todos": [c, b] });
    let none = json!({ "count": 0, "in_progress_count": 0, "todos": [] });
    check(&[
        case("all", files, &["list-todos"], Answer::Json(all), &[]),
        case("of an area", files, &["list-todos", "api"], Answer::Json(api), &[]),
        case("of part of a word", files, &["list-todos", "ap"], Answer::Json(none.clone()), &[]),
        case("raw", files, &["list-todos", "--raw"], Answer::Text("3"), &[]),
        case("no directories", &[], &["list-todos"], Answer::Json(none), &[]),
    ]);
}

#[test]
fn d38_todo_start_keeps_the_frontmatter_and_reports_overlaps() {
    let project = sandbox()
        .file(
            ".planning/todos/pending/a.md",
            "---\ntitle: A\nfiles:\n  - src/a.rs\n  - b.rs\n---\nx\n",
        )
        .file(".planning/todos/in-progress/c.md", "title: C\nfiles: src/a.rs, d.rs\n");
    let today = today(&project);
    project.call(["todo", "start", "a.md"]).run().prints_json(&json!({
        "started": true, "file": "a.md", "from": "pending", "to": "in-progress",
        "warnings": [{ "todo": "C", "overlapping_files": ["src/a.rs"] }],
    }));
    let expected =
        format!("---\ntitle: A\nfiles:\n  - src/a.rs\n  - b.rs\nstarted: {today}\n---\nx\n");
    assert_eq!(project.text(".planning/todos/in-progress/a.md"), expected);
    assert_eq!(project.files().len(), 2);
    project.call(["todo", "start", "a.md"]).run().refuses("not found");
    project.call(["todo", "start"]).run().refuses("required");
}

#[test]
fn todo_complete_finds_todos_in_both_folders() {
    let project = sandbox()
        .file(".planning/todos/pending/a.md", "title: A\n")
        .file(".planning/todos/in-progress/b.md", "---\ntitle: B\n---\n");
    let today = today(&project);
    project.call(["todo", "complete", "a.md"]).run().prints_json(&json!({
        "completed": true, "file": "a.md", "from": "pending", "date": today,
    }));
    project.call(["todo", "complete", "b.md", "--raw"]).run().prints("completed");
    let text = |file: &str| project.text(&format!(".planning/todos/completed/{file}"));
    assert_eq!(text("a.md"), format!("completed: {today}\ntitle: A\n"));
    assert_eq!(text("b.md"), format!("---\ntitle: B\ncompleted: {today}\n---\n"));
    assert_eq!(project.files().len(), 2);
    project.call(["todo", "complete", "a.md"]).run().refuses("not found");
}

#[test]
fn d38_a_todo_is_named_by_its_file_name_alone() {
    let files: Files<'_> = &[
        (".planning/todos/pending/a.md", "title: A\n"),
        (".planning/STATE.md", "# State\n"),
        (".planning/todos/completed/a.md", "another\n"),
    ];
    let refuses = |call: &'static [&'static str], message| {
        case("refused", files, call, Answer::Refused(message), &[])
    };
    check(&[
        refuses(&["todo", "complete", "../../STATE.md"], "not found"),
        refuses(&["todo", "start", "../pending/a.md"], "not found"),
        refuses(&["todo", "complete", "/etc/hostname"], "not found"),
        refuses(&["todo", "complete", ""], "not found"),
        refuses(&["todo", "complete", ".."], "not found"),
        refuses(&["todo", "complete", "--all"], "not found"),
        refuses(&["todo", "complete", "a.md"], "already there"),
    ]);
}

const DEFAULTS: &str = "{
  \"model_profile\": \"balanced\",
  \"commit_docs\": true,
  \"search_gitignored\": false,
  \"branching_strategy\": \"none\",
  \"phase_branch_template\": \"mow/phase-{phase}-{slug}\",
  \"milestone_branch_template\": \"mow/{milestone}-{slug}\",
  \"workflow\": {
    \"research\": true,
    \"plan_check\": true,
    \"verifier\": true
  },
  \"parallelization\": true,
  \"brave_search\": false
}";

#[test]
fn config_ensure_section_writes_the_defaults_once() {
    let created = json!({ "created": true, "path": ".planning/config.json" });
    let exists = json!({ "created": false, "reason": "already_exists" });
    let call = ["config-ensure-section"];
    let there: Files<'_> = &[(CONFIG, "{}")];
    check_as_written(&[
        case("made", &[], &call, Answer::Json(created), &[(CONFIG, DEFAULTS)]),
        case("raw", &[], &["--raw", call[0]], Answer::Text("created"), &[(CONFIG, DEFAULTS)]),
        case("there", there, &call, Answer::Json(exists), &[]),
        case("there, raw", there, &[call[0], "--raw"], Answer::Text("exists"), &[]),
    ]);
}

#[test]
fn config_ensure_section_lets_the_users_defaults_override_ours() {
    let project = sandbox();
    let defaults =
        "{\"commit_docs\": false, \"mode\": \"yolo\", \"workflow\": {\"research\": false}}";
    project.write("../home/.mowism/defaults.json", defaults);
    let keyed = project.call(["config-ensure-section"]).env("BRAVE_API_KEY", "k");
    assert_eq!(keyed.run().json()["created"], json!(true));
    let config: Value = serde_json::from_str(&project.text(CONFIG)).unwrap();
    let workflow = json!({ "research": false, "plan_check": true, "verifier": true });
    assert_eq!(config["workflow"], workflow);
    assert_eq!((&config["commit_docs"], &config["mode"]), (&json!(false), &json!("yolo")));
    assert_eq!(config["brave_search"], json!(true));
    let broken = sandbox();
    broken.write("../home/.mowism/defaults.json", "{");
    let ran = broken.call(["config-ensure-section"]).run();
    assert!(ran.status.success() && ran.stderr.starts_with("Warning: "));
    assert_eq!(broken.text(CONFIG), DEFAULTS);
}

#[test]
fn config_set_changes_one_value() {
    let files: Files<'_> = &[(CONFIG, "{\n  \"a\": {\"b\": 1},\n  \"mode\": \"x\"\n}")];
    let updated = |key: &str, value: Value| {
        Answer::Json(json!({ "updated": true, "key": key, "value": value }))
    };
    check_as_written(&[
        case(
            "a flag",
            files,
            &["config-set", "mode", "true"],
            updated("mode", json!(true)),
            &[(CONFIG, "{\n  \"a\": {\"b\": 1},\n  \"mode\": true\n}")],
        ),
        case(
            "a nested number",
            files,
            &["config-set", "a.b", "-2.5"],
            updated("a.b", json!(-2.5)),
            &[(CONFIG, "{\n  \"a\": {\"b\": -2.5},\n  \"mode\": \"x\"\n}")],
        ),
        case(
            "a value becomes an object",
            files,
            &["config-set", "mode.c", "--x"],
            updated("mode.c", json!("--x")),
            &[(CONFIG, "{\n  \"a\": {\"b\": 1},\n  \"mode\": {\n    \"c\": \"--x\"\n  }\n}")],
        ),
        case(
            "raw",
            files,
            &["config-set", "mode", "y z", "--raw"],
            Answer::Text("mode=y z"),
            &[(CONFIG, "{\n  \"a\": {\"b\": 1},\n  \"mode\": \"y z\"\n}")],
        ),
        case("no key", files, &["config-set"], Answer::Refused("required"), &[]),
        case("no path", files, &["config-set", "a..b", "1"], Answer::Refused("a..b"), &[]),
        case(
            "no JSON",
            &[(CONFIG, "{\"a\": ")],
            &["config-set", "a", "1"],
            Answer::Refused("not valid JSON"),
            &[],
        ),
    ]);
}

#[test]
fn d46_config_set_creates_the_directory_and_keeps_number_like_text() {
    let updated =
        |value: &str| Answer::Json(json!({ "updated": true, "key": "k", "value": value }));
    check_as_written(&[
        case(
            "no .planning",
            &[],
            &["config-set", "k", "0x10"],
            updated("0x10"),
            &[(CONFIG, "{\n  \"k\": \"0x10\"\n}")],
        ),
        case(
            "blank",
            &[],
            &["config-set", "k", " "],
            updated(" "),
            &[(CONFIG, "{\n  \"k\": \" \"\n}")],
        ),
        case(
            "no value",
            &[(CONFIG, "{\"k\": 1}")],
            &["config-set", "k"],
            Answer::Refused("required"),
            &[],
        ),
    ]);
}

#[test]
fn config_get_prints_the_setting_or_its_default() {
    let files: Files<'_> = &[(CONFIG, "{\"a\": {\"b\": [1, \"x\"]}, \"mode\": \"yolo\"}")];
    check(&[
        case("a text", files, &["config-get", "mode"], Answer::Json(json!("yolo")), &[]),
        case("raw", files, &["config-get", "mode", "--raw"], Answer::Text("yolo"), &[]),
        case(
            "a default",
            files,
            &["config-get", "multi_phase.merge_timing", "--raw"],
            Answer::Text("batch"),
            &[],
        ),
        case("an object", files, &["config-get", "a"], Answer::Json(json!({ "b": [1, "x"] })), &[]),
        case("unknown", files, &["config-get", "nope"], Answer::Refused("nope"), &[]),
        case("through a text", files, &["config-get", "mode.x"], Answer::Refused("mode.x"), &[]),
        case("no key", files, &["config-get"], Answer::Refused("required"), &[]),
        case("no file", &[], &["config-get", "mode"], Answer::Refused("not found"), &[]),
        case(
            "no JSON",
            &[(CONFIG, "{")],
            &["config-get", "mode"],
            Answer::Refused("not valid JSON"),
            &[],
        ),
    ]);
}

#[test]
fn d46_config_get_raw_prints_objects() {
    let files: Files<'_> = &[(CONFIG, "{\"a\": {\"b\": [1, \"x\"]}}")];
    let raw =
        case("raw", files, &["config-get", "a", "--raw"], Answer::Text("{\"b\":[1,\"x\"]}"), &[]);
    check(&[raw]);
}

#[test]
fn d54_config_get_has_a_default_for_auto_advance() {
    let files: Files<'_> = &[(CONFIG, "{}")];
    let call = ["config-get", "workflow.auto_advance", "--raw"];
    check(&[case("raw", files, &call, Answer::Text("false"), &[])]);
}

#[test]
fn the_environment_overrides_a_setting() {
    let project = sandbox().file(CONFIG, "{\"workflow\": {\"research\": true}}");
    let call = project.call(["config-get", "workflow.research", "--raw"]);
    call.env("MOW_WORKFLOW__RESEARCH", "false").run().prints("false");
}

#[test]
fn config_nudge_dismiss_writes_the_flag_and_the_date() {
    let project = sandbox();
    let today = today(&project);
    let dismissed = json!({ "dismissed": true, "dismissed_at": today });
    project.call(["config", "nudge-dismiss"]).run().prints_json(&dismissed);
    let keys = format!(
        "  \"agent_teams_nudge_dismissed\": true,\n  \"agent_teams_nudge_dismissed_at\": \"{today}\"\n}}"
    );
    assert_eq!(project.text(CONFIG), format!("{{\n{keys}"));
    project.write(CONFIG, "{\n  \"mode\": \"yolo\"\n}");
    project.call(["config", "nudge-dismiss", "--raw"]).run().prints("dismissed");
    assert_eq!(project.text(CONFIG), format!("{{\n  \"mode\": \"yolo\",\n{keys}"));
    project.write(CONFIG, "no JSON");
    let ran = project.call(["config", "nudge-dismiss"]).run();
    assert!(ran.status.success() && ran.stderr.starts_with("Warning: "));
    assert_eq!(project.text(CONFIG), format!("{{\n{keys}"));
}

#[test]
fn set_profile_changes_one_setting_and_shows_the_resulting_models() {
    let config = "{\n  \"mode\": \"yolo\", \"model_profile\": \"quality\",\n  \"odd\" : 1\n}";
    let project = sandbox().file(CONFIG, config);
    let answer = json_of(&project, &["set-profile", "budget", "--json"]);
    assert_eq!((&answer["profile"], &answer["previous"]), (&json!("budget"), &json!("quality")));
    assert_eq!(answer["models"]["mow-verifier"], "haiku");
    assert_eq!(project.text(CONFIG), config.replace("quality", "budget"));
    let refused = project.call(["set-profile", "cheap"]).run();
    assert!(!refused.status.success() && refused.stderr.contains("balanced"), "{}", refused.stderr);
    project.remove(CONFIG);
    let text = project.call(["set-profile", "quality"]).run().stdout_on_success();
    assert!(text.starts_with("quality (was balanced)\n"), "{text}");
    assert_eq!(json_of(&project, &["config-get", "model_profile"]), "quality");
}

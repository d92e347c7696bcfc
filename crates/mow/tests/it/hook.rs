//! Tests `mow hook …`, which Claude Code calls, and `mow install hooks`, which registers it.

use mow_testkit::program_call::CommandResult;
use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::sandbox;
use crate::worktree_fixture::{call, mow, repository};

fn hook(project: &Sandbox, event: &str, input: &Value) -> CommandResult {
    call(project, ".", &["hook", event]).stdin(&input.to_string()).run()
}

/// Calls the stop hook for a session whose transcript fills this part of a context of 100 KB.
fn stop_session(project: &Sandbox, session: &str, percent: usize) -> CommandResult {
    let name = format!("../{session}.jsonl");
    project.write(&name, vec![b'x'; percent * 1024]);
    let path = project.root().join(name);
    let input = json!({ "cwd": project.root(), "transcript_path": path });
    let call = call(project, ".", &["hook", "stop"]).env("MOW_MAX_TRANSCRIPT_KB", "100");
    call.stdin(&input.to_string()).run()
}

fn system_message(ran: CommandResult) -> String {
    let answer = ran.json();
    assert_eq!(answer["suppressOutput"], json!(false));
    answer["systemMessage"].as_str().expect("a message").to_owned()
}

#[test]
fn d56_a_stopped_session_leaves_one_note_and_git_hooks_run() {
    let project = repository();
    let before = project.text(".planning/STATE.md");
    stop_session(&project, "s1", 50).prints("");
    assert!(system_message(stop_session(&project, "s1", 80)).contains("20 %"));
    assert_eq!(project.text(".planning/STATE.md"), before);

    assert!(system_message(stop_session(&project, "s1", 90)).contains("10 %"));
    let noted = project.text(".planning/STATE.md");
    assert!(noted.starts_with(&before) && noted.ends_with("\nSession: s1\n"), "{noted}");
    assert_eq!(project.git(".", &["status", "--porcelain"]), "");
    let head = project.git(".", &["rev-parse", "HEAD"]);
    assert!(system_message(stop_session(&project, "s1", 95)).contains("5 %"));
    assert_eq!(project.text(".planning/STATE.md"), noted, "one note for a session");
    assert_eq!(project.git(".", &["rev-parse", "HEAD"]), head);

    project.write(".git/hooks/pre-commit", "#!/bin/sh\necho unfit >&2\nexit 1\n");
    project.set_mode(".git/hooks/pre-commit", 0o755);
    let ran = stop_session(&project, "s2", 200);
    assert!(ran.status.success() && ran.stderr.contains("unfit"), "{}", ran.transcript());
    assert_eq!(project.git(".", &["rev-parse", "HEAD"]), head, "the git hook refused the commit");
    let text = project.text(".planning/STATE.md");
    assert_eq!(text.matches("Context Window Handoff").count(), 1, "{text}");
}

#[test]
fn observing_hooks_never_fail() {
    let project = repository();
    for event in ["stop", "subagent-start", "worktree-remove"] {
        for input in ["", "[]", "{", "{}", "{\"cwd\": \"/nowhere/at/all\"}"] {
            let ran = call(&project, ".", &["hook", event]).stdin(input).run();
            assert!(ran.status.success() && ran.stdout.is_empty(), "{}", ran.transcript());
            assert!(ran.stderr.starts_with("Warning: "), "{}", ran.transcript());
        }
    }
    let active = json!({ "cwd": project.root(), "transcript_path": project.root().join("code.txt"),
        "stop_hook_active": true });
    hook(&project, "stop", &active).prints("");
}

#[test]
fn a_subagent_gets_the_instructions_of_the_project() {
    let project = sandbox().file("CLAUDE.md", "be kind\n").file(".planning/x/y", "");
    let input = json!({ "cwd": project.root().join(".planning/x") });
    let answer = hook(&project, "subagent-start", &input).json();
    assert_eq!(answer, json!({ "additionalContext": "be kind\n" }));
    project.remove("CLAUDE.md");
    hook(&project, "subagent-start", &input).prints("");
}

#[test]
fn d55_no_path_is_printed_for_a_worktree_that_was_not_created() {
    let project = repository();
    let create = |name: &str| {
        hook(&project, "worktree-create", &json!({ "name": name, "cwd": project.root() }))
    };
    let path = |name: &str| format!("{}\n", project.root().join(".worktrees").join(name).display());
    assert_eq!(create("phase-3").stdout, path("p03"));
    assert_eq!(create("spike").stdout, path("spike"));
    let again = create("spike");
    assert!(!again.status.success() && again.stdout.is_empty(), "{}", again.transcript());
    create("../out").refuses("cannot be the name");
    hook(&project, "worktree-create", &json!({ "name": "x" })).refuses("cwd");
}

#[test]
fn d41_removing_a_worktree_removes_only_its_own_dashboard_pins() {
    let project = repository();
    mow(&project, ".", &["worktree", "create", "3"]).stdout_on_success();
    mow(&project, ".worktrees/p03", &["worktree", "claim", "3"]).stdout_on_success();
    for phase in ["3", "4"] {
        let event = ["dashboard", "event", "add", "--type", "error", "--phase", phase];
        mow(&project, ".", &event).stdout_on_success();
    }
    project.write(".worktrees/p03/new.txt", "");
    let path = project.root().join(".worktrees/p03");
    let ran =
        hook(&project, "worktree-remove", &json!({ "worktree_path": path, "cwd": project.root() }));
    assert!(ran.status.success() && ran.stderr.contains("uncommitted"), "{}", ran.transcript());
    assert_eq!(mow(&project, ".", &["worktree", "status"]).json(), json!([]));
    let manifest = mow(&project, ".", &["worktree", "list-manifest"]).json();
    assert_eq!(manifest["worktrees"]["p03"]["status"], "removed_unmerged");
    let state = mow(&project, ".", &["dashboard", "state"]).json();
    let pins = state["pinned"].as_array().expect("pins");
    assert_eq!(pins.len(), 1, "{state}");
    assert_eq!(pins[0]["phase"], "4");
}

#[test]
fn d55_install_hooks_registers_all_four_and_keeps_other_settings() {
    let old = "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": \
               [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  }\n}\n";
    let project = sandbox().file("s.json", old);
    let install = || project.call(["install", "hooks", "s.json"]).run().stdout_on_success();
    assert!(install().starts_with("added Stop, SubagentStart, WorktreeCreate, WorktreeRemove to "));
    let text = project.text("s.json");
    let settings: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(settings["model"], "x");
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    for (event, at, command) in [
        ("Stop", 1, "mow hook stop"),
        ("SubagentStart", 0, "mow hook subagent-start"),
        ("WorktreeCreate", 0, "mow hook worktree-create"),
        ("WorktreeRemove", 0, "mow hook worktree-remove"),
    ] {
        assert_eq!(settings["hooks"][event][at]["hooks"][0]["command"], command);
    }
    assert!(install().ends_with("s.json has all hooks already\n"));
    assert_eq!(project.text("s.json"), text);

    project.call(["install", "hooks"]).run().stdout_on_success();
    let own = std::fs::read_to_string(project.home().join(".claude/settings.json"));
    assert!(own.expect("made").contains("mow hook worktree-create"));
    for what in ["hooks", "shim"] {
        project.call(["install", what]).without_env("HOME").run().refuses("HOME is not set");
    }
    project.write("s.json", "{oops");
    let ran = project.call(["install", "hooks", "s.json"]).run();
    assert!(!ran.status.success() && project.text("s.json") == "{oops", "{}", ran.transcript());
}

//! Tests wrong calls, and the flags that all commands accept.

use serde_json::json;

use crate::sandbox;
use crate::table::{Answer, Case, check};

/// Runs a call that must be refused and returns its message and hint.
fn refused(arguments: &[&str]) -> (String, String) {
    let ran = sandbox().call(arguments).run();
    let lines: Vec<_> = ran.stderr.lines().map(str::to_owned).collect();
    ran.refuses("");
    (lines[0].clone(), lines.get(1).cloned().unwrap_or_default())
}

#[test]
fn wrong_calls_name_the_alternatives() {
    let cases = [
        (&["bogus"][..], "Unknown command: bogus", "mow --help"),
        (&["help", "bogus"], "Unknown command: bogus", "mow --help"),
        (&["roadmp", "phases"], "Unknown command: roadmp", "did you mean `roadmap`?"),
        (&["config-set", "", "x"], "'<KEY>' but none was supplied", "mow config-set --help"),
        (&["phase", "remove", "-1"], "unexpected argument '-1'", "mow phase remove --help"),
        (&["status", "read", "3\n\u{1b}[2J"], "Phase 3\\n\\u{1b}[2J not found", "mow roadmap"),
        (&["roadmap"], "roadmap needs a subcommand. Available: phases, ", "mow roadmap --help"),
        (&["status", "--raw"], "status needs a subcommand. Available: init, ", "mow status --help"),
        (
            &["roadmap", "analyse"],
            "Unknown roadmap subcommand: analyse. ",
            "did you mean `analyze`?",
        ),
        (
            &["--raw", "status", "zzz"],
            "Unknown status subcommand: zzz. Available: init, ",
            "mow status --help",
        ),
        (&["roadmap", "phases", "--jsn"], "--jsn", "did you mean `--json`?"),
        (
            &["roadmap", "graph", "--format", "pdf"],
            "invalid value 'pdf'",
            "mow roadmap graph --help",
        ),
        (
            &["status", "read", "3", "--four"],
            "unexpected argument '--four'",
            "mow status read --help",
        ),
        (&["doctor", "--fix", "--fix"], "cannot be used multiple times", "mow doctor --help"),
        (&["completions", "bash", "zsh"], "unexpected argument 'zsh'", "mow completions --help"),
        (&["--cwd"], "--cwd", "mow --help"),
        (&["--cwd", "gone", "roadmap", "phases"], "cannot enter directory gone", ""),
    ];
    for (call, message, hint) in cases {
        let (first, second) = refused(call);
        assert!(!first.ends_with(": "), "a list of nothing: {first}");
        assert!(first.contains(message), "{call:?}: {first}");
        assert!(second.contains(hint), "{call:?}: {second}");
    }
}

#[test]
fn failures_are_json_objects_with_the_flag_json() {
    let ran = sandbox().call(["roadmap", "phases", "--json"]).run();
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(1), ""), "{}", ran.transcript());
    let error: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(error["error"], "ROADMAP.md not found");
    assert_eq!(error["code"], 1);
}

#[test]
fn the_flag_raw_is_accepted_at_any_position() {
    let before = "## Blockers\n\n- a\n";
    let after = "## Blockers\n\n- a\n- b\n";
    let calls: [&[&str]; 5] = [
        &["--raw", "state", "add-blocker", "--text", "b"],
        &["state", "--raw", "add-blocker", "--text", "b"],
        &["state", "add-blocker", "--raw", "--text", "b"],
        &["state", "add-blocker", "--text", "--raw", "b"],
        &["state", "add-blocker", "--text", "b", "--raw"],
    ];
    for call in calls {
        check(&[Case {
            about: "--raw",
            files: &[(".planning/STATE.md", before)],
            call,
            answer: Answer::Text("true"),
            after: &[(".planning/STATE.md", after)],
        }]);
    }
    // Only the first one is taken out; the second is the flag's value.
    let project = sandbox().file(".planning/STATE.md", before);
    project.call(["--raw", "state", "add-blocker", "--text", "--raw"]).run().prints("true");
    assert_eq!(project.text(".planning/STATE.md"), "## Blockers\n\n- a\n- --raw\n");
}

#[test]
fn values_may_be_joined_to_their_flags() {
    check(&[Case {
        about: "--flag=value",
        files: &[(".planning/STATE.md", "## Blockers\n\n- a\n")],
        call: &["state", "add-blocker", "--text=--b=c"],
        answer: Answer::Json(json!({ "added": true, "blocker": "--b=c" })),
        after: &[(".planning/STATE.md", "## Blockers\n\n- a\n- --b=c\n")],
    }]);
}

#[test]
fn the_first_of_a_repeated_flag_counts_and_extra_arguments_are_ignored() {
    let state = "## Blockers\n\n- a\n";
    let rows: [(&[&str], &str, &str); 6] = [
        (&["generate-slug", "One", "Two", "--raw"], "one", "Two"),
        (
            &["state", "add-blocker", "--text", "b", "--text", "--text", "--raw"],
            "true",
            "--text --text",
        ),
        (&["current-timestamp", "date", "full", "--json", "--raw"], &crate::today(), "full"),
        (&["verify-path-exists", ".planning", ".planning", "--raw"], "true", ".planning"),
        (&["config-set", "mode", "a", "b\u{7}", "--raw"], "mode=a", "b\\u{7}"),
        (
            &["phases", "list", "x", "--type=plans", "--type", "other", "--raw"],
            "",
            "x --type other",
        ),
    ];
    for (call, answer, ignored) in rows {
        let project =
            sandbox().file(".planning/STATE.md", state).file(".planning/phases/1-a/b", "");
        let ran = project.call(call).run();
        assert_eq!(ran.stdout, answer, "{}", ran.transcript());
        assert_eq!(ran.stderr, format!("Warning: ignored: {ignored}\n"), "{}", ran.transcript());
        assert!(ran.status.success());
        let is_blocked = call[1] == "add-blocker";
        assert_eq!(project.text(".planning/STATE.md").ends_with("- a\n- b\n"), is_blocked);
    }
}

#[test]
fn help_is_printed_to_stdout() {
    for call in [&["--help"][..], &["roadmap", "--help"], &["status", "write", "--help"]] {
        let help = sandbox().call(call).run().stdout_on_success();
        assert!(help.contains("Usage: mow") && help.ends_with('\n'), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
    let version = sandbox().call(["--version"]).run().stdout_on_success();
    assert_eq!(version, format!("mow {}\n", env!("CARGO_PKG_VERSION")));
}

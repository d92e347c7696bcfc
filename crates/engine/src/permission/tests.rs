//! Rules, and the rule that an answer for ever makes.

use super::*;
use serde_json::json;

fn asked(rules: &str, tool: &str, input: &Value) -> Rule {
    rule(&Config::parse(rules.as_bytes()).unwrap(), tool, input)
}

#[test]
fn rules_name_tools_and_what_they_are_used_on() {
    let rules = r#"{"permissions": {"allow": ["Read", "Bash(cargo test*)", "Bash(git * --stat)"],
        "deny": ["Bash(*rm -rf*)"]}}"#;
    let bash = |command: &str| asked(rules, "Bash", &json!({ "command": command }));
    assert_eq!(asked(rules, "Read", &json!({})), Rule::Allowed);
    assert_eq!(bash("cargo test -p core"), Rule::Allowed);
    assert_eq!(bash("git log --stat"), Rule::Allowed);
    assert_eq!(bash("cargo run"), Rule::Unknown);
    assert_eq!(bash("cargo test; rm -rf /"), Rule::Denied);
    assert_eq!(asked("{}", "Read", &json!({})), Rule::Unknown);
}

#[test]
fn a_star_does_not_stand_for_another_command() {
    let rules = r#"{"permissions": {"allow": ["Bash(cargo test*)", "Bash(git * --stat)",
        "Bash(make * 2>&1 | tail -*)"], "deny": ["Bash(*sudo*)"]}}"#;
    let bash = |command: &str| asked(rules, "Bash", &json!({ "command": command }));
    for more in
        ["; reboot", "&& reboot", "| sh", "&reboot", "\nreboot", " $(reboot)", " `reboot`", " > x"]
    {
        assert_eq!(bash(&format!("cargo test{more}")), Rule::Unknown, "{more}");
        assert_eq!(bash(&format!("git log{more} --stat")), Rule::Unknown, "{more}");
    }
    assert_eq!(
        bash("make all 2>&1 | tail -5"),
        Rule::Allowed,
        "what the rule itself says is meant"
    );
    assert_eq!(bash("make all 2>&1 | tail -5; reboot"), Rule::Unknown);
    assert_eq!(bash("cargo test; sudo reboot"), Rule::Denied, "whoever denies means all of it");
    let all = r#"{"permissions": {"allow": ["Bash"]}}"#;
    assert_eq!(asked(all, "Bash", &json!({ "command": "a; b" })), Rule::Allowed);
}

#[test]
fn a_star_does_not_lead_out_of_a_directory() {
    let rules = r#"{"permissions": {"allow": ["Write(src/*)", "Write(docs/.*)", "Bash(ls *)",
        "Read(../shared/*)"]}}"#;
    let path = |tool: &str, path: &str| asked(rules, tool, &json!({ "file_path": path }));
    assert_eq!(path("Write", "src/a/b.rs"), Rule::Allowed);
    for out in ["src/../../.bashrc", "src/..", "src/a/../../x", "docs/../x"] {
        assert_eq!(path("Write", out), Rule::Unknown, "{out}");
    }
    assert_eq!(asked(rules, "Bash", &json!({ "command": "ls -l src/../.." })), Rule::Unknown);
    assert_eq!(asked(rules, "Bash", &json!({ "command": "ls a..b" })), Rule::Allowed);
    assert_eq!(path("Read", "../shared/a"), Rule::Allowed, "the rule itself says so");
    assert_eq!(path("Read", "../shared/../a"), Rule::Unknown);
}

#[test]
fn what_is_allowed_for_ever_is_just_that() {
    let input = json!({ "command": "ls *.rs" });
    let rules = json!({ "permissions": { "allow": [exact("Bash", &input)] } }).to_string();
    assert_eq!(asked(&rules, "Bash", &input), Rule::Allowed);
    assert_eq!(asked(&rules, "Bash", &json!({ "command": "ls x.rs" })), Rule::Unknown);
    assert_eq!(asked(&rules, "Write", &input), Rule::Unknown);
}

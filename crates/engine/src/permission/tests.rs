//! Tests permission rules, and the exact rule that the answer "always allow" creates.

use super::*;
use serde_json::json;

fn check(rules: &str, tool: &str, input: &Value) -> Permission {
    check_permission(&Config::parse(rules.as_bytes()).unwrap(), tool, input)
}

#[test]
fn rules_match_the_tool_and_its_subject() {
    let rules = r#"{"permissions": {"allow": ["Read", "Bash(cargo test*)", "Bash(git * --stat)"],
        "deny": ["Bash(*rm -rf*)"]}}"#;
    let bash = |command: &str| check(rules, "Bash", &json!({ "command": command }));
    assert_eq!(check(rules, "Read", &json!({})), Permission::Allowed);
    assert_eq!(bash("cargo test -p core"), Permission::Allowed);
    assert_eq!(bash("git log --stat"), Permission::Allowed);
    assert_eq!(bash("cargo run"), Permission::Unknown);
    assert_eq!(bash("cargo test; rm -rf /"), Permission::Denied);
    assert_eq!(check("{}", "Read", &json!({})), Permission::Unknown);
}

#[test]
fn a_wildcard_does_not_match_another_command() {
    let rules = r#"{"permissions": {"allow": ["Bash(cargo test*)", "Bash(git * --stat)",
        "Bash(make * 2>&1 | tail -*)"], "deny": ["Bash(*sudo*)"]}}"#;
    let bash = |command: &str| check(rules, "Bash", &json!({ "command": command }));
    for more in
        ["; reboot", "&& reboot", "| sh", "&reboot", "\nreboot", " $(reboot)", " `reboot`", " > x"]
    {
        assert_eq!(bash(&format!("cargo test{more}")), Permission::Unknown, "{more}");
        assert_eq!(bash(&format!("git log{more} --stat")), Permission::Unknown, "{more}");
    }
    assert_eq!(
        bash("make all 2>&1 | tail -5"),
        Permission::Allowed,
        "the rule itself contains the pipe"
    );
    assert_eq!(bash("make all 2>&1 | tail -5; reboot"), Permission::Unknown);
    assert_eq!(
        bash("cargo test; sudo reboot"),
        Permission::Denied,
        "a deny rule matches any command"
    );
    let all = r#"{"permissions": {"allow": ["Bash"]}}"#;
    assert_eq!(check(all, "Bash", &json!({ "command": "a; b" })), Permission::Allowed);
}

#[test]
fn a_wildcard_does_not_lead_out_of_a_directory() {
    let rules = r#"{"permissions": {"allow": ["Write(src/*)", "Write(docs/.*)", "Bash(ls *)",
        "Read(../shared/*)"]}}"#;
    let path = |tool: &str, path: &str| check(rules, tool, &json!({ "file_path": path }));
    assert_eq!(path("Write", "src/a/b.rs"), Permission::Allowed);
    for out in ["src/../../.bashrc", "src/..", "src/a/../../x", "docs/../x"] {
        assert_eq!(path("Write", out), Permission::Unknown, "{out}");
    }
    assert_eq!(check(rules, "Bash", &json!({ "command": "ls -l src/../.." })), Permission::Unknown);
    assert_eq!(check(rules, "Bash", &json!({ "command": "ls a..b" })), Permission::Allowed);
    assert_eq!(path("Read", "../shared/a"), Permission::Allowed, "the rule itself contains `..`");
    assert_eq!(path("Read", "../shared/../a"), Permission::Unknown);
}

#[test]
fn an_exact_rule_allows_exactly_one_use() {
    let input = json!({ "command": "ls *.rs" });
    let rules = json!({ "permissions": { "allow": [exact_rule("Bash", &input)] } }).to_string();
    assert_eq!(check(&rules, "Bash", &input), Permission::Allowed);
    assert_eq!(check(&rules, "Bash", &json!({ "command": "ls x.rs" })), Permission::Unknown);
    assert_eq!(check(&rules, "Write", &input), Permission::Unknown);
}

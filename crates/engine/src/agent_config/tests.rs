//! Tests which agent and which model the settings give to a role.

use super::*;

fn config_of(text: &str, role: &str) -> Option<AgentConfig> {
    agent_for_role(&Config::parse(text.as_bytes()).unwrap(), role)
}

#[test]
fn a_role_has_its_own_or_the_default_agent_unless_a_command_plays_it() {
    let text = r#"{"roles": {"default": {"agent": "claude"}, "planner": {"agent": "codex"},
        "executor": {"command": "make"}}}"#;
    let name = |role| config_of(text, role).map(|agent| agent.name);
    assert_eq!(name("researcher").as_deref(), Some("claude"));
    assert_eq!(name("planner").as_deref(), Some("codex"));
    assert_eq!(name("executor"), None);
    assert_eq!(config_of("{}", "planner"), None);
    let built_in = r#"{"roles": {"default": {"agent": "claude"}, "executor": {"agent": "shell"}}}"#;
    assert_eq!(config_of(built_in, "executor"), None);
}

#[test]
fn an_unknown_agent_is_driven_by_acp() {
    let text = r#"{"roles": {"planner": {"agent": "mine", "model": "big"}},
        "agents": {"mine": {"command": "/opt/mine", "args": ["--acp"], "env": {"A": "b"}, "pass": ["KEY"]}}}"#;
    let agent = config_of(text, "planner").unwrap();
    assert_eq!((agent.kind, agent.program), (AgentKind::Acp, PathBuf::from("/opt/mine")));
    assert_eq!((agent.args, agent.pass), (vec!["--acp".to_owned()], vec!["KEY".to_owned()]));
    assert_eq!(agent.env, [("A".to_owned(), "b".to_owned())]);
    assert_eq!(agent.model.as_deref(), Some("big"));
}

#[test]
fn the_default_model_applies_only_to_roles_with_the_default_agent() {
    let text = r#"{"roles": {"default": {"agent": "gemini", "model": "pro"},
        "planner": {"agent": "claude"}, "verifier": {"model": "flash"}}}"#;
    let model = |role: &str| config_of(text, role).unwrap().model;
    assert_eq!(model("executor").as_deref(), Some("pro"));
    assert_eq!(model("verifier").as_deref(), Some("flash"));
    assert_eq!(model("planner"), None);
}

#[test]
fn a_profile_selects_models_for_claude_only() {
    let with = |agent: &str, profile: &str| {
        let text = format!(r#"{{"roles":{{"default":{{"agent":"{agent}"}}}}{profile}}}"#);
        config_of(&text, "researcher").unwrap().model
    };
    assert_eq!(with("claude", r#","model_profile":"budget""#).as_deref(), Some("haiku"));
    assert_eq!(with("claude", ""), None);
    assert_eq!(with("codex", r#","model_profile":"budget""#), None);
    let over = r#","model_overrides":{"mow-phase-researcher":"opus"}"#;
    assert_eq!(with("claude", over).as_deref(), Some("opus"));
}

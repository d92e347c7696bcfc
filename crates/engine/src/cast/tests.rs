//! Roles, agents and models as settings have them.

use super::*;

fn casts(text: &str, role: &str) -> Option<Cast> {
    cast(&Config::parse(text.as_bytes()).unwrap(), role)
}

#[test]
fn a_role_has_its_own_agent_or_the_one_of_all_unless_a_command_plays_it() {
    let text = r#"{"roles": {"default": {"agent": "claude"}, "planner": {"agent": "codex"},
        "executor": {"command": "make"}}}"#;
    let name = |role| casts(text, role).map(|cast| cast.agent);
    assert_eq!(name("researcher").as_deref(), Some("claude"));
    assert_eq!(name("planner").as_deref(), Some("codex"));
    assert_eq!(name("executor"), None);
    assert_eq!(casts("{}", "planner"), None);
    let embedded = r#"{"roles": {"default": {"agent": "claude"}, "executor": {"agent": "shell"}}}"#;
    assert_eq!(casts(embedded, "executor"), None);
}

#[test]
fn an_agent_that_nobody_knows_is_spoken_to_by_the_open_protocol() {
    let text = r#"{"roles": {"planner": {"agent": "mine", "model": "big"}},
        "agents": {"mine": {"command": "/opt/mine", "args": ["--acp"], "env": {"A": "b"}, "pass": ["KEY"]}}}"#;
    let cast = casts(text, "planner").unwrap();
    assert_eq!((cast.kind, cast.program), (Kind::Acp, PathBuf::from("/opt/mine")));
    assert_eq!((cast.args, cast.pass), (vec!["--acp".to_owned()], vec!["KEY".to_owned()]));
    assert_eq!(cast.env, [("A".to_owned(), "b".to_owned())]);
    assert_eq!(cast.model.as_deref(), Some("big"));
}

#[test]
fn the_model_of_all_roles_is_for_those_without_an_agent_of_their_own() {
    let text = r#"{"roles": {"default": {"agent": "gemini", "model": "pro"},
        "planner": {"agent": "claude"}, "verifier": {"model": "flash"}}}"#;
    let model = |role: &str| casts(text, role).unwrap().model;
    assert_eq!(model("executor").as_deref(), Some("pro"));
    assert_eq!(model("verifier").as_deref(), Some("flash"));
    assert_eq!(model("planner"), None);
}

#[test]
fn a_profile_chooses_models_of_claude_only() {
    let with = |agent: &str, profile: &str| {
        let text = format!(r#"{{"roles":{{"default":{{"agent":"{agent}"}}}}{profile}}}"#);
        casts(&text, "researcher").unwrap().model
    };
    assert_eq!(with("claude", r#","model_profile":"budget""#).as_deref(), Some("haiku"));
    assert_eq!(with("claude", ""), None);
    assert_eq!(with("codex", r#","model_profile":"budget""#), None);
    let over = r#","model_overrides":{"mow-phase-researcher":"opus"}"#;
    assert_eq!(with("claude", over).as_deref(), Some("opus"));
}

//! `mow agents`: shows the installed coding agents, their login state, and the agent of each role.

use std::ffi::OsString;
use std::fmt::Write;
use std::thread;

use mow_engine::agent_config::{self, AgentConfig};
use mow_host::agent::detect::{
    self, AGENT_PROGRAMS, AgentProgram, DetectedAgent, LoginState, VERSION_TIMEOUT,
};
use mow_host::agent::environment;
use mow_host::probe::ProbeResult;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, styled};

/// All roles, in the order in which they work.
pub(super) const ROLES: [&str; 7] = [
    "discusser",
    "researcher",
    "planner",
    "plan-checker",
    "executor",
    "verifier",
    "conflict-resolver",
];

pub(super) fn run(context: &Context) -> Result<Output, Failure> {
    let env = environment::select(std::env::vars_os(), &[]);
    let found = detect_agents(&env);
    let config = mow_engine::run_context::config(&context.project)?;
    let roles = ROLES.map(|role| (role, agent_config::agent_for_role(&config, role)));
    if context.wants_json() {
        let agents: Vec<_> = AGENT_PROGRAMS
            .iter()
            .zip(&found)
            .map(|(program, detected)| agent_json(program, detected))
            .collect();
        let roles: serde_json::Map<_, _> = roles
            .iter()
            .map(|(role, agent)| ((*role).to_owned(), role_json(agent.as_ref())))
            .collect();
        return Ok(Output::pretty_json(json!({ "agents": agents, "roles": roles })));
    }
    let mut text = String::new();
    for (program, detected) in AGENT_PROGRAMS.iter().zip(&found) {
        write_agent(&mut text, program, detected);
    }
    let _ = writeln!(text, "\n{}", styled(BOLD, "Roles"));
    for (role, agent) in &roles {
        let player = match agent {
            Some(AgentConfig { name: agent, model: Some(model), .. }) => {
                format!("{agent}, model {model}")
            }
            Some(AgentConfig { name: agent, .. }) => agent.clone(),
            None => styled(DIM, describe_fallback(&config, role)),
        };
        let _ = writeln!(text, "  {role:<18} {player}");
    }
    if roles.iter().all(|(_, agent)| agent.is_none()) {
        let command = styled(CYAN, "mow config-set roles.default.agent claude");
        let _ = writeln!(text, "\n{command}  sets the agent of all roles without a command");
    }
    Ok(Output::Text(text))
}

/// Detects all agents in parallel, because their programs start slowly.
pub(super) fn detect_agents(env: &[(OsString, OsString)]) -> Vec<DetectedAgent> {
    thread::scope(|scope| {
        let threads: Vec<_> = AGENT_PROGRAMS
            .iter()
            .map(|program| scope.spawn(move || detect::detect(program, env, VERSION_TIMEOUT)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("detection does not panic")).collect()
    })
}

/// Describes what plays a role without an agent.
fn describe_fallback(config: &mow_store::config::Config, role: &str) -> &'static str {
    let command = config.value(&format!("roles.{role}.command"));
    match (command.and_then(Value::as_str), role) {
        (Some(_), _) => "a command",
        (None, "discusser") => "mow's standard questions",
        (None, "executor") => "the shell blocks of the plans",
        (None, "verifier") => "the checks of the plans",
        (None, _) => "nothing",
    }
}

fn version(detected: &DetectedAgent) -> Option<String> {
    match &detected.version {
        ProbeResult::Version(text) => Some(text.clone()),
        _ => None,
    }
}

fn write_agent(text: &mut String, program: &AgentProgram, detected: &DetectedAgent) {
    let (mark, state) = match (&detected.program, &detected.login) {
        (None, _) => (styled(DIM, "–"), "not installed".to_owned()),
        (Some(_), LoginState::Found(by)) => (styled(GREEN, "✓"), format!("logged in with {by}")),
        (Some(_), LoginState::Unknown) => (styled(YELLOW, "?"), "login unknown".to_owned()),
        (Some(_), LoginState::Missing) => (styled(RED, "✗"), "not logged in".to_owned()),
    };
    let version = version(detected).unwrap_or_default();
    let _ = writeln!(text, "{mark} {:<10} {version:<24} {state}", program.name);
    if let Some(advice) = detected.advice(program) {
        let _ = writeln!(text, "  {} {advice}", styled(CYAN, "›"));
    }
}

fn agent_json(program: &AgentProgram, detected: &DetectedAgent) -> Value {
    let (login, by) = match &detected.login {
        LoginState::Found(by) => ("found", Some(by.clone())),
        LoginState::Missing => ("missing", None),
        LoginState::Unknown => ("unknown", None),
    };
    json!({
        "name": program.name,
        "installed": detected.program.is_some(),
        "program": detected.program,
        "version": version(detected),
        "login": login,
        "login_by": by,
        "advice": detected.advice(program),
    })
}

fn role_json(agent: Option<&AgentConfig>) -> Value {
    agent.map_or(Value::Null, |agent| json!({ "agent": agent.name, "model": agent.model }))
}

//! `mow agents`: which coding agents are there, whether they can work, and who plays which role.

use std::ffi::OsString;
use std::fmt::Write;
use std::thread;

use mow_engine::cast::{self, Cast};
use mow_host::agent::detect::{self, Finding, KNOWN, Known, Login, VERSION_WITHIN};
use mow_host::agent::environment;
use mow_host::probe::Probe;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, painted};

/// The roles, in the order of their work.
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
    let found = find(&env);
    let config = mow_engine::site::config(&context.project)?;
    let roles = ROLES.map(|role| (role, cast::cast(&config, role)));
    if context.wants_json() {
        let agents: Vec<_> = KNOWN.iter().zip(&found).map(|(k, f)| agent_json(k, f)).collect();
        let roles: serde_json::Map<_, _> = roles
            .iter()
            .map(|(role, cast)| ((*role).to_owned(), role_json(cast.as_ref())))
            .collect();
        return Ok(Output::json_lines(json!({ "agents": agents, "roles": roles })));
    }
    let mut text = String::new();
    for (known, finding) in KNOWN.iter().zip(&found) {
        show(&mut text, known, finding);
    }
    let _ = writeln!(text, "\n{}", painted(BOLD, "Roles"));
    for (role, cast) in &roles {
        let who = match cast {
            Some(Cast { agent, model: Some(model), .. }) => format!("{agent}, model {model}"),
            Some(Cast { agent, .. }) => agent.clone(),
            None => painted(DIM, command_of(&config, role)),
        };
        let _ = writeln!(text, "  {role:<18} {who}");
    }
    if roles.iter().all(|(_, cast)| cast.is_none()) {
        let command = painted(CYAN, "mow config-set roles.default.agent claude");
        let _ = writeln!(text, "\n{command}  lets an agent play all roles that have no command");
    }
    Ok(Output::Text(text))
}

/// Asks all agents at once: they start slowly.
pub(super) fn find(env: &[(OsString, OsString)]) -> Vec<Finding> {
    thread::scope(|scope| {
        let asked: Vec<_> = KNOWN
            .iter()
            .map(|known| scope.spawn(move || detect::detect(known, env, VERSION_WITHIN)))
            .collect();
        asked.into_iter().map(|thread| thread.join().expect("asking does not panic")).collect()
    })
}

fn command_of(config: &mow_store::config::Config, role: &str) -> &'static str {
    let command = config.value(&format!("roles.{role}.command"));
    match (command.and_then(Value::as_str), role) {
        (Some(_), _) => "a command",
        (None, "discusser") => "fixed questions",
        (None, "executor") => "the shell blocks of the plans",
        (None, "verifier") => "the checks of the plans",
        (None, _) => "nobody",
    }
}

fn version(finding: &Finding) -> Option<String> {
    match &finding.version {
        Probe::Version(text) => Some(text.clone()),
        _ => None,
    }
}

fn show(text: &mut String, known: &Known, finding: &Finding) {
    let (mark, state) = match (&finding.program, &finding.login) {
        (None, _) => (painted(DIM, "–"), "not installed".to_owned()),
        (Some(_), Login::Found(by)) => (painted(GREEN, "✓"), format!("logged in by {by}")),
        (Some(_), Login::Unknown) => (painted(YELLOW, "?"), "login unknown".to_owned()),
        (Some(_), Login::Missing) => (painted(RED, "✗"), "not logged in".to_owned()),
    };
    let version = version(finding).unwrap_or_default();
    let _ = writeln!(text, "{mark} {:<10} {version:<24} {state}", known.name);
    if let Some(advice) = finding.advice(known) {
        let _ = writeln!(text, "  {} {advice}", painted(CYAN, "›"));
    }
}

fn agent_json(known: &Known, finding: &Finding) -> Value {
    let (login, by) = match &finding.login {
        Login::Found(by) => ("found", Some(by.clone())),
        Login::Missing => ("missing", None),
        Login::Unknown => ("unknown", None),
    };
    json!({
        "name": known.name,
        "installed": finding.program.is_some(),
        "program": finding.program,
        "version": version(finding),
        "login": login,
        "login_by": by,
        "advice": finding.advice(known),
    })
}

fn role_json(cast: Option<&Cast>) -> Value {
    cast.map_or(Value::Null, |cast| json!({ "agent": cast.agent, "model": cast.model }))
}

//! Reads from the project's settings which coding agent plays a role. Starts no process.
//!
//! `roles.<role>.agent` names the agent of one role. `roles.default.agent` applies to every role
//! that names neither an agent nor a command. `agents.<name>` describes an agent that mow does not
//! know.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use mow_core::models;
use mow_host::agent::AgentKind;
use mow_host::agent::detect::AGENT_PROGRAMS;
use mow_store::config::Config;
use serde_json::Value;

/// The name of the built-in agent, which runs the shell blocks and checks of plans.
const BUILT_IN: &str = "shell";

/// How to start the coding agent that plays a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// The name of the agent in the settings.
    pub name: String,
    /// The protocol that the agent speaks.
    pub kind: AgentKind,
    /// The program to start.
    pub program: PathBuf,
    /// Arguments that come before those of the protocol.
    pub args: Vec<String>,
    /// Environment variables in addition to those that every agent gets.
    pub env: Vec<(String, String)>,
    /// Names of further variables that are passed on from the user's environment.
    pub pass: Vec<String>,
    /// The model; `None` lets the agent choose.
    pub model: Option<String>,
}

/// Returns the agent that plays a role; `None` if a command plays it, or nothing is configured.
pub fn agent_for_role(config: &Config, role: &str) -> Option<AgentConfig> {
    let text = |key: String| {
        let value = config.value(&key).and_then(|value| value.as_str().map(str::to_owned));
        value.filter(|text| !text.trim().is_empty())
    };
    let own = text(format!("roles.{role}.agent"));
    if own.is_none() && text(format!("roles.{role}.command")).is_some() {
        return None;
    }
    // `roles.default.model` is a model of the default agent, so it does not apply to another agent.
    let section = if own.is_some() { role } else { "default" };
    let agent = own.or_else(|| text("roles.default.agent".to_owned()))?;
    if agent == BUILT_IN {
        return None;
    }
    let known = AGENT_PROGRAMS.iter().find(|known| known.name == agent);
    let setting = |key: &str| config.value(&format!("agents.{agent}.{key}"));
    let kind = match setting("protocol").and_then(Value::as_str) {
        Some("claude") => AgentKind::Claude,
        Some("codex") => AgentKind::Codex,
        Some(_) => AgentKind::Acp,
        None => known.map_or(AgentKind::Acp, |known| known.kind),
    };
    let program = text(format!("agents.{agent}.command"));
    let program = program.or_else(|| known.map(|known| known.program.to_owned()));
    let default_args = known.map_or(&[][..], |known| known.args).iter();
    let args = match setting("args") {
        Some(args) => strings(args),
        None => default_args.map(|arg| (*arg).to_owned()).collect(),
    };
    let default_env = known.map_or(&[][..], |known| known.env).iter();
    let default_env = default_env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = setting("env").and_then(Value::as_object).into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let env = default_env.chain(env);
    Some(AgentConfig {
        kind,
        program: PathBuf::from(program.unwrap_or_else(|| agent.clone())),
        args,
        env: env.collect(),
        pass: setting("pass").map(strings).unwrap_or_default(),
        model: text(format!("roles.{role}.model"))
            .or_else(|| text(format!("roles.{section}.model")))
            .or_else(|| profile_model(config, role, kind)),
        name: agent,
    })
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the model that `model_profile` has for a role; `None` lets the agent choose.
///
/// The profiles name models of Claude, so other agents get none.
fn profile_model(config: &Config, role: &str, kind: AgentKind) -> Option<String> {
    if kind != AgentKind::Claude {
        return None;
    }
    let name = match role {
        "researcher" => "mow-phase-researcher",
        "discusser" | "planner" | "conflict-resolver" => "mow-planner",
        "plan-checker" => "mow-plan-checker",
        "verifier" => "mow-verifier",
        _ => "mow-executor",
    };
    if let Some(model) = config.model_override(name) {
        return Some(model.to_owned());
    }
    let profile = config.value("model_profile").and_then(Value::as_str)?;
    models::model_of(name, profile).map(str::to_owned)
}

//! Who plays a role: a coding agent, by the project's settings. Nothing here starts anything.
//!
//! `roles.<role>.agent` names an agent, `roles.default.agent` the one of all roles that name none and
//! have no command. An agent that mow does not know by itself is described by `agents.<name>`.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use mow_core::models;
use mow_host::agent::Kind;
use mow_host::agent::detect::KNOWN;
use mow_store::config::Config;
use serde_json::Value;

/// The name of the agent that is part of mow: the shell blocks and checks of plans.
const EMBEDDED: &str = "shell";

/// An agent in a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    /// What the agent is called in the settings.
    pub agent: String,
    /// The language it is spoken to in.
    pub kind: Kind,
    /// Its program.
    pub program: PathBuf,
    /// Arguments that come first.
    pub args: Vec<String>,
    /// Variables on top of those that agents get.
    pub env: Vec<(String, String)>,
    /// The names of further variables of the user that it gets.
    pub pass: Vec<String>,
    /// The model; `None` for the agent's own choice.
    pub model: Option<String>,
}

/// Finds out who plays a role; `None` where a command or nobody does.
pub fn cast(config: &Config, role: &str) -> Option<Cast> {
    let text = |key: String| {
        let value = config.value(&key).and_then(|value| value.as_str().map(str::to_owned));
        value.filter(|text| !text.trim().is_empty())
    };
    let own = text(format!("roles.{role}.agent"));
    if own.is_none() && text(format!("roles.{role}.command")).is_some() {
        return None;
    }
    // The model that all roles have is one of the agent that all roles have.
    let section = if own.is_some() { role } else { "default" };
    let agent = own.or_else(|| text("roles.default.agent".to_owned()))?;
    if agent == EMBEDDED {
        return None;
    }
    let known = KNOWN.iter().find(|known| known.name == agent);
    let about = |key: &str| config.value(&format!("agents.{agent}.{key}"));
    let kind = match about("protocol").and_then(Value::as_str) {
        Some("claude") => Kind::Claude,
        Some("codex") => Kind::Codex,
        Some(_) => Kind::Acp,
        None => known.map_or(Kind::Acp, |known| known.kind),
    };
    let program = text(format!("agents.{agent}.command"));
    let program = program.or_else(|| known.map(|known| known.program.to_owned()));
    let own_args = known.map_or(&[][..], |known| known.args).iter();
    let args = match about("args") {
        Some(args) => texts(args),
        None => own_args.map(|arg| (*arg).to_owned()).collect(),
    };
    let needed = known.map_or(&[][..], |known| known.env).iter();
    let needed = needed.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let env = about("env").and_then(Value::as_object).into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let env = needed.chain(env);
    Some(Cast {
        kind,
        program: PathBuf::from(program.unwrap_or_else(|| agent.clone())),
        args,
        env: env.collect(),
        pass: about("pass").map(texts).unwrap_or_default(),
        model: text(format!("roles.{role}.model"))
            .or_else(|| text(format!("roles.{section}.model")))
            .or_else(|| by_profile(config, role, kind)),
        agent,
    })
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Returns the model that the profile has for a role. The names are those of one agent, so others
/// are left to choose by themselves; so is everybody where no profile is set.
fn by_profile(config: &Config, role: &str, kind: Kind) -> Option<String> {
    if kind != Kind::Claude {
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

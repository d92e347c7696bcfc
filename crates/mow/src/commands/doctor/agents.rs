//! Checks the coding agents: which are installed and logged in, and whether every configured agent
//! can be started.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use mow_engine::agent_config::{self, AgentConfig};
use mow_host::agent::detect::{
    AGENT_PROGRAMS, AgentProgram, DetectedAgent, LoginState, find_program,
};
use mow_host::agent::environment;
use mow_host::probe::ProbeResult;

use super::DoctorCheck;
use crate::commands::agents::{ROLES, detect_agents};
use crate::context::Context;

/// The name of all checks in this module.
const AREA: &str = "agent";

pub(super) fn checks(context: &Context) -> Vec<DoctorCheck> {
    let env = environment::select(std::env::vars_os(), &[]);
    // An invalid configuration is reported by the check `config`.
    let config = mow_engine::run_context::config(&context.project).ok();
    let configured =
        config.map(|config| ROLES.map(|role| agent_config::agent_for_role(&config, role)));
    let configured: Vec<_> = configured.into_iter().flatten().flatten().collect();
    let is_configured = |name: &str| configured.iter().any(|agent| agent.name == name);
    let mut checks = check_detected(&detect_agents(&env), is_configured);
    checks.extend(missing_programs(&configured, &env));
    checks
}

/// Reports version and login of each supported agent.
///
/// `all_detected` is in the order of [`AGENT_PROGRAMS`].
fn check_detected(
    all_detected: &[DetectedAgent],
    is_configured: impl Fn(&str) -> bool,
) -> Vec<DoctorCheck> {
    let (mut checks, mut absent) = (Vec::new(), Vec::new());
    for (agent, detected) in AGENT_PROGRAMS.iter().zip(all_detected) {
        let name = agent.name;
        match &detected.version {
            ProbeResult::Version(line) => {
                checks.push(check_login(agent, detected, line, is_configured(name)));
            }
            ProbeResult::NoVersion(how) => checks.push(
                DoctorCheck::warn(AREA, format!("{name} {how}"))
                    .advise(format!("run `{} --version` to see why", agent.program)),
            ),
            ProbeResult::NotFound => absent.push(agent),
        }
    }
    let names: Vec<_> = absent.iter().map(|agent| agent.name).collect();
    if absent.len() == AGENT_PROGRAMS.len() {
        let text =
            "no coding agent is installed; only plans that contain their own commands can run";
        let check = DoctorCheck::warn(AREA, text);
        checks.push(absent.iter().fold(check, |check, agent| check.advise(agent.install)));
    } else if !absent.is_empty() {
        checks.push(DoctorCheck::ok(AREA, format!("not installed: {}", names.join(", "))));
    }
    checks
}

/// Reports whether an agent is logged in; a missing login is a warning only if a role uses it.
fn check_login(
    agent: &AgentProgram,
    detected: &DetectedAgent,
    version: &str,
    is_configured: bool,
) -> DoctorCheck {
    let name = agent.name;
    match &detected.login {
        LoginState::Found(source) => {
            DoctorCheck::ok(AREA, format!("{name}: {version}, logged in with {source}"))
        }
        LoginState::Unknown => DoctorCheck::ok(AREA, format!("{name}: {version}, login unknown")),
        LoginState::Missing => {
            let text = format!("{name}: {version}, not logged in");
            if is_configured {
                DoctorCheck::warn(AREA, text).advise(agent.login)
            } else {
                DoctorCheck::ok(AREA, text)
            }
        }
    }
}

/// Reports agents that a role uses and whose program does not exist.
fn missing_programs(configured: &[AgentConfig], env: &[(OsString, OsString)]) -> Vec<DoctorCheck> {
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let exists = |program: &Path| match program.to_str() {
        Some(name) if !name.contains('/') => {
            find_program(name, path.unwrap_or(OsStr::new(""))).is_some()
        }
        _ => program.exists(),
    };
    let mut absent: Vec<_> = configured.iter().filter(|agent| !exists(&agent.program)).collect();
    absent.dedup_by(|a, b| a.name == b.name);
    let checks = absent.into_iter().map(|AgentConfig { name: agent, program, .. }| {
        let text = format!("a role uses {agent}, but `{}` is not installed", program.display());
        let supported = AGENT_PROGRAMS.iter().find(|supported| supported.name == agent);
        let install = supported.map(|supported| supported.install.to_owned());
        DoctorCheck::fail(AREA, text).advise(
            install.unwrap_or_else(|| format!("set `agents.{agent}.command` to its program")),
        )
    });
    checks.collect()
}

#[cfg(test)]
mod tests;

//! Coding agents: which are there, whether they are logged in, and whether those that are to play a
//! role can.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use mow_engine::cast::{self, Cast};
use mow_host::agent::detect::{Finding, KNOWN, Known, Login, find_program};
use mow_host::agent::environment;
use mow_host::probe::Probe;

use super::Check;
use crate::commands::agents::{ROLES, find};
use crate::context::Context;

const AREA: &str = "agent";

pub(super) fn checks(context: &Context) -> Vec<Check> {
    let env = environment::select(std::env::vars_os(), &[]);
    // What is wrong with the settings is said elsewhere.
    let config = mow_engine::site::config(&context.project).ok();
    let casts = config.map(|config| ROLES.map(|role| cast::cast(&config, role)));
    let casts: Vec<_> = casts.into_iter().flatten().flatten().collect();
    let is_wanted = |name: &str| casts.iter().any(|cast| cast.agent == name);
    let mut checks = judge(&find(&env), is_wanted);
    checks.extend(missing(&casts, &env));
    checks
}

/// Says how it stands with the agents that mow knows.
fn judge(found: &[Finding], is_wanted: impl Fn(&str) -> bool) -> Vec<Check> {
    let (mut checks, mut absent) = (Vec::new(), Vec::new());
    for (known, finding) in KNOWN.iter().zip(found) {
        let name = known.name;
        match &finding.version {
            Probe::Version(line) => {
                checks.push(judge_login(known, finding, line, is_wanted(name)));
            }
            Probe::Silent(how) => checks.push(
                Check::warn(AREA, format!("{name} {how}"))
                    .advise(format!("run `{} --version` and see", known.program)),
            ),
            Probe::Absent => absent.push(known),
        }
    }
    let names: Vec<_> = absent.iter().map(|known| known.name).collect();
    if absent.len() == KNOWN.len() {
        let text = "no coding agent is installed; plans that carry their commands run without";
        let check = Check::warn(AREA, text);
        checks.push(absent.iter().fold(check, |check, known| check.advise(known.install)));
    } else if !absent.is_empty() {
        checks.push(Check::ok(AREA, format!("not installed: {}", names.join(", "))));
    }
    checks
}

/// An agent that nobody has logged in is a warning when it is to play a role.
fn judge_login(known: &Known, finding: &Finding, version: &str, is_wanted: bool) -> Check {
    let name = known.name;
    match &finding.login {
        Login::Found(by) => Check::ok(AREA, format!("{name}: {version}, logged in by {by}")),
        Login::Unknown => Check::ok(AREA, format!("{name}: {version}, login unknown")),
        Login::Missing => {
            let text = format!("{name}: {version}, not logged in");
            if is_wanted {
                Check::warn(AREA, text).advise(known.login)
            } else {
                Check::ok(AREA, text)
            }
        }
    }
}

/// Agents that are to play a role and are not there.
fn missing(casts: &[Cast], env: &[(OsString, OsString)]) -> Vec<Check> {
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let is_there = |program: &Path| match program.to_str() {
        Some(name) if !name.contains('/') => {
            find_program(name, path.unwrap_or(OsStr::new(""))).is_some()
        }
        _ => program.exists(),
    };
    let mut absent: Vec<_> = casts.iter().filter(|cast| !is_there(&cast.program)).collect();
    absent.dedup_by(|a, b| a.agent == b.agent);
    let checks = absent.into_iter().map(|Cast { agent, program, .. }| {
        let text = format!("{agent} is to play a role, and {} is not there", program.display());
        let known = KNOWN.iter().find(|known| known.name == agent);
        let install = known.map(|known| known.install.to_owned());
        Check::fail(AREA, text)
            .advise(install.unwrap_or_else(|| format!("set agents.{agent}.command to its program")))
    });
    checks.collect()
}

#[cfg(test)]
mod tests;

//! Decides whether a caller is a person or a process inside an agent of a run.
//!
//! Agents, checks and tasks carry marks in their environment, which a command can drop before it
//! calls mow. It cannot change the environment of the processes that started it, so the marks of
//! all ancestors count. A process whose ancestors have ended, and which has cleared its
//! environment, is not recognised.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

pub use mow_core::lead::{Caller, Interface};
use mow_host::launch::{
    AGENT_VARIABLE, PHASE_VARIABLE, ROLE_VARIABLE, RUN_VARIABLE, TOKEN_VARIABLE, WORKER_ROLE,
};
use mow_host::process::{self, AncestryEnd};
use mow_store::project::Project;

use super::Refusal;

/// The marks of processes inside an agent or a worker. A role other than `worker` is no mark.
const MARKS: [&str; 3] = [ROLE_VARIABLE, TOKEN_VARIABLE, AGENT_VARIABLE];

/// Which callers inside an agent are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentPolicy {
    /// All: only people may do it.
    Refuse,
    /// Those whose run belongs to the same project. An agent may start a run elsewhere, as a test
    /// of a project that uses mow does.
    RefuseOwnProject,
    /// None.
    Allow,
}

/// The mark of an agent or a worker on a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentMark {
    /// The run; `None` if the process does not name it.
    pub run: Option<String>,
    /// The phase; `None` if the process does not name it.
    pub phase: Option<String>,
}

/// Refuses a caller that runs inside an agent or a worker.
pub(super) fn refuse_agents(
    project: &Project,
    policy: AgentPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    if policy == AgentPolicy::Allow {
        return Ok(());
    }
    let marks = agent_marks(caller.process);
    let is_own = |mark: &AgentMark| match &mark.run {
        Some(run) => project.engine_dir.join("runs").join(run).is_dir(),
        None => true,
    };
    match policy {
        AgentPolicy::RefuseOwnProject => match marks.into_iter().find(is_own) {
            Some(mark) => Err(Refusal::NestedRun { phase: mark.phase }),
            None => Ok(()),
        },
        _ if marks.is_empty() => Ok(()),
        _ => Err(Refusal::AgentCaller),
    }
}

/// Returns the marks on a process and its ancestors, the nearest first.
fn agent_marks(pid: u32) -> Vec<AgentMark> {
    let ancestry = process::ancestry(pid);
    let mut marks: Vec<_> =
        ancestry.environments.iter().filter_map(|environment| parse_mark(environment)).collect();
    if pid == std::process::id() {
        // The system may not tell the environment of processes, not even of this one.
        let own = std::env::vars_os()
            .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
        marks.extend(parse_mark(&own.collect::<Vec<_>>().join(&0)));
    }
    marks.extend(mark_of_end(ancestry.end));
    marks
}

/// Returns the mark that counts for the ancestors that were not looked at.
///
/// An agent can put any number of processes between itself and mow, so too many of them count as a
/// mark. It cannot hide its own processes: those that the system hides belong to other users.
pub(super) fn mark_of_end(end: AncestryEnd) -> Option<AgentMark> {
    (end == AncestryEnd::TooMany).then(AgentMark::default)
}

/// Finds the mark in an environment, given as `NAME=value` separated by NUL.
pub(super) fn parse_mark(environment: &[u8]) -> Option<AgentMark> {
    let value_of = |wanted: &str| {
        let mut entries = environment.split(|byte| *byte == 0);
        entries.find_map(|entry| {
            let value = entry.strip_prefix(wanted.as_bytes())?.strip_prefix(b"=")?;
            (!value.is_empty()).then(|| OsStr::from_bytes(value).to_string_lossy().into_owned())
        })
    };
    let is_mark = |name: &&str| {
        value_of(name).is_some_and(|value| *name != ROLE_VARIABLE || value == WORKER_ROLE)
    };
    MARKS
        .iter()
        .any(is_mark)
        .then(|| AgentMark { run: value_of(RUN_VARIABLE), phase: value_of(PHASE_VARIABLE) })
}

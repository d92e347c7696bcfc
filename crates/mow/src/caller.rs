//! Detects whether a worker of a live run calls mow, and keeps workers off shared files.
//!
//! A run is live while its lead holds the lead lock. Without a live run every caller counts as a
//! person. Workers never write the shared planning files: some of their commands become messages to
//! the lead, the others are refused with the command to use instead.

use std::ffi::OsString;
use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_core::worker::Event;
use mow_engine::client::{Caller, Interface};
use mow_engine::lead::lead_lock_path_for_run;
use mow_store::claims::{self, Claims};
use mow_store::disk;
use mow_store::journal::Journal;
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use crate::cli::called_command;
use crate::context::{Context, now, now_ms};
use crate::failure::Failure;

/// Returns who calls mow on the command line, for requests that only people may submit.
pub(crate) fn caller() -> Caller {
    let name = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    let person = name("USER").or_else(|| name("LOGNAME"));
    Caller { interface: Interface::Cli, person, process: std::process::id() }
}

/// The worker that calls mow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallingWorker {
    pub(crate) phase: String,
    pub(crate) run: String,
    pub(crate) attempt: String,
}

/// Returns the calling worker; `None` for a person, or when the worker's run is not live.
pub(crate) fn calling_worker(context: &Context) -> Result<Option<CallingWorker>, Failure> {
    let worker =
        worker_from_env().map_or_else(|| worker_from_claims(context), |named| Ok(Some(named)))?;
    // A worker may call from any directory of its worktree, so its run identifies the project.
    let Some(worker) = worker else { return Ok(None) };
    let lock = lead_lock_path_for_run(&context.project.engine_dir, &worker.run);
    Ok(disk::is_held_by_live_process(&lock)?.then_some(worker))
}

/// Reads the worker from the environment variables that mow sets for its agents.
pub(crate) fn worker_from_env() -> Option<CallingWorker> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_worker = set("MOW_ROLE")? == "worker";
    let (phase, run) = (set("MOW_PHASE")?, set("MOW_RUN")?);
    let attempt = set("MOW_ATTEMPT").unwrap_or_else(|| "1".to_owned());
    is_worker.then_some(CallingWorker { phase, run, attempt })
}

/// Finds the worker by the current worktree: a run has claimed a phase for it.
fn worker_from_claims(context: &Context) -> Result<Option<CallingWorker>, Failure> {
    let Some(repository) = &context.project.repository else { return Ok(None) };
    let Some(bytes) = disk::read(&claims::path(&context.project))? else { return Ok(None) };
    // With an unreadable claims file nobody is a worker; the claim commands report the error.
    let Ok(claims) = Claims::parse(&bytes) else { return Ok(None) };
    let claim = claims.of_run_worktree(&repository.top.display().to_string());
    Ok(claim.map(|claim| CallingWorker {
        phase: claim.assignment.phase.clone(),
        run: claim.run.clone().unwrap_or_default(),
        attempt: claim.attempt.clone().unwrap_or_else(|| "1".to_owned()),
    }))
}

impl CallingWorker {
    /// Refuses a command about a phase of another worker.
    pub(crate) fn require_own_phase(&self, phase: &PhaseNumber) -> Result<(), Failure> {
        if PhaseNumber::parse(&self.phase).as_ref() == Some(phase) {
            return Ok(());
        }
        let message = format!("phase {phase} is not yours: this worker has phase {}", self.phase);
        Err(Failure::refused(message).hint("mow worktree status shows which worktree has it"))
    }

    /// Appends a message for the lead to the worker's journal; it is durable when this returns.
    pub(crate) fn send_message(&self, project: &Project, message: &Value) -> Result<(), Failure> {
        let Self { phase, run, attempt } = self;
        let parsed = RunDir::new(&project.engine_dir, run)
            .ok()
            .and_then(|dir| Some((dir, PhaseNumber::parse(phase)?, attempt.parse::<u32>().ok()?)));
        let Some((dir, number, count)) = parsed else {
            let message = "MOW_RUN must be a run id, MOW_PHASE a phase and MOW_ATTEMPT a number";
            return Err(Failure::refused(message));
        };
        let base = json!({ "v": 2, "from_phase": phase, "attempt": attempt, "ts": now() });
        let (Value::Object(mut object), Value::Object(fields)) = (base, message) else {
            return Err(Failure::refused("the message must be a JSON object"));
        };
        object.extend(fields.clone());
        dir.create()?;
        let path = dir.worker_journal(&number, count);
        let (mut journal, _) = Journal::open(&path, &dir.worker_header(&number, count))?;
        journal.append(now_ms(), &[Event::Reported(Report::AgentMessage { message: object })])?;
        Ok(())
    }
}

/// Commands that write STATE.md, ROADMAP.md or REQUIREMENTS.md, and a worker's replacement.
const LEAD_ONLY_COMMANDS: [(&[&str], &str); 21] = [
    (&["state", "update"], "mow status write PHASE --field NAME --value VALUE"),
    (&["state", "patch"], "mow status write PHASE --field NAME --value VALUE"),
    (&["state", "advance-plan"], "mow status write PHASE --plan ID --status complete"),
    (&["state", "record-metric"], "mow status write PHASE --plan ID --duration TIME"),
    (&["state", "update-progress"], "mow status aggregate PHASE"),
    (&["state", "add-decision"], "mow message format plan_complete --phase P --plan ID"),
    (
        &["state", "add-blocker"],
        "mow message format blocker --phase P --plan ID --blocker TEXT --action skip",
    ),
    (&["state", "resolve-blocker"], "mow message format state_change --phase P"),
    (&["state", "record-session"], "mow scaffold checkpoint --phase P"),
    (&["state", "update-phase-row"], "mow status write PHASE --field status --value STATUS"),
    (&["team-update"], "mow message format state_change --phase P"),
    (&["roadmap", "update-plan-progress"], "mow status aggregate PHASE"),
    (
        &["phase", "add"],
        "mow message format input_needed --phase P --input-type TYPE --detail TEXT",
    ),
    (
        &["phase", "insert"],
        "mow message format input_needed --phase P --input-type TYPE --detail TEXT",
    ),
    (
        &["phase", "remove"],
        "mow message format input_needed --phase P --input-type TYPE --detail TEXT",
    ),
    (&["phase", "complete"], "mow message format phase_complete --phase P"),
    (&["requirements", "mark-complete"], "mow message format phase_complete --phase P"),
    (&["milestone", "complete"], "mow message format phase_complete --phase P"),
    (&["validate", "health", "--repair"], "mow validate health"),
    (&["worktree", "clean"], "mow worktree status"),
    (&["worktree", "merge-state"], "mow message format phase_complete --phase P"),
];

/// The planning files that only the lead of a live run writes.
const SHARED_FILES: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// Refuses a worker's write of a shared planning file by path, in any worktree.
pub(crate) fn refuse_shared_file(context: &Context, path: &Path) -> Result<(), Failure> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_shared =
        SHARED_FILES.iter().any(|name| real.ends_with(Path::new(".planning").join(name)));
    if !is_shared {
        return Ok(());
    }
    let Some(worker) = calling_worker(context)? else { return Ok(()) };
    let file = context.display_path(&real);
    Err(Failure::refused(format!("{file}: only the lead of run {} may write it", worker.run))
        .hint("mow status write PHASE --field NAME --value VALUE"))
}

/// Refuses a worker's call of a command that writes shared planning files.
pub(crate) fn refuse_lead_only_command(
    context: &Context,
    args: &[OsString],
) -> Result<(), Failure> {
    let Some(worker) = calling_worker(context)? else { return Ok(()) };
    let words = called_command(args);
    let is_called = |command: &[&str]| {
        command.iter().enumerate().all(|(at, word)| match word.strip_prefix("--") {
            Some(_) => args.iter().any(|arg| arg == word),
            None => words.get(at).is_some_and(|called| called == word),
        })
    };
    let Some((command, instead)) =
        LEAD_ONLY_COMMANDS.iter().find(|(command, _)| is_called(command))
    else {
        return Ok(());
    };
    let message = format!(
        "`mow {}` writes a file that only the lead of run {} may write",
        command.join(" "),
        worker.run
    );
    Err(Failure::refused(message).hint(*instead))
}

//! Who is calling: a worker of a live run, or a person.
//!
//! A run is live while its lead holds the lead lock. Until then nobody is a worker, and every
//! command does what it does for a person. Workers do not write the shared planning files: some of
//! their commands become messages to the lead, the others are refused with the command to use.

use std::ffi::OsString;
use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_core::worker::Event;
use mow_engine::lead::lead_lock_for_run;
use mow_store::claims::{self, Claims};
use mow_store::disk;
use mow_store::journal::Journal;
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use crate::cli::called_command;
use crate::context::{Context, now, now_ms};
use crate::failure::Failure;

/// A worker of a live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) phase: String,
    pub(crate) run: String,
    pub(crate) attempt: String,
}

/// Returns the worker that is calling; `None` for a person, or when no run is live.
pub(crate) fn worker(context: &Context) -> Result<Option<Worker>, Failure> {
    let worker = named_worker().map_or_else(|| listed_worker(context), |named| Ok(Some(named)))?;
    // It may be anywhere in its worktree, so it is the run that tells which project it works for.
    let Some(worker) = worker else { return Ok(None) };
    let lock = lead_lock_for_run(&context.project.engine_dir, &worker.run);
    Ok(disk::is_held(&lock)?.then_some(worker))
}

/// Reads the worker out of the variables that mow gives its agents.
pub(crate) fn named_worker() -> Option<Worker> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_worker = set("MOW_ROLE")? == "worker";
    let (phase, run) = (set("MOW_PHASE")?, set("MOW_RUN")?);
    let attempt = set("MOW_ATTEMPT").unwrap_or_else(|| "1".to_owned());
    is_worker.then_some(Worker { phase, run, attempt })
}

/// Finds the worker whose worktree the caller is in: the one that a run claimed a phase for.
fn listed_worker(context: &Context) -> Result<Option<Worker>, Failure> {
    let Some(repository) = &context.project.repository else { return Ok(None) };
    let Some(bytes) = disk::read(&claims::path(&context.project))? else { return Ok(None) };
    // Claims that cannot be read make nobody a worker; the claim commands say what is wrong.
    let Ok(claims) = Claims::parse(&bytes) else { return Ok(None) };
    let claim = claims.of_run(&repository.top.display().to_string());
    Ok(claim.map(|claim| Worker {
        phase: claim.assignment.phase.clone(),
        run: claim.run.clone().unwrap_or_default(),
        attempt: claim.attempt.clone().unwrap_or_else(|| "1".to_owned()),
    }))
}

impl Worker {
    /// Refuses what is about another worker's phase.
    pub(crate) fn must_own(&self, phase: &PhaseNumber) -> Result<(), Failure> {
        if PhaseNumber::parse(&self.phase).as_ref() == Some(phase) {
            return Ok(());
        }
        let message = format!("phase {phase} is not yours: this worker has phase {}", self.phase);
        Err(Failure::refused(message).hint("mow worktree status shows who has it"))
    }

    /// Leaves a message for the lead in the worker's journal, durable when this returns.
    pub(crate) fn send(&self, project: &Project, message: &Value) -> Result<(), Failure> {
        let Self { phase, run, attempt } = self;
        let named = RunDir::new(&project.engine_dir, run)
            .ok()
            .and_then(|dir| Some((dir, PhaseNumber::parse(phase)?, attempt.parse::<u32>().ok()?)));
        let Some((dir, number, count)) = named else {
            let wanted = "MOW_RUN must be a plain name, MOW_PHASE a phase, MOW_ATTEMPT a number";
            return Err(Failure::refused(wanted));
        };
        let said = json!({ "v": 2, "from_phase": phase, "attempt": attempt, "ts": now() });
        let (Value::Object(mut said), Value::Object(fields)) = (said, message) else {
            return Err(Failure::refused("a message is an object"));
        };
        said.extend(fields.clone());
        dir.create()?;
        let path = dir.worker_journal(&number, count);
        let (mut journal, _) = Journal::open(&path, &dir.worker_header(&number, count))?;
        journal.append(now_ms(), &[Event::Reported(Report::Said { message: said })])?;
        Ok(())
    }
}

/// Commands that write STATE.md, ROADMAP.md or REQUIREMENTS.md, and what a worker calls instead.
const LEAD_ONLY: [(&[&str], &str); 21] = [
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

/// The files that only the lead of a live run writes.
const SHARED: [&str; 3] = ["STATE.md", "ROADMAP.md", "REQUIREMENTS.md"];

/// Refuses a worker that names a shared file to be written, in its worktree or elsewhere.
pub(crate) fn guard_file(context: &Context, path: &Path) -> Result<(), Failure> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let is_shared = SHARED.iter().any(|name| real.ends_with(Path::new(".planning").join(name)));
    if !is_shared {
        return Ok(());
    }
    let Some(worker) = worker(context)? else { return Ok(()) };
    let file = context.shown(&real);
    Err(Failure::refused(format!("{file}: only the lead of run {} may write it", worker.run))
        .hint("mow status write PHASE --field NAME --value VALUE"))
}

/// Refuses a worker's write of a shared file.
pub(crate) fn guard(context: &Context, args: &[OsString]) -> Result<(), Failure> {
    let Some(worker) = worker(context)? else { return Ok(()) };
    let words = called_command(args);
    let is_called = |command: &[&str]| {
        command.iter().enumerate().all(|(at, word)| match word.strip_prefix("--") {
            Some(_) => args.iter().any(|arg| arg == word),
            None => words.get(at).is_some_and(|called| called == word),
        })
    };
    let Some((command, instead)) = LEAD_ONLY.iter().find(|(command, _)| is_called(command)) else {
        return Ok(());
    };
    let message = format!(
        "`mow {}` writes a file that only the lead of run {} may write",
        command.join(" "),
        worker.run
    );
    Err(Failure::refused(message).hint(*instead))
}

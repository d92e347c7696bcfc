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
use mow_store::journal::{Journal, JournalReader};
use mow_store::project::Project;
use mow_store::run_files::RunDir;
use serde_json::{Value, json};

use crate::cli::called_command;
use crate::context::{Context, now, now_ms};
use crate::failure::Failure;

/// The most messages that the agents of one attempt may send.
const AGENT_MESSAGES_MAX: usize = 500;

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

/// Returns the worker by its marks or its worktree, whether its run has a live lead or not.
pub(crate) fn worker_of_run(context: &Context) -> Result<Option<CallingWorker>, Failure> {
    worker_from_env().map_or_else(|| worker_from_claims(context), |named| Ok(Some(named)))
}

/// Returns the calling worker; `None` for a person, or when the worker's run is not live.
pub(crate) fn calling_worker(context: &Context) -> Result<Option<CallingWorker>, Failure> {
    let worker = worker_of_run(context)?;
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

    /// Returns the run, the phase and the attempt of the worker.
    fn attempt(&self, project: &Project) -> Result<(RunDir, PhaseNumber, u32), Failure> {
        let Self { phase, run, attempt } = self;
        let parsed = RunDir::new(&project.engine_dir, run)
            .ok()
            .and_then(|dir| Some((dir, PhaseNumber::parse(phase)?, attempt.parse::<u32>().ok()?)));
        parsed.ok_or_else(|| {
            let message = "MOW_RUN must be a run id, MOW_PHASE a phase and MOW_ATTEMPT a number";
            Failure::refused(message).hint("run the command in the environment that mow gave you")
        })
    }

    /// Refuses a message that nobody would read: the attempt does not exist, or has ended, or its
    /// agents have sent too many messages.
    pub(crate) fn require_open_attempt(&self, project: &Project) -> Result<(), Failure> {
        let (dir, number, count) = self.attempt(project)?;
        let path = dir.worker_journal(&number, count);
        let attempt = format!("attempt {count} of phase {number} in run {}", dir.run());
        let refuse = |problem: &str| {
            Err(Failure::refused(format!("{attempt} {problem}"))
                .hint("`mow ps` shows the phases that are being worked on"))
        };
        if !path.is_file() {
            return refuse("does not exist");
        }
        let (mut sent, mut has_ended) = (0, false);
        for record in JournalReader::new(&path).without_sync().poll()? {
            match record.parse::<Event>() {
                Ok(Event::Reported(Report::AgentMessage { .. })) => sent += 1,
                Ok(Event::Reported(report)) => has_ended |= report.is_last(),
                _ => {}
            }
        }
        match (has_ended, sent) {
            (true, _) => refuse("has ended"),
            (_, AGENT_MESSAGES_MAX..) => {
                refuse(&format!("has sent {sent} messages already, which is the limit"))
            }
            _ => Ok(()),
        }
    }

    /// Appends a message for the lead to the worker's journal; it is durable when this returns.
    ///
    /// Returns the number of the record.
    pub(crate) fn send_message(&self, project: &Project, message: &Value) -> Result<u64, Failure> {
        let Self { phase, attempt, .. } = self;
        let (dir, number, count) = self.attempt(project)?;
        let base = json!({ "v": 2, "from_phase": phase, "attempt": attempt, "ts": now() });
        let (Value::Object(mut object), Value::Object(fields)) = (base, message) else {
            return Err(Failure::refused("the message must be a JSON object"));
        };
        object.extend(fields.clone());
        dir.create()?;
        let path = dir.worker_journal(&number, count);
        let (mut journal, _) = Journal::open(&path, &dir.worker_header(&number, count))?;
        let report = Event::Reported(Report::AgentMessage { message: object });
        Ok(journal.append(now_ms(), &[report])?)
    }
}

/// The message by which a worker tells the lead that a state has changed.
const SEND_STATE: &str =
    "mow message send state_change --plan ID --from-state STATE --to-state STATE";
/// The message by which a worker asks for something that only a person may do.
const SEND_BLOCKER: &str = "mow message send blocker --plan ID --blocker TEXT --action skip";
/// The message by which a worker tells the lead of a decision.
const SEND_DECISION: &str =
    "mow message send state_change --plan ID --from-state STATE --to-state STATE --decision TEXT";

/// Commands that write STATE.md, ROADMAP.md or REQUIREMENTS.md, and a worker's replacement.
const LEAD_ONLY_COMMANDS: [(&[&str], &str); 21] = [
    (&["state", "update"], "mow status write PHASE --field status --value STATUS"),
    (&["state", "patch"], "mow status write PHASE --field status --value STATUS"),
    (&["state", "advance-plan"], "mow status write PHASE --plan ID --status complete"),
    (&["state", "record-metric"], "mow status write PHASE --plan ID --duration TIME"),
    (&["state", "update-progress"], "mow status aggregate PHASE"),
    (&["state", "add-decision"], SEND_DECISION),
    (&["state", "add-blocker"], SEND_BLOCKER),
    (&["state", "resolve-blocker"], SEND_STATE),
    (&["state", "record-session"], SEND_STATE),
    (&["state", "update-phase-row"], "mow status write PHASE --field status --value STATUS"),
    (&["team-update"], SEND_STATE),
    (&["roadmap", "update-plan-progress"], "mow status aggregate PHASE"),
    (&["phase", "add"], SEND_BLOCKER),
    (&["phase", "insert"], SEND_BLOCKER),
    (&["phase", "remove"], SEND_BLOCKER),
    (&["phase", "complete"], SEND_STATE),
    (&["requirements", "mark-complete"], SEND_STATE),
    (&["milestone", "complete"], SEND_BLOCKER),
    (&["validate", "health", "--repair"], "mow validate health"),
    (&["worktree", "clean"], "mow worktree status"),
    (&["worktree", "merge-state"], SEND_STATE),
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
        .hint("mow status write PHASE --field status --value STATUS"))
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

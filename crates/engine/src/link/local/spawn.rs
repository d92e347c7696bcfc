//! Starts the process of a worker.

use std::process::Child;

use mow_core::report::{Brief, LeadMessage, NumberedMessage};
use mow_host::git::Git;
use mow_host::life_lock;
use mow_host::process::{self, WorkerCommand};
use mow_store::journal::{Journal, JournalReader};

use crate::EngineError;
use crate::clock::Clock;
use crate::run_context::RunContext;

/// Starts the worker of an attempt, unless it runs or has run already; returns its process.
pub(super) fn spawn(ctx: &RunContext, brief: &Brief) -> Result<Option<Child>, EngineError> {
    let (phase, attempt) = (&brief.phase, brief.attempt);
    let lock = ctx.run.life_lock(phase, attempt);
    let journal = ctx.run.worker_journal(phase, attempt);
    let is_alive = life_lock::is_alive(&lock).map_err(EngineError::io("look for a worker"))?;
    if is_alive || !JournalReader::new(&journal).poll()?.is_empty() {
        return Ok(None);
    }
    failpoint::reach("spawn.intended");
    let header = ctx.run.inbox_header(phase, attempt);
    let (mut inbox, records) = Journal::open(&ctx.run.worker_inbox(phase, attempt), &header)?;
    if records.is_empty() {
        let brief = Brief { ignored: ctx.ignored(), ..brief.clone() };
        inbox
            .append(Clock::default().now(), &[NumberedMessage::from(LeadMessage::Brief(brief))])?;
    }
    failpoint::reach("inbox.brief.written");
    super::status::begin(ctx, brief)?;
    let worktree = ctx.worktree(phase)?.path;
    let words = ["worker", "--run", &brief.run, "--phase", &phase.to_string(), "--attempt"];
    let mut args: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    args.extend([attempt.to_string(), "--root".to_owned()]);
    args.push(ctx.project.root.display().to_string());
    let worker = process::start_worker(&WorkerCommand {
        exe: ctx.exe.clone(),
        args,
        env: Git::new(ctx.top())
            .system_config_variable()
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
        marks: ctx.marks(phase, attempt),
        cwd: worktree,
        log: ctx.run.log(phase, attempt),
        life_lock: lock,
    })?;
    failpoint::reach("spawn.done");
    Ok(Some(worker.child))
}

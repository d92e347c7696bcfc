//! Starts worker processes, and writes the lead's messages into their inboxes.

use std::path::Path;

use mow_core::lead::Outcome;
use mow_core::report::{Brief, LeadMessage};
use mow_host::git::Git;
use mow_host::life_lock;
use mow_host::process::{self, WorkerCommand};
use mow_store::journal::{Journal, JournalReader};

use super::effects::RepositoryAccess;
use crate::EngineError;
use crate::clock::Clock;
use crate::run_context::RunContext;

/// Starts the worker of an attempt, unless it runs or has run already.
pub(super) fn start_worker(
    ctx: &RunContext,
    brief: &Brief,
    repository: &RepositoryAccess,
) -> Result<Outcome, EngineError> {
    let (phase, attempt) = (&brief.phase, brief.attempt);
    let lock = ctx.run.life_lock(phase, attempt);
    let journal = ctx.run.worker_journal(phase, attempt);
    let is_alive = life_lock::is_alive(&lock).map_err(EngineError::io("look for a worker"))?;
    if is_alive || !JournalReader::new(&journal).poll()?.is_empty() {
        return Ok(Outcome::Done);
    }
    failpoint::reach("spawn.intended");
    let git = Git::new(ctx.top());
    let tip = git.commit_of(&format!("refs/heads/{}", ctx.worktree(phase)?.branch))?;
    // Only a branch without commits of earlier attempts is certainly not merged yet.
    if tip.as_ref() == Some(&brief.base) {
        repository.run_ref.worker_starts(*phase, attempt);
    }
    let header = ctx.run.inbox_header(phase, attempt);
    let (mut inbox, records) = Journal::open(&ctx.run.worker_inbox(phase, attempt), &header)?;
    if records.is_empty() {
        let brief = Brief { ignored: ctx.ignored(), ..brief.clone() };
        inbox.append(Clock::default().now(), &[LeadMessage::Brief(brief)])?;
    }
    failpoint::reach("inbox.brief.written");
    let worktree = ctx.worktree(phase)?.path;
    let words = ["worker", "--run", &brief.run, "--phase", &phase.to_string(), "--attempt"];
    let mut args: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    args.extend([attempt.to_string(), "--root".to_owned()]);
    args.push(ctx.project.root.display().to_string());
    let env = [
        ("MOW_ROLE", "worker".to_owned()),
        ("MOW_RUN", brief.run.clone()),
        ("MOW_PHASE", phase.to_string()),
        ("MOW_ATTEMPT", attempt.to_string()),
        ("MOW_TOKEN", ctx.token(phase, attempt)),
    ];
    process::start_worker(&WorkerCommand {
        exe: ctx.exe.clone(),
        args,
        env: env
            .into_iter()
            .chain(git.system_config_variable())
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        cwd: worktree,
        log: ctx.run.log(phase, attempt),
        life_lock: lock,
    })
    .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("spawn.done");
    Ok(Outcome::Done)
}

/// Appends message number `n` to a worker's inbox, unless it is there already.
///
/// The brief is the first record, and confirmations stand between the messages. So a message is
/// identified by the number of messages before it.
pub(super) fn send_message(
    path: &Path,
    inbox: &mut Journal,
    (n, note): (u32, &LeadMessage),
    now: u64,
) -> Result<(), EngineError> {
    let records = JournalReader::new(path).poll()?;
    let is_note =
        |note: &LeadMessage| matches!(note, LeadMessage::Halt { .. } | LeadMessage::Answer(_));
    let notes = records
        .iter()
        .filter(|record| record.parse::<LeadMessage>().is_ok_and(|note| is_note(&note)));
    if notes.count() < n as usize {
        failpoint::reach("inbox.halt.before");
        inbox.append(now, std::slice::from_ref(note))?;
        failpoint::reach("inbox.halt.written");
    }
    Ok(())
}

//! Starts workers and tells them things.

use std::time::{Duration, Instant};

use mow_core::lead::Outcome;
use mow_core::report::{Brief, Note};
use mow_host::life;
use mow_host::process::{self, StartWorker};
use mow_store::journal::{Journal, Tail};

use crate::EngineError;
use crate::clock::Clock;
use crate::site::Site;

/// How long a worker may take to come to life.
const BIRTH_MAX: Duration = Duration::from_secs(20);
/// How often to look whether it has.
const BIRTH_LOOK: Duration = Duration::from_millis(3);

/// Starts the worker of an attempt, unless it has been started before.
pub(super) fn start(site: &Site, brief: &Brief) -> Result<Outcome, EngineError> {
    let (phase, attempt) = (&brief.phase, brief.attempt);
    let lock = site.run.life_lock(phase, attempt);
    let journal = site.run.worker_journal(phase, attempt);
    let has_lived = |journal: &std::path::Path| -> Result<bool, EngineError> {
        Ok(!Tail::new(journal).poll()?.is_empty())
    };
    let is_alive = || life::is_alive(&lock).map_err(EngineError::io("look for a worker"));
    if is_alive()? || has_lived(&journal)? {
        return Ok(Outcome::Done);
    }
    let header = site.run.inbox_header(phase, attempt);
    let (mut inbox, told) = Journal::open(&site.run.worker_inbox(phase, attempt), &header)?;
    if told.is_empty() {
        inbox.append(Clock::default().now(), &[Note::Brief(brief.clone())])?;
    }
    let worktree = site.worktree(phase)?.path;
    let log = site.run.log(phase, attempt);
    let words = ["worker", "--run", &brief.run, "--phase", &phase.to_string(), "--attempt"];
    let mut args: Vec<_> = words.iter().map(|word| (*word).into()).collect();
    args.push(attempt.to_string().into());
    args.extend(["--root".into(), site.project.root.clone().into_os_string()]);
    let env = [
        ("MOW_ROLE", "worker".to_owned()),
        ("MOW_RUN", brief.run.clone()),
        ("MOW_PHASE", phase.to_string()),
        ("MOW_ATTEMPT", attempt.to_string()),
        ("MOW_TOKEN", site.token(phase, attempt)),
    ];
    let started = process::start_worker(&StartWorker {
        exe: site.exe.clone(),
        args,
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        cwd: worktree,
        log: log.clone(),
    })
    .map_err(|error| EngineError::Host(error.into()))?;
    let begin = Instant::now();
    while begin.elapsed() < BIRTH_MAX {
        if is_alive()? || has_lived(&journal)? {
            return Ok(Outcome::Done);
        }
        if !process::is_running(started) {
            break;
        }
        std::thread::sleep(BIRTH_LOOK);
    }
    if has_lived(&journal)? {
        return Ok(Outcome::Done);
    }
    let said = std::fs::read(&log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Ok(Outcome::Failed { reason: last.trim().to_owned() })
}

/// Writes a note into a worker's inbox, unless it is there already.
///
/// The brief is the first record, and confirmations stand between the notes: a note is known by how
/// many came before it.
pub(super) fn tell(inbox: &mut Journal, n: u32, note: &Note, now: u64) -> Result<(), EngineError> {
    let path = inbox.path().to_path_buf();
    let told = Tail::new(&path).poll()?;
    let notes = told.iter().filter(|record| {
        matches!(record.parse::<Note>(), Ok(Note::Halt { .. }))
    });
    if notes.count() < n as usize {
        inbox.append(now, std::slice::from_ref(note))?;
    }
    Ok(())
}

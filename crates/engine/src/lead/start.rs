//! Starts workers and tells them things.

use std::path::Path;

use mow_core::lead::Outcome;
use mow_core::report::{Brief, Note};
use mow_host::git::Git;
use mow_host::life;
use mow_host::process::{self, StartWorker};
use mow_store::journal::{Journal, Tail};

use super::effects::Repository;
use crate::EngineError;
use crate::clock::Clock;
use crate::site::Site;

/// Starts the worker of an attempt, unless it has been started before.
pub(super) fn start(
    site: &Site,
    brief: &Brief,
    repository: &Repository,
) -> Result<Outcome, EngineError> {
    let (phase, attempt) = (&brief.phase, brief.attempt);
    let lock = site.run.life_lock(phase, attempt);
    let journal = site.run.worker_journal(phase, attempt);
    let is_alive = life::is_alive(&lock).map_err(EngineError::io("look for a worker"))?;
    if is_alive || !Tail::new(&journal).poll()?.is_empty() {
        return Ok(Outcome::Done);
    }
    failpoint::reach("spawn.intended");
    let git = Git::new(site.top());
    let tip = git.commit_of(&format!("refs/heads/{}", site.worktree(phase)?.branch))?;
    // A branch with commits of earlier attempts may have been merged before.
    if tip.as_ref() == Some(&brief.base) {
        repository.run_ref.start(*phase, attempt);
    }
    let header = site.run.inbox_header(phase, attempt);
    let (mut inbox, told) = Journal::open(&site.run.worker_inbox(phase, attempt), &header)?;
    if told.is_empty() {
        let brief = Brief { ignored: site.ignored(), ..brief.clone() };
        inbox.append(Clock::default().now(), &[Note::Brief(brief)])?;
    }
    failpoint::reach("inbox.brief.written");
    let worktree = site.worktree(phase)?.path;
    let words = ["worker", "--run", &brief.run, "--phase", &phase.to_string(), "--attempt"];
    let mut args: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    args.extend([attempt.to_string(), "--root".to_owned()]);
    args.push(site.project.root.display().to_string());
    let env = [
        ("MOW_ROLE", "worker".to_owned()),
        ("MOW_RUN", brief.run.clone()),
        ("MOW_PHASE", phase.to_string()),
        ("MOW_ATTEMPT", attempt.to_string()),
        ("MOW_TOKEN", site.token(phase, attempt)),
    ];
    process::start_worker(&StartWorker {
        exe: site.exe.clone(),
        args,
        env: env
            .into_iter()
            .chain(git.settings_variable())
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        cwd: worktree,
        log: site.run.log(phase, attempt),
        life: lock,
    })
    .map_err(|error| EngineError::Host(error.into()))?;
    failpoint::reach("spawn.done");
    Ok(Outcome::Done)
}

/// Writes a note into a worker's inbox, unless it is there already.
///
/// The brief is the first record, and confirmations stand between the notes: a note is known by how
/// many came before it.
pub(super) fn tell(
    path: &Path,
    inbox: &mut Journal,
    (n, note): (u32, &Note),
    now: u64,
) -> Result<(), EngineError> {
    let told = Tail::new(path).poll()?;
    let is_note = |note: &Note| matches!(note, Note::Halt { .. } | Note::Answer(_));
    let notes =
        told.iter().filter(|record| record.parse::<Note>().is_ok_and(|note| is_note(&note)));
    if notes.count() < n as usize {
        failpoint::reach("inbox.halt.before");
        inbox.append(now, std::slice::from_ref(note))?;
        failpoint::reach("inbox.halt.written");
    }
    Ok(())
}

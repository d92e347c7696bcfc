//! The worker of a phase as a process: it outlives the lead, and the lead reads what it wrote.
//!
//! Its journal is the only thing it tells by; its inbox is the only thing it listens to. Start with
//! [`work`].

mod agent;
mod beside;
mod custody;
mod desk;
mod evidence;
mod freeze;
mod judge;
mod look;
mod paper;
mod papers_guard;
mod player;
mod prompt;
mod role;
mod session;
mod taken_back;
mod talk;
mod task;
mod trust;
mod unfinished;
mod world;

use mow_core::phase::PhaseNumber;
use mow_core::report::Note;
use mow_core::worker::{Input, Worker};
use mow_host::life::Life;
use mow_host::own_output::OwnOutput;
use mow_host::{process, secret};
use mow_store::journal::{Journal, Tail};

use crate::EngineError;
use crate::clock::Clock;
use crate::drive::drive;
use crate::site::Site;
use desk::Desk;
pub(crate) use desk::complaint;
pub(crate) use look::skips_discuss;
pub(crate) use task::checks;
use trust::Trust;
use world::WorkerWorld;

/// Carries one attempt of a phase to its end.
///
/// A second process for the same attempt ends at once, so that it does not matter how often a
/// worker is started.
pub fn work(site: Site, phase: PhaseNumber, attempt: u32) -> Result<(), EngineError> {
    failpoint::enter(failpoint::Role::Worker);
    process::become_session_leader().map_err(EngineError::io("become a session leader"))?;
    let lock = site.run.life_lock(&phase, attempt);
    let life = Life::hold(&lock).map_err(|error| EngineError::Host(error.into()))?;
    let path = site.run.worker_journal(&phase, attempt);
    let header = site.run.worker_header(&phase, attempt);
    let (mut journal, said) = Journal::open(&path, &header)?;
    failpoint::reach("worker.journal.opened");
    if !said.is_empty() {
        // Somebody has worked under this number before; the lead will begin a new attempt.
        return Ok(());
    }
    let log = site.run.log(&phase, attempt);
    let _output = OwnOutput::bound(&log).map_err(EngineError::io("keep a log"))?;
    // What the lead says follows from its own journal, so nothing is lost by not syncing it here.
    let mut inbox = Tail::new(&site.run.worker_inbox(&phase, attempt)).without_sync();
    let brief = inbox.poll()?.first().and_then(|record| record.parse::<Note>().ok());
    let Some(Note::Brief(brief)) = brief else {
        return Err(EngineError::refused(
            format!("phase {phase} has no brief for attempt {attempt}"),
            "workers are started by `mow run`",
        ));
    };
    failpoint::reach("worker.begun");
    // Before any agent runs, so that nobody else can have written it.
    let secrets = [draw()?, draw()?];
    let trust = Trust::new(&brief, &secrets);
    journal.append(Clock::default().now(), &[trust.sealed()])?;
    let desk = Desk::new(site, &brief, trust)?;
    let begin = Input::Begin { brief, pid: std::process::id() };
    let mut world = WorkerWorld::new(desk, life, journal, inbox, begin);
    drive(&mut Worker::default(), &mut world)?;
    failpoint::reach("worker.ended");
    Ok(())
}

fn draw() -> Result<[u8; 32], EngineError> {
    secret::draw().map_err(EngineError::io("draw a secret"))
}

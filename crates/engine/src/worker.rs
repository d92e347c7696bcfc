//! The worker process of one phase attempt. It outlives the lead, which reads the worker's
//! journal.
//!
//! The worker reports only through its journal and takes orders only from its inbox file. Start
//! reading with [`work`]; [`perform`] maps each effect to the type that carries it out. All of
//! them share one [`phase_workspace::PhaseWorkspace`].

mod agent_conversation;
mod agent_roles;
mod agent_sessions;
mod agent_turn;
mod change_review;
mod checkpoint;
mod details;
mod document_guard;
mod evidence;
mod frozen_plans;
mod knowledge;
mod lead_inbox;
mod leftovers;
mod parallel_plans;
mod perform;
mod permission_subject;
mod phase_closer;
mod phase_commits;
mod phase_documents;
mod phase_survey;
mod phase_verifier;
mod phase_workspace;
mod plan_files;
mod prompt;
mod repository_guard;
mod resume_check;
mod reverted_files;
mod role_documents;
mod role_runner;
mod script;
mod shell_blocks;
mod status_board;
mod task_runner;
mod text;
mod trusted_state;
mod world;

use mow_core::phase::PhaseNumber;
use mow_core::worker::{Input, Worker};
use mow_host::life_lock::LifeLock;
use mow_host::redirected_output::RedirectedOutput;
use mow_host::{process, secret};
use mow_store::journal::Journal;

use crate::EngineError;
use crate::clock::Clock;
use crate::drive::drive;
use crate::run_context::RunContext;
use lead_inbox::LeadInbox;
pub(crate) use phase_survey::skips_discuss;
use phase_workspace::PhaseWorkspace;
pub(crate) use script::describe_failure;
pub(crate) use shell_blocks::check_commands;
use trusted_state::TrustedState;
use world::WorkerWorld;

/// Runs one attempt of a phase until the attempt ends.
///
/// A second process for the same attempt returns at once, so starting a worker twice is harmless.
pub fn work(ctx: RunContext, phase: PhaseNumber, attempt: u32) -> Result<(), EngineError> {
    failpoint::set_role(failpoint::ProcessRole::Worker);
    process::become_session_leader().map_err(EngineError::io("become a session leader"))?;
    let lock = ctx.run.life_lock(&phase, attempt);
    let life = LifeLock::hold(&lock)?;
    let path = ctx.run.worker_journal(&phase, attempt);
    let header = ctx.run.worker_header(&phase, attempt);
    let (mut journal, earlier_records) = Journal::open(&path, &header)?;
    failpoint::reach("worker.journal.opened");
    if !earlier_records.is_empty() {
        // Another process has already worked under this attempt number. The lead starts a new one.
        return Ok(());
    }
    let log = ctx.run.log(&phase, attempt);
    let _output = RedirectedOutput::to_log(&log).map_err(EngineError::io("keep a log"))?;
    let (inbox, brief) = LeadInbox::open(&ctx.run.worker_inbox(&phase, attempt))?;
    let Some(brief) = brief else {
        return Err(EngineError::refused(
            format!("phase {phase} has no brief for attempt {attempt}"),
            "workers are started by `mow run`",
        ));
    };
    failpoint::reach("worker.begun");
    // Recorded before any agent runs, so no agent can have written this record.
    let secrets = [draw_secret()?, draw_secret()?];
    let trusted = TrustedState::new(&brief, &secrets);
    journal.append(Clock::default().now(), &[trusted.seal_roots()])?;
    let workspace = PhaseWorkspace::new(ctx, &brief, trusted)?;
    let begin = Input::Begin { brief, pid: std::process::id() };
    let mut world = WorkerWorld::new(workspace, life, journal, inbox, begin);
    drive(&mut Worker::default(), &mut world)?;
    failpoint::reach("worker.ended");
    Ok(())
}

fn draw_secret() -> Result<[u8; 32], EngineError> {
    secret::random().map_err(EngineError::io("draw a secret"))
}

//! `mow peer send`: sends a message to the agents of another phase, without the lead.

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_engine::peer_messages;
use mow_store::run_files::RunDir;
use serde_json::json;

use crate::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;

/// The subcommands of `mow peer`.
#[derive(Debug, Subcommand)]
pub(crate) enum PeerCommand {
    /// Send a message to the agents of another phase; they get it with their next turn
    Send {
        /// The phase that gets the message
        phase: String,
        /// The message, at most 500 characters
        #[arg(required = true)]
        text: Vec<String>,
        /// The phase that sends it; an agent always sends for its sender phase
        #[arg(long, value_name = "PHASE")]
        from: Option<String>,
    },
}

impl PeerCommand {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::Send { phase, text, from } = self;
        let text = text.join(" ");
        let length = text.chars().count();
        if text.trim().is_empty() || length > peer_messages::CHARS_MAX {
            let max = peer_messages::CHARS_MAX;
            return Err(Failure::refused(format!(
                "a message must have 1 to {max} characters, this one has {length}"
            )));
        }
        let run = Run::load(context, None)?;
        let sender = caller::worker_from_env();
        let from = sender.as_ref().map(|worker| worker.phase.clone()).or_else(|| from.clone());
        let from = from.ok_or_else(|| {
            Failure::refused("the sending phase is missing")
                .hint("mow peer send PHASE TEXT --from PHASE")
        })?;
        let from = PhaseNumber::parse(&from)
            .ok_or_else(|| Failure::refused(format!("`{from}` is not a phase number")))?;
        let to = run.phase(phase)?;
        // An agent writes into its sender run, even if a newer run exists by now.
        let dir = match &sender {
            Some(worker) => RunDir::new(&run.project.engine_dir, &worker.run).unwrap_or(run.dir),
            None => run.dir,
        };
        peer_messages::send(&run.project, &dir, (&from, &to), &text)?;
        Ok(Output::json(json!({ "sent": true, "from": from.padded(), "to": to.padded() })))
    }
}

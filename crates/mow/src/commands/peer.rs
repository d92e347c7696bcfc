//! `mow peer send`: a worker tells the agents of another phase something, without the lead.

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_engine::peer;
use mow_store::run_files::RunDir;
use serde_json::json;

use crate::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;

/// Messages between workers.
#[derive(Debug, Subcommand)]
pub(crate) enum Peer {
    /// Tell the agents of another phase something; it reaches their next turn
    Send {
        /// The phase that is told
        phase: String,
        /// What it is told, at most 500 characters
        #[arg(required = true)]
        text: Vec<String>,
        /// The phase that tells it; a worker tells for its own
        #[arg(long, value_name = "PHASE")]
        from: Option<String>,
    },
}

impl Peer {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::Send { phase, text, from } = self;
        let text = text.join(" ");
        let length = text.chars().count();
        if text.trim().is_empty() || length > peer::CHARS_MAX {
            let most = peer::CHARS_MAX;
            return Err(Failure::refused(format!(
                "a message has 1 to {most} characters, this {length}"
            )));
        }
        let run = Run::load(context, None)?;
        let own = caller::named_worker();
        let from = own.as_ref().map(|worker| worker.phase.clone()).or_else(|| from.clone());
        let from = from.ok_or_else(|| {
            Failure::refused("nobody says who tells it")
                .hint("mow peer send PHASE TEXT --from PHASE")
        })?;
        let from = PhaseNumber::parse(&from)
            .ok_or_else(|| Failure::refused(format!("`{from}` is no phase")))?;
        let to = run.phase(phase)?.spec.number;
        // An agent tells the run it belongs to, whichever is the last one by now.
        let dir = match &own {
            Some(worker) => RunDir::new(&run.project.engine_dir, &worker.run).unwrap_or(run.dir),
            None => run.dir,
        };
        peer::send(&run.project, &dir, (&from, &to), &text)?;
        Ok(Output::json(json!({ "sent": true, "from": from.padded(), "to": to.padded() })))
    }
}

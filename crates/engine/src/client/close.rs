//! Closes the newest run of the project.

use std::path::Path;

use super::{Caller, Client, PersonRequest, Refusal};
use crate::EngineError;
use crate::lead::{RunChange, RunObserver, catch_up_branch, close_run};

/// Closes the newest run: merges its complete phases, starts nothing, withdraws its questions and
/// records who closed it. A run that is closed already stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct CloseRequest<'a> {
    /// The mow program.
    pub exe: &'a Path,
    /// Whether to close the run even if some work is not in the branch afterwards.
    pub force: bool,
}

/// What people should know about a run that was closed. The journal tells whether it is closed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloseReceipt {
    /// Problems and news on the way, in sentences.
    pub notices: Vec<String>,
}

impl PersonRequest for CloseRequest<'_> {
    type Receipt = CloseReceipt;

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<CloseReceipt, Refusal> {
        let mut receipt = CloseReceipt::default();
        let add = |text: &str| receipt.notices.push(text.to_owned());
        catch_up_branch(client.project, self.exe, add)?;
        close_run(client.project, self.exe, (caller, self.force), &mut receipt).map_err(
            |error| match error {
                EngineError::LeadRunning { holder } => Refusal::LeadRunning { holder },
                error => error.into(),
            },
        )?;
        Ok(receipt)
    }
}

impl RunObserver for CloseReceipt {
    fn show(&mut self, _: &RunChange<'_>) {}

    fn warn(&mut self, text: &str) {
        self.notices.push(text.to_owned());
    }
}

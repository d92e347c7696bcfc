//! `mow commit` commits planning files: only the named ones, whatever else is staged.

use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::planning_commit::PlanningCommit;

/// The arguments of `commit`.
#[derive(Debug, Args)]
#[command(
    after_help = "Only the named files are committed, whatever else is staged. Without --files all of .planning/ is committed.\nExample: mow commit \"docs: plan phase 3\" --files .planning/STATE.md .planning/ROADMAP.md"
)]
pub(crate) struct CommitArgs {
    /// The commit message
    #[arg(allow_hyphen_values = true)]
    message: Option<String>,
    /// The files and directories to commit
    #[arg(long, num_args = 0.., value_name = "FILE")]
    files: Vec<String>,
    /// Amend the last commit and keep its message
    #[arg(long)]
    amend: bool,
}

impl CommitArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let message = self.message.as_deref().unwrap_or("");
        if message.is_empty() && !self.amend {
            return Err(Failure::refused("commit message required")
                .hint("mow commit \"docs: what changed\" --files FILE"));
        }
        if message.starts_with("--") {
            return Err(Failure::refused(format!("unexpected argument '{message}'"))
                .hint("see `mow commit --help`"));
        }
        PlanningCommit { message, files: &self.files, amend: self.amend }.run(context)
    }
}

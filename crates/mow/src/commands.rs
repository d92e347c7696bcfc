//! The commands, one file for each family.

mod chat_log;
mod dashboard;
mod format;
mod frontmatter;
mod message;
mod roadmap;
mod state;
mod status;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// Everything `mow` can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read the roadmap: phases, dependencies, what may run
    #[command(subcommand)]
    Roadmap(roadmap::Roadmap),
    /// Read and change STATE.md
    #[command(subcommand)]
    State(state::State),
    /// Print all of STATE.md as one value
    StateSnapshot,
    /// Read and change a phase's STATUS.md
    #[command(subcommand)]
    Status(status::Status),
    /// Make and check the messages of workers and lead
    #[command(subcommand)]
    Message(message::Message),
    /// Keep what workers say to each other
    #[command(subcommand)]
    ChatLog(chat_log::ChatLog),
    /// Show running phases, what happened, and what waits for a person
    #[command(subcommand)]
    Dashboard(dashboard::Dashboard),
    /// Draw banners and bars for a terminal
    #[command(subcommand)]
    Format(format::Format),
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(frontmatter::Frontmatter),
}

impl Command {
    /// Returns whether the contract knows the command: it then ends with 0 or 1 and nothing else.
    pub(crate) fn is_of_contract(&self) -> bool {
        match self {
            Self::Roadmap(command) => command.is_of_contract(),
            Self::State(_)
            | Self::StateSnapshot
            | Self::Status(_)
            | Self::Message(_)
            | Self::ChatLog(_)
            | Self::Dashboard(_)
            | Self::Format(_)
            | Self::Frontmatter(_) => true,
        }
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Roadmap(command) => command.run(context),
            Self::State(command) => command.run(context),
            Self::StateSnapshot => state::snapshot(context),
            Self::Status(command) => command.run(context),
            Self::Message(command) => command.run(context),
            Self::ChatLog(command) => command.run(context),
            Self::Dashboard(command) => command.run(context),
            Self::Format(command) => command.run(context),
            Self::Frontmatter(command) => command.run(context),
        }
    }
}

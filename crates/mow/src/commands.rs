//! The commands, one file for each family.

mod doctor;
mod frontmatter;
mod install;
mod manual;
mod overview;
mod roadmap;
pub(crate) mod start;
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
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(frontmatter::Frontmatter),
    /// Start a plan in this directory
    Init(start::StartArgs),
    /// Check git, agents, the filesystem and the planning files
    Doctor(doctor::Args),
    /// Install what other programs need to find mow
    #[command(subcommand)]
    Install(install::Install),
    /// Open the documentation of a command
    HelpOpen(manual::Open),
    /// Print the completions for a shell
    Completions(manual::Completions),
    /// Print the manual, or write a page for every command
    Man(manual::Man),
    /// Print every command as JSON
    #[command(name = "__commands", hide = true)]
    Commands,
}

/// `mow` without a command.
pub(crate) fn overview(context: &Context) -> Result<Output, Failure> {
    overview::run(context)
}

impl Command {
    /// Returns whether the contract knows the command: it then ends with 0 or 1 and nothing else.
    pub(crate) fn is_of_contract(&self) -> bool {
        match self {
            Self::Roadmap(command) => command.is_of_contract(),
            Self::State(_) | Self::StateSnapshot | Self::Status(_) | Self::Frontmatter(_) => true,
            Self::Init(_)
            | Self::Doctor(_)
            | Self::Install(_)
            | Self::HelpOpen(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Commands => false,
        }
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Roadmap(command) => command.run(context),
            Self::State(command) => command.run(context),
            Self::StateSnapshot => state::snapshot(context),
            Self::Status(command) => command.run(context),
            Self::Frontmatter(command) => command.run(context),
            Self::Init(args) => start::run(context, args),
            Self::Doctor(args) => doctor::run(context, args),
            Self::Install(command) => command.run(context),
            Self::HelpOpen(args) => manual::open(context, args),
            Self::Completions(args) => Ok(manual::completions(args)),
            Self::Man(args) => manual::man(context, args),
            Self::Commands => Ok(Output::json_lines(crate::help::leaves())),
        }
    }
}

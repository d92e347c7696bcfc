//! The commands, one file for each family.

mod frontmatter;
mod milestone;
mod phase;
mod phases;
mod progress;
mod requirements;
mod roadmap;
mod state;
mod status;
mod team;
mod validate;

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
    /// Add, insert, remove and complete phases
    #[command(subcommand)]
    Phase(phase::Phase),
    /// List what is on disk
    #[command(subcommand)]
    Phases(phases::Phases),
    /// Find the directory of a phase
    FindPhase {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// List the plans of a phase with their waves
    PhasePlanIndex {
        /// The phase, such as 3 or 03
        phase: String,
    },
    /// Mark requirements complete
    #[command(subcommand)]
    Requirements(requirements::Requirements),
    /// Ship a milestone
    #[command(subcommand)]
    Milestone(milestone::Milestone),
    /// Check that the planning files fit together
    #[command(subcommand)]
    Validate(validate::Validate),
    /// Show how far the phases are
    Progress(progress::Progress),
    /// Read and change STATE.md
    State(state::State),
    /// Print all of STATE.md as one value
    StateSnapshot,
    /// Read and change a phase's STATUS.md
    #[command(subcommand)]
    Status(status::Status),
    /// Print the team and its members
    TeamStatus,
    /// Start, change or stop the team
    TeamUpdate(team::TeamUpdate),
    /// Print the colour of a worker or the lead
    ColorAssign {
        /// The worker's number, counted from 1, or `lead`
        worker: String,
    },
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(frontmatter::Frontmatter),
}

impl Command {
    /// Returns whether the contract knows the command: it then ends with 0 or 1 and nothing else.
    pub(crate) fn is_of_contract(&self) -> bool {
        match self {
            Self::Roadmap(command) => command.is_of_contract(),
            _ => true,
        }
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Roadmap(command) => command.run(context),
            Self::Phase(command) => command.run(context),
            Self::Phases(command) => command.run(context),
            Self::FindPhase { phase } => phases::find_phase(context, phase),
            Self::PhasePlanIndex { phase } => phases::plan_index(context, phase),
            Self::Requirements(command) => command.run(context),
            Self::Milestone(command) => command.run(context),
            Self::Validate(command) => command.run(context),
            Self::Progress(command) => command.run(context),
            Self::State(command) => command.run(context),
            Self::StateSnapshot => state::snapshot(context),
            Self::Status(command) => command.run(context),
            Self::TeamStatus => team::status(context),
            Self::TeamUpdate(command) => command.run(context),
            Self::ColorAssign { worker } => team::color_assign(worker),
            Self::Frontmatter(command) => command.run(context),
        }
    }
}

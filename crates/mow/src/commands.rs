//! The commands, one file for each family.

mod commit;
mod config;
mod frontmatter;
mod init;
mod roadmap;
mod scaffold;
mod state;
mod status;
mod summary;
mod template;
mod todo;
mod utility;
mod verify;
mod worktree;

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
    /// Claim phases, make and merge the worktrees they are worked on in
    #[command(subcommand)]
    Worktree(worktree::Worktree),
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(frontmatter::Frontmatter),
    /// Collect what a workflow wants to know before it starts
    Init {
        #[command(subcommand)]
        command: Option<init::Init>,
    },
    /// Check plans, phases, references, commits
    #[command(subcommand)]
    Verify(verify::Verify),
    /// Choose a summary template, or fill one in
    #[command(subcommand)]
    Template(template::Template),
    /// Make the first files of a phase, or its directory
    Scaffold(scaffold::Scaffold),
    /// Commit planning files
    Commit(commit::Commit),
    /// List the todos
    ListTodos {
        /// Only those of this area
        area: Option<String>,
    },
    /// Start or complete a todo
    #[command(subcommand)]
    Todo(todo::Todo),
    /// Make config.json with the defaults if it is missing
    ConfigEnsureSection,
    /// Change a setting
    ConfigSet(config::Set),
    /// Print a setting
    ConfigGet(config::Get),
    /// Change settings that have a command of their own
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Put all summaries together
    HistoryDigest,
    /// Print the keys of summaries
    SummaryExtract(summary::Extract),
    /// Check the files, commits and self-check of a summary
    VerifySummary(summary::Verify),
    /// Say which model an agent gets
    ResolveModel(utility::ResolveModel),
    /// Make a text fit for a directory or a branch
    GenerateSlug(utility::GenerateSlug),
    /// Print the time
    CurrentTimestamp(utility::CurrentTimestamp),
    /// Say whether a path exists, and what it is
    VerifyPathExists(utility::VerifyPathExists),
    /// Say that searching the web is left to the agents
    Websearch(utility::Websearch),
}

impl Command {
    /// Returns whether the contract knows the command: it then ends with 0 or 1 and nothing else.
    pub(crate) fn is_of_contract(&self) -> bool {
        match self {
            Self::Roadmap(command) => command.is_of_contract(),
            Self::Worktree(command) => command.is_of_contract(),
            Self::Init { command } => command.is_some(),
            _ => true,
        }
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Roadmap(command) => command.run(context),
            Self::State(command) => command.run(context),
            Self::StateSnapshot => state::snapshot(context),
            Self::Status(command) => command.run(context),
            Self::Worktree(command) => command.run(context),
            Self::Frontmatter(command) => command.run(context),
            Self::Init { command: Some(command) } => command.run(context),
            Self::Init { command: None } => init::bare(),
            Self::Verify(command) => command.run(context),
            Self::Template(command) => command.run(context),
            Self::Scaffold(args) => args.run(context),
            Self::Commit(args) => args.run(context),
            Self::ListTodos { area } => Ok(todo::list(context, area.as_deref())),
            Self::Todo(command) => command.run(context),
            Self::ConfigEnsureSection => config::ensure_section(context),
            Self::ConfigSet(args) => args.run(context),
            Self::ConfigGet(args) => args.run(context),
            Self::Config(command) => command.run(context),
            Self::HistoryDigest => Ok(summary::history_digest(context)),
            Self::SummaryExtract(args) => args.run(context),
            Self::VerifySummary(args) => args.run(context),
            Self::ResolveModel(args) => args.run(context),
            Self::GenerateSlug(args) => Ok(args.run()),
            Self::CurrentTimestamp(args) => Ok(args.run()),
            Self::VerifyPathExists(args) => Ok(args.run(context)),
            Self::Websearch(args) => Ok(args.run()),
        }
    }
}

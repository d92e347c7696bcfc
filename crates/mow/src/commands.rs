//! The list of all commands: their arguments, their one-line help, and the call of each.
//!
//! The submodules implement the commands for people. The commands of the contract are implemented
//! in [`crate::compat`].

mod agents;
mod close_shop;
pub(crate) mod config;
mod cost;
pub(crate) mod dashboard;
mod demo;
mod doctor;
mod events;
mod hook;
mod inbox;
mod init;
mod install;
mod log;
mod logs;
mod manual;
mod mcp;
mod merge;
mod overview;
mod peer;
mod plural;
pub(crate) mod profile;
mod ps;
mod replay;
mod rescue;
pub(crate) mod roadmap;
pub(crate) mod run;
mod steer;

use clap::Subcommand;

use crate::compat;
use crate::context::Context;
use crate::failure::Failure;
use crate::lazy_subcommands::LazySubcommands;
use crate::output::Output;

/// All commands of `mow`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a plan in this directory; with a subcommand, print the facts a workflow needs
    #[command(args_conflicts_with_subcommands = true)]
    Init {
        #[command(flatten)]
        start: init::InitArgs,
        #[command(subcommand)]
        command: Option<LazySubcommands<compat::init::InitCommand>>,
    },
    /// Run phases in parallel, each in its own worktree
    Run(run::Args),
    /// Work on one attempt of a phase; started by `mow run`
    #[command(hide = true)]
    Worker(run::WorkerArgs),
    /// Serve mow's tools to an agent over MCP; started by mow
    #[command(hide = true)]
    Mcp(mcp::Args),
    /// Show the status of the run: phases, workers and open questions
    Ps,
    /// Show the installed coding agents, and which agent plays which role
    Agents,
    /// Choose the models of the roles
    SetProfile(profile::SetProfileArgs),
    /// Show the tokens and dollars that the agents of a run used
    Cost(cost::Args),
    /// Send a message to the agents of another phase
    #[command(subcommand)]
    Peer(LazySubcommands<peer::PeerCommand>),
    /// List the questions that wait for your answer
    Inbox(inbox::Args),
    /// Answer a question of the run
    Answer(inbox::AnswerArgs),
    /// Answer a question with its first choice, such as approve or retry
    Approve(inbox::VerdictArgs),
    /// Answer a question with its last choice, such as reject or stop
    Deny(inbox::VerdictArgs),
    /// Take back an answer that the run has not taken up yet
    TakeBack(inbox::TakeBackArgs),
    /// Change how many workers of the run work at the same time
    Workers(steer::WorkersArgs),
    /// Pause one phase or all
    Pause(steer::Args),
    /// Resume a paused, failed or cancelled phase, or all paused phases
    Resume(steer::Args),
    /// Cancel a phase and stop its worker, or all phases that are not merged
    Cancel(steer::CancelArgs),
    /// Show what happened in a run, and why; `mow logs` shows what agents do
    Log(log::Args),
    /// Show what the agents of a phase say and do, live; `mow log` shows why
    Logs(logs::Args),
    /// Print the events of a run; can follow a live run
    Events(events::Args),
    /// Replay a run from its journal and verify every decision
    Replay(replay::Args),
    /// Merge finished phases without a run
    Merge(merge::Args),
    /// List and restore work that mow saved before removing it
    #[command(subcommand)]
    Rescue(LazySubcommands<rescue::Rescue>),
    /// Finish the work of a run: save ideas as todos, release claims, commit
    CloseShop(close_shop::Args),
    /// Create a small project and run it, to see mow at work
    Demo(demo::Args),
    /// Check git, agents, the filesystem and the planning files
    Doctor(doctor::Args),
    /// Show running phases, recent events and open questions
    Dashboard {
        #[command(subcommand)]
        command: Option<LazySubcommands<compat::dashboard::DashboardCommand>>,
    },
    /// Read the roadmap: phases, dependencies, phases that are ready to run
    #[command(subcommand)]
    Roadmap(LazySubcommands<compat::roadmap::RoadmapCommand>),
    /// Add, insert, remove and complete phases
    #[command(subcommand)]
    Phase(LazySubcommands<compat::phase::PhaseCommand>),
    /// List the phase directories on disk
    #[command(subcommand)]
    Phases(LazySubcommands<compat::phases::PhasesCommand>),
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
    Requirements(LazySubcommands<compat::requirements::RequirementsCommand>),
    /// Complete a milestone
    #[command(subcommand)]
    Milestone(LazySubcommands<compat::milestone::MilestoneCommand>),
    /// Check the planning files for consistency
    #[command(subcommand)]
    Validate(LazySubcommands<compat::validate::ValidateCommand>),
    /// Show the progress of the phases
    Progress(compat::progress::ProgressArgs),
    /// Read and change STATE.md
    State(compat::state::StateArgs),
    /// Print all of STATE.md as one JSON value
    StateSnapshot,
    /// Read and change a phase's STATUS.md
    #[command(subcommand)]
    Status(LazySubcommands<compat::status::StatusCommand>),
    /// Print the team and its members
    TeamStatus,
    /// Start, change or stop the team
    TeamUpdate(compat::team::TeamUpdateArgs),
    /// Print the colour of a worker or the lead
    ColorAssign {
        /// The worker's number, counted from 1, or `lead`
        worker: String,
    },
    /// Claim phases, and create and merge their worktrees
    #[command(subcommand)]
    Worktree(LazySubcommands<compat::worktree::WorktreeCommand>),
    /// Create and check messages between workers and lead
    #[command(subcommand)]
    Message(LazySubcommands<compat::message::MessageCommand>),
    /// Record messages between workers
    #[command(subcommand)]
    ChatLog(LazySubcommands<compat::chat_log::ChatLogCommand>),
    /// Draw banners and progress bars for a terminal
    #[command(subcommand)]
    Format(LazySubcommands<compat::format::FormatCommand>),
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(LazySubcommands<compat::frontmatter::FrontmatterCommand>),
    /// Check plans, phases, references, commits
    #[command(subcommand)]
    Verify(LazySubcommands<compat::verify::VerifyCommand>),
    /// Choose a summary template, or fill it in
    #[command(subcommand)]
    Template(LazySubcommands<compat::template::TemplateCommand>),
    /// Create the first files of a phase, or its directory
    Scaffold(compat::scaffold::ScaffoldArgs),
    /// Commit planning files
    Commit(compat::commit::CommitArgs),
    /// List the todos
    ListTodos {
        /// List only the todos of this area
        area: Option<String>,
    },
    /// Start or complete a todo
    #[command(subcommand)]
    Todo(LazySubcommands<compat::todo::TodoCommand>),
    /// Create config.json with the defaults if it is missing
    ConfigEnsureSection,
    /// Change a setting
    ConfigSet(config::ConfigSetArgs),
    /// Print a setting
    ConfigGet(config::ConfigGetArgs),
    /// Change settings that have a command of their own
    #[command(subcommand)]
    Config(LazySubcommands<config::ConfigCommand>),
    /// Combine the summaries of all phases
    HistoryDigest,
    /// Print fields of a summary
    SummaryExtract(compat::summary::SummaryExtractArgs),
    /// Check the files, commits and self-check of a summary
    VerifySummary(compat::summary::VerifySummaryArgs),
    /// Print the model of an agent
    ResolveModel(compat::small_commands::ResolveModelArgs),
    /// Turn a text into a name for a directory or a branch
    GenerateSlug(compat::small_commands::GenerateSlugArgs),
    /// Print the current time
    CurrentTimestamp(compat::small_commands::CurrentTimestampArgs),
    /// Report whether a path exists, and its type
    VerifyPathExists(compat::small_commands::VerifyPathExistsArgs),
    /// Report that web search is left to the agents
    Websearch(compat::small_commands::WebsearchArgs),
    /// Handle Claude Code hooks: session stop, subagent start, worktree create and remove
    #[command(subcommand)]
    Hook(LazySubcommands<hook::HookCommand>),
    /// Install mow into other programs
    #[command(subcommand)]
    Install(LazySubcommands<install::InstallCommand>),
    /// Open the documentation of a command
    HelpOpen(manual::HelpOpenArgs),
    /// Print the completion script of a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual, or write a man page for every command
    Man(manual::ManArgs),
    /// Print every command as JSON
    #[command(name = "__commands", hide = true)]
    Commands,
}

/// Runs `mow` without a command: shows the state of the project.
pub(crate) fn overview(context: &Context) -> Result<Output, Failure> {
    overview::run(context)
}

impl Command {
    /// Returns whether this is a contract command, which exits with 0 or 1 only.
    pub(crate) fn is_contract_command(&self) -> bool {
        match self {
            Self::Roadmap(command) => command.is_contract_command(),
            Self::Worktree(command) => command.is_contract_command(),
            Self::Init { command, .. } => command.is_some(),
            Self::Dashboard { command } => command.is_some(),
            Self::ColorAssign { .. }
            | Self::Run(_)
            | Self::Worker(_)
            | Self::Mcp(_)
            | Self::Ps
            | Self::Agents
            | Self::Cost(_)
            | Self::Peer(_)
            | Self::Inbox(_)
            | Self::Answer(_)
            | Self::Approve(_)
            | Self::Deny(_)
            | Self::Pause(_)
            | Self::Resume(_)
            | Self::Cancel(_)
            | Self::Log(_)
            | Self::Logs(_)
            | Self::Events(_)
            | Self::Replay(_)
            | Self::Merge(_)
            | Self::Rescue(_)
            | Self::CloseShop(_)
            | Self::Demo(_)
            | Self::Doctor(_)
            | Self::Hook(_)
            | Self::Install(_)
            | Self::HelpOpen(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Commands => false,
            _ => true,
        }
    }

    #[expect(clippy::too_many_lines, reason = "one line per command")]
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Roadmap(command) => command.run(context),
            Self::Phase(command) => command.run(context),
            Self::Phases(command) => command.run(context),
            Self::FindPhase { phase } => compat::phases::find_phase(context, phase),
            Self::PhasePlanIndex { phase } => compat::phases::plan_index(context, phase),
            Self::Requirements(command) => command.run(context),
            Self::Milestone(command) => command.run(context),
            Self::Validate(command) => command.run(context),
            Self::Progress(command) => command.run(context),
            Self::State(command) => command.run(context),
            Self::StateSnapshot => compat::state::snapshot(context),
            Self::Status(command) => command.run(context),
            Self::TeamStatus => compat::team::status(context),
            Self::TeamUpdate(command) => command.run(context),
            Self::ColorAssign { worker } => compat::team::color_assign(worker),
            Self::Worktree(command) => command.run(context),
            Self::Message(command) => command.run(context),
            Self::ChatLog(command) => command.run(context),
            Self::Dashboard { command: Some(command) } => command.run(context),
            Self::Dashboard { command: None } => dashboard::show(context),
            Self::Format(command) => command.run(context),
            Self::Frontmatter(command) => command.run(context),
            Self::Init { command: Some(command), .. } => command.run(context),
            Self::Init { start, command: None } => init::run(context, start),
            Self::Verify(command) => command.run(context),
            Self::Template(command) => command.run(context),
            Self::Scaffold(args) => args.run(context),
            Self::Commit(args) => args.run(context),
            Self::ListTodos { area } => Ok(compat::todo::list(context, area.as_deref())),
            Self::Todo(command) => command.run(context),
            Self::ConfigEnsureSection => config::ensure_section(context),
            Self::ConfigSet(args) => args.run(context),
            Self::ConfigGet(args) => args.run(context),
            Self::Config(command) => command.run(context),
            Self::HistoryDigest => Ok(compat::summary::history_digest(context)),
            Self::SummaryExtract(args) => args.run(context),
            Self::VerifySummary(args) => args.run(context),
            Self::ResolveModel(args) => args.run(context),
            Self::GenerateSlug(args) => Ok(args.run()),
            Self::CurrentTimestamp(args) => Ok(args.run()),
            Self::VerifyPathExists(args) => Ok(args.run(context)),
            Self::Websearch(args) => Ok(args.run()),
            Self::Run(args) => run::run(context, args),
            Self::Worker(args) => run::worker(args),
            Self::Mcp(args) => mcp::run(args),
            Self::Ps => ps::run(context),
            Self::Agents => agents::run(context),
            Self::SetProfile(args) => args.run(context),
            Self::Cost(args) => cost::run(context, args),
            Self::Peer(command) => command.run(context),
            Self::Inbox(args) => inbox::run(context, args),
            Self::Answer(args) => inbox::answer(context, args),
            Self::Approve(args) => inbox::verdict(context, args, true),
            Self::Deny(args) => inbox::verdict(context, args, false),
            Self::TakeBack(args) => inbox::take_back(context, args),
            Self::Workers(args) => steer::workers(context, args),
            Self::Pause(args) => steer::pause(context, args),
            Self::Resume(args) => steer::resume(context, args),
            Self::Cancel(args) => steer::cancel(context, args),
            Self::Log(args) => log::run(context, args),
            Self::Logs(args) => logs::run(context, args),
            Self::Events(args) => events::run(context, args),
            Self::Replay(args) => replay::run(context, args),
            Self::Merge(args) => merge::run(context, args),
            Self::Rescue(command) => command.run(context),
            Self::CloseShop(args) => close_shop::run(context, args),
            Self::Demo(args) => demo::run(context, args),
            Self::Doctor(args) => doctor::run(context, args),
            Self::Hook(hook) => hook.run(),
            Self::Install(command) => command.run(context),
            Self::HelpOpen(args) => manual::open(context, args),
            Self::Completions(args) => Ok(manual::completions(args)),
            Self::Man(args) => manual::man(context, args),
            Self::Commands => Ok(Output::pretty_json(crate::help::callable_commands())),
        }
    }
}

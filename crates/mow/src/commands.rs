//! The commands, one file for each family.

mod agents;
mod chat_log;
mod close_shop;
mod commit;
mod config;
mod cost;
mod dashboard;
mod demo;
mod doctor;
mod events;
mod format;
mod frontmatter;
mod hook;
mod inbox;
mod init;
mod install;
mod log;
mod manual;
mod merge;
mod message;
mod milestone;
mod overview;
mod peer;
mod phase;
mod phases;
mod profile;
mod progress;
mod ps;
mod replay;
mod requirements;
mod rescue;
mod roadmap;
mod run;
mod scaffold;
mod start;
mod state;
mod status;
mod steer;
mod summary;
mod team;
mod template;
mod todo;
mod utility;
mod validate;
mod verify;
mod worktree;

use clap::Subcommand;

use crate::context::Context;
use crate::failure::Failure;
use crate::family::Family;
use crate::output::Output;

/// Everything `mow` can be asked.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a plan here; with a subcommand, collect what a workflow wants to know
    #[command(args_conflicts_with_subcommands = true)]
    Init {
        #[command(flatten)]
        start: start::StartArgs,
        #[command(subcommand)]
        command: Option<Family<init::Init>>,
    },
    /// Run phases, several at a time, each in its own worktree
    Run(run::Args),
    /// Carry out one attempt of a phase; `mow run` starts it
    #[command(hide = true)]
    Worker(run::WorkerArgs),
    /// Show the run at a glance: lead, phases, workers, questions
    Ps,
    /// Show which coding agents are there, and who plays which role
    Agents,
    /// Choose which models the roles get
    SetProfile(profile::SetProfile),
    /// Show what the agents of a run used: tokens and dollars
    Cost(cost::Args),
    /// Tell the agents of another phase something
    #[command(subcommand)]
    Peer(Family<peer::Peer>),
    /// List what waits for a person
    Inbox(inbox::Args),
    /// Answer a question of the run
    Answer(inbox::AnswerArgs),
    /// Answer a question with its first choice: yes
    Approve(inbox::VerdictArgs),
    /// Answer a question with its last choice: no
    Deny(inbox::VerdictArgs),
    /// Let a phase rest, or all
    Pause(steer::Args),
    /// Let a phase go on that rests, failed or was cancelled, or all that rest
    Resume(steer::Args),
    /// End a phase for good, or all that are not merged
    Cancel(steer::CancelArgs),
    /// Say in words what happened in a run, and why
    Log(log::Args),
    /// Stream the events of a run, also while it goes on
    Events(events::Args),
    /// Make a run happen again from its journal, and check it
    Replay(replay::Args),
    /// Merge finished phases by hand, the way a run does it
    Merge(merge::Args),
    /// Bring back work that was put aside
    #[command(subcommand)]
    Rescue(Family<rescue::Rescue>),
    /// End the work of a run: keep ideas as todos, release claims, commit
    CloseShop(close_shop::Args),
    /// Make a small project and run it, to see mow at work
    Demo(demo::Args),
    /// Check git, agents, the filesystem and the planning files
    Doctor(doctor::Args),
    /// Show running phases, what happened, and what waits for a person
    Dashboard {
        #[command(subcommand)]
        command: Option<Family<dashboard::Dashboard>>,
    },
    /// Read the roadmap: phases, dependencies, what may run
    #[command(subcommand)]
    Roadmap(Family<roadmap::Roadmap>),
    /// Add, insert, remove and complete phases
    #[command(subcommand)]
    Phase(Family<phase::Phase>),
    /// List what is on disk
    #[command(subcommand)]
    Phases(Family<phases::Phases>),
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
    Requirements(Family<requirements::Requirements>),
    /// Ship a milestone
    #[command(subcommand)]
    Milestone(Family<milestone::Milestone>),
    /// Check that the planning files fit together
    #[command(subcommand)]
    Validate(Family<validate::Validate>),
    /// Show how far the phases are
    Progress(progress::Progress),
    /// Read and change STATE.md
    State(state::State),
    /// Print all of STATE.md as one value
    StateSnapshot,
    /// Read and change a phase's STATUS.md
    #[command(subcommand)]
    Status(Family<status::Status>),
    /// Print the team and its members
    TeamStatus,
    /// Start, change or stop the team
    TeamUpdate(team::TeamUpdate),
    /// Print the colour of a worker or the lead
    ColorAssign {
        /// The worker's number, counted from 1, or `lead`
        worker: String,
    },
    /// Claim phases, make and merge the worktrees they are worked on in
    #[command(subcommand)]
    Worktree(Family<worktree::Worktree>),
    /// Make and check the messages of workers and lead
    #[command(subcommand)]
    Message(Family<message::Message>),
    /// Keep what workers say to each other
    #[command(subcommand)]
    ChatLog(Family<chat_log::ChatLog>),
    /// Draw banners and bars for a terminal
    #[command(subcommand)]
    Format(Family<format::Format>),
    /// Read and change the YAML block of a Markdown file
    #[command(subcommand)]
    Frontmatter(Family<frontmatter::Frontmatter>),
    /// Check plans, phases, references, commits
    #[command(subcommand)]
    Verify(Family<verify::Verify>),
    /// Choose a summary template, or fill one in
    #[command(subcommand)]
    Template(Family<template::Template>),
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
    Todo(Family<todo::Todo>),
    /// Make config.json with the defaults if it is missing
    ConfigEnsureSection,
    /// Change a setting
    ConfigSet(config::Set),
    /// Print a setting
    ConfigGet(config::Get),
    /// Change settings that have a command of their own
    #[command(subcommand)]
    Config(Family<config::ConfigCommand>),
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
    /// Answer Claude Code when a session stops, a subagent starts, a worktree comes or goes
    #[command(subcommand)]
    Hook(Family<hook::Hook>),
    /// Install what other programs need to find mow
    #[command(subcommand)]
    Install(Family<install::Install>),
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
            Self::Worktree(command) => command.is_of_contract(),
            Self::Init { command, .. } => command.is_some(),
            Self::Dashboard { command } => command.is_some(),
            Self::ColorAssign { .. }
            | Self::Run(_)
            | Self::Worker(_)
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

    #[expect(clippy::too_many_lines, reason = "one line a command")]
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
            Self::Worktree(command) => command.run(context),
            Self::Message(command) => command.run(context),
            Self::ChatLog(command) => command.run(context),
            Self::Dashboard { command: Some(command) } => command.run(context),
            Self::Dashboard { command: None } => dashboard::show(context),
            Self::Format(command) => command.run(context),
            Self::Frontmatter(command) => command.run(context),
            Self::Init { command: Some(command), .. } => command.run(context),
            Self::Init { start, command: None } => start::run(context, start),
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
            Self::Run(args) => run::run(context, args),
            Self::Worker(args) => run::worker(args),
            Self::Ps => ps::run(context),
            Self::Agents => agents::run(context),
            Self::SetProfile(args) => args.run(context),
            Self::Cost(args) => cost::run(context, args),
            Self::Peer(command) => command.run(context),
            Self::Inbox(args) => inbox::run(context, args),
            Self::Answer(args) => inbox::answer(context, args),
            Self::Approve(args) => inbox::verdict(context, args, true),
            Self::Deny(args) => inbox::verdict(context, args, false),
            Self::Pause(args) => steer::pause(context, args),
            Self::Resume(args) => steer::resume(context, args),
            Self::Cancel(args) => steer::cancel(context, args),
            Self::Log(args) => log::run(context, args),
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
            Self::Commands => Ok(Output::json_lines(crate::help::leaves())),
        }
    }
}

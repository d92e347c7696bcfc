//! Parses the command line, and turns a wrong call into an error message with a hint.

mod surplus;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::caller;
use crate::commands::{self, Command};
use crate::context::Context;
use crate::failure::Failure;
use crate::help;
use crate::lazy_subcommands;
use crate::output::{CommandOutput, Output, warn};

/// Runs the phases of a planned project with coding agents, and is the tool those agents call.
#[derive(Debug, Parser)]
#[command(name = "mow", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Plans live in .planning/. `mow` alone shows the state of the project; `mow init` starts one.\n\
                        `mow help CMD` shows examples, `mow CMD ???` opens the documentation."
)]
pub(crate) struct Cli {
    /// Print only the bare value instead of JSON, for commands that have one
    #[arg(long, global = true)]
    raw: bool,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
    /// Run as if started in this directory
    #[arg(long, global = true, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// A command line that was parsed successfully.
pub(crate) enum ParsedCommandLine {
    Run {
        cli: Box<Cli>,
        /// The arguments that were parsed, without the ones that were ignored.
        args: Vec<OsString>,
    },
    /// Print this help or version text.
    Show(String),
}

impl ParsedCommandLine {
    pub(crate) fn run(self) -> Result<CommandOutput, Failure> {
        match self {
            Self::Show(text) => {
                let context = Context::new(false, false, None)?;
                Ok(CommandOutput { output: Output::Text(text), context })
            }
            Self::Run { cli, args } => {
                let context = Context::new(cli.raw, cli.json, cli.cwd.as_deref())?;
                let Some(command) = &cli.command else {
                    return Ok(CommandOutput { output: commands::overview(&context)?, context });
                };
                caller::refuse_lead_only_command(&context, &args)?;
                let output = command.run(&context).map_err(|failure| {
                    if command.is_contract_command() {
                        failure.with_contract_code()
                    } else {
                        failure
                    }
                })?;
                Ok(CommandOutput { output, context })
            }
        }
    }
}

/// Parses the arguments of this process.
pub(crate) fn parse() -> Result<ParsedCommandLine, Failure> {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    // The first `--raw` is the flag wherever it stands, even where a value is expected.
    let raw = args.iter().skip(1).position(|arg| arg == "--raw").map(|at| args.remove(at + 1));
    let args = open_documentation(args);
    let understood = parse_lazily(&args)
        .map(|cli| (cli, args.clone()))
        .or_else(|error| parse_without_surplus(&args).ok_or(error));
    match understood {
        Ok((mut cli, args)) => {
            cli.raw |= raw.is_some();
            Ok(ParsedCommandLine::Run { cli: Box::new(cli), args })
        }
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            // Only help needs the examples. Other calls do not pay for adding them.
            let error =
                help::command_with_examples().try_get_matches_from(&args).err().unwrap_or(error);
            Ok(ParsedCommandLine::Show(format!(
                "{}\n",
                error.render().ansi().to_string().trim_end()
            )))
        }
        Err(error) => Err(usage_failure(&error)),
    }
}

/// Parses a call of a contract command again, without its surplus arguments.
///
/// The first of two equal flags counts, and words after the last argument are ignored.
fn parse_without_surplus(args: &[OsString]) -> Option<(Cli, Vec<OsString>)> {
    let (kept, dropped) = surplus::split(args, Cli::command())?;
    let cli = Cli::try_parse_from(&kept).ok()?;
    if !cli.command.as_ref().is_some_and(Command::is_contract_command) {
        return None;
    }
    warn(&format!("ignored: {}", dropped.join(" ")));
    Some((cli, kept))
}

/// Parses the arguments; builds only the argument definitions of the called command.
fn parse_lazily(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = lazy_subcommands::build_lazily(Cli::command).try_get_matches_from(args)?;
    let parsed = Cli::from_arg_matches_mut(&mut matches);
    parsed.map_err(|error| error.format(&mut Cli::command()))
}

/// Returns the names of the called command and its subcommands, with aliases resolved.
pub(crate) fn called_command(args: &[OsString]) -> Vec<String> {
    let Ok(mut matches) = Cli::command().try_get_matches_from(args) else { return Vec::new() };
    let mut words = Vec::new();
    while let Some((word, inner)) = matches.remove_subcommand() {
        words.push(word);
        matches = inner;
    }
    words
}

/// Turns `mow state get ???` into `mow help-open state get`.
fn open_documentation(args: Vec<OsString>) -> Vec<OsString> {
    if args.len() < 2 || args.last().is_none_or(|last| last != "???") {
        return args;
    }
    let called = &args[1..args.len() - 1];
    let words = command_words(called.iter().map(|arg| arg.to_string_lossy().into_owned()));
    [args[0].clone(), "help-open".into()]
        .into_iter()
        .chain(words.into_iter().map(Into::into))
        .collect()
}

/// Turns a parse error into a failure with a message and a hint.
fn usage_failure(error: &clap::Error) -> Failure {
    let rendered = error.render().to_string();
    let first = rendered.lines().next().unwrap_or("cannot parse the command line");
    let mut message = first.trim_start_matches("error: ").to_owned();
    // Clap lists missing required arguments on the lines below the message.
    if message.ends_with(':') {
        let listed: Vec<_> =
            rendered.lines().skip(1).map(str::trim).take_while(|line| !line.is_empty()).collect();
        message = format!("{message} {}", listed.join(" "));
    }
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && !values.is_empty()
    {
        message = format!("{message}. Possible values: {}", values.join(", "));
    }
    let called = command_words(std::env::args().skip(1));
    let missing =
        [ErrorKind::MissingSubcommand, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    if missing.contains(&error.kind()) || error.kind() == ErrorKind::InvalidSubcommand {
        message = unknown_command(&called);
    }
    let suggestion = match error
        .get(ContextKind::SuggestedSubcommand)
        .or_else(|| error.get(ContextKind::SuggestedArg))
    {
        Some(ContextValue::Strings(names)) => names.last().cloned(),
        Some(ContextValue::String(name)) => Some(name.clone()),
        _ => None,
    };
    let help = format!("mow {} --help", known_words(&called).join(" ")).replace("  ", " ");
    let hint =
        suggestion.map_or(help.clone(), |name| format!("did you mean `{name}`? Or see `{help}`"));
    Failure { code: crate::failure::code::REFUSED, kind: "usage", message, hint: Some(hint) }
}

/// Returns the words before the first flag of the command; they start with the command's name.
///
/// Global flags before the command are skipped.
fn command_words(mut args: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = Vec::new();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--raw" | "--json" => {}
            "--cwd" => drop(args.next()),
            word if word.starts_with("--cwd=") => {}
            word if word.starts_with('-') => break,
            // `mow help state` is about `state`.
            "help" if words.is_empty() => {}
            _ => words.push(arg),
        }
    }
    words
}

/// Returns the leading words that name existing commands.
fn known_words(called: &[String]) -> &[String] {
    let root = Cli::command();
    let mut parent = &root;
    let is_known = |word: &&String| match parent.find_subcommand(word) {
        Some(child) => {
            parent = child;
            true
        }
        None => false,
    };
    let count = called.iter().take_while(is_known).count();
    &called[..count]
}

/// Describes an unknown or missing subcommand, and lists the ones that exist.
fn unknown_command(called: &[String]) -> String {
    let root = Cli::command();
    let mut parent = &root;
    let mut words = called.iter();
    let unknown = words.find(|word| match parent.find_subcommand(word) {
        Some(child) => {
            parent = child;
            false
        }
        None => true,
    });
    let known_count = called.len() - words.len() - usize::from(unknown.is_some());
    let path = called[..known_count].join(" ");
    let shown = parent.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<_> = shown.map(clap::Command::get_name).collect();
    let available = names.join(", ");
    match (path.as_str(), unknown) {
        ("", None) => format!("Usage: mow <command>. Available: {available}"),
        ("", Some(word)) => format!("Unknown command: {word}"),
        (path, None) => format!("{path} needs a subcommand. Available: {available}"),
        (path, Some(word)) => {
            format!("Unknown {path} subcommand: {word}. Available: {available}")
        }
    }
}

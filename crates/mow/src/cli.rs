//! What can be called: the arguments, their help, and how wrong ones are answered.

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
use crate::family;
use crate::help;
use crate::output::{Answer, Output, warn};

/// Runs the phases of a planned project with coding agents, and is the tool those agents call.
#[derive(Debug, Parser)]
#[command(name = "mow", version, propagate_version = true, max_term_width = 100)]
#[command(
    after_help = "Plans live in .planning/. `mow` alone says where a project stands; `mow init` starts one.\n\
                        `mow help CMD` shows examples, `mow CMD ???` the documentation."
)]
pub(crate) struct Cli {
    /// Print the bare value instead of JSON, where there is one
    #[arg(long, global = true)]
    raw: bool,
    /// Print JSON also where text is the default
    #[arg(long, global = true)]
    json: bool,
    /// Work as if started in this directory
    #[arg(long, global = true, value_name = "DIR")]
    cwd: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// A call that was understood.
pub(crate) enum Request {
    Run {
        cli: Box<Cli>,
        /// The arguments as they were understood.
        args: Vec<OsString>,
    },
    /// Help or version text.
    Show(String),
}

impl Request {
    pub(crate) fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Show(text) => {
                let context = Context::new(false, false, None)?;
                Ok(Answer { output: Output::Text(text), context })
            }
            Self::Run { cli, args } => {
                let context = Context::new(cli.raw, cli.json, cli.cwd.as_deref())?;
                let Some(command) = &cli.command else {
                    return Ok(Answer { output: commands::overview(&context)?, context });
                };
                caller::guard(&context, &args)?;
                let output = command.run(&context).map_err(|failure| {
                    if command.is_of_contract() { failure.of_contract() } else { failure }
                })?;
                Ok(Answer { output, context })
            }
        }
    }
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Request, Failure> {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    // The first `--raw` counts wherever it stands, even where a value is expected.
    let raw = args.iter().skip(1).position(|arg| arg == "--raw").map(|at| args.remove(at + 1));
    let args = open_documentation(args);
    let understood = parse_lazily(&args)
        .map(|cli| (cli, args.clone()))
        .or_else(|error| without_surplus(&args).ok_or(error));
    match understood {
        Ok((mut cli, args)) => {
            cli.raw |= raw.is_some();
            Ok(Request::Run { cli: Box::new(cli), args })
        }
        Err(error)
            if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) =>
        {
            // Examples are put in only now, so that other calls do not pay for them.
            let error = help::documented().try_get_matches_from(&args).err().unwrap_or(error);
            Ok(Request::Show(format!("{}\n", error.render().ansi().to_string().trim_end())))
        }
        Err(error) => Err(explain(&error)),
    }
}

/// Reads a call of the contract again without what is too much in it: of a flag that is given twice
/// the first one counts, and words behind the last argument are ignored.
fn without_surplus(args: &[OsString]) -> Option<(Cli, Vec<OsString>)> {
    let (kept, dropped) = surplus::split(args, Cli::command())?;
    let cli = Cli::try_parse_from(&kept).ok()?;
    if !cli.command.as_ref().is_some_and(Command::is_of_contract) {
        return None;
    }
    warn(&format!("ignored: {}", dropped.join(" ")));
    Some((cli, kept))
}

/// Reads the arguments; only what the called command may be given is made for it.
fn parse_lazily(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut matches = family::lazily(Cli::command).try_get_matches_from(args)?;
    let parsed = Cli::from_arg_matches_mut(&mut matches);
    parsed.map_err(|error| error.format(&mut Cli::command()))
}

/// Returns the command that was called and its subcommands, aliases resolved.
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
    let words = called_words(called.iter().map(|arg| arg.to_string_lossy().into_owned()));
    [args[0].clone(), "help-open".into()]
        .into_iter()
        .chain(words.into_iter().map(Into::into))
        .collect()
}

/// Turns a wrong call into a sentence and a hint.
fn explain(error: &clap::Error) -> Failure {
    let rendered = error.render().to_string();
    let first = rendered.lines().next().unwrap_or("the command was not understood");
    let mut message = first.trim_start_matches("error: ").to_owned();
    // Required arguments are listed on the lines below the sentence.
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
    let called = called_words(std::env::args().skip(1));
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

/// Returns the words that name the command: what stands before its first flag, the flags that may
/// stand before a command left out.
fn called_words(mut args: impl Iterator<Item = String>) -> Vec<String> {
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

/// Returns the words at the start of a call that name commands there are.
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

/// Names the subcommands there are where the call went wrong.
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
    let known = called.len() - words.len() - usize::from(unknown.is_some());
    let path = called[..known].join(" ");
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

//! The help pages: one Markdown page for each command, shown whole or as examples below `--help`.
//!
//! A page is `help/<command>.md`. Its first part describes the command; a heading
//! `## <command> <subcommand>` starts the part about a subcommand. Lines that are indented by four
//! spaces and start with `mow` are examples. Pages are read only when help is requested.

mod pages;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use clap::CommandFactory;

use crate::cli::Cli;
use crate::terminal::{BOLD, CYAN, styled};

/// How many examples are shown below `--help`.
const EXAMPLES_MAX: usize = 3;

/// The help page of a top-level command.
pub(crate) struct HelpPage {
    word: &'static str,
    text: &'static str,
}

impl HelpPage {
    /// Finds the page of a top-level command.
    pub(crate) fn find(word: &str) -> Option<Self> {
        let found = pages::PAGES.iter().find(|(name, _)| *name == word);
        found.map(|(word, text)| Self { word, text })
    }

    /// Returns the part about a subcommand, or the whole page if there is no such part.
    pub(crate) fn part(&self, words: &[&str]) -> &'static str {
        let heading = format!("## {} {}", self.word, words.join(" "));
        let mut parts = self.parts();
        let found = parts.find(|part| part.lines().next() == Some(heading.trim_end()));
        found.unwrap_or(self.text)
    }

    /// Returns the examples of a subcommand, or of the command itself if `words` is empty.
    pub(crate) fn examples(&self, words: &[&str]) -> Vec<&'static str> {
        let text = match words {
            [] => self.parts().next().unwrap_or_default(),
            words => match self.part(words) {
                part if part.len() == self.text.len() => return Vec::new(),
                part => part,
            },
        };
        let code = text.lines().filter_map(|line| line.strip_prefix("    "));
        code.filter(|line| line.starts_with("mow")).collect()
    }

    /// Splits the page at the headings of its subcommands.
    fn parts(&self) -> impl Iterator<Item = &'static str> {
        let text = self.text;
        let starts = std::iter::once(0).chain(text.match_indices("\n## ").map(|(at, _)| at + 1));
        let ends = text.match_indices("\n## ").map(|(at, _)| at + 1).chain([text.len()]);
        starts.zip(ends).map(|(start, end)| text[start..end].trim_end())
    }
}

/// Returns every command that has a help page.
pub(crate) fn topics() -> impl Iterator<Item = &'static str> {
    pages::PAGES.iter().map(|(word, _)| *word)
}

/// Returns the definition of the command line, with examples below the help of every command.
pub(crate) fn command_with_examples() -> clap::Command {
    let names: Vec<_> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
    names.into_iter().fold(Cli::command(), |root, name| match HelpPage::find(&name) {
        Some(page) => root.mut_subcommand(name, |command| with_examples(command, &page, &[])),
        None => root,
    })
}

fn with_examples(command: clap::Command, page: &HelpPage, words: &[&str]) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let command = names.iter().fold(command, |command, name| {
        let words = [words, &[name]].concat();
        command.mut_subcommand(name, |sub| with_examples(sub, page, &words))
    });
    match page.examples(words).as_slice() {
        [] => command,
        examples => command.after_help(example_block(examples)),
    }
}

fn example_block(examples: &[&str]) -> String {
    let mut text = "Examples:".to_owned();
    for example in examples.iter().take(EXAMPLES_MAX) {
        let _ = write!(text, "\n  {example}");
    }
    text
}

/// Returns a page with coloured headings and examples for a terminal.
pub(crate) fn render(markdown: &str) -> String {
    let mut text = String::new();
    for line in markdown.lines() {
        let line = if let Some(command) = line.strip_prefix("## ") {
            styled(BOLD, &format!("mow {command}"))
        } else if let Some(title) = line.strip_prefix("# ") {
            styled(BOLD, title)
        } else if line.starts_with("    ") {
            styled(CYAN, line)
        } else {
            line.to_owned()
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns every command that can be called: those without subcommands, and those that do not
/// require one.
pub(crate) fn callable_commands() -> Vec<String> {
    let mut callable_commands = Vec::new();
    for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        collect_callable(command, command.get_name(), &mut callable_commands);
    }
    callable_commands
}

fn collect_callable(command: &clap::Command, path: &str, callable_commands: &mut Vec<String>) {
    if !command.has_subcommands() || !command.is_subcommand_required_set() {
        callable_commands.push(path.to_owned());
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        collect_callable(sub, &format!("{path} {}", sub.get_name()), callable_commands);
    }
}

//! `mow help-open`, `mow completions`, `mow man`: help pages, shell completions, manual pages.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap_complete::Shell;
use mow_host::{pager, shell_words};
use mow_store::disk::{DiskError, WAIT_DEFAULT, Writer};
use serde_json::json;

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::help::{self, HelpPage};
use crate::output::Output;
use crate::terminal::strip_unwanted_colors;

/// The arguments of `help-open`.
#[derive(Debug, clap::Args)]
pub(crate) struct HelpOpenArgs {
    /// The command, such as `state` or `state get`; without it, list all pages
    command: Vec<String>,
}

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that the script is for
    shell: Shell,
}

/// The arguments of `man`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write one page per command into this directory; without it, print mow(1)
    dir: Option<PathBuf>,
}

pub(super) fn open(context: &Context, args: &HelpOpenArgs) -> Result<Output, Failure> {
    let words: Vec<_> = args.command.iter().map(String::as_str).collect();
    let Some((word, rest)) = words.split_first() else { return Ok(topics(context)) };
    let page = HelpPage::find(word).ok_or_else(|| {
        Failure::refused(format!("there is no help page for {word:?}"))
            .hint("`mow help-open` lists the pages")
    })?;
    // The longest prefix with a page counts: `state get Status ???` opens `state get`.
    let lengths = (0..=rest.len()).rev();
    let mut parts = lengths.map(|length| page.part(&rest[..length]));
    let part = parts.find(|part| part.starts_with("## ")).unwrap_or_else(|| page.part(&[]));
    if context.wants_json() {
        return Ok(Output::pretty_json(json!({ "command": word, "markdown": part })));
    }
    let mut text = help::render(part);
    if part.starts_with("## ") {
        text.push_str(&format!("\nWhole page: mow help-open {word}\n"));
    }
    Ok(Output::Text(show_in_pager(text)))
}

/// Lists all help pages.
fn topics(context: &Context) -> Output {
    if context.wants_json() {
        return Output::pretty_json(help::topics().collect::<Vec<_>>());
    }
    let mut text = "Help pages. Open one with `mow help-open PAGE` or `mow PAGE ???`:\n".to_owned();
    for topic in help::topics() {
        text.push_str("  ");
        text.push_str(topic);
        text.push('\n');
    }
    Output::Text(text)
}

/// Shows a text in a pager on a terminal; returns the text that is still to be printed.
fn show_in_pager(text: String) -> String {
    let configured = std::env::var("MOW_PAGER").or_else(|_| std::env::var("PAGER"));
    let configured = configured.unwrap_or_else(|_| "less".to_owned());
    let pager = shell_words::split(&configured).unwrap_or_default();
    if !std::io::stdout().is_terminal() || pager.is_empty() || pager == ["cat"] {
        return text;
    }
    match pager::show(&pager, &strip_unwanted_colors(&text, &std::io::stdout())) {
        Ok(()) => String::new(),
        Err(_) => text,
    }
}

pub(super) fn completions(args: &CompletionsArgs) -> Output {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command_with_examples(), "mow", &mut script);
    Output::Text(String::from_utf8_lossy(&script).into_owned())
}

pub(super) fn man(context: &Context, args: &ManArgs) -> Result<Output, Failure> {
    let mut root = help::command_with_examples().disable_help_subcommand(true);
    root.build();
    let Some(dir) = &args.dir else { return Ok(Output::Text(page(&root)?)) };
    let dir = context.path_from_cwd(dir);
    let writer = Writer::open_dir(&dir, WAIT_DEFAULT)?;
    let mut count = 0;
    write_pages(&writer, &root, "mow", &mut count)?;
    let written = format!("wrote {} to {}\n", counted(count, "page"), dir.display());
    Ok(if context.wants_json() {
        Output::pretty_json(json!({ "pages": count, "directory": dir }))
    } else {
        Output::Text(written)
    })
}

/// Writes the pages of a command and its subcommands, such as `mow-state-get.1`.
fn write_pages(
    writer: &Writer,
    command: &clap::Command,
    name: &str,
    count: &mut usize,
) -> Result<(), Failure> {
    let named = command.clone().name(name.to_owned());
    writer.replace(format!("{name}.1").as_ref(), page(&named)?.as_bytes())?;
    *count += 1;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        write_pages(writer, sub, &format!("{name}-{}", sub.get_name()), count)?;
    }
    Ok(())
}

/// Returns the manual page of a command in roff.
fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut roff = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut roff).map_err(|source| {
        let path = PathBuf::from("the manual page");
        Failure::from(DiskError::Io { action: "write", path, source })
    })?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}

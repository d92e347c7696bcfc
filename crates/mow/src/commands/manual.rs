//! `mow help-open`, `mow completions`, `mow man`: what mow says about itself.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap_complete::Shell;
use mow_host::pager;
use mow_store::disk::{DiskError, WAIT_DEFAULT, Writer};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::help::{self, Page};
use crate::output::Output;
use crate::terminal::suited;

/// The arguments of `help-open`.
#[derive(Debug, clap::Args)]
pub(crate) struct Open {
    /// The command, such as `state` or `state get`; the list of pages without one
    command: Vec<String>,
}

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell to complete in
    shell: Shell,
}

/// The arguments of `man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Write a page for every command into this directory; without it, print mow(1)
    dir: Option<PathBuf>,
}

pub(super) fn open(context: &Context, args: &Open) -> Result<Output, Failure> {
    let words: Vec<_> = args.command.iter().map(String::as_str).collect();
    let Some((word, rest)) = words.split_first() else { return Ok(topics(context)) };
    let page = Page::find(word).ok_or_else(|| {
        Failure::refused(format!("there is no page about {word:?}"))
            .hint("`mow help-open` lists the pages")
    })?;
    // Whoever types `state get Status ???` means the page of `state get`.
    let lengths = (0..=rest.len()).rev();
    let mut parts = lengths.map(|length| page.part(&rest[..length]));
    let part = parts.find(|part| part.starts_with("## ")).unwrap_or_else(|| page.part(&[]));
    if context.wants_json() {
        return Ok(Output::json_lines(json!({ "command": word, "markdown": part })));
    }
    let mut text = help::render(part);
    if part.starts_with("## ") {
        text.push_str(&format!("\nAll of it: mow help-open {word}\n"));
    }
    Ok(Output::Text(shown(text)))
}

fn topics(context: &Context) -> Output {
    if context.wants_json() {
        return Output::json_lines(help::topics().collect::<Vec<_>>());
    }
    let mut text = "Pages, to be opened with `mow help-open PAGE` or `mow PAGE ???`:\n".to_owned();
    for topic in help::topics() {
        text.push_str("  ");
        text.push_str(topic);
        text.push('\n');
    }
    Output::Text(text)
}

/// Shows a text with a pager on a terminal; returns what is left to print.
fn shown(text: String) -> String {
    let stated = std::env::var("MOW_PAGER").or_else(|_| std::env::var("PAGER"));
    let stated = stated.unwrap_or_else(|_| "less".to_owned());
    let pager: Vec<_> = stated.split_whitespace().collect();
    if !std::io::stdout().is_terminal() || pager.is_empty() || pager == ["cat"] {
        return text;
    }
    match pager::show(&pager, &suited(&text, &std::io::stdout())) {
        Ok(()) => String::new(),
        Err(_) => text,
    }
}

pub(super) fn completions(args: &Completions) -> Output {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::documented(), "mow", &mut script);
    Output::Text(String::from_utf8_lossy(&script).into_owned())
}

pub(super) fn man(context: &Context, args: &Man) -> Result<Output, Failure> {
    let mut root = help::documented().disable_help_subcommand(true);
    root.build();
    let Some(dir) = &args.dir else { return Ok(Output::Text(page(&root)?)) };
    let dir = context.named(dir);
    let writer = Writer::open_dir(&dir, WAIT_DEFAULT)?;
    let mut count = 0;
    write_pages(&writer, &root, "mow", &mut count)?;
    let written = format!("wrote {count} pages into {}\n", dir.display());
    Ok(if context.wants_json() {
        Output::json_lines(json!({ "pages": count, "directory": dir }))
    } else {
        Output::Text(written)
    })
}

/// Writes the page of a command and of those below it: `mow-state-get.1`.
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

fn page(command: &clap::Command) -> Result<String, Failure> {
    let mut roff = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut roff).map_err(|source| {
        let path = PathBuf::from("the manual page");
        Failure::from(DiskError::Io { action: "write", path, source })
    })?;
    Ok(String::from_utf8_lossy(&roff).into_owned())
}

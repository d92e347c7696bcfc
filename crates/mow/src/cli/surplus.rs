//! Finds surplus arguments in a call: repeated flags, and words after the last argument.
//!
//! Callers of older tools rely on both being ignored. This runs only after a normal parse failed.
//! Unknown flags are not surplus: they stay in and stay an error.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Splits a call into kept and surplus arguments; `None` when there is no surplus.
pub(super) fn split(args: &[OsString], mut root: Command) -> Option<(Vec<OsString>, Vec<String>)> {
    root.build();
    let mut command = &root;
    let mut kept: Vec<OsString> = args.iter().take(1).cloned().collect();
    let mut dropped = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut positionals = 0;
    let mut rest = args.iter().skip(1);
    while let Some(arg) = rest.next() {
        let word = arg.to_string_lossy();
        let mut items = vec![arg.clone()];
        let is_kept = if let Some(option) = find_option(command, &word) {
            let range = option.get_num_args().unwrap_or_default();
            if range.max_values() > 1 {
                // This option takes all following arguments as values.
                kept.push(arg.clone());
                kept.extend(rest.cloned());
                break;
            }
            if range.takes_values() && !word.contains('=') {
                items.extend(rest.next().cloned());
            }
            let name = option.get_id().as_str();
            let is_first = !seen.contains(&name);
            seen.push(name);
            is_first
        } else if word.starts_with("--") {
            true
        } else if let Some(inner) = command.find_subcommand(&*word).filter(|_| positionals == 0) {
            command = inner;
            true
        } else {
            positionals += 1;
            command.has_subcommands() || positionals <= capacity(command)
        };
        if is_kept {
            kept.extend(items);
        } else {
            dropped
                .extend(items.iter().map(|item| item.to_string_lossy().escape_debug().to_string()));
        }
    }
    (!dropped.is_empty()).then_some((kept, dropped))
}

/// Finds the option that a word such as `--name` or `--name=value` sets.
fn find_option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let name = word.strip_prefix("--")?.split('=').next()?;
    command.get_arguments().find(|arg| {
        arg.get_long() == Some(name)
            || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    })
}

/// Returns how many positional words a command accepts.
fn capacity(command: &Command) -> usize {
    let sizes = command.get_positionals().map(|arg| {
        let range = arg.get_num_args().unwrap_or_default();
        range.max_values()
    });
    sizes.fold(0, usize::saturating_add)
}

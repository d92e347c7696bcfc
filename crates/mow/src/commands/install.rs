//! `mow install …`: registers mow with Claude Code, and writes a script that calls mow.
//!
//! Never replaces a file that mow did not write, unless `--force` is given.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{WAIT_DEFAULT, WriteOutcome, Writer};
use mow_store::json_edit;
use serde_json::{Value, json};

use crate::context::{Context, home};
use crate::failure::{Failure, code};
use crate::output::Output;

/// The line that marks a script as written by mow. Existing scripts are recognised by it.
const MARK: &str = "// Written by `mow install shim`: hands its arguments to mow.";

/// The events of Claude Code and the command that each calls.
const HOOKS: [(&str, &str); 4] = [
    ("Stop", "mow hook stop"),
    ("SubagentStart", "mow hook subagent-start"),
    ("WorktreeCreate", "mow hook worktree-create"),
    ("WorktreeRemove", "mow hook worktree-remove"),
];

/// The subcommands of `mow install`.
#[derive(Debug, Subcommand)]
pub(crate) enum InstallCommand {
    /// Register the hooks of mow in the settings of Claude Code
    Hooks {
        /// The settings file [default: ~/.claude/settings.json]
        file: Option<PathBuf>,
    },
    /// Write a script mow-tools.cjs that passes its arguments to mow
    Shim {
        /// The directory of the script [default: below ~/.claude, where prompts expect it]
        dir: Option<PathBuf>,
        /// The name of the script, such as gsd-tools.cjs
        #[arg(long, default_value = "mow-tools.cjs")]
        name: String,
        /// Replace an existing file that mow did not write
        #[arg(long)]
        force: bool,
    },
}

impl InstallCommand {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Hooks { file } => hooks(context, file.as_deref()),
            Self::Shim { dir, name, force } => shim(context, dir.as_deref(), name, *force),
        }
    }
}

fn hooks(context: &Context, file: Option<&Path>) -> Result<Output, Failure> {
    let path = match file {
        Some(file) => context.path_from_cwd(file),
        None => claude_dir("mow install hooks FILE")?.join("settings.json"),
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut added = Vec::new();
    Writer::open_dir(dir, WAIT_DEFAULT)?.update(&path, |old| {
        let invalid = |error: json_edit::JsonError| {
            Failure::refused(format!("{}: {error}", path.display()))
                .hint("fix the file and try again; nothing was changed")
        };
        let mut bytes = old.unwrap_or_default().to_vec();
        added.clear();
        for (event, command) in HOOKS {
            let settings = json_edit::parse(&bytes).map_err(invalid)?;
            let registered = settings.get("hooks").and_then(|hooks| hooks.get(event));
            let mut groups = registered.and_then(Value::as_array).cloned().unwrap_or_default();
            if groups.iter().any(|group| calls(group, command)) {
                continue;
            }
            groups.push(json!({ "hooks": [{ "type": "command", "command": command }] }));
            bytes = json_edit::set(&bytes, &["hooks", event], &json!(groups)).map_err(invalid)?;
            added.push(event);
        }
        Ok::<_, Failure>(Some(bytes))
    })?;
    Ok(if context.wants_json() {
        Output::pretty_json(json!({ "path": path, "added": added }))
    } else if added.is_empty() {
        Output::Text(format!("{} has all hooks already\n", path.display()))
    } else {
        Output::Text(format!("added {} to {}\n", added.join(", "), path.display()))
    })
}

/// Returns whether a group of hooks calls a command; the path of the program does not matter.
fn calls(group: &Value, command: &str) -> bool {
    let hooks = group["hooks"].as_array().into_iter().flatten();
    let mut commands = hooks.filter_map(|hook| hook["command"].as_str());
    commands.any(|called| called.trim().ends_with(command))
}

fn shim(context: &Context, dir: Option<&Path>, name: &str, force: bool) -> Result<Output, Failure> {
    let is_name = Path::new(name).file_name().is_some_and(|file| file == name);
    if !is_name || !name.ends_with(".cjs") || name.starts_with('-') {
        return Err(Failure::refused(format!("{name:?} is not the name of a `.cjs` file")));
    }
    let dir = match dir {
        Some(dir) => context.path_from_cwd(dir),
        None => default_dir(name)?,
    };
    let path = dir.join(name);
    let content = script()?;
    let writer = Writer::open_dir(&dir, WAIT_DEFAULT)?;
    let change = writer.update(Path::new(name), |old| {
        let is_foreign = old.is_some_and(|old| !String::from_utf8_lossy(old).contains(MARK));
        if is_foreign && !force {
            let message = format!("{} exists and mow did not write it", path.display());
            return Err(
                Failure::refused(message).hint("move the file away, or replace it with `--force`")
            );
        }
        Ok(Some(content.clone().into_bytes()))
    })?;
    let written = change == WriteOutcome::Written;
    Ok(if context.wants_json() {
        Output::pretty_json(json!({ "path": path, "written": written }))
    } else if written {
        Output::Text(format!("wrote {}\n", path.display()))
    } else {
        Output::Text(format!("{} is up to date\n", path.display()))
    })
}

/// Returns the directory in which the prompts of existing projects expect the script.
fn default_dir(name: &str) -> Result<PathBuf, Failure> {
    let folder = if name.starts_with("gsd-") { "get-shit-done" } else { "mowism" };
    Ok(claude_dir("mow install shim DIR")?.join(folder).join("bin"))
}

/// Returns the user's directory of Claude Code; `hint` is a command that works without it.
fn claude_dir(hint: &str) -> Result<PathBuf, Failure> {
    // Without HOME it is unclear whose settings are meant, so no other directory is guessed.
    let home = home().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| Failure::refused("HOME is not set").hint(hint))?;
    Ok(home.join(".claude"))
}

/// Returns the text of the script.
fn script() -> Result<String, Failure> {
    let mow = std::env::current_exe().map_err(|error| Failure {
        code: code::OUTSIDE,
        kind: "outside",
        message: format!("cannot find the path of the mow program: {error}"),
        hint: None,
    })?;
    let mow = serde_json::to_string(&mow.to_string_lossy()).expect("text can be printed");
    Ok(format!(
        r#"#!/usr/bin/env node
{MARK}
"use strict";
const {{ spawnSync }} = require("node:child_process");

const installed = {mow};
const run = (program) => spawnSync(program, process.argv.slice(2), {{ stdio: "inherit" }});

let result = run("mow");
if (result.error && result.error.code === "ENOENT") result = run(installed);
if (result.error) {{
  console.error(`Error: cannot run mow: ${{result.error.message}}`);
  process.exit(1);
}}
if (result.signal) process.kill(process.pid, result.signal);
process.exit(result.status ?? 1);
"#
    ))
}

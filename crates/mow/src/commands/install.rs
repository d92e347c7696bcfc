//! `mow install …`: what other programs need to find mow.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{Change, WAIT_DEFAULT, Writer};
use mow_store::json_edit;
use serde_json::{Value, json};

use crate::context::{Context, home};
use crate::failure::{Failure, code};
use crate::output::Output;

/// The line by which a file of ours is known.
const MARK: &str = "// Written by `mow install shim`: hands its arguments to mow.";

/// The events of Claude Code and what is called for them.
const HOOKS: [(&str, &str); 4] = [
    ("Stop", "mow hook stop"),
    ("SubagentStart", "mow hook subagent-start"),
    ("WorktreeCreate", "mow hook worktree-create"),
    ("WorktreeRemove", "mow hook worktree-remove"),
];

/// Things to install.
#[derive(Debug, Subcommand)]
pub(crate) enum Install {
    /// Register the hooks of mow with Claude Code
    Hooks {
        /// The settings to add them to; ~/.claude/settings.json if not given
        file: Option<PathBuf>,
    },
    /// Write a small mow-tools.cjs that hands its arguments to mow
    Shim {
        /// Where to; below ~/.claude if not given, where prompts look for it
        dir: Option<PathBuf>,
        /// The name of the file, such as gsd-tools.cjs
        #[arg(long, default_value = "mow-tools.cjs")]
        name: String,
        /// Replace a file of that name that mow did not write
        #[arg(long)]
        force: bool,
    },
}

impl Install {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Hooks { file } => hooks(context, file.as_deref()),
            Self::Shim { dir, name, force } => shim(context, dir.as_deref(), name, *force),
        }
    }
}

fn hooks(context: &Context, file: Option<&Path>) -> Result<Output, Failure> {
    let path = match file {
        Some(file) => context.named(file),
        None => claude_dir("mow install hooks FILE")?.join("settings.json"),
    };
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut added = Vec::new();
    Writer::open_dir(dir, WAIT_DEFAULT)?.update(&path, |old| {
        let broken = |error: json_edit::JsonError| {
            Failure::refused(format!("{}: {error}", path.display())).hint("nothing was changed")
        };
        let mut bytes = old.unwrap_or_default().to_vec();
        added.clear();
        for (event, command) in HOOKS {
            let settings = json_edit::parse(&bytes).map_err(broken)?;
            let registered = settings.get("hooks").and_then(|hooks| hooks.get(event));
            let mut groups = registered.and_then(Value::as_array).cloned().unwrap_or_default();
            if groups.iter().any(|group| calls(group, command)) {
                continue;
            }
            groups.push(json!({ "hooks": [{ "type": "command", "command": command }] }));
            bytes = json_edit::set(&bytes, &["hooks", event], &json!(groups)).map_err(broken)?;
            added.push(event);
        }
        Ok::<_, Failure>(Some(bytes))
    })?;
    Ok(if context.wants_json() {
        Output::json_lines(json!({ "path": path, "added": added }))
    } else if added.is_empty() {
        Output::Text(format!("{} has all hooks\n", path.display()))
    } else {
        Output::Text(format!("added {} to {}\n", added.join(", "), path.display()))
    })
}

/// Returns whether a group of hooks calls a command, whatever the path of the program.
fn calls(group: &Value, command: &str) -> bool {
    let hooks = group["hooks"].as_array().into_iter().flatten();
    let mut commands = hooks.filter_map(|hook| hook["command"].as_str());
    commands.any(|called| called.trim().ends_with(command))
}

fn shim(context: &Context, dir: Option<&Path>, name: &str, force: bool) -> Result<Output, Failure> {
    let is_name = Path::new(name).file_name().is_some_and(|file| file == name);
    if !is_name || !name.ends_with(".cjs") || name.starts_with('-') {
        return Err(Failure::refused(format!("{name:?} is not the name of a .cjs file")));
    }
    let dir = match dir {
        Some(dir) => context.named(dir),
        None => default_dir(name)?,
    };
    let path = dir.join(name);
    let content = script()?;
    let writer = Writer::open_dir(&dir, WAIT_DEFAULT)?;
    let change = writer.update(Path::new(name), |old| {
        let is_foreign = old.is_some_and(|old| !String::from_utf8_lossy(old).contains(MARK));
        if is_foreign && !force {
            let message = format!("{} is there, and mow did not write it", path.display());
            return Err(Failure::refused(message).hint("move it away, or replace it with --force"));
        }
        Ok(Some(content.clone().into_bytes()))
    })?;
    let written = change == Change::Written;
    Ok(if context.wants_json() {
        Output::json_lines(json!({ "path": path, "written": written }))
    } else if written {
        Output::Text(format!("wrote {}\n", path.display()))
    } else {
        Output::Text(format!("{} is up to date\n", path.display()))
    })
}

/// Where the prompts of existing projects call the file.
fn default_dir(name: &str) -> Result<PathBuf, Failure> {
    let folder = if name.starts_with("gsd-") { "get-shit-done" } else { "mowism" };
    Ok(claude_dir("mow install shim DIR")?.join(folder).join("bin"))
}

/// Where Claude Code keeps what is the user's own.
fn claude_dir(instead: &str) -> Result<PathBuf, Failure> {
    // Whoever runs mow without HOME does not mean the files of the user it runs as.
    let home = home().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| Failure::refused("HOME is not set").hint(instead))?;
    Ok(home.join(".claude"))
}

fn script() -> Result<String, Failure> {
    let mow = std::env::current_exe().map_err(|error| Failure {
        code: code::OUTSIDE,
        kind: "outside",
        message: format!("cannot find out where mow itself is: {error}"),
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

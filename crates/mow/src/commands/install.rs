//! `mow install …`: what other programs need to find mow.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_store::disk::{Change, WAIT_DEFAULT, Writer};
use serde_json::json;

use crate::context::Context;
use crate::failure::{Failure, code};
use crate::output::Output;

/// The line by which a file of ours is known.
const MARK: &str = "// Written by `mow install shim`: hands its arguments to mow.";

/// Things to install.
#[derive(Debug, Subcommand)]
pub(crate) enum Install {
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
            Self::Shim { dir, name, force } => shim(context, dir.as_deref(), name, *force),
        }
    }
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
        Ok(Some(content.into_bytes()))
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
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let home = home.ok_or_else(|| {
        Failure::refused("there is no home directory").hint("mow install shim DIR")
    })?;
    let folder = if name.starts_with("gsd-") { "get-shit-done" } else { "mowism" };
    Ok(home.join(".claude").join(folder).join("bin"))
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

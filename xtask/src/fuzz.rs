//! `cargo xtask fuzz [TARGET] [--seconds N]`: the fuzz targets, one after the other.
//!
//! What a fuzzer comes up with is kept below the target directory, so that the next run goes on from
//! there; the tracked corpus in `fuzz/corpus` is read and never written. A failing input is named at
//! the end of the output: put it into the corpus of its target, and the tests replay it.

use crate::steps::Steps;
use crate::{repo, tools};
use anyhow::{Context, Result, bail};
use std::fs;
use std::process::Command;

const SECONDS_DEFAULT: u32 = 60;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (only, seconds) = parse_arguments(arguments)?;
    let mut targets = targets()?;
    if let Some(only) = only {
        if !targets.contains(&only) {
            bail!("no target is called {only:?}; there are {}", targets.join(", "));
        }
        targets = vec![only];
    }
    let mut steps = Steps::default();
    steps.call("tools", "cargo-fuzz", "cargo xtask fuzz", || {
        tools::ensure_cargo_fuzz().map(|_| ())
    })?;
    for target in targets {
        steps.command("fuzz", &target, fuzzer(&target, seconds)?)?;
    }
    println!("{}\nall green", steps.table());
    Ok(())
}

fn parse_arguments(arguments: &[String]) -> Result<(Option<String>, u32)> {
    let (mut target, mut seconds) = (None, SECONDS_DEFAULT);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                let count = words.next().context("--seconds needs a number")?;
                seconds = count.parse().with_context(|| format!("{count:?} is no number"))?;
            }
            name if target.is_none() && !name.starts_with('-') => target = Some(name.to_owned()),
            other => bail!("unexpected argument {other:?}"),
        }
    }
    Ok((target, seconds))
}

fn targets() -> Result<Vec<String>> {
    let folder = repo::root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// The call of one target. No sanitizer: they need a nightly compiler, and our code has no `unsafe`.
fn fuzzer(target: &str, seconds: u32) -> Result<Command> {
    let found = repo::target().join("fuzz-corpus").join(target);
    fs::create_dir_all(&found).with_context(|| found.display().to_string())?;
    let mut command = Command::new(tools::ensure_cargo_fuzz()?);
    command.current_dir(repo::root());
    command.args(["run", "--sanitizer", "none", "--debug-assertions", target]);
    command.arg(&found).arg(repo::root().join("fuzz/corpus").join(target));
    command.args(["--", "-timeout=5", "-max_len=4096", "-print_final_stats=1"]);
    command.arg(format!("-dict={}", repo::root().join("fuzz/markdown.dict").display()));
    command.arg(format!("-max_total_time={seconds}"));
    Ok(command)
}

#[cfg(test)]
mod tests;

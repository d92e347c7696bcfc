//! Development tasks: `cargo xtask <task>`.
//!
//! One file per task; [`TASKS`] is the whole list. A task may run programs and write below the
//! cache and target directories. Only `reference` changes tracked files.
#![expect(clippy::print_stdout, reason = "a build tool reports on the terminal")]

mod agents;
mod bench;
mod ci;
mod contract;
mod corpus;
mod failpoints;
mod fuzz;
mod reference;
mod repo;
mod soak;
mod steps;
mod test;
mod tidy;
mod tools;

use anyhow::{Result, bail};
use std::process::ExitCode;

struct XtaskCommand {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const TASKS: &[XtaskCommand] = &[
    XtaskCommand {
        name: "check",
        about: "lints and quick tests, before a commit",
        run: test::run_check,
    },
    XtaskCommand {
        name: "test",
        about: "format, lints, tidy, licences and every test",
        run: test::run,
    },
    XtaskCommand {
        name: "ci",
        about: "the longer tests; `.ci/run` runs `test` first",
        run: ci::run,
    },
    XtaskCommand { name: "soak", about: "the same tests with far larger counts", run: soak::run },
    XtaskCommand {
        name: "agents",
        about: "install the agents that tests run [--check]",
        run: agents::run,
    },
    XtaskCommand {
        name: "fuzz",
        about: "run the fuzz targets [TARGET] [--seconds N]",
        run: fuzz::run,
    },
    XtaskCommand {
        name: "tidy",
        about: "the rules that no compiler checks, and spelling",
        run: tidy::run,
    },
    XtaskCommand {
        name: "bench",
        about: "ratios to a bare program [--runs N]; what can be trusted [trust]",
        run: bench::run,
    },
    XtaskCommand {
        name: "corpus",
        about: "score roadmap reading on MOW_CORPUS [--verbose] [--held-out]",
        run: corpus::run,
    },
    XtaskCommand { name: "reference", about: "write the generated pages", run: reference::run },
    XtaskCommand { name: "failpoints", about: "list the points to die at", run: failpoints::run },
    XtaskCommand {
        name: "contract",
        about: "commands and defects of the contract that are covered [--strict]",
        run: contract::run,
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("\nxtask failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[String]) -> Result<()> {
    let Some((name, rest)) = words.split_first() else {
        print_tasks();
        return Ok(());
    };
    match TASKS.iter().find(|task| task.name == name.as_str()) {
        Some(task) => (task.run)(rest),
        None if name == "--help" || name == "help" => {
            print_tasks();
            Ok(())
        }
        None => bail!("no task is called {name:?}; `cargo xtask` lists them"),
    }
}

fn print_tasks() {
    println!("cargo xtask <task>\n");
    for task in TASKS {
        println!("  {:10} {}", task.name, task.about);
    }
}

/// Refuses arguments for tasks that take none, so that a typing error is not silently ignored.
fn no_arguments(arguments: &[String]) -> Result<()> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => bail!("unexpected argument {argument:?}"),
    }
}

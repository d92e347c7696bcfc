//! The tools a check needs beyond cargo itself, installed when they are missing.

use crate::repo;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const CARGO_DENY: &str = "0.20.2";
const CARGO_FUZZ: &str = "0.13.2";
const CARGO_NEXTEST: &str = "0.9.143";
const TYPOS: &str = "1.52.0";

/// Makes sure that `cargo fmt` and `cargo clippy` exist.
pub(crate) fn ensure_components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if answers(repo::cargo([subcommand, "--version"])) {
            continue;
        }
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", component]);
        if !rustup.status().is_ok_and(|status| status.success()) {
            bail!("`cargo {subcommand}` is missing and `rustup component add {component}` failed");
        }
    }
    Ok(())
}

/// Returns the path of cargo-deny. Builds it into the cache if it is missing.
pub(crate) fn ensure_cargo_deny() -> Result<PathBuf> {
    ensure_tool("cargo-deny", "cargo-deny", CARGO_DENY)
}

/// Returns the path of cargo-fuzz. Builds it into the cache if it is missing.
pub(crate) fn ensure_cargo_fuzz() -> Result<PathBuf> {
    ensure_tool("cargo-fuzz", "cargo-fuzz", CARGO_FUZZ)
}

/// Returns the path of `typos`. Builds it into the cache if it is missing.
pub(crate) fn ensure_typos() -> Result<PathBuf> {
    ensure_tool("typos", "typos-cli", TYPOS)
}

/// Returns `cargo nextest run` for the whole workspace; the caller adds a filter.
///
/// Always the whole workspace: a selection of packages has other features in some dependencies, and
/// cargo would build them and all crates above them a second time. A nextest that is installed is
/// used whatever its version; `.config/nextest.toml` names the oldest that understands our settings.
pub(crate) fn nextest() -> Result<Command> {
    let mut command = if answers(repo::cargo(["nextest", "--version"])) {
        repo::cargo(["nextest"])
    } else {
        let program = ensure_tool("cargo-nextest", "cargo-nextest", CARGO_NEXTEST)?;
        let mut command = Command::new(program);
        command.arg("nextest").current_dir(repo::root());
        command
    };
    command.args(["run", "--workspace", "--locked"]);
    Ok(command)
}

fn ensure_tool(name: &str, package: &str, version: &str) -> Result<PathBuf> {
    let home = repo::cache()?.join(format!("{name}-{version}"));
    let program = home.join("bin").join(name);
    if answers_as(&program) {
        return Ok(program);
    }
    println!("building {name} {version} once, into the cache");
    let mut install =
        repo::cargo(["install", "--quiet", "--locked", package, "--version", version]);
    // Thin settings: the check takes a second, an optimised build of the tool takes minutes.
    install
        .args(["--profile", "dev", "--force", "--root"])
        .arg(&home)
        .env("CARGO_TARGET_DIR", home.join("build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "false");
    let status = install.status().context("cannot run cargo install")?;
    if !status.success() {
        bail!("cannot install {name} {version}: {status}");
    }
    // The intermediate files are useless once the program exists; failing to remove them is not
    // worth failing the check.
    std::fs::remove_dir_all(home.join("build")).ok();
    Ok(program)
}

fn answers_as(program: &std::path::Path) -> bool {
    let mut command = Command::new(program);
    command.arg("--version");
    answers(command)
}

fn answers(mut command: Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

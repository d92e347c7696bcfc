//! Paths of the repository, the target directory and the cache, and calls of cargo.

use anyhow::{Context, Result, bail};
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The root of the repository.
///
/// Asked at run time, because clones that share a target directory also share this program.
pub(crate) fn root() -> PathBuf {
    let built_in = || env!("CARGO_MANIFEST_DIR").into();
    let xtask = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(built_in));
    xtask.parent().expect("xtask lies in the repository root").to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The directory for tools that are built once and kept: `MOW_CI_CACHE` or below the home.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(dir) = env::var_os("MOW_CI_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(root().join(dir));
    }
    let home = env::home_dir().context("no home directory; set MOW_CI_CACHE")?;
    Ok(home.join(".cache/mow-ci"))
}

/// A call of the same cargo that runs this task, in the root of the repository.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Builds a binary of the workspace and returns its path.
pub(crate) fn build(package: &str, binary: &str, profile: &str) -> Result<PathBuf> {
    let mut command =
        cargo(["build", "--quiet", "--package", package, "--bin", binary, "--profile", profile]);
    if !command.status().context("cannot run cargo")?.success() {
        bail!("cannot build {binary} of {package}");
    }
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target().join(folder).join(binary))
}

//! `cargo xtask agents`: the coding agents that tests run for real, installed once into a cache.
//!
//! Their versions are pinned here: tests rely on what exactly these versions say and do. The registry is
//! that of the user's npm. Nothing outside the agents' own directory is written.

use crate::repo;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use std::{env, io};

/// A program of npm's and the version that tests are written for.
struct PinnedPackage {
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

/// What the agents run on. It comes first: newer agents refuse to be installed by an older one.
const NODE: PinnedPackage = PinnedPackage { program: "node", package: "node", version: "24.21.0" };

const AGENTS: [PinnedPackage; 4] = [
    PinnedPackage { program: "claude", package: "@anthropic-ai/claude-code", version: "2.1.325" },
    PinnedPackage { program: "codex", package: "@openai/codex", version: "0.166.0" },
    PinnedPackage { program: "gemini", package: "@google/gemini-cli", version: "0.61.0" },
    PinnedPackage { program: "opencode", package: "opencode-ai", version: "1.18.33" },
];

/// Written last, so that an installation that was cut off does not count.
const STAMP: &str = "installed";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => println!("{}", ensure_agents()?.display()),
        ["--check"] => AgentDir::standard()?.check()?,
        _ => bail!("unexpected arguments {words:?}; the only one is --check"),
    }
    Ok(())
}

/// Returns the directory of the agents' programs; installs them when they are not there yet.
pub(crate) fn ensure_agents() -> Result<PathBuf> {
    let dir = AgentDir::standard()?;
    dir.ensure()?;
    Ok(dir.bin())
}

/// The directory of the agents, and how npm is called.
struct AgentDir {
    home: PathBuf,
    npm: Vec<OsString>,
}

impl AgentDir {
    /// `MOW_AGENTS`, or below the cache.
    fn standard() -> Result<Self> {
        let home = match env::var_os("MOW_AGENTS").filter(|dir| !dir.is_empty()) {
            Some(dir) => repo::root().join(dir),
            None => repo::cache()?.join("agents"),
        };
        Ok(Self { home, npm: vec!["npm".into()] })
    }

    fn bin(&self) -> PathBuf {
        self.home.join("node_modules/.bin")
    }

    fn is_installed(&self) -> bool {
        fs::read_to_string(self.home.join(STAMP)).is_ok_and(|stamp| stamp == pins())
    }

    fn ensure(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        fs::create_dir_all(&self.home).with_context(|| self.home.display().to_string())?;
        let lock = File::create(self.home.join("lock")).context("cannot make the agents' lock")?;
        if lock.try_lock().is_err() {
            println!("waiting for another process that installs the agents");
            lock.lock().context("cannot lock the directory of the agents")?;
        }
        // The process that held the lock may have installed them.
        if self.is_installed() { Ok(()) } else { self.install() }
    }

    fn install(&self) -> Result<()> {
        let start = Instant::now();
        println!("installing the agents once, into {}", self.home.display());
        // Existing files belong to other versions or to an installation that was cut off.
        for name in [STAMP, "package.json", "package-lock.json"] {
            ignore_missing(fs::remove_file(self.home.join(name)))?;
        }
        ignore_missing(fs::remove_dir_all(self.home.join("node_modules")))?;
        fs::write(self.home.join("package.json"), "{\"private\":true}\n")?;
        self.npm_install(&[NODE])?;
        self.npm_install(&AGENTS)?;
        self.check()?;
        // Everything in it is installed now.
        ignore_missing(fs::remove_dir_all(self.home.join("cache")))?;
        fs::write(self.home.join(STAMP), pins()).context("cannot write the agents' stamp")?;
        println!("installed the agents in {:.0} s", start.elapsed().as_secs_f64());
        Ok(())
    }

    fn npm_install(&self, pins: &[PinnedPackage]) -> Result<()> {
        let (program, first) = self.npm.split_first().context("npm has a name")?;
        let mut npm = Command::new(program);
        npm.args(first)
            .args(["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"])
            .arg("--prefix")
            .arg(&self.home)
            .arg("--cache")
            .arg(self.home.join("cache"))
            .env("PATH", self.path()?)
            .current_dir(&self.home);
        for PinnedPackage { package, version, .. } in pins {
            println!("installing {package} {version}");
            npm.arg(format!("{package}@{version}"));
        }
        let status = npm.status().context("cannot run npm; it comes with node")?;
        ensure!(status.success(), "npm could not install the agents: {status}");
        Ok(())
    }

    /// Prints the version of each program, and fails when one is not the pinned one.
    fn check(&self) -> Result<()> {
        let mut wrong = Vec::new();
        for PinnedPackage { program, version, .. } in [&NODE].into_iter().chain(&AGENTS) {
            let found = self.version(program)?;
            println!("{program:10} {found}");
            let mut words = found.split_whitespace();
            if !words.any(|word| word.trim_start_matches('v') == *version) {
                wrong.push(format!("{program} is {found:?} and not {version}"));
            }
        }
        ensure!(wrong.is_empty(), "{}; `cargo xtask agents` installs them", wrong.join(", "));
        Ok(())
    }

    fn version(&self, program: &str) -> Result<String> {
        let mut command = Command::new(self.bin().join(program));
        // Some write settings when they start, which must not be the user's.
        command.arg("--version").env_clear().env("HOME", self.home.join("home"));
        command.env("PATH", self.path()?).current_dir(&self.home);
        let Ok(output) = command.output() else { return Ok("missing".to_owned()) };
        let output = String::from_utf8_lossy(&output.stdout);
        Ok(output.lines().next().unwrap_or("silent").trim().to_owned())
    }

    /// The path to look for programs in, with ours first.
    fn path(&self) -> Result<OsString> {
        let old = env::var_os("PATH").unwrap_or_default();
        let folders = [self.bin()].into_iter().chain(env::split_paths(&old));
        env::join_paths(folders).context("the directory of the agents cannot be in PATH")
    }
}

/// Returns the content of the stamp file.
fn pins() -> String {
    let pins = [&NODE].into_iter().chain(&AGENTS);
    pins.map(|pin| format!("{}@{}\n", pin.package, pin.version)).collect()
}

/// Treats a missing file as removed.
fn ignore_missing(removed: io::Result<()>) -> Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).context("cannot remove an older installation")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! Checks programs and the filesystem: git, the commit identity, WorkTrunk, locks, free space.

use std::path::Path;
use std::thread;
use std::time::Duration;

use mow_host::probe::{self, ProbeResult};
use mow_store::config::Config;
use mow_store::disk::{self, DiskError, Lock};

use super::{DoctorCheck, agents};
use crate::context::Context;

/// The oldest git that has the `merge-tree` options and output formats mow uses.
const GIT_MIN: (u32, u32) = (2, 41);
const WT_INSTALL: [&str; 4] = [
    "yay -S worktrunk-bin",
    "brew install max-sixty/worktrunk/wt",
    "cargo install worktrunk",
    "run one of these (https://worktrunk.dev), then `wt config shell install`",
];
/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
const GIB: u64 = 1 << 30;
/// Below this many free bytes, worktrees and builds of several phases hardly fit.
const FREE_BYTES_WARN: u64 = 5 * GIB;
/// Below this many free bytes, even writing planning files may fail.
const FREE_BYTES_FAIL: u64 = GIB / 10;

pub(super) fn checks(context: &Context) -> Vec<DoctorCheck> {
    // Agents start slowly, so they are probed in threads while the other checks run.
    thread::scope(|scope| {
        let agents = scope.spawn(|| agents::checks(context));
        let wt = scope.spawn(|| probe::version("wt", VERSION_TIMEOUT));
        let mut checks = vec![git(context), identity(context)];
        checks.extend(agents.join().expect("a probe does not panic"));
        checks.push(worktrunk(context, &wt.join().expect("a probe does not panic")));
        checks.push(locks(context));
        checks.extend(writable(context));
        checks.push(free_space(&context.project.root));
        checks.extend(wsl(&context.project.root));
        checks
    })
}

fn git(context: &Context) -> DoctorCheck {
    let too_old = "mow needs git 2.41 or newer: https://git-scm.com/downloads";
    let answer = match context.git().run(&["--version"]) {
        Ok(answer) => answer.text(),
        Err(_) => return DoctorCheck::fail("git", "git is not installed").advise(too_old),
    };
    match parse_version(&answer) {
        Some(version) if version >= GIT_MIN => DoctorCheck::ok("git", answer),
        Some(_) => DoctorCheck::fail("git", format!("{answer} is too old")).advise(too_old),
        None => DoctorCheck::warn("git", format!("cannot read the version of git: {answer}")),
    }
}

/// Reads `git version 2.47.3 (Apple Git-146)`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number =
        text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse::<u32>().ok()
    });
    Some((parts.next()??, parts.next()??))
}

fn identity(context: &Context) -> DoctorCheck {
    // Without this setting git would derive an address from the machine's name.
    let arguments = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"];
    let answer = context.git().run(&arguments).ok().map(|answer| answer.text());
    match answer.as_deref().and_then(|text| text.split_once('>')) {
        Some((author, _)) => DoctorCheck::ok("identity", format!("git commits as {author}>")),
        None => DoctorCheck::warn("identity", "git has no name and address for commits")
            .advise("git config --global user.name 'Your Name'")
            .advise("git config --global user.email you@example.com"),
    }
}

/// Checks WorkTrunk, which is optional unless `worktree.backend` is `wt`.
fn worktrunk(context: &Context, answer: &ProbeResult) -> DoctorCheck {
    // An invalid configuration is reported by the check `config`.
    let settings = context.load("config.json").ok().flatten();
    let config = settings.and_then(|bytes| Config::parse(&bytes).ok());
    let backend = config.and_then(|config| config.lookup("worktree.backend"));
    let is_required = backend.is_some_and(|backend| backend == "wt");
    let check = match answer {
        ProbeResult::Version(line) => {
            return DoctorCheck::ok("wt", format!("wt (WorkTrunk): {line}"));
        }
        ProbeResult::NoVersion(how) => DoctorCheck::warn("wt", format!("wt (WorkTrunk) {how}")),
        ProbeResult::NotFound if is_required => DoctorCheck::fail(
            "wt",
            "`worktree.backend` is `wt`, but wt (WorkTrunk) is not installed",
        ),
        ProbeResult::NotFound => DoctorCheck::ok(
            "wt",
            "wt (WorkTrunk) is not installed; mow uses git for worktrees. To install wt:",
        ),
    };
    WT_INSTALL.iter().fold(check, |check, line| check.advise(*line))
}

/// Acquires a lock twice; the second attempt must fail while the first lock is held.
fn locks(context: &Context) -> DoctorCheck {
    let lock_path = context.project.lock_path();
    // The check creates no file: if there is no lock file, it locks the directory itself.
    let path = if lock_path.exists() { lock_path } else { context.project.root.clone() };
    let advice = "move the project to a local filesystem; mow writes nothing without locks";
    let first = match Lock::acquire(&path, Duration::ZERO) {
        Ok(lock) => lock,
        Err(DiskError::Busy { .. }) => {
            return DoctorCheck::ok("locks", "file locks work; one is held right now");
        }
        Err(error) => {
            return DoctorCheck::fail("locks", format!("file locks do not work: {error}"))
                .advise(advice);
        }
    };
    let second = Lock::acquire(&path, Duration::ZERO);
    drop(first);
    match second {
        Err(DiskError::Busy { .. }) => {
            DoctorCheck::ok("locks", "file locks work on this filesystem")
        }
        _ => DoctorCheck::fail(
            "locks",
            "file locks do not work: two processes could hold the same lock",
        )
        .advise(advice),
    }
}

/// Warns if the planning directory, or else the root, cannot be written.
fn writable(context: &Context) -> Option<DoctorCheck> {
    let project = &context.project;
    let dir = if project.planned { &project.planning } else { &project.root };
    let message = format!("{} cannot be written; only commands that read will work", dir.display());
    let check = DoctorCheck::warn("writable", message);
    (!disk::is_writable(dir))
        .then(|| check.advise("check its owner, its mode and how it is mounted"))
}

fn free_space(root: &Path) -> DoctorCheck {
    let free = match disk::free_bytes(root) {
        Ok(free) => free,
        Err(error) => {
            return DoctorCheck::warn(
                "disk",
                format!("cannot find out the free disk space: {error}"),
            );
        }
    };
    let tenths = free / (GIB / 10);
    let message = format!("{}.{} GiB free on disk", tenths / 10, tenths % 10);
    let advice = "free some space: every running phase has its own checkout and build";
    match free {
        free if free < FREE_BYTES_FAIL => DoctorCheck::fail("disk", message).advise(advice),
        free if free < FREE_BYTES_WARN => DoctorCheck::warn("disk", message).advise(advice),
        _ => DoctorCheck::ok("disk", message),
    }
}

/// Checks where the project is under WSL; returns `None` on other systems.
fn wsl(root: &Path) -> Option<DoctorCheck> {
    let version = disk::read(Path::new("/proc/version")).ok()??;
    let is_wsl = String::from_utf8_lossy(&version).to_lowercase().contains("microsoft");
    let is_drive = root.starts_with("/mnt")
        && root.components().nth(2).is_some_and(|drive| drive.as_os_str().len() == 1);
    is_wsl.then(|| match is_drive {
        true => DoctorCheck::warn("wsl", "the project is on a Windows drive").advise(
            "move it below your Linux home: Windows drives are slow and their locks unreliable",
        ),
        false => DoctorCheck::ok("wsl", "running in WSL; the project is on the Linux filesystem"),
    })
}

#[cfg(test)]
mod tests;

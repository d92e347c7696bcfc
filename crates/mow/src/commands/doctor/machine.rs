//! Programs and filesystem: git, locks, room.

use std::path::Path;
use std::thread;
use std::time::Duration;

use mow_host::probe::{self, Probe};
use mow_store::config::Config;
use mow_store::disk::{self, DiskError, Lock};

use super::{Check, agents};
use crate::context::Context;

/// The oldest git whose `merge-tree` and machine formats mow uses.
const GIT_MIN: (u32, u32) = (2, 41);
const WT_INSTALL: [&str; 4] = [
    "yay -S worktrunk-bin",
    "brew install max-sixty/worktrunk/wt",
    "cargo install worktrunk",
    "one of these (https://worktrunk.dev), then: wt config shell install",
];
/// How long a program may take to say its version.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
const GIB: u64 = 1 << 30;
/// Below this, worktrees and builds of several phases will hardly fit.
const ROOM_WARN: u64 = 5 * GIB;
/// Below this, even planning files are at risk.
const ROOM_FAIL: u64 = GIB / 10;

pub(super) fn checks(context: &Context) -> Vec<Check> {
    // Agents start slowly: all are asked at once, and the rest is looked at meanwhile.
    thread::scope(|scope| {
        let agents = scope.spawn(|| agents::checks(context));
        let wt = scope.spawn(|| probe::version("wt", ANSWER_WAIT));
        let mut checks = vec![git(context), identity(context)];
        checks.extend(agents.join().expect("asking does not panic"));
        checks.push(worktrunk(context, &wt.join().expect("asking does not panic")));
        checks.push(locks(context));
        checks.extend(writable(context));
        checks.push(room(&context.project.root));
        checks.extend(windows(&context.project.root));
        checks
    })
}

fn git(context: &Context) -> Check {
    let too_old = "mow needs git 2.41 or newer: https://git-scm.com/downloads";
    let answer = match context.git().run(&["--version"]) {
        Ok(answer) => answer.text(),
        Err(_) => return Check::fail("git", "git is not installed").advise(too_old),
    };
    match parse_version(&answer) {
        Some(version) if version >= GIT_MIN => Check::ok("git", answer),
        Some(_) => Check::fail("git", format!("{answer} is too old")).advise(too_old),
        None => Check::warn("git", format!("git's version was not understood: {answer}")),
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

fn identity(context: &Context) -> Check {
    // Without this setting git would make up an address from the machine's name.
    let ask = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"];
    let answer = context.git().run(&ask).ok().map(|answer| answer.text());
    match answer.as_deref().and_then(|text| text.split_once('>')) {
        Some((who, _)) => Check::ok("identity", format!("commits as {who}>")),
        None => Check::warn("identity", "git does not know who commits")
            .advise("git config --global user.name 'Your Name'")
            .advise("git config --global user.email you@example.com"),
    }
}

/// WorkTrunk is a matter of taste, unless the project asks for it.
fn worktrunk(context: &Context, answer: &Probe) -> Check {
    // What is wrong with the settings is said elsewhere.
    let settings = context.load("config.json").ok().flatten();
    let config = settings.and_then(|bytes| Config::parse(&bytes).ok());
    let backend = config.and_then(|config| config.lookup("worktree.backend"));
    let is_wanted = backend.is_some_and(|backend| backend == "wt");
    let check = match answer {
        Probe::Version(line) => return Check::ok("wt", format!("wt (WorkTrunk): {line}")),
        Probe::Silent(how) => Check::warn("wt", format!("wt (WorkTrunk) {how}")),
        Probe::Absent if is_wanted => {
            Check::fail("wt", "worktree.backend is wt, and wt (WorkTrunk) is not installed")
        }
        Probe::Absent => {
            Check::ok("wt", "wt (WorkTrunk) is not installed; git makes the worktrees. To use it:")
        }
    };
    WT_INSTALL.iter().fold(check, |check, line| check.advise(*line))
}

/// Takes a lock twice: the second must be refused while the first is held.
fn locks(context: &Context) -> Check {
    let lock_path = context.project.lock_path();
    // Looking creates nothing: without a lock file, the directory itself serves.
    let path = if lock_path.exists() { lock_path } else { context.project.root.clone() };
    let advice = "move the project to a local filesystem; mow does not write without locks";
    let first = match Lock::acquire(&path, Duration::ZERO) {
        Ok(lock) => lock,
        Err(DiskError::Busy { .. }) => return Check::ok("locks", "file locks work; one is in use"),
        Err(error) => {
            return Check::fail("locks", format!("file locks do not work: {error}")).advise(advice);
        }
    };
    let second = Lock::acquire(&path, Duration::ZERO);
    drop(first);
    match second {
        Err(DiskError::Busy { .. }) => Check::ok("locks", "file locks work on this filesystem"),
        _ => Check::fail("locks", "two processes could hold the same lock at once").advise(advice),
    }
}

/// Says that nothing can be written, where that is so.
fn writable(context: &Context) -> Option<Check> {
    let project = &context.project;
    let place = if project.planned { &project.planning } else { &project.root };
    let message = format!("{} cannot be written; commands that read work", place.display());
    let check = Check::warn("writable", message);
    (!disk::is_writable(place))
        .then(|| check.advise("see who owns it, its mode, and how it is mounted"))
}

fn room(root: &Path) -> Check {
    let free = match disk::free_bytes(root) {
        Ok(free) => free,
        Err(error) => return Check::warn("disk", format!("free room is unknown: {error}")),
    };
    let tenths = free / (GIB / 10);
    let message = format!("{}.{} GiB free on disk", tenths / 10, tenths % 10);
    let advice = "every phase that runs has a checkout and a build of its own: make room";
    match free {
        free if free < ROOM_FAIL => Check::fail("disk", message).advise(advice),
        free if free < ROOM_WARN => Check::warn("disk", message).advise(advice),
        _ => Check::ok("disk", message),
    }
}

/// Says what to know under Windows; elsewhere nothing.
fn windows(root: &Path) -> Option<Check> {
    let version = disk::read(Path::new("/proc/version")).ok()??;
    let is_wsl = String::from_utf8_lossy(&version).to_lowercase().contains("microsoft");
    let is_drive = root.starts_with("/mnt")
        && root.components().nth(2).is_some_and(|drive| drive.as_os_str().len() == 1);
    is_wsl.then(|| match is_drive {
        true => Check::warn("wsl", "the project lies on a Windows drive")
            .advise("it is slow there, and locks are not reliable: move it below your Linux home"),
        false => Check::ok("wsl", "Windows through WSL; the project is on the Linux side"),
    })
}

#[cfg(test)]
mod tests;

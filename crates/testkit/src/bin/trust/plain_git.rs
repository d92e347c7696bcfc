//! Runs the steps of a phase by plain git: worktree, script, commits, merge without a checkout.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Runs phases by plain git, two at a time; returns the total time.
pub(crate) fn run(top: &Path, phases: usize, commits: usize) -> Result<Duration> {
    let start = Instant::now();
    let tip = Mutex::new(git(top, &["rev-parse", "main"])?);
    git(top, &["update-ref", "refs/bare/target", &tip.lock().expect("no thread panics")])?;
    let next = AtomicUsize::new(1);
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number > phases {
                return Ok(());
            }
            phase(top, number, commits, &tip)?;
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        work()?;
        other.join().expect("it does not panic")
    })?;
    git(top, &["merge", "--quiet", "--ff-only", "refs/bare/target"])?;
    Ok(start.elapsed())
}

fn phase(top: &Path, number: usize, commits: usize, tip: &Mutex<String>) -> Result<()> {
    let (branch, path) = (format!("bare-{number}"), top.join(format!(".worktrees/{number}")));
    let base = tip.lock().expect("no thread panics").clone();
    let at = path.to_string_lossy();
    git(top, &["worktree", "add", "--quiet", "-b", &branch, &at, &base])?;
    for commit in 0..commits {
        let script = format!("echo {number} > crop-{number}-{commit}");
        let status = Command::new("sh").args(["-c", &script]).current_dir(&path).status()?;
        ensure!(status.success(), "the script failed");
        git(&path, &["add", "--all"])?;
        git(&path, &["commit", "--quiet", "-m", "work"])?;
    }
    let mut tip = tip.lock().expect("no thread panics");
    let tree = git(top, &["merge-tree", "--write-tree", &tip, &branch])?;
    let merge = git(top, &["commit-tree", &tree, "-p", &tip, "-p", &branch, "-m", "merge"])?;
    git(top, &["update-ref", "refs/bare/target", &merge, &tip])?;
    *tip = merge;
    Ok(())
}

fn git(dir: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(arguments).stdin(Stdio::null());
    let output = command.output()?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {message}", arguments.join(" "));
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

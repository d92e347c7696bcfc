//! `mow rescue`: work that mow put aside before it reset or removed a worktree.
//!
//! A rescue is a commit under `refs/mow/rescue/`. Restoring never overwrites anything, and the
//! rescue stays until somebody deletes its reference.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_host::git::{Git, parse_names};
use mow_host::merge::LEFT_OUT;
use mow_host::rescue::{PREFIX, UNCOMMITTED};
use serde::Serialize;
use serde_json::json;

use super::steer::must_be_person;
use super::worktree;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{ago, time_text};
use crate::terminal::{BOLD, CYAN, DIM, fit, painted, quoted};

/// How many files of a rescue are shown.
const FILES_MAX: usize = 5;

/// Commands on rescued work.
#[derive(Debug, Subcommand)]
pub(crate) enum Rescue {
    /// List the work that was put aside
    List,
    /// Bring work back: into this checkout if that harms nothing, else into a worktree of its own
    Restore {
        /// The name, as `mow rescue list` shows it
        name: String,
        /// Make a worktree here instead of changing this checkout
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
}

/// Work that is kept.
#[derive(Serialize)]
struct Kept {
    name: String,
    commit: String,
    phase: Option<String>,
    /// Whether it was uncommitted; else it is commits that a branch lost.
    uncommitted: bool,
    /// Whether it is what a phase changed in planning files that are not its own.
    left_out: bool,
    created: String,
    files: Vec<String>,
    #[serde(skip)]
    at: u64,
    /// What the work is compared with.
    #[serde(skip)]
    base: Option<String>,
}

impl Rescue {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        if context.project.repository.is_none() {
            return Err(Failure::refused("there is no git repository here"));
        }
        match self {
            Self::List => list(context),
            Self::Restore { name, into } => restore(context, name, into.as_deref()),
        }
    }
}

fn list(context: &Context) -> Result<Output, Failure> {
    let all = load(&context.git())?;
    if context.wants_json() {
        return Ok(Output::json_lines(json!({ "rescues": all })));
    }
    if all.is_empty() {
        return Ok(Output::Text("Nothing was put aside.\n".to_owned()));
    }
    let mut text = String::new();
    for kept in &all {
        let phase = kept.phase.as_ref().map_or(String::new(), |phase| format!(", phase {phase}"));
        let what = if kept.left_out {
            "left out of a merge"
        } else if kept.uncommitted {
            "uncommitted work"
        } else {
            "commits"
        };
        let about = format!("{what}{phase}, {} ago", ago(kept.at));
        let _ = writeln!(text, "{}  {}", painted(BOLD, &kept.name), painted(DIM, &about));
        for file in kept.files.iter().take(FILES_MAX) {
            let _ = writeln!(text, "  {}", fit(file, usize::MAX));
        }
        if kept.files.len() > FILES_MAX {
            let _ = writeln!(text, "  and {} more", kept.files.len() - FILES_MAX);
        }
    }
    let _ = writeln!(text, "\n{}  brings one back", painted(CYAN, "mow rescue restore NAME"));
    Ok(Output::Text(text))
}

/// Finds all rescues, the newest first.
fn load(git: &Git) -> Result<Vec<Kept>, Failure> {
    let format = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)";
    let answer = git.run(&["for-each-ref", "--sort=-committerdate", format, PREFIX])?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let (reference, commit, seconds, subject) = (next(), next(), next(), next());
        let Some(name) = reference.strip_prefix(PREFIX) else { continue };
        let left_out = subject.starts_with(LEFT_OUT);
        let uncommitted = left_out || subject.starts_with(UNCOMMITTED);
        let at = seconds.parse::<u64>().unwrap_or_default() * 1_000;
        let base = base(git, commit, uncommitted)?;
        all.push(Kept {
            name: name.to_owned(),
            commit: commit.to_owned(),
            phase: phase_in(name).map(|phase| phase.to_string()),
            uncommitted,
            left_out,
            created: time_text(at),
            files: files(git, base.as_deref(), commit)?,
            at,
            base,
        });
    }
    Ok(all)
}

/// Returns what rescued work came on top of; `None` when it came on top of nothing.
fn base(git: &Git, commit: &str, uncommitted: bool) -> Result<Option<String>, Failure> {
    if uncommitted {
        return Ok(git.commit_of(&format!("{commit}^1"))?);
    }
    let answer = git.ask(&["merge-base", "HEAD", commit])?;
    Ok(answer.success.then(|| answer.text()))
}

fn files(git: &Git, base: Option<&str>, commit: &str) -> Result<Vec<String>, Failure> {
    let answer = match base {
        Some(base) => git.run(&["diff", "--name-only", "--no-renames", "-z", base, commit])?,
        None => git.run(&["ls-tree", "-r", "--name-only", "-z", "--full-tree", commit])?,
    };
    Ok(parse_names(&answer.stdout))
}

/// Reads the phase out of `<run>/03-…/1` or `phase-03/1`.
fn phase_in(name: &str) -> Option<PhaseNumber> {
    let parts = name.split('/').filter_map(|part| {
        let part = part.strip_prefix("phase-").unwrap_or(part);
        // A run's name is longer than any phase's number.
        let number = part.split('-').next().filter(|number| number.len() < 8)?;
        PhaseNumber::parse(number)
    });
    // The last part only counts the rescues of one name.
    let all: Vec<_> = parts.collect();
    all.split_last().and_then(|(_, before)| before.last().copied())
}

fn restore(context: &Context, name: &str, into: Option<&Path>) -> Result<Output, Failure> {
    must_be_person()?;
    let git = context.git();
    let all = load(&git)?;
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    let Some(kept) = all.iter().find(|kept| kept.name == name) else {
        let message = format!("nothing was put aside as `{name}`");
        let names: Vec<_> = all.iter().take(10).map(|kept| kept.name.as_str()).collect();
        let hint = match names.as_slice() {
            [] => "nothing was put aside".to_owned(),
            names => format!("there is {}", names.join(", ")),
        };
        return Err(Failure::refused(message).hint(hint));
    };
    let (place, why) = match into {
        Some(dir) => (check_out(&git, kept, &context.named(dir))?, None),
        None => match apply(context, kept)? {
            None => return Ok(answer(context, kept, &context.project.cwd, None)),
            Some(reason) => {
                let home = worktree::home(context)?;
                let dir = home.path().join(format!("rescue-{}", name.replace('/', "-")));
                (check_out(&git, kept, &dir)?, Some(reason))
            }
        },
    };
    Ok(answer(context, kept, &place, why.as_deref()))
}

/// Applies the work to the files of this checkout; returns why that would harm something.
fn apply(context: &Context, kept: &Kept) -> Result<Option<String>, Failure> {
    let top = context.project.repository.as_ref().map_or(&context.project.cwd, |r| &r.top);
    let git = Git::new(top);
    let Some(base) = &kept.base else { return Ok(Some("it has no common past".to_owned())) };
    let patch =
        git.run(&["diff", "--binary", "--full-index", "--no-renames", base, &kept.commit])?.stdout;
    if patch.is_empty() {
        return Ok(None);
    }
    let mut status = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--ignored", "--"];
    status.extend(kept.files.iter().map(String::as_str));
    if !git.run(&status)?.stdout.is_empty() {
        return Ok(Some("some of its files have uncommitted changes here".to_owned()));
    }
    // Git applies all of a patch or nothing.
    let applied = git.ask_with(&["apply", "--whitespace=nowarn", "-"], &patch)?;
    Ok((!applied.success).then(|| "its files have changed since".to_owned()))
}

/// Makes a worktree with the work in it, uncommitted if it was.
fn check_out(git: &Git, kept: &Kept, dir: &Path) -> Result<PathBuf, Failure> {
    let is_free = std::fs::read_dir(dir).map_or(!dir.exists(), |mut there| there.next().is_none());
    if !is_free {
        let message = format!("{} is there already", dir.display());
        return Err(Failure::refused(message).hint("--into another directory"));
    }
    let words = ["worktree", "add", "--quiet", "--detach"].map(Path::new);
    git.run(&[&words[..], &[dir, Path::new(&kept.commit)]].concat())?;
    if kept.uncommitted && kept.base.is_some() {
        Git::at_top(dir).run(&["reset", "--quiet", "HEAD^1"])?;
    }
    Ok(std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf()))
}

fn answer(context: &Context, kept: &Kept, place: &Path, why: Option<&str>) -> Output {
    let is_here = place == context.project.cwd;
    if context.wants_json() {
        return Output::json_lines(json!({
            "restored": kept.name, "commit": kept.commit, "into": place, "here": is_here,
            "reason": why, "files": kept.files,
        }));
    }
    let count = match kept.files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let mut text = why.map_or(String::new(), |why| format!("Not into this checkout: {why}.\n"));
    let whither = if is_here { "here".to_owned() } else { place.display().to_string() };
    let _ = writeln!(text, "Restored {count} of {}: {whither}", kept.name);
    let reference = quoted(&format!("{PREFIX}{}", kept.name));
    let command = format!("git update-ref -d {reference}");
    let _ = writeln!(text, "The rescue stays; {} removes it.", painted(CYAN, &command));
    Output::Text(text)
}

//! `mow rescue`: lists and restores work that mow saved before it reset or removed a worktree.
//!
//! Saved work is a commit under `refs/mow/rescue/`. Restoring never overwrites anything, and the
//! commit stays until the user deletes its ref.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_core::phase::PhaseNumber;
use mow_host::git::{Git, parse_names};
use mow_host::merge::LEFT_OUT_SUBJECT;
use mow_host::rescue::{RESCUE_REF_PREFIX, UNCOMMITTED_SUBJECT};
use serde::Serialize;
use serde_json::json;

use super::plural::counted;
use super::steer::refuse_agents;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{format_age, format_utc};
use crate::terminal::{BOLD, CYAN, DIM, fit_line, shell_quote, styled};
use crate::worktrees;

/// The most files listed per entry.
const FILES_MAX: usize = 5;

/// The subcommands of `mow rescue`.
#[derive(Debug, Subcommand)]
pub(crate) enum Rescue {
    /// List the saved work
    List,
    /// Restore saved work: into this checkout if nothing is overwritten, else into a new worktree
    Restore {
        /// The name of the saved work, as `mow rescue list` shows it
        name: String,
        /// Create a worktree in this directory instead of changing this checkout
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
}

/// A commit of saved work. Field names are JSON keys.
#[derive(Serialize)]
struct RescueEntry {
    name: String,
    commit: String,
    phase: Option<String>,
    /// Whether the work was uncommitted; else it is commits that a branch lost.
    uncommitted: bool,
    /// Whether a merge left it out: changes of a phase to planning files of others.
    left_out: bool,
    created: String,
    files: Vec<String>,
    #[serde(skip)]
    at: u64,
    /// The commit that the work is based on; `None` without a common ancestor.
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
        return Ok(Output::pretty_json(json!({ "rescues": all })));
    }
    if all.is_empty() {
        return Ok(Output::Text("No saved work.\n".to_owned()));
    }
    let mut text = String::new();
    for entry in &all {
        let phase = entry.phase.as_ref().map_or(String::new(), |phase| format!(", phase {phase}"));
        let kind = if entry.left_out {
            "left out of a merge"
        } else if entry.uncommitted {
            "uncommitted work"
        } else {
            "commits"
        };
        let about = format!("{kind}{phase}, {} ago", format_age(entry.at));
        let _ = writeln!(text, "{}  {}", styled(BOLD, &entry.name), styled(DIM, &about));
        for file in entry.files.iter().take(FILES_MAX) {
            let _ = writeln!(text, "  {}", fit_line(file, usize::MAX));
        }
        if entry.files.len() > FILES_MAX {
            let _ = writeln!(text, "  and {} more", entry.files.len() - FILES_MAX);
        }
    }
    let _ = writeln!(text, "\n{}  restores one of them", styled(CYAN, "mow rescue restore NAME"));
    Ok(Output::Text(text))
}

/// Loads all saved work, the newest first.
fn load(git: &Git) -> Result<Vec<RescueEntry>, Failure> {
    let format = "--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)";
    let answer = git.run(&["for-each-ref", "--sort=-committerdate", format, RESCUE_REF_PREFIX])?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut fields = line.split('\0');
        let mut next = || fields.next().unwrap_or_default();
        let (reference, commit, seconds, subject) = (next(), next(), next(), next());
        let Some(name) = reference.strip_prefix(RESCUE_REF_PREFIX) else { continue };
        let left_out = subject.starts_with(LEFT_OUT_SUBJECT);
        let uncommitted = left_out || subject.starts_with(UNCOMMITTED_SUBJECT);
        let at = seconds.parse::<u64>().unwrap_or_default() * 1_000;
        let base = base(git, commit, uncommitted)?;
        all.push(RescueEntry {
            name: name.to_owned(),
            commit: commit.to_owned(),
            phase: phase_in(name).map(|phase| phase.to_string()),
            uncommitted,
            left_out,
            created: format_utc(at),
            files: files(git, base.as_deref(), commit)?,
            at,
            base,
        });
    }
    Ok(all)
}

/// Returns the commit that saved work is based on; `None` without a common ancestor.
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

/// Parses the phase from a name such as `<run>/03-…/1` or `phase-03/1`.
fn phase_in(name: &str) -> Option<PhaseNumber> {
    let parts = name.split('/').filter_map(|part| {
        let part = part.strip_prefix("phase-").unwrap_or(part);
        // A run's id is longer than any phase number.
        let number = part.split('-').next().filter(|number| number.len() < 8)?;
        PhaseNumber::parse(number)
    });
    // The last part is a counter.
    let all: Vec<_> = parts.collect();
    all.split_last().and_then(|(_, before)| before.last().copied())
}

fn restore(context: &Context, name: &str, into: Option<&Path>) -> Result<Output, Failure> {
    refuse_agents()?;
    let git = context.git();
    let all = load(&git)?;
    let name = name.strip_prefix(RESCUE_REF_PREFIX).unwrap_or(name);
    let Some(entry) = all.iter().find(|entry| entry.name == name) else {
        let message = format!("there is no saved work named `{name}`");
        let names: Vec<_> = all.iter().take(10).map(|entry| entry.name.as_str()).collect();
        let hint = match names.as_slice() {
            [] => "there is no saved work".to_owned(),
            names => format!("the names are {}", names.join(", ")),
        };
        return Err(Failure::refused(message).hint(hint));
    };
    let (dir, reason) = match into {
        Some(dir) => (check_out(&git, entry, &context.path_from_cwd(dir))?, None),
        None => match apply(context, entry)? {
            None => return Ok(output(context, entry, &context.project.cwd, None)),
            Some(reason) => {
                let home = worktrees::home(context)?;
                let dir = home.path().join(format!("rescue-{}", name.replace('/', "-")));
                (check_out(&git, entry, &dir)?, Some(reason))
            }
        },
    };
    Ok(output(context, entry, &dir, reason.as_deref()))
}

/// Applies the work to this checkout; returns the reason when that would overwrite something.
fn apply(context: &Context, entry: &RescueEntry) -> Result<Option<String>, Failure> {
    let top = context.project.repository.as_ref().map_or(&context.project.cwd, |r| &r.top);
    let git = Git::new(top);
    let Some(base) = &entry.base else {
        return Ok(Some("it has no common ancestor with this branch".to_owned()));
    };
    let patch =
        git.run(&["diff", "--binary", "--full-index", "--no-renames", base, &entry.commit])?.stdout;
    if patch.is_empty() {
        return Ok(None);
    }
    let mut status = vec!["--literal-pathspecs", "status", "--porcelain", "-z", "--ignored", "--"];
    status.extend(entry.files.iter().map(String::as_str));
    if !git.run(&status)?.stdout.is_empty() {
        return Ok(Some("some of its files have uncommitted changes here".to_owned()));
    }
    // Git applies a patch completely or not at all.
    let applied = git.ask_with(&["apply", "--whitespace=nowarn", "-"], &patch)?;
    Ok((!applied.success).then(|| "its files have changed since then".to_owned()))
}

/// Creates a worktree with the work; work that was uncommitted is uncommitted there.
fn check_out(git: &Git, entry: &RescueEntry, dir: &Path) -> Result<PathBuf, Failure> {
    let is_free =
        std::fs::read_dir(dir).map_or(!dir.exists(), |mut entries| entries.next().is_none());
    if !is_free {
        let message = format!("{} already exists", dir.display());
        return Err(Failure::refused(message).hint("choose another directory with `--into DIR`"));
    }
    let words = ["worktree", "add", "--quiet", "--detach"].map(Path::new);
    git.run(&[&words[..], &[dir, Path::new(&entry.commit)]].concat())?;
    if entry.uncommitted && entry.base.is_some() {
        Git::at_top(dir).run(&["reset", "--quiet", "HEAD^1"])?;
    }
    Ok(std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf()))
}

fn output(context: &Context, entry: &RescueEntry, dir: &Path, reason: Option<&str>) -> Output {
    let is_here = dir == context.project.cwd;
    if context.wants_json() {
        return Output::pretty_json(json!({
            "restored": entry.name, "commit": entry.commit, "into": dir, "here": is_here,
            "reason": reason, "files": entry.files,
        }));
    }
    let files = counted(entry.files.len(), "file");
    let mut text = reason
        .map_or(String::new(), |reason| format!("Not restored into this checkout: {reason}.\n"));
    let into = if is_here { "this checkout".to_owned() } else { dir.display().to_string() };
    let _ = writeln!(text, "Restored {files} of {} into {into}", entry.name);
    let reference = shell_quote(&format!("{RESCUE_REF_PREFIX}{}", entry.name));
    let command = format!("git update-ref -d {reference}");
    let _ = writeln!(text, "The saved copy is kept. Delete it with {}", styled(CYAN, &command));
    Output::Text(text)
}

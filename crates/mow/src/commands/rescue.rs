//! `mow rescue`: lists and restores work that mow saved before it reset or removed a worktree.
//!
//! Saved work is a commit under `refs/mow/rescue/`. Restoring never overwrites anything, and the
//! commit stays until the user deletes its ref.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_engine::client::{
    AgentPolicy, Client, NotAppliedReason, RescueEntry, RestoreReceipt, RestoreRequest,
    list_rescues,
};
use mow_host::git::Git;
use mow_host::rescue::RESCUE_REF_PREFIX;
use serde::Serialize;
use serde_json::json;

use super::plural::counted;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{format_age, format_utc};
use crate::terminal::{BOLD, CYAN, DIM, fit_line, shell_quote, styled};

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

/// The row of one commit of saved work. Field names are JSON keys.
#[derive(Serialize)]
struct RescueRow {
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
}

impl From<RescueEntry> for RescueRow {
    fn from(entry: RescueEntry) -> Self {
        Self {
            name: entry.name,
            commit: entry.commit,
            phase: entry.phase.map(|phase| phase.to_string()),
            uncommitted: entry.uncommitted,
            left_out: entry.left_out,
            created: format_utc(entry.at),
            files: entry.files,
            at: entry.at,
        }
    }
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
        let about =
            format!("{kind}{phase}, {} ago", format_age(entry.at, crate::context::now_ms()));
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
fn load(git: &Git) -> Result<Vec<RescueRow>, Failure> {
    Ok(list_rescues(git)?.into_iter().map(RescueRow::from).collect())
}

fn restore(context: &Context, name: &str, into: Option<&Path>) -> Result<Output, Failure> {
    let caller = caller();
    let client = Client::of_project(&context.project);
    client.check_caller(AgentPolicy::Refuse, &caller)?;
    let into = into.map(|dir| context.path_from_cwd(dir));
    let receipt = client.submit(RestoreRequest { name, into }, &caller)?;
    Ok(output(context, receipt))
}

/// Says why the work was not restored into the checkout.
fn reason_text(reason: NotAppliedReason) -> &'static str {
    match reason {
        NotAppliedReason::NoCommonAncestor => "it has no common ancestor with this branch",
        NotAppliedReason::LocalChanges => "some of its files have uncommitted changes here",
        NotAppliedReason::FilesChanged => "its files have changed since then",
    }
}

fn output(context: &Context, receipt: RestoreReceipt) -> Output {
    let RestoreReceipt { entry, worktree, reason } = receipt;
    let (is_here, reason) = (worktree.is_none(), reason.map(reason_text));
    let dir = worktree.unwrap_or_else(|| context.project.cwd.clone());
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

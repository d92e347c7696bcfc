//! `mow merge`: merges finished phases into the target branch, without a run.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_engine::client::{AgentPolicy, Client, MergeReceipt, MergeRequest, Refusal};
use mow_engine::lead::{ManualMergeOutcome, ManualMergeResult};
use mow_store::phase_dirs;
use serde::Serialize;
use serde_json::json;

use super::run::current_program;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::unfinished;
use crate::terminal::{CYAN, GREEN, YELLOW, fit_line, styled};
use crate::wire::cost::AgentRunJson;

/// The arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mow merge\n  mow merge 3 4\n  mow merge 3 --into release\n  mow merge --dry-run"
)]
pub(crate) struct Args {
    /// The phases to merge, such as 3 or 2.1; default: all finished phases
    phases: Vec<String>,
    /// The branch to merge into; default: git.target, the milestone's branch, or the current branch
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    into: Option<String>,
    /// Show the result of the merge, but change nothing
    #[arg(long)]
    dry_run: bool,
}

/// The result for one phase. Field names are JSON keys.
#[derive(Serialize)]
struct MergeRow {
    phase: String,
    branch: String,
    /// `merged`, `already_merged`, `conflict`, `failed` or `left`.
    outcome: &'static str,
    commit: Option<String>,
    note: Option<String>,
    reason: Option<String>,
    conflicts: Vec<ConflictRow>,
}

/// A file with conflicts.
#[derive(Serialize)]
struct ConflictRow {
    path: String,
    kind: String,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let (caller, project) = (caller(), context.main_project()?);
    let client = Client::of_project(&project);
    client.check_caller(AgentPolicy::Refuse, &caller)?;
    let parse = |word: &String| {
        phase_dirs::parse_argument(word).ok_or_else(|| {
            Failure::refused(format!("`{}` is not a phase number", word.escape_debug()))
                .hint("`mow roadmap phases` lists the phases")
        })
    };
    let exe = current_program()?;
    let phases = args.phases.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let request = MergeRequest {
        exe: &exe,
        phases: &phases,
        into: args.into.as_deref(),
        dry_run: args.dry_run,
    };
    let receipt = client.submit(request, &caller).map_err(|refusal| match refusal {
        Refusal::NoRepository => {
            Failure::refused("merging needs a git repository").hint("git init")
        }
        refusal => refusal.into(),
    })?;
    Ok(output(context, args, receipt))
}

impl MergeRow {
    fn new(number: &PhaseNumber, branch: String, outcome: &'static str) -> Self {
        let (commit, note, reason, conflicts) = (None, None, None, Vec::new());
        Self { phase: number.to_string(), branch, outcome, commit, note, reason, conflicts }
    }

    fn from_outcome(number: &PhaseNumber, branch: String, outcome: ManualMergeOutcome) -> Self {
        let non_empty = |text: String| Some(text).filter(|text| !text.is_empty());
        match outcome {
            ManualMergeOutcome::Merged { commit, note } => {
                Self { commit, note: non_empty(note), ..Self::new(number, branch, "merged") }
            }
            ManualMergeOutcome::AlreadyMerged => Self::new(number, branch, "already_merged"),
            ManualMergeOutcome::Conflict { files, settle } => {
                let row = |file: mow_core::lead::ConflictedFile| ConflictRow {
                    path: file.path,
                    kind: file.kind,
                };
                let conflicts = files.into_iter().map(row).collect();
                let base = Self::new(number, branch, "conflict");
                Self { conflicts, reason: non_empty(settle), ..base }
            }
            ManualMergeOutcome::Failed { reason } => {
                Self { reason: non_empty(reason), ..Self::new(number, branch, "failed") }
            }
        }
    }
}

/// Returns the output of the command; findings when a phase was not merged.
fn output(context: &Context, args: &Args, receipt: MergeReceipt) -> Output {
    let ManualMergeResult { target, phases, refused, spent } = receipt.result;
    let mut rows: Vec<_> = phases
        .into_iter()
        .map(|(number, branch, outcome)| MergeRow::from_outcome(&number, branch, outcome))
        .collect();
    rows.extend(receipt.skipped.into_iter().map(|(number, branch, reason)| MergeRow {
        reason: Some(unfinished(&reason)),
        ..MergeRow::new(&number, branch, "left")
    }));
    let is_problem = |row: &MergeRow| matches!(row.outcome, "conflict" | "failed");
    let findings = refused.is_some() || rows.iter().any(is_problem);
    let (reason, command) = refused.unzip();
    let text = if context.wants_json() {
        let agent_runs: Vec<_> =
            spent.iter().map(|(phase, spent)| AgentRunJson::new(phase, spent)).collect();
        let all = json!({
            "into": target, "dry_run": args.dry_run, "phases": rows,
            "followed": !args.dry_run && reason.is_none(), "reason": reason, "command": command,
            "spent": agent_runs,
        });
        format!("{all:#}\n")
    } else {
        let flags = (args.dry_run, reason.is_some());
        let lines = rows.iter().map(|row| line(row, &target, flags));
        let mut text: String = lines.collect();
        if rows.is_empty() {
            text.push_str("No phase has a worktree.\n");
        }
        for (number, spent) in spent {
            let _ = writeln!(text, "Phase {number}: {}.", spent.sentence());
        }
        if let (Some(reason), Some(command)) = (reason, command) {
            let _ = writeln!(
                text,
                "{target} was not fast-forwarded: {}",
                fit_line(&reason, usize::MAX)
            );
            let _ = writeln!(text, "To finish: {}", styled(CYAN, &command));
        }
        text
    };
    if findings { Output::Findings(text) } else { Output::Text(text) }
}

/// Describes the result of one phase; `is_behind` means that the branch lacks the merge.
fn line(row: &MergeRow, target: &str, (is_dry_run, is_behind): (bool, bool)) -> String {
    let MergeRow { phase, branch, .. } = row;
    let target = fit_line(target, usize::MAX);
    let note =
        row.note.as_ref().map_or(String::new(), |note| format!("; {}", fit_line(note, usize::MAX)));
    let reason = row.reason.as_deref().unwrap_or_default();
    match row.outcome {
        "merged" if is_dry_run => {
            format!("Phase {phase} ({branch}) would be merged into {target}{note}.\n")
        }
        "merged" if is_behind => {
            format!("Phase {phase} ({branch}) is merged, but not in {target} yet{note}.\n")
        }
        "merged" => {
            let text = format!("Phase {phase} ({branch}) is merged into {target}");
            format!("{}{note}.\n", styled(GREEN, &text))
        }
        "already_merged" => format!("Phase {phase} ({branch}) is already in {target}.\n"),
        "conflict" => {
            let text = format!("Phase {phase} ({branch}) conflicts with {target}:");
            let files = row.conflicts.iter().map(|file| {
                format!(
                    "  {} ({})\n",
                    fit_line(&file.path, usize::MAX),
                    fit_line(&file.kind, usize::MAX)
                )
            });
            let files: String = files.collect();
            format!("{}\n{files}  {}\n", styled(YELLOW, &text), fit_line(reason, usize::MAX))
        }
        "left" => format!("Phase {phase} is skipped: {}.\n", fit_line(reason, usize::MAX)),
        _ => {
            let lines: String =
                reason.lines().map(|line| format!("  {}\n", fit_line(line, usize::MAX))).collect();
            format!(
                "{}\n{lines}",
                styled(YELLOW, &format!("Phase {phase} ({branch}) is not merged:"))
            )
        }
    }
}

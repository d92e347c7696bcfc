//! `mow merge`: merges finished phases into the target branch, without a run.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_engine::EngineError;
use mow_engine::lead::{ManualMerge, ManualMergeOutcome, ManualMergeResult, merge_manually};
use mow_engine::run_context::RunContext;
use mow_host::git::Git;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::{disk, manifest};
use serde::Serialize;
use serde_json::json;

use super::cost;
use super::run::current_program;
use super::steer::refuse_agents;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::lead_pid;
use crate::terminal::{CYAN, GREEN, YELLOW, fit_line, styled};

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
    refuse_agents()?;
    let project = context.main_project()?;
    if project.repository.is_none() {
        return Err(Failure::refused("merging needs a git repository").hint("git init"));
    }
    if let Some(pid) = lead_pid(&project)? {
        return Err(run_is_live(&format!("process {pid}")));
    }
    let exe = current_program()?;
    // The context only finds worktrees; no run of this name is created.
    let ctx = RunContext::new(&project, "by-hand", &exe)?;
    let (phases, skipped) = select_phases(&ctx, &args.phases)?;
    let job = ManualMerge {
        project: &project,
        exe: &exe,
        phases: &phases,
        into: args.into.as_deref(),
        dry_run: args.dry_run,
    };
    let result = merge_manually(job).map_err(|error| match error {
        EngineError::LeadRunning { holder } => run_is_live(&holder),
        error => error.into(),
    })?;
    Ok(output(context, args, result, skipped))
}

/// The failure while a run is live.
fn run_is_live(holder: &str) -> Failure {
    let message = format!("a run is live and merges its phases itself: {holder}");
    Failure::refused(message).hint("`mow ps` shows its progress")
}

/// Returns the phases to merge, and the skipped ones with the reason.
fn select_phases(
    ctx: &RunContext,
    words: &[String],
) -> Result<(Vec<PhaseNumber>, Vec<MergeRow>), Failure> {
    let parse = |word: &String| {
        phase_dirs::parse_argument(word).ok_or_else(|| {
            Failure::refused(format!("`{}` is not a phase number", word.escape_debug()))
                .hint("`mow roadmap phases` lists the phases")
        })
    };
    let named = words.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let home = ctx.home()?;
    let numbers = if named.is_empty() {
        let bytes = disk::read(&home.manifest())?.unwrap_or_default();
        let manifest = manifest::parse(&bytes).map_err(|error| {
            let path = home.manifest();
            Failure::refused(format!("{}: {error}", path.display()))
                .hint("repair the file, then merge again")
        })?;
        let phase_of = |(name, entry): &(String, manifest::ManifestEntry)| {
            entry.phase().or_else(|| home.phase_in(name))
        };
        let mut all: Vec<_> = manifest.worktrees.iter().filter_map(phase_of).collect();
        all.sort_unstable();
        all
    } else {
        named.clone()
    };
    let (mut phases, mut skipped) = (Vec::new(), Vec::new());
    for number in numbers {
        match reason_unfinished(ctx, &number)? {
            None => phases.push(number),
            Some(reason) if named.is_empty() => skipped.push(skipped_row(ctx, &number, reason)?),
            Some(reason) => {
                return Err(Failure::refused(format!("phase {number} is not finished: {reason}"))
                    .hint(format!("`mow worktree merge {number}` merges its branch as it is")));
            }
        }
    }
    Ok((phases, skipped))
}

/// Returns why a phase is not finished; `None` when it is finished.
fn reason_unfinished(ctx: &RunContext, number: &PhaseNumber) -> Result<Option<String>, Failure> {
    let worktree = ctx.worktree(number)?;
    if !worktree.path.join(".git").exists() {
        return Ok(Some(format!("it has no worktree at {}", worktree.path.display())));
    }
    let Some(dir) = phase_dirs::find(&ctx.planning_in(&worktree.path), &number.to_string()) else {
        return Ok(Some("it has no directory below .planning/phases/".to_owned()));
    };
    let ids = |kind: PhaseFileKind| -> Vec<String> {
        dir.files_of(kind).filter_map(|file| kind.id(file).map(str::to_owned)).collect()
    };
    let (plans, summaries) = (ids(PhaseFileKind::Plan), ids(PhaseFileKind::Summary));
    let done = plans.iter().filter(|id| summaries.contains(id)).count();
    if plans.is_empty() || done < plans.len() {
        return Ok(Some(format!("{done} of {} plans have a summary", plans.len())));
    }
    // A merge always leaves out planning files that do not belong to the phase.
    let planning = ctx.project.planning_below_top();
    let own = format!("{planning}/phases/{}", dir.name);
    // mow writes these two files before any work is done, so they do not count as work.
    let notes =
        ["STATUS", "CHECKPOINT"].map(|name| format!(":(exclude,top,glob){own}/*-{name}.md"));
    let own = [&[format!(":(top){own}")][..], &notes].concat();
    let code = [":(top)".to_owned(), format!(":(exclude,top){planning}")];
    let git = Git::at_top(&worktree.path);
    for paths in [&own[..], &code] {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let status = ["status", "--porcelain", "-z", "--"];
        if !git.run(&[&status[..], &paths].concat())?.stdout.is_empty() {
            return Ok(Some(format!("{} has uncommitted work", worktree.path.display())));
        }
    }
    Ok(None)
}

/// Returns the row of a phase that is not merged because it is not finished.
fn skipped_row(
    ctx: &RunContext,
    number: &PhaseNumber,
    reason: String,
) -> Result<MergeRow, Failure> {
    let branch = ctx.worktree(number)?.branch;
    Ok(MergeRow { reason: Some(reason), ..MergeRow::new(number, branch, "left") })
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
fn output(
    context: &Context,
    args: &Args,
    result: ManualMergeResult,
    skipped: Vec<MergeRow>,
) -> Output {
    let ManualMergeResult { target, phases, refused, spent } = result;
    let mut rows: Vec<_> = phases
        .into_iter()
        .map(|(number, branch, outcome)| MergeRow::from_outcome(&number, branch, outcome))
        .collect();
    rows.extend(skipped);
    let is_problem = |row: &MergeRow| matches!(row.outcome, "conflict" | "failed");
    let findings = refused.is_some() || rows.iter().any(is_problem);
    let (reason, command) = refused.unzip();
    let text = if context.wants_json() {
        let agent_runs: Vec<_> =
            spent.iter().map(|(phase, spent)| cost::agent_run_json(phase, spent)).collect();
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

//! `mow merge`: finished phases into the target, by hand, the way a run does it.

use std::fmt::Write;

use mow_core::phase::PhaseNumber;
use mow_engine::EngineError;
use mow_engine::lead::{ByHand, HandOutcome, Handled, by_hand};
use mow_engine::site::Site;
use mow_host::git::Git;
use mow_store::phase_dirs::{self, Artifact};
use mow_store::{disk, manifest};
use serde::Serialize;
use serde_json::json;

use super::cost;
use super::run::this_program;
use super::steer::must_be_person;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::lead_pid;
use crate::terminal::{CYAN, GREEN, YELLOW, fit, painted};

/// The arguments of `merge`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  mow merge\n  mow merge 3 4\n  mow merge 3 --into release\n  mow merge --dry-run"
)]
pub(crate) struct Args {
    /// The phases to merge, such as 3 or 2.1; all that are finished if not given
    phases: Vec<String>,
    /// The branch that takes them; by default git.target, that of the milestone, or the one checked out
    #[arg(long, value_name = "BRANCH", allow_hyphen_values = true)]
    into: Option<String>,
    /// Say what would come of it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What came of a phase.
#[derive(Serialize)]
struct Told {
    phase: String,
    branch: String,
    outcome: &'static str,
    commit: Option<String>,
    note: Option<String>,
    reason: Option<String>,
    conflicts: Vec<Clash>,
}

#[derive(Serialize)]
struct Clash {
    path: String,
    kind: String,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    must_be_person()?;
    let project = context.shared()?;
    if project.repository.is_none() {
        return Err(Failure::refused("merging needs a git repository").hint("git init"));
    }
    if let Some(pid) = lead_pid(&project)? {
        return Err(live(&format!("process {pid}")));
    }
    let exe = this_program()?;
    // Only to find worktrees; nothing is made of the run.
    let site = Site::new(&project, "by-hand", &exe)?;
    let (phases, left) = chosen(&site, &args.phases)?;
    let job = ByHand {
        project: &project,
        exe: &exe,
        phases: &phases,
        into: args.into.as_deref(),
        dry_run: args.dry_run,
    };
    let handled = by_hand(job).map_err(|error| match error {
        EngineError::Led { holder } => live(&holder),
        error => error.into(),
    })?;
    Ok(answer(context, args, handled, left))
}

fn live(holder: &str) -> Failure {
    let message = format!("a run is live, and its lead does the merging: {holder}");
    Failure::refused(message).hint("mow ps shows what it does")
}

/// Returns the phases to merge, and those that are left out with the reason.
fn chosen(site: &Site, words: &[String]) -> Result<(Vec<PhaseNumber>, Vec<Told>), Failure> {
    let parse = |word: &String| {
        phase_dirs::parse_argument(word).ok_or_else(|| {
            Failure::refused(format!("`{}` is no phase number", word.escape_debug()))
                .hint("mow roadmap phases lists them")
        })
    };
    let named = words.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    let home = site.home()?;
    let numbers = if named.is_empty() {
        let bytes = disk::read(&home.manifest())?.unwrap_or_default();
        let known = manifest::parse(&bytes).map_err(|error| {
            let path = home.manifest();
            Failure::refused(format!("{}: {error}", path.display())).hint("repair the file")
        })?;
        let of = |(name, entry): &(String, manifest::Worktree)| {
            entry.phase().or_else(|| home.phase_in(name))
        };
        let mut all: Vec<_> = known.worktrees.iter().filter_map(of).collect();
        all.sort_unstable();
        all
    } else {
        named.clone()
    };
    let (mut phases, mut left) = (Vec::new(), Vec::new());
    for number in numbers {
        match unfinished(site, &number)? {
            None => phases.push(number),
            Some(reason) if named.is_empty() => left.push(told_left(site, &number, reason)?),
            Some(reason) => {
                return Err(Failure::refused(format!("phase {number} is not finished: {reason}"))
                    .hint(format!("mow worktree merge {number} merges its branch as it is")));
            }
        }
    }
    Ok((phases, left))
}

/// Returns why a phase is not finished; `None` for one that is.
fn unfinished(site: &Site, number: &PhaseNumber) -> Result<Option<String>, Failure> {
    let place = site.worktree(number)?;
    if !place.path.join(".git").exists() {
        return Ok(Some(format!("it has no worktree at {}", place.path.display())));
    }
    let Some(dir) = phase_dirs::find(&site.planning_in(&place.path), &number.to_string()) else {
        return Ok(Some("it has no directory below .planning/phases/".to_owned()));
    };
    let ids = |kind: Artifact| -> Vec<String> {
        dir.of(kind).filter_map(|file| kind.id(file).map(str::to_owned)).collect()
    };
    let (plans, summaries) = (ids(Artifact::Plan), ids(Artifact::Summary));
    let done = plans.iter().filter(|id| summaries.contains(id)).count();
    if plans.is_empty() || done < plans.len() {
        return Ok(Some(format!("{done} of {} plans have a summary", plans.len())));
    }
    // Planning files that are not the phase's own are left out of a merge in any case.
    let planning = site.project.planning_below_top();
    let own = format!("{planning}/phases/{}", dir.name);
    // These two are notes about the work, and are there before any work is.
    let notes =
        ["STATUS", "CHECKPOINT"].map(|name| format!(":(exclude,top,glob){own}/*-{name}.md"));
    let own = [&[format!(":(top){own}")][..], &notes].concat();
    let code = [":(top)".to_owned(), format!(":(exclude,top){planning}")];
    let git = Git::at_top(&place.path);
    for paths in [&own[..], &code] {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let status = ["status", "--porcelain", "-z", "--"];
        if !git.run(&[&status[..], &paths].concat())?.stdout.is_empty() {
            return Ok(Some(format!("{} has uncommitted work", place.path.display())));
        }
    }
    Ok(None)
}

fn told_left(site: &Site, number: &PhaseNumber, reason: String) -> Result<Told, Failure> {
    let branch = site.worktree(number)?.branch;
    Ok(Told { reason: Some(reason), ..Told::new(number, branch, "left") })
}

impl Told {
    fn new(number: &PhaseNumber, branch: String, outcome: &'static str) -> Self {
        let (commit, note, reason, conflicts) = (None, None, None, Vec::new());
        Self { phase: number.to_string(), branch, outcome, commit, note, reason, conflicts }
    }

    fn of(number: &PhaseNumber, branch: String, outcome: HandOutcome) -> Self {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        match outcome {
            HandOutcome::Merged { commit, note } => {
                Self { commit, note: some(note), ..Self::new(number, branch, "merged") }
            }
            HandOutcome::AlreadyMerged => Self::new(number, branch, "already_merged"),
            HandOutcome::Conflict { files, settle } => {
                let clash =
                    |file: mow_core::lead::Clash| Clash { path: file.path, kind: file.kind };
                let conflicts = files.into_iter().map(clash).collect();
                let told = Self::new(number, branch, "conflict");
                Self { conflicts, reason: some(settle), ..told }
            }
            HandOutcome::Failed { reason } => {
                Self { reason: some(reason), ..Self::new(number, branch, "failed") }
            }
        }
    }
}

fn answer(context: &Context, args: &Args, handled: Handled, left: Vec<Told>) -> Output {
    let Handled { target, phases, behind, spent } = handled;
    let mut told: Vec<_> = phases
        .into_iter()
        .map(|(number, branch, outcome)| Told::of(&number, branch, outcome))
        .collect();
    told.extend(left);
    let is_bad = |told: &Told| matches!(told.outcome, "conflict" | "failed");
    let findings = behind.is_some() || told.iter().any(is_bad);
    let (reason, command) = behind.unzip();
    let text = if context.wants_json() {
        let all = json!({
            "into": target, "dry_run": args.dry_run, "phases": told,
            "followed": !args.dry_run && reason.is_none(), "reason": reason, "command": command,
            "spent": spent.iter().map(|(phase, spent)| cost::told(phase, spent)).collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    } else {
        let (dry, behind) = (args.dry_run, reason.is_some());
        let lines = told.iter().map(|told| line(told, &target, (dry, behind)));
        let mut text: String = lines.collect();
        if told.is_empty() {
            text.push_str("There are no worktrees of phases.\n");
        }
        for (number, spent) in spent {
            let _ = writeln!(text, "Phase {number}: {}.", spent.sentence());
        }
        if let (Some(reason), Some(command)) = (reason, command) {
            let _ = writeln!(text, "{target} did not follow: {}", fit(&reason, usize::MAX));
            let _ = writeln!(text, "To finish: {}", painted(CYAN, &command));
        }
        text
    };
    if findings { Output::Findings(text) } else { Output::Text(text) }
}

fn line(told: &Told, target: &str, (dry, behind): (bool, bool)) -> String {
    let Told { phase, branch, .. } = told;
    let target = fit(target, usize::MAX);
    let note =
        told.note.as_ref().map_or(String::new(), |note| format!("; {}", fit(note, usize::MAX)));
    let reason = told.reason.as_deref().unwrap_or_default();
    match told.outcome {
        "merged" if dry => {
            format!("Phase {phase} ({branch}) would be merged into {target}{note}.\n")
        }
        "merged" if behind => {
            format!(
                "Phase {phase} ({branch}) is merged, but {target} does not have it yet{note}.\n"
            )
        }
        "merged" => {
            let text = format!("Phase {phase} ({branch}) is merged into {target}");
            format!("{}{note}.\n", painted(GREEN, &text))
        }
        "already_merged" => format!("Phase {phase} ({branch}) is in {target} already.\n"),
        "conflict" => {
            let text = format!("Phase {phase} ({branch}) conflicts with {target}:");
            let files = told.conflicts.iter().map(|file| {
                format!("  {} ({})\n", fit(&file.path, usize::MAX), fit(&file.kind, usize::MAX))
            });
            let files: String = files.collect();
            format!("{}\n{files}  {}\n", painted(YELLOW, &text), fit(reason, usize::MAX))
        }
        "left" => format!("Phase {phase} is left: {}.\n", fit(reason, usize::MAX)),
        _ => {
            let lines: String =
                reason.lines().map(|line| format!("  {}\n", fit(line, usize::MAX))).collect();
            format!(
                "{}\n{lines}",
                painted(YELLOW, &format!("Phase {phase} ({branch}) is not merged:"))
            )
        }
    }
}

//! `mow verify …` checks plans, phases, references and commits.

mod must_haves;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use mow_host::git::Git;
use mow_store::compat::references;
use mow_store::{disk, plan};
use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow verify`.
#[derive(Debug, Subcommand)]
pub(crate) enum VerifyCommand {
    /// Check the keys and tasks of a plan
    PlanStructure {
        /// The PLAN.md file
        file: PathBuf,
    },
    /// Check that every plan of a phase has a summary
    PhaseCompleteness {
        /// The phase, such as 3 or 03
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        phase: String,
    },
    /// Check that the files that a document refers to exist
    References {
        /// The Markdown document
        file: PathBuf,
    },
    /// Check that commits exist in the repository
    Commits {
        /// The commit hashes
        #[arg(required = true)]
        hashes: Vec<String>,
    },
    /// Check the files that a plan lists in must_haves.artifacts
    Artifacts {
        /// The PLAN.md file
        plan: PathBuf,
    },
    /// Check the links between files that a plan lists in must_haves.key_links
    KeyLinks {
        /// The PLAN.md file
        plan: PathBuf,
    },
}

impl VerifyCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::PlanStructure { file } => Ok(plan_structure(context, file)),
            Self::PhaseCompleteness { phase } => Ok(phase_completeness(context, phase)),
            Self::References { file } => Ok(references(context, file)),
            Self::Commits { hashes } => commits(context, hashes),
            Self::Artifacts { plan } => Ok(must_haves::artifacts(context, plan)),
            Self::KeyLinks { plan } => Ok(must_haves::key_links(context, plan)),
        }
    }
}

/// Reads a file that the user named; `Err` holds the answer for a file that cannot be read.
fn load_named_file(context: &Context, file: &Path) -> Result<Vec<u8>, Output> {
    let path = file.display().to_string();
    let missing = || Output::json(json!({ "error": "File not found", "path": path }));
    disk::read(&context.path_from_cwd(file)).ok().flatten().ok_or_else(missing)
}

fn validity(is_valid: bool) -> &'static str {
    if is_valid { "valid" } else { "invalid" }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskJson<'a> {
    name: &'a str,
    has_files: bool,
    has_action: bool,
    has_verify: bool,
    has_done: bool,
}

fn plan_structure(context: &Context, file: &Path) -> Output {
    let bytes = match load_named_file(context, file) {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let plan = plan::parse(&bytes);
    let found = plan.check_structure();
    let tasks: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| {
            let has = |tag| task.element(tag).is_some();
            TaskJson {
                name: task.display_name(),
                has_files: has("files"),
                has_action: has("action"),
                has_verify: has("verify"),
                has_done: has("done"),
            }
        })
        .collect();
    let is_valid = found.errors.is_empty();
    let answer = json!({
        "valid": is_valid,
        "errors": found.errors,
        "warnings": found.warnings,
        "task_count": tasks.len(),
        "tasks": tasks,
        "frontmatter_fields": plan.keys,
    });
    Output::with_raw(answer, validity(is_valid))
}

/// Returns the part of a file name before a suffix; ignores the case of the suffix.
fn strip_suffix_ignore_case<'a>(file: &'a str, suffix: &str) -> Option<&'a str> {
    let at = file.len().checked_sub(suffix.len())?;
    file.get(at..)?.eq_ignore_ascii_case(suffix).then(|| &file[..at])
}

fn phase_completeness(context: &Context, phase: &str) -> Output {
    let Some(dir) = context.phase_dir(phase) else {
        return Output::json(json!({ "error": "Phase not found", "phase": phase }));
    };
    let ids = |suffix| {
        dir.files().filter_map(|file| strip_suffix_ignore_case(file, suffix)).collect::<Vec<_>>()
    };
    let (plans, summaries) = (ids("-PLAN.md"), ids("-SUMMARY.md"));
    let without = |these: &[&str], those: &[&str]| -> Vec<String> {
        these.iter().filter(|id| !those.contains(id)).map(|id| (*id).to_owned()).collect()
    };
    let incomplete = without(&plans, &summaries);
    let orphans = without(&summaries, &plans);
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    if !incomplete.is_empty() {
        errors.push(format!("Plans without summaries: {}", incomplete.join(", ")));
    }
    if !orphans.is_empty() {
        warnings.push(format!("Summaries without plans: {}", orphans.join(", ")));
    }
    let complete = errors.is_empty();
    let answer = json!({
        "complete": complete,
        "phase": phase,
        "plan_count": plans.len(),
        "summary_count": summaries.len(),
        "incomplete_plans": incomplete,
        "orphan_summaries": orphans,
        "errors": errors,
        "warnings": warnings,
    });
    Output::with_raw(answer, if complete { "complete" } else { "incomplete" })
}

fn references(context: &Context, file: &Path) -> Output {
    let bytes = match load_named_file(context, file) {
        Ok(bytes) => bytes,
        Err(answer) => return answer,
    };
    let paths = references::parse(&bytes);
    let missing: Vec<_> =
        paths.iter().filter(|path| !context.resolve_document_path(path).exists()).collect();
    let is_valid = missing.is_empty();
    let answer = json!({
        "valid": is_valid,
        "found": paths.len() - missing.len(),
        "missing": missing,
        "total": paths.len(),
    });
    Output::with_raw(answer, validity(is_valid))
}

fn commits(context: &Context, hashes: &[String]) -> Result<Output, Failure> {
    let git = context.git();
    let (mut valid, mut invalid) = (Vec::new(), Vec::new());
    for hash in hashes {
        let list = if is_commit(&git, hash)? { &mut valid } else { &mut invalid };
        list.push(hash);
    }
    let all_valid = invalid.is_empty();
    let answer = json!({
        "all_valid": all_valid,
        "valid": valid,
        "invalid": invalid,
        "total": hashes.len(),
    });
    Ok(Output::with_raw(answer, validity(all_valid)))
}

/// Returns whether a hash or ref names a commit.
pub(crate) fn is_commit(git: &Git, name: &str) -> Result<bool, Failure> {
    // Git would take a leading dash for an option, and cannot be passed a NUL byte.
    if name.is_empty() || name.starts_with('-') || name.contains('\0') {
        return Ok(false);
    }
    let answer = git.ask(&["cat-file", "-t", name])?;
    Ok(answer.success && answer.text() == "commit")
}

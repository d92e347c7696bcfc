//! `mow history-digest`, `summary-extract` and `verify-summary` read and check SUMMARY.md files.

use std::path::{Path, PathBuf};

use clap::Args;
use mow_store::compat::digest::SummaryDigest;
use mow_store::compat::summary::{self, SelfCheck};
use mow_store::disk;
use mow_store::phase_dirs::{PhaseDirs, PhaseFileKind};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// Runs `mow history-digest`: combines the summaries of all phases, archived ones included.
pub(crate) fn history_digest(context: &Context) -> Output {
    let planning = &context.project.planning;
    let mut digest = SummaryDigest::default();
    let archived = PhaseDirs::load_archived(planning);
    let current = PhaseDirs::load(planning);
    for dir in archived.iter().chain(current.iter()) {
        for file in dir.files_of(PhaseFileKind::Summary) {
            // A summary that cannot be read is left out, like an empty one.
            if let Ok(Some(bytes)) = disk::read(&dir.path.join(file)) {
                digest.add(&dir.name, &summary::parse(&bytes));
            }
        }
    }
    Output::json(digest)
}

/// The arguments of `summary-extract`.
#[derive(Debug, Args)]
pub(crate) struct SummaryExtractArgs {
    /// The SUMMARY.md files; several files give a list
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The keys to print, separated by commas; the path is always printed
    #[arg(long, allow_hyphen_values = true, value_name = "KEYS")]
    fields: Option<String>,
}

impl SummaryExtractArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let values: Result<Vec<_>, _> =
            self.paths.iter().map(|path| self.extract(context, path)).collect();
        let mut values = values?;
        Ok(Output::json(if values.len() == 1 { values.remove(0) } else { Value::Array(values) }))
    }

    fn extract(&self, context: &Context, path: &Path) -> Result<Value, Failure> {
        let shown = path.display().to_string();
        let Some(bytes) = load_named_file(context, path)? else {
            return Ok(json!({ "error": "File not found", "path": shown }));
        };
        let all = serde_json::to_value(summary::extract(&bytes)).expect("texts are plain JSON");
        let Value::Object(mut all) = all else { unreachable!("an extract is an object") };
        let mut printed = Map::from_iter([("path".to_owned(), json!(shown))]);
        match &self.fields {
            None => printed.append(&mut all),
            Some(fields) => {
                for field in fields.split(',').map(|field| printed_key(field.trim())) {
                    printed.extend(all.remove_entry(&field));
                }
            }
        }
        Ok(Value::Object(printed))
    }
}

/// Returns the printed key for a field, which may be spelt as in the frontmatter.
fn printed_key(field: &str) -> String {
    match field.replace('-', "_").as_str() {
        "key_decisions" => "decisions".to_owned(),
        "patterns_established" => "patterns".to_owned(),
        "tech_stack" => "tech_added".to_owned(),
        key => key.to_owned(),
    }
}

/// Reads a file that the user named; a directory counts as missing.
fn load_named_file(context: &Context, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let path = context.path_from_cwd(path);
    if path.is_dir() { Ok(None) } else { Ok(disk::read(&path)?) }
}

/// The arguments of `verify-summary`.
#[derive(Debug, Args)]
pub(crate) struct VerifySummaryArgs {
    /// The SUMMARY.md file
    path: PathBuf,
    /// The number of mentioned files to check
    #[arg(long, value_name = "N", default_value_t = 2)]
    check_count: usize,
}

/// How many of the commits that a summary lists are checked.
const COMMITS_CHECKED: usize = 3;

impl VerifySummaryArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Some(bytes) = load_named_file(context, &self.path)? else {
            let checks = SummaryChecks {
                exists: false,
                files_checked: 0,
                missing_files: Vec::new(),
                has_commit: false,
            };
            let errors = vec!["SUMMARY.md not found".to_owned()];
            return Ok(answer(&checks, SelfCheck::NotFound, &errors));
        };
        let summary = summary::parse(&bytes);
        let mut files = summary::mentioned_files(&bytes);
        files.truncate(self.check_count);
        let files_checked = files.len();
        files.retain(|file| !context.resolve_document_path(file).exists());
        let commits = &summary.commits[..summary.commits.len().min(COMMITS_CHECKED)];
        let git = context.git();
        let mut has_commit = false;
        for commit in commits {
            has_commit |= super::verify::is_commit(&git, commit)?;
        }
        let mut errors = Vec::new();
        if !files.is_empty() {
            errors.push(format!("Missing files: {}", files.join(", ")));
        }
        if !commits.is_empty() && !has_commit {
            errors.push(format!("No such commit in this repository: {}", commits.join(", ")));
        }
        if summary.self_check == SelfCheck::Failed {
            errors.push("The self-check says that something failed".to_owned());
        }
        let checks =
            SummaryChecks { exists: true, files_checked, missing_files: files, has_commit };
        Ok(answer(&checks, summary.self_check, &errors))
    }
}

/// What was found of the files and commits that a summary names.
struct SummaryChecks {
    exists: bool,
    files_checked: usize,
    missing_files: Vec<String>,
    has_commit: bool,
}

fn answer(checks: &SummaryChecks, self_check: SelfCheck, errors: &[String]) -> Output {
    let passed =
        checks.exists && checks.missing_files.is_empty() && self_check != SelfCheck::Failed;
    let answer = json!({
        "passed": passed,
        "checks": {
            "summary_exists": checks.exists,
            "files_created": {
                "checked": checks.files_checked,
                "found": checks.files_checked - checks.missing_files.len(),
                "missing": checks.missing_files,
            },
            "commits_exist": checks.has_commit,
            "self_check": self_check.word(),
        },
        "errors": errors,
    });
    Output::with_raw(answer, if passed { "passed" } else { "failed" })
}

//! `mow history-digest`, `summary-extract` and `verify-summary`.

use std::path::{Path, PathBuf};

use clap::Args;
use mow_store::digest::Digest;
use mow_store::disk;
use mow_store::phase_dirs::{Artifact, PhaseDirs};
use mow_store::summary::{self, SelfCheck};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// `mow history-digest`.
pub(super) fn history_digest(context: &Context) -> Output {
    let planning = &context.project.planning;
    let mut digest = Digest::default();
    let archived = PhaseDirs::load_archived(planning);
    let current = PhaseDirs::load(planning);
    for dir in archived.iter().chain(current.iter()) {
        for file in dir.of(Artifact::Summary) {
            // A summary that cannot be read is left out, like one that says nothing.
            if let Ok(Some(bytes)) = disk::read(&dir.path.join(file)) {
                digest.add(&dir.name, &summary::parse(&bytes));
            }
        }
    }
    Output::json(digest)
}

/// The arguments of `summary-extract`.
#[derive(Debug, Args)]
pub(crate) struct Extract {
    /// The summaries; several give a list
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The keys to print beside the path, with commas between them
    #[arg(long, allow_hyphen_values = true, value_name = "KEYS")]
    fields: Option<String>,
}

impl Extract {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let values: Result<Vec<_>, _> =
            self.paths.iter().map(|path| self.extract(context, path)).collect();
        let mut values = values?;
        Ok(Output::json(if values.len() == 1 { values.remove(0) } else { Value::Array(values) }))
    }

    fn extract(&self, context: &Context, path: &Path) -> Result<Value, Failure> {
        let shown = path.display().to_string();
        let Some(bytes) = load(context, path)? else {
            return Ok(json!({ "error": "File not found", "path": shown }));
        };
        let all = serde_json::to_value(summary::extract(&bytes)).expect("texts are plain JSON");
        let Value::Object(mut all) = all else { unreachable!("an extract is an object") };
        let mut printed = Map::from_iter([("path".to_owned(), json!(shown))]);
        match &self.fields {
            None => printed.append(&mut all),
            Some(fields) => {
                for field in fields.split(',').map(|field| key(field.trim())) {
                    printed.extend(all.remove_entry(&field));
                }
            }
        }
        Ok(Value::Object(printed))
    }
}

/// Returns the printed key for a field, which may be spelt as in the block of a summary.
fn key(field: &str) -> String {
    match field.replace('-', "_").as_str() {
        "key_decisions" => "decisions".to_owned(),
        "patterns_established" => "patterns".to_owned(),
        "tech_stack" => "tech_added".to_owned(),
        key => key.to_owned(),
    }
}

/// Reads a file that the user named; what is no file counts as missing.
fn load(context: &Context, path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let path = context.named(path);
    if path.is_dir() { Ok(None) } else { Ok(disk::read(&path)?) }
}

/// The arguments of `verify-summary`.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The summary
    path: PathBuf,
    /// How many of the files it names are looked for
    #[arg(long, value_name = "N", default_value_t = 2)]
    check_count: usize,
}

/// How many of the commits a summary lists are looked for.
const COMMITS_CHECKED: usize = 3;

impl Verify {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Some(bytes) = load(context, &self.path)? else {
            let found = Found { exists: false, checked: 0, missing: Vec::new(), commits: false };
            let errors = vec!["SUMMARY.md not found".to_owned()];
            return Ok(verdict(&found, SelfCheck::NotFound, &errors));
        };
        let summary = summary::parse(&bytes);
        let mut files = summary::mentioned_files(&bytes);
        files.truncate(self.check_count);
        let checked = files.len();
        files.retain(|file| !context.mentioned(file).exists());
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
        let found = Found { exists: true, checked, missing: files, commits: has_commit };
        Ok(verdict(&found, summary.self_check, &errors))
    }
}

struct Found {
    exists: bool,
    checked: usize,
    missing: Vec<String>,
    commits: bool,
}

fn verdict(found: &Found, self_check: SelfCheck, errors: &[String]) -> Output {
    let passed = found.exists && found.missing.is_empty() && self_check != SelfCheck::Failed;
    let answer = json!({
        "passed": passed,
        "checks": {
            "summary_exists": found.exists,
            "files_created": {
                "checked": found.checked,
                "found": found.checked - found.missing.len(),
                "missing": found.missing,
            },
            "commits_exist": found.commits,
            "self_check": self_check.word(),
        },
        "errors": errors,
    });
    Output::with_raw(answer, if passed { "passed" } else { "failed" })
}

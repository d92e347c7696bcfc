//! `mow verify artifacts` and `key-links`: what a plan promises, looked up in the files.

use std::fs;
use std::path::Path;

use mow_store::plan::{self, Artifact, KeyLink, MustHaves};
use regex::Regex;
use serde::Serialize;
use serde_json::json;

use super::{load, valid};
use crate::context::Context;
use crate::output::Output;

#[derive(Serialize)]
struct ArtifactJson<'a> {
    path: &'a str,
    exists: bool,
    issues: Vec<String>,
    passed: bool,
}

#[derive(Serialize)]
struct LinkJson<'a> {
    from: &'a str,
    to: &'a str,
    via: &'a str,
    verified: bool,
    detail: String,
}

fn must_haves(context: &Context, file: &Path) -> Result<MustHaves, Output> {
    Ok(plan::parse(&load(context, file)?).must_haves)
}

/// Reads a file that a plan names; what cannot be read has no text.
fn text_of(context: &Context, path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let bytes = fs::read(context.mentioned(path)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn none_declared(what: &str, file: &Path) -> Output {
    let error = format!("The plan declares no must_haves.{what}");
    Output::json(json!({ "error": error, "path": file.display().to_string() }))
}

pub(super) fn artifacts(context: &Context, file: &Path) -> Output {
    let goals = match must_haves(context, file) {
        Ok(goals) => goals,
        Err(answer) => return answer,
    };
    if goals.artifacts.is_empty() {
        return none_declared("artifacts", file);
    }
    let checked: Vec<_> = goals.artifacts.iter().map(|artifact| check(context, artifact)).collect();
    let passed = checked.iter().filter(|artifact| artifact.passed).count();
    let all_passed = passed == checked.len();
    let answer = json!({
        "all_passed": all_passed,
        "passed": passed,
        "total": checked.len(),
        "artifacts": checked,
    });
    Output::with_raw(answer, valid(all_passed))
}

fn check<'a>(context: &Context, artifact: &'a Artifact) -> ArtifactJson<'a> {
    let exists = !artifact.path.is_empty() && context.mentioned(&artifact.path).exists();
    let mut issues = Vec::new();
    if exists {
        let text = text_of(context, &artifact.path).unwrap_or_default();
        let lines = text.matches('\n').count() as u64 + 1;
        if let Some(wanted) = artifact.min_lines.filter(|wanted| lines < *wanted) {
            issues.push(format!("Only {lines} lines, need {wanted}"));
        }
        let lacking = |wanted: &&String| !text.contains(wanted.as_str());
        let missing = artifact.contains.iter().filter(lacking);
        issues.extend(missing.map(|wanted| format!("Missing text: {wanted}")));
        let missing = artifact.exports.iter().filter(lacking);
        issues.extend(missing.map(|wanted| format!("Missing export: {wanted}")));
    } else {
        issues.push("File not found".to_owned());
    }
    ArtifactJson { path: &artifact.path, exists, passed: issues.is_empty(), issues }
}

pub(super) fn key_links(context: &Context, file: &Path) -> Output {
    let goals = match must_haves(context, file) {
        Ok(goals) => goals,
        Err(answer) => return answer,
    };
    if goals.key_links.is_empty() {
        return none_declared("key_links", file);
    }
    let links: Vec<_> = goals
        .key_links
        .iter()
        .map(|link| {
            let (verified, detail) = follow(context, link);
            let via = link.via.as_deref().unwrap_or("");
            LinkJson { from: &link.from, to: &link.to, via, verified, detail }
        })
        .collect();
    let verified = links.iter().filter(|link| link.verified).count();
    let all_verified = verified == links.len();
    let answer = json!({
        "all_verified": all_verified,
        "verified": verified,
        "total": links.len(),
        "links": links,
    });
    Output::with_raw(answer, valid(all_verified))
}

/// Looks for a link and says what was found.
fn follow(context: &Context, link: &KeyLink) -> (bool, String) {
    let Some(source) = text_of(context, &link.from) else {
        return (false, "Source file not found".to_owned());
    };
    let Some(pattern) = &link.pattern else {
        let refers = !link.to.is_empty() && source.contains(&link.to);
        let detail = if refers {
            "The source names the target"
        } else {
            "The source does not name the target"
        };
        return (refers, detail.to_owned());
    };
    let regex = match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or("").trim_start_matches("error: ").trim();
            return (false, format!("Invalid regex pattern: {pattern} ({reason})"));
        }
    };
    if regex.is_match(&source) {
        return (true, "Pattern found in source".to_owned());
    }
    if text_of(context, &link.to).is_some_and(|target| regex.is_match(&target)) {
        return (true, "Pattern found in target".to_owned());
    }
    (false, format!("Pattern \"{pattern}\" not found in source or target"))
}

//! `mow verify artifacts` and `key-links`: what a plan promises, looked up in the files.

use std::fs;
use std::path::Path;

use mow_store::plan::{self, Artifact, Files, MustHaves};
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

/// The files below the project's root.
struct OnDisk<'a>(&'a Context);

impl Files for OnDisk<'_> {
    fn exists(&self, path: &str) -> bool {
        self.0.mentioned(path).exists()
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.0.mentioned(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
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
    let issues = artifact.issues(&OnDisk(context));
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
            let found = link.follow(&OnDisk(context));
            let verified = found.is_ok();
            let detail = found.unwrap_or_else(|missing| missing);
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

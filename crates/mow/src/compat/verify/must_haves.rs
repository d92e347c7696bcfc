//! `mow verify artifacts` and `mow verify key-links` check the `must_haves` of a plan.

use std::fs;
use std::path::Path;

use mow_store::plan::{self, Artifact, FileLookup, MustHaves};
use serde::Serialize;
use serde_json::json;

use super::{load_named_file, validity};
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

fn load_must_haves(context: &Context, file: &Path) -> Result<MustHaves, Output> {
    Ok(plan::parse(&load_named_file(context, file)?).must_haves)
}

/// The files below the project's root.
struct ProjectFiles<'a>(&'a Context);

impl FileLookup for ProjectFiles<'_> {
    fn exists(&self, path: &str) -> bool {
        self.0.resolve_document_path(path).exists()
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.0.resolve_document_path(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn none_declared(key: &str, file: &Path) -> Output {
    let error = format!("The plan declares no must_haves.{key}");
    Output::json(json!({ "error": error, "path": file.display().to_string() }))
}

pub(super) fn artifacts(context: &Context, file: &Path) -> Output {
    let must_haves = match load_must_haves(context, file) {
        Ok(must_haves) => must_haves,
        Err(answer) => return answer,
    };
    if must_haves.artifacts.is_empty() {
        return none_declared("artifacts", file);
    }
    let checked: Vec<_> =
        must_haves.artifacts.iter().map(|artifact| check_artifact(context, artifact)).collect();
    let passed = checked.iter().filter(|artifact| artifact.passed).count();
    let all_passed = passed == checked.len();
    let answer = json!({
        "all_passed": all_passed,
        "passed": passed,
        "total": checked.len(),
        "artifacts": checked,
    });
    Output::with_raw(answer, validity(all_passed))
}

fn check_artifact<'a>(context: &Context, artifact: &'a Artifact) -> ArtifactJson<'a> {
    let exists =
        !artifact.path.is_empty() && context.resolve_document_path(&artifact.path).exists();
    let issues = artifact.issues(&ProjectFiles(context));
    ArtifactJson { path: &artifact.path, exists, passed: issues.is_empty(), issues }
}

pub(super) fn key_links(context: &Context, file: &Path) -> Output {
    let must_haves = match load_must_haves(context, file) {
        Ok(must_haves) => must_haves,
        Err(answer) => return answer,
    };
    if must_haves.key_links.is_empty() {
        return none_declared("key_links", file);
    }
    let links: Vec<_> = must_haves
        .key_links
        .iter()
        .map(|link| {
            let found = link.check(&ProjectFiles(context));
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
    Output::with_raw(answer, validity(all_verified))
}

//! Renders the initial text of plans, summaries, verifications, checkpoints and scaffolds.
//!
//! This module only makes texts; the caller writes the files. Frontmatter is rendered by the same
//! code that edits it. Start with [`fill`], [`checkpoint`] and [`scaffold`].

mod bodies;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::frontmatter::{self, EditError};

/// The kinds of files that [`fill`] renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// `NN-MM-SUMMARY.md`.
    Summary,
    /// `NN-MM-PLAN.md`.
    Plan,
    /// `NN-VERIFICATION.md`.
    Verification,
}

/// The values for [`fill`].
#[derive(Clone, Debug)]
pub struct TemplateValues<'a> {
    /// Phase number as the user typed it.
    pub phase: &'a str,
    /// Phase number, padded.
    pub padded: &'a str,
    /// Phase name.
    pub name: &'a str,
    /// Phase slug.
    pub slug: &'a str,
    /// Plan number, padded.
    pub plan: &'a str,
    /// Plan type: `execute` or `tdd`.
    pub plan_type: &'a str,
    /// Wave of the plan.
    pub wave: u32,
    /// Current time in the format of all planning files.
    pub now: &'a str,
    /// Frontmatter keys that override the defaults.
    pub fields: &'a Map<String, Value>,
}

/// Renders a file: frontmatter with the defaults and the caller's fields, and the headings below.
pub fn fill(kind: TemplateKind, fill: &TemplateValues<'_>) -> Result<Vec<u8>, EditError> {
    let defaults = match kind {
        TemplateKind::Summary => summary_keys(fill),
        TemplateKind::Plan => plan_keys(fill),
        TemplateKind::Verification => verification_keys(fill),
    };
    let Value::Object(mut keys) = defaults else { unreachable!("defaults are an object") };
    for (key, value) in fill.fields {
        keys.insert(key.clone(), value.clone());
    }
    let body = match kind {
        TemplateKind::Summary => bodies::summary(fill),
        TemplateKind::Plan => bodies::plan(fill),
        TemplateKind::Verification => bodies::verification(fill),
    };
    frontmatter::merge(body.as_bytes(), &keys)
}

fn id(fill: &TemplateValues<'_>) -> String {
    format!("{}-{}", fill.padded, fill.slug)
}

fn today<'a>(fill: &TemplateValues<'a>) -> &'a str {
    fill.now.get(..10).unwrap_or(fill.now)
}

fn summary_keys(fill: &TemplateValues<'_>) -> Value {
    json!({
        "phase": id(fill),
        "plan": fill.plan,
        "subsystem": "[which part of the product]",
        "tags": [],
        "provides": [],
        "affects": [],
        "tech-stack": { "added": [], "patterns": [] },
        "key-files": { "created": [], "modified": [] },
        "key-decisions": [],
        "patterns-established": [],
        "duration": "[minutes]min",
        "completed": today(fill),
    })
}

fn plan_keys(fill: &TemplateValues<'_>) -> Value {
    json!({
        "phase": id(fill),
        "plan": fill.plan,
        "type": fill.plan_type,
        "wave": fill.wave,
        "depends_on": [],
        "files_modified": [],
        "autonomous": true,
        "user_setup": [],
        "must_haves": { "truths": [], "artifacts": [], "key_links": [] },
    })
}

fn verification_keys(fill: &TemplateValues<'_>) -> Value {
    json!({
        "phase": id(fill),
        "verified": fill.now,
        "status": "pending",
        "score": "0/0 must-haves verified",
    })
}

/// The values for [`checkpoint`].
#[derive(Clone, Debug)]
pub struct CheckpointValues<'a> {
    /// Phase as `NN-slug`.
    pub phase: &'a str,
    /// Plan number, padded.
    pub plan: &'a str,
    /// Plan id as `NN-MM`.
    pub plan_id: &'a str,
    /// Status, such as `failed`, `cancelled` or `paused`.
    pub status: &'a str,
    /// Worker that stopped.
    pub worker: &'a str,
    /// Path of the worktree.
    pub worktree: &'a str,
    /// Time of the stop.
    pub now: &'a str,
    /// Reason for the stop.
    pub reason: &'a str,
}

/// Renders a checkpoint from the built-in template or the project's own.
///
/// Unknown placeholders stay for the agent to fill in. Values are inserted unescaped.
pub fn checkpoint(template: Option<&str>, checkpoint: &CheckpointValues<'_>) -> String {
    let values = [
        ("phase", checkpoint.phase),
        ("plan", checkpoint.plan),
        ("status", checkpoint.status),
        ("worker-name", checkpoint.worker),
        ("worktree-path", checkpoint.worktree),
        ("timestamp", checkpoint.now),
        ("reason", checkpoint.reason),
        ("circuit_breaker_hit", "false"),
        ("plan-id", checkpoint.plan_id),
    ];
    substitute(template.unwrap_or(bodies::CHECKPOINT), &values)
}

/// Replaces `{name}` placeholders in one pass, so that a value that looks like a placeholder stays.
fn substitute(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let placeholder = values
            .iter()
            .find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        rest = match placeholder {
            Some((value, after)) => {
                text.push_str(value);
                after
            }
            None => {
                text.push('{');
                after
            }
        };
    }
    text + rest
}

/// The kinds of files that [`scaffold`] renders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaffoldKind {
    /// `NN-CONTEXT.md`.
    Context,
    /// `NN-UAT.md`.
    Uat,
    /// `NN-VERIFICATION.md`.
    Verification,
}

impl ScaffoldKind {
    /// Returns the suffix of the file's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Context => "CONTEXT.md",
            Self::Uat => "UAT.md",
            Self::Verification => "VERIFICATION.md",
        }
    }
}

/// Renders a scaffold for a phase from its padded and typed number, its name, and the date.
pub fn scaffold(kind: ScaffoldKind, padded: &str, typed: &str, name: &str, today: &str) -> String {
    let (title, status, body) = match kind {
        ScaffoldKind::Context => ("Context", "", bodies::SCAFFOLD_CONTEXT),
        ScaffoldKind::Uat => ("User Acceptance Testing", "status: pending\n", bodies::SCAFFOLD_UAT),
        ScaffoldKind::Verification => {
            ("Verification", "status: pending\n", bodies::SCAFFOLD_VERIFICATION)
        }
    };
    // A quoted JSON string is also a valid YAML string.
    let (number, quoted) = (json!(padded), json!(name));
    let name = name.replace(['\n', '\r'], " ");
    format!(
        "---\nphase: {number}\nname: {quoted}\ncreated: {today}\n{status}---\n\n# Phase {typed}: {name} — {title}\n\n{body}"
    )
}

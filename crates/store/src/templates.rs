//! The first text of plans, summaries, verifications, checkpoints and scaffolds.
//!
//! Only texts are made here; where they go is the caller's business. Blocks are written by the
//! same code that edits them. Start with [`fill`], [`checkpoint`] and [`scaffold`].

mod bodies;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::frontmatter::{self, EditError};

/// The kinds of files that are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `NN-MM-SUMMARY.md`.
    Summary,
    /// `NN-MM-PLAN.md`.
    Plan,
    /// `NN-VERIFICATION.md`.
    Verification,
}

/// What a file is filled in with.
#[derive(Clone, Debug)]
pub struct Fill<'a> {
    /// The number of the phase as it was typed.
    pub phase: &'a str,
    /// The number of the phase, padded.
    pub padded: &'a str,
    /// The name of the phase.
    pub name: &'a str,
    /// The slug of the phase.
    pub slug: &'a str,
    /// The number of the plan, padded.
    pub plan: &'a str,
    /// `execute` or `tdd`.
    pub plan_type: &'a str,
    /// The wave of the plan.
    pub wave: u32,
    /// The time, in the form all files use.
    pub now: &'a str,
    /// Keys that are laid over the defaults.
    pub fields: &'a Map<String, Value>,
}

/// Makes a file: its block with the defaults and the caller's fields, and the headings below.
pub fn fill(kind: Kind, fill: &Fill<'_>) -> Result<Vec<u8>, EditError> {
    let defaults = match kind {
        Kind::Summary => summary_keys(fill),
        Kind::Plan => plan_keys(fill),
        Kind::Verification => verification_keys(fill),
    };
    let Value::Object(mut keys) = defaults else { unreachable!("defaults are an object") };
    for (key, value) in fill.fields {
        keys.insert(key.clone(), value.clone());
    }
    let body = match kind {
        Kind::Summary => bodies::summary(fill),
        Kind::Plan => bodies::plan(fill),
        Kind::Verification => bodies::verification(fill),
    };
    frontmatter::merge(body.as_bytes(), &keys)
}

fn id(fill: &Fill<'_>) -> String {
    format!("{}-{}", fill.padded, fill.slug)
}

fn today<'a>(fill: &Fill<'a>) -> &'a str {
    fill.now.get(..10).unwrap_or(fill.now)
}

fn summary_keys(fill: &Fill<'_>) -> Value {
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

fn plan_keys(fill: &Fill<'_>) -> Value {
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

fn verification_keys(fill: &Fill<'_>) -> Value {
    json!({
        "phase": id(fill),
        "verified": fill.now,
        "status": "pending",
        "score": "0/0 must-haves verified",
    })
}

/// What a checkpoint is filled in with.
#[derive(Clone, Debug)]
pub struct Checkpoint<'a> {
    /// The phase as `NN-slug`.
    pub phase: &'a str,
    /// The number of the plan, padded.
    pub plan: &'a str,
    /// The plan as `NN-MM`.
    pub plan_id: &'a str,
    /// `failed`, `cancelled`, `paused` and the like.
    pub status: &'a str,
    /// Who stopped.
    pub worker: &'a str,
    /// Where the work lies.
    pub worktree: &'a str,
    /// When it stopped.
    pub now: &'a str,
    /// Why it stopped.
    pub reason: &'a str,
}

/// Fills in a checkpoint, from the built-in text or from the project's own.
///
/// Other placeholders are left for the agent, and values are put in as they are.
pub fn checkpoint(template: Option<&str>, checkpoint: &Checkpoint<'_>) -> String {
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

/// Puts values in for `{name}`, in one pass: a value that looks like a placeholder stays text.
fn substitute(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let known = values
            .iter()
            .find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        rest = match known {
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

/// The kinds of files that are scaffolded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaffold {
    /// `NN-CONTEXT.md`.
    Context,
    /// `NN-UAT.md`.
    Uat,
    /// `NN-VERIFICATION.md`.
    Verification,
}

impl Scaffold {
    /// Returns what its files' names end with.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Context => "CONTEXT.md",
            Self::Uat => "UAT.md",
            Self::Verification => "VERIFICATION.md",
        }
    }
}

/// Makes a scaffold for a phase: its number padded and as typed, its name, and the day.
pub fn scaffold(kind: Scaffold, padded: &str, typed: &str, name: &str, today: &str) -> String {
    let (title, status, body) = match kind {
        Scaffold::Context => ("Context", "", bodies::SCAFFOLD_CONTEXT),
        Scaffold::Uat => ("User Acceptance Testing", "status: pending\n", bodies::SCAFFOLD_UAT),
        Scaffold::Verification => {
            ("Verification", "status: pending\n", bodies::SCAFFOLD_VERIFICATION)
        }
    };
    // JSON's quotes are YAML's too.
    let (number, quoted) = (json!(padded), json!(name));
    let name = name.replace(['\n', '\r'], " ");
    format!(
        "---\nphase: {number}\nname: {quoted}\ncreated: {today}\n{status}---\n\n# Phase {typed}: {name} — {title}\n\n{body}"
    )
}

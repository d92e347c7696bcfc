//! `mow hook …`: what Claude Code calls when something happens; each reads one JSON object.
//!
//! A hook that watches never stands in the way: what goes wrong is a warning. Only the one that
//! makes a worktree fails, because its caller goes on in the directory it names.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_host::git::Git;
use mow_store::dashboard::Event;
use mow_store::disk;
use mow_store::state::handoff;
use serde_json::{Value, json};

use super::{commit, dashboard, worktree};
use crate::caller;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::{Output, compact, warn};

/// How much of what the caller says is read.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// How large a transcript is when the context is full, unless `MOW_MAX_TRANSCRIPT_KB` says.
const TRANSCRIPT_KB_DEFAULT: u64 = 3000;
/// At how much of the context left, in percent, a session is told, and work is put in safety.
const WARN_PERCENT: u64 = 25;
const HANDOFF_PERCENT: u64 = 15;

/// The events that Claude Code has hooks for.
#[derive(Debug, Subcommand)]
pub(crate) enum Hook {
    /// A session stops: tell when its context runs out, and leave a note for the next one
    Stop,
    /// A subagent starts: give it the instructions of the project
    SubagentStart,
    /// A worktree is wanted: make it, and print where it is
    WorktreeCreate,
    /// A worktree goes: give its phase back
    WorktreeRemove,
}

impl Hook {
    pub(super) fn run(&self) -> Result<Output, Failure> {
        match self {
            Self::WorktreeCreate => worktree_create(&input()?),
            Self::Stop => Ok(watched(stop)),
            Self::SubagentStart => Ok(watched(subagent_start)),
            Self::WorktreeRemove => Ok(watched(worktree_remove)),
        }
    }
}

/// Runs a hook that must not fail.
fn watched(hook: impl FnOnce(&Value) -> Result<Option<Value>, Failure>) -> Output {
    let answer = input().and_then(|input| hook(&input)).unwrap_or_else(|failure| {
        warn(&failure.message);
        None
    });
    Output::Text(answer.map_or_else(String::new, |answer| compact(&answer) + "\n"))
}

fn input() -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Failure::refused(format!("cannot read standard input: {error}")))?;
    let parsed: Option<Value> = serde_json::from_slice(&bytes).ok();
    parsed.filter(Value::is_object).ok_or_else(|| {
        Failure::refused("standard input is no JSON object")
            .hint("Claude Code calls this; mow install hooks sets it up")
    })
}

fn text<'a>(input: &'a Value, key: &str) -> Result<&'a str, Failure> {
    let text = input[key].as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| Failure::refused(format!("the event names no `{key}`")))
}

fn context(input: &Value) -> Result<Context, Failure> {
    Context::new(false, false, Some(Path::new(text(input, "cwd")?)))
}

fn stop(input: &Value) -> Result<Option<Value>, Failure> {
    let context = context(input)?;
    let transcript = Path::new(text(input, "transcript_path")?);
    let is_subagent = transcript.components().any(|part| part.as_os_str() == "subagents");
    if input["stop_hook_active"] == true || is_subagent || !context.project.planned {
        return Ok(None);
    }
    let Ok(size) = transcript.metadata().map(|transcript| transcript.len()) else {
        return Ok(None);
    };
    let set = std::env::var("MOW_MAX_TRANSCRIPT_KB").ok().and_then(|kb| kb.parse().ok());
    let full = set.filter(|kb| *kb > 0).unwrap_or(TRANSCRIPT_KB_DEFAULT).saturating_mul(1024);
    let left = 100 - (u128::from(size) * 100 / u128::from(full)).min(100) as u64;
    let message = if left <= HANDOFF_PERCENT {
        let session = transcript.file_stem().unwrap_or_default().to_string_lossy();
        hand_off(&context, &session, left)?;
        format!(
            "About {left} % of the context is left. STATE.md has a note for the next session: \
             finish the task at hand, start a new session and resume there."
        )
    } else if left <= WARN_PERCENT {
        format!("About {left} % of the context is left. Finish the plan at hand, then start anew.")
    } else {
        return Ok(None);
    };
    Ok(Some(json!({ "systemMessage": message, "suppressOutput": false })))
}

/// Leaves a note in STATE.md, once for a session, and commits the planning files.
fn hand_off(context: &Context, session: &str, left: u64) -> Result<(), Failure> {
    let session: String = session.chars().filter(|c| !c.is_control()).collect();
    let words = format!(
        "A session ended with about {left} % of its context left. What is committed counts; \
         `mow` says where things stand."
    );
    // A worker of a run leaves STATE.md to the lead.
    if caller::worker(context)?.is_some() {
        return Ok(());
    }
    let mut is_new = false;
    disk::update(&context.project, &context.planning("STATE.md"), |old| {
        let noted = old.and_then(|old| handoff::note(old, &today(), &session, &words));
        is_new = noted.is_some();
        Ok::<_, Failure>(noted)
    })?;
    // The user's own hooks and settings decide about this commit as about any other.
    if is_new {
        commit::planning(context, "docs: hand off to the next session")?;
    }
    Ok(())
}

fn subagent_start(input: &Value) -> Result<Option<Value>, Failure> {
    let root = context(input)?.project.root;
    for file in [".claude/CLAUDE.md", "CLAUDE.md"] {
        if let Some(bytes) = disk::read(&root.join(file))? {
            let text = String::from_utf8_lossy(&bytes);
            return Ok(Some(json!({ "additionalContext": text })));
        }
    }
    Ok(None)
}

fn worktree_create(input: &Value) -> Result<Output, Failure> {
    let name = text(input, "name")?;
    let created = worktree::create(&context(input)?, None, Some(name))?;
    Ok(Output::Text(format!("{}\n", created.path.display())))
}

fn worktree_remove(input: &Value) -> Result<Option<Value>, Failure> {
    let path = PathBuf::from(text(input, "worktree_path")?);
    let context = context(input)?;
    let home = worktree::home(&context)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = path.parent().is_some_and(|parent| parent == home.path());
    let Some(phase) = home.phase_in(&name).filter(|_| is_ours) else { return Ok(None) };
    if path.is_dir() {
        if Git::new(&path).is_dirty(true).unwrap_or(false) {
            warn(&format!("{} has uncommitted changes", path.display()));
        }
        worktree::release(&Context::new(false, false, Some(&path))?, &phase.to_string())?;
    } else {
        worktree::clean_silently(&context);
    }
    worktree::remove_from_manifest(&context, &phase.to_string())?;
    // What waits for a person in this phase waits no longer; other phases keep their pins.
    let (kind, detail) = ("worktree_removed".to_owned(), name.into_owned());
    let event = Event { kind, phase: Some(phase.to_string()), detail, ts: now() };
    dashboard::add(&context.shared()?, &event)?;
    Ok(None)
}

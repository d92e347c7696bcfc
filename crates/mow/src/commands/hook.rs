//! `mow hook …`: the hooks that Claude Code calls on its events. Each reads one JSON object.
//!
//! An observing hook never fails: an error becomes a warning. Only `worktree-create` can fail,
//! because Claude Code continues in the directory that it prints.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use mow_host::git::Git;
use mow_store::dashboard::Event;
use mow_store::disk;
use mow_store::state::handoff;
use serde_json::{Value, json};

use super::dashboard;
use crate::caller;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::{Output, compact, warn};
use crate::{planning_commit, worktrees};

/// How many bytes of standard input are read.
const INPUT_BYTES_MAX: u64 = 1 << 20;
/// The size of a transcript, in KB, at which the context counts as full; `MOW_MAX_TRANSCRIPT_KB`
/// overrides it.
const TRANSCRIPT_KB_DEFAULT: u64 = 3000;
/// At this percentage of context left, the session is warned.
const WARN_PERCENT: u64 = 25;
/// At this percentage of context left, STATE.md gets a note for the next session.
const HANDOFF_PERCENT: u64 = 15;

/// The subcommands of `mow hook`: one for each event of Claude Code.
#[derive(Debug, Subcommand)]
pub(crate) enum HookCommand {
    /// A session stops: warn when its context is nearly full, and leave a note for the next session
    Stop,
    /// A subagent starts: give it the instructions of the project
    SubagentStart,
    /// A worktree is requested: create it and print its path
    WorktreeCreate,
    /// A worktree is removed: release the claim of its phase
    WorktreeRemove,
}

impl HookCommand {
    pub(super) fn run(&self) -> Result<Output, Failure> {
        match self {
            Self::WorktreeCreate => worktree_create(&input()?),
            Self::Stop => Ok(run_observer(stop)),
            Self::SubagentStart => Ok(run_observer(subagent_start)),
            Self::WorktreeRemove => Ok(run_observer(worktree_remove)),
        }
    }
}

/// Runs a hook that must not fail; an error is printed as a warning.
fn run_observer(hook: impl FnOnce(&Value) -> Result<Option<Value>, Failure>) -> Output {
    let answer = input().and_then(|input| hook(&input)).unwrap_or_else(|failure| {
        warn(&failure.message);
        None
    });
    Output::Text(answer.map_or_else(String::new, |answer| compact(&answer) + "\n"))
}

/// Reads the event from standard input.
fn input() -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Failure::refused(format!("cannot read standard input: {error}")))?;
    let parsed: Option<Value> = serde_json::from_slice(&bytes).ok();
    parsed.filter(Value::is_object).ok_or_else(|| {
        Failure::refused("standard input is not a JSON object")
            .hint("Claude Code calls this command; `mow install hooks` registers it")
    })
}

/// Returns a text field of the event; a missing or empty one is refused.
fn text<'a>(input: &'a Value, key: &str) -> Result<&'a str, Failure> {
    let text = input[key].as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| Failure::refused(format!("the event has no `{key}`")))
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
            "About {left} % of the context is left. STATE.md has a note for the next session. \
             Finish the current task, then start a new session and resume there."
        )
    } else if left <= WARN_PERCENT {
        format!(
            "About {left} % of the context is left. Finish the current plan, then start a new session."
        )
    } else {
        return Ok(None);
    };
    Ok(Some(json!({ "systemMessage": message, "suppressOutput": false })))
}

/// Leaves a note in STATE.md, once for a session, and commits the planning files.
fn hand_off(context: &Context, session: &str, left: u64) -> Result<(), Failure> {
    let session: String = session.chars().filter(|c| !c.is_control()).collect();
    let note = format!(
        "A session ended with about {left} % of its context left. Rely only on what is \
         committed; `mow` shows the progress."
    );
    // During a run only the lead writes STATE.md.
    if caller::calling_worker(context)?.is_some() {
        return Ok(());
    }
    let mut is_new = false;
    disk::update(&context.project, &context.planning("STATE.md"), |old| {
        let with_note = old.and_then(|old| handoff::write_note(old, &today(), &session, &note));
        is_new = with_note.is_some();
        Ok::<_, Failure>(with_note)
    })?;
    // The commit runs the user's git hooks and obeys `commit_docs`, like any other commit.
    if is_new {
        planning_commit::commit_planning_files(context, "docs: hand off to the next session")?;
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
    let created = worktrees::create(&context(input)?, None, Some(name))?;
    Ok(Output::Text(format!("{}\n", created.path.display())))
}

fn worktree_remove(input: &Value) -> Result<Option<Value>, Failure> {
    let path = PathBuf::from(text(input, "worktree_path")?);
    let context = context(input)?;
    let home = worktrees::home(&context)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = path.parent().is_some_and(|parent| parent == home.path());
    let Some(phase) = home.phase_in(&name).filter(|_| is_ours) else { return Ok(None) };
    if path.is_dir() {
        if Git::new(&path).is_dirty(true).unwrap_or(false) {
            warn(&format!("{} has uncommitted changes", path.display()));
        }
        worktrees::release(&Context::new(false, false, Some(&path))?, &phase.to_string())?;
    } else {
        worktrees::release_stale_quietly(&context);
    }
    worktrees::remove_from_manifest(&context, &phase.to_string())?;
    // This event unpins the notices of this phase; those of other phases stay.
    let (kind, detail) = ("worktree_removed".to_owned(), name.into_owned());
    let event = Event { kind, phase: Some(phase.to_string()), detail, ts: now() };
    dashboard::add_event(&context.main_project()?, &event)?;
    Ok(None)
}

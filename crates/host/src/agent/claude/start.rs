//! How Claude Code is started: what it may use, spend and resume.

use std::ffi::OsString;

use crate::agent::{Access, Job, Session, ToolSpec, mcp};

/// With these an agent would get past mow: to other sessions, to other times, to other worktrees; or
/// would wait for somebody who looks at its screen.
const TOOLS_TAKEN: &[&str] = &[
    "SendMessage",
    "ListAgents",
    "CronCreate",
    "CronDelete",
    "CronList",
    "ScheduleWakeup",
    "EnterWorktree",
    "ExitWorktree",
    "EnterPlanMode",
    "ExitPlanMode",
    "Workflow",
];
const TOOLS_FOR_EDITING: &[&str] = &["Edit", "Write", "NotebookEdit"];
/// How often it tries again by itself: for about half a minute.
const RETRIES: &str = "5";

pub(super) fn arguments(job: &Job, tools: &[ToolSpec]) -> Vec<String> {
    let mut args: Vec<String> =
        "-p --verbose --input-format stream-json --output-format stream-json \
                                 --permission-prompt-tool stdio"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
    let mode = if job.access == Access::Edit { "acceptEdits" } else { "default" };
    add("--permission-mode", mode.to_owned());
    if let Some(model) = &job.model {
        add("--model", model.clone());
    }
    if let Some(usd) = job.limits.usd {
        add("--max-budget-usd", usd.to_string());
    }
    if let Some(turns) = job.limits.turns {
        add("--max-turns", turns.to_string());
    }
    if let Session::Resume(session) = &job.session {
        add("--resume", session.clone());
    }
    let allowed: Vec<_> = tools.iter().map(|tool| mcp::full_name(&tool.name)).collect();
    if !allowed.is_empty() {
        add("--allowedTools", allowed.join(","));
    }
    let editing = if job.access == Access::Edit { &[][..] } else { TOOLS_FOR_EDITING };
    add("--disallowedTools", [TOOLS_TAKEN, editing].concat().join(","));
    args
}

pub(super) fn environment(job: &Job) -> Vec<(&'static str, OsString)> {
    let mut all = vec![
        // Otherwise a result is not the end, and children outlive their turn.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1".into()),
        ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
    ];
    if job.session != Session::New {
        all.push(("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "1".into()));
    }
    if !job.env.iter().any(|(name, _)| name == "CLAUDE_CODE_MAX_RETRIES") {
        all.push(("CLAUDE_CODE_MAX_RETRIES", RETRIES.into()));
    }
    all
}

//! Builds the arguments and environment that start Claude Code: tools, limits, session.

use std::ffi::OsString;

use crate::agent::{Access, AgentJob, AgentSession, ToolSpec, mcp};

/// Tools that bypass mow: they reach other sessions, schedule later work, change worktrees, or wait
/// for a person at a terminal.
const DISABLED_TOOLS: &[&str] = &[
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
const EDITING_TOOLS: &[&str] = &["Edit", "Write", "NotebookEdit"];
/// How often Claude Code retries a model request by itself: for about half a minute.
const RETRIES: &str = "5";

pub(super) fn arguments(job: &AgentJob, tools: &[ToolSpec]) -> Vec<String> {
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
    if let AgentSession::Resume(session) = &job.session {
        add("--resume", session.clone());
    }
    let allowed: Vec<_> = tools.iter().map(|tool| mcp::full_name(&tool.name)).collect();
    if !allowed.is_empty() {
        add("--allowedTools", allowed.join(","));
    }
    let editing = if job.access == Access::Edit { &[][..] } else { EDITING_TOOLS };
    add("--disallowedTools", [DISABLED_TOOLS, editing].concat().join(","));
    args
}

pub(super) fn environment(job: &AgentJob) -> Vec<(&'static str, OsString)> {
    let mut all = vec![
        // Without this, work continues after a result and child processes outlive their turn.
        ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1".into()),
        ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1".into()),
        ("DISABLE_AUTOUPDATER", "1".into()),
    ];
    if job.session != AgentSession::New {
        all.push(("CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "1".into()));
    }
    if !job.env.iter().any(|(name, _)| name == "CLAUDE_CODE_MAX_RETRIES") {
        all.push(("CLAUDE_CODE_MAX_RETRIES", RETRIES.into()));
    }
    all
}

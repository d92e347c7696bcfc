//! The names of all settings: their second spellings, their defaults, and which ones are known.

use serde_json::{Map, Value, json};

/// Settings with two spellings.
const TWINS: [(&str, &str); 9] = [
    ("commit_docs", "planning.commit_docs"),
    ("search_gitignored", "planning.search_gitignored"),
    ("branching_strategy", "git.branching_strategy"),
    ("phase_branch_template", "git.phase_branch_template"),
    ("milestone_branch_template", "git.milestone_branch_template"),
    ("research", "workflow.research"),
    ("plan_checker", "workflow.plan_check"),
    ("verifier", "workflow.verifier"),
    ("max_task_attempts", "executor.max_task_attempts"),
];

/// Known settings beside those of [`TWINS`]; a star stands for any keys below.
const KNOWN: [&str; 48] = [
    "model_profile",
    "model_overrides.*",
    "parallelization.enabled",
    "parallelization.plan_level",
    "parallelization.task_level",
    "parallelization.skip_checkpoints",
    "parallelization.max_concurrent_agents",
    "parallelization.min_plans_for_parallel",
    "brave_search",
    "mode",
    "depth",
    "workflow.auto_advance",
    "gates.*",
    "safety.*",
    "agent_teams_nudge_dismissed",
    "agent_teams_nudge_dismissed_at",
    "git.target",
    "multi_phase.circuit_breaker_threshold",
    "multi_phase.merge_timing",
    "multi_phase.worktree_metadata_push",
    "multi_phase.max_workers",
    "multi_phase.max_agents",
    "multi_phase.merge",
    "multi_phase.lookahead",
    "multi_phase.circuit_breaker",
    "multi_phase.worker_timeout_min",
    "multi_phase.stuck_after_min",
    "multi_phase.verify",
    "feedback.terminal_bell",
    "feedback.dashboard_redraw",
    "feedback.event_log_count",
    "messages.events",
    "messages.ack_timeout_s",
    "messages.blocker_timeout_s",
    "worker.blocker_mode",
    "worker.stage_gates",
    "worktree.root",
    "worktree.name",
    "worktree.backend",
    "roles.*",
    "permissions.allow",
    "permissions.deny",
    "agents.*",
    "budget.run_usd",
    "budget.phase_usd",
    "budget.run_tokens",
    "budget.phase_tokens",
    "notify.*",
];

/// Settings that other tools keep in the same file. They are kept, and have no effect here.
const FOREIGN: [&str; 30] = [
    "granularity",
    "workflow._auto_chain_active",
    "workflow.nyquist_validation",
    "workflow.ui_phase",
    "workflow.ui_safety_gate",
    "workflow.ai_integration_phase",
    "workflow.text_mode",
    "workflow.skip_discuss",
    "workflow.discuss_mode",
    "workflow.research_before_questions",
    "workflow.node_repair",
    "workflow.node_repair_budget",
    "workflow.code_review",
    "workflow.code_review_depth",
    "workflow.code_review_command",
    "workflow.use_worktrees",
    "workflow.tdd_mode",
    "workflow.pattern_mapper",
    "workflow.plan_bounce",
    "workflow.plan_bounce_script",
    "workflow.plan_bounce_passes",
    "git.quick_branch_template",
    "hooks.*",
    "agent_skills.*",
    "features.*",
    "firecrawl",
    "exa_search",
    "project_code",
    "phase_naming",
    "resolve_model_ids",
];

/// Sections that only mow has: an unknown key in one of them is a slip of the pen.
const OWN_SECTIONS: [&str; 6] =
    ["multi_phase", "messages", "worker", "worktree", "budget", "feedback"];

/// Returns whether an unknown key must be a mistake: it lies in a section that only mow has, or
/// stands where a section belongs.
pub(super) fn is_slip(path: &str) -> bool {
    is_section(path) || OWN_SECTIONS.iter().any(|section| within(path, section))
}

/// Returns the other spelling of a setting.
pub(super) fn twin(path: &str) -> Option<&'static str> {
    TWINS.iter().find_map(|(top, nested)| match path {
        _ if path == *top => Some(*nested),
        _ if path == *nested => Some(*top),
        _ => None,
    })
}

/// Returns the default of a setting that is asked for by its path.
pub fn default_of(path: &str) -> Option<Value> {
    Some(match path {
        "multi_phase.circuit_breaker_threshold" | "multi_phase.circuit_breaker" => json!(2),
        "multi_phase.merge_timing" => json!("batch"),
        "multi_phase.worktree_metadata_push"
        | "feedback.terminal_bell"
        | "feedback.dashboard_redraw"
        | "workflow.auto_advance" => json!(false),
        "feedback.event_log_count" => json!(6),
        "worker.stage_gates" => json!("none"),
        "workflow.verifier" => json!(true),
        "multi_phase.max_workers" => json!(3),
        "multi_phase.max_agents" => json!(4),
        "multi_phase.merge" => json!("wave"),
        "multi_phase.lookahead" => json!("research"),
        "messages.events" => json!("verbose"),
        "multi_phase.stuck_after_min" => json!(10),
        "messages.ack_timeout_s" | "agents.retry_s" => json!(30),
        "messages.blocker_timeout_s" => json!(120),
        "worker.blocker_mode" => json!("skip"),
        _ => return None,
    })
}

/// Returns the path a variable stands for: `MOW_A__B` is `a.b`.
///
/// Without `__` only a known setting counts, as other variables have the same prefix.
pub(super) fn path_of_variable(name: &str) -> Option<String> {
    let path = name.strip_prefix("MOW_")?.to_ascii_lowercase().replace("__", ".");
    let is_sound = path.split('.').all(|part| !part.is_empty());
    let counts = path.contains('.') || path == "parallelization" || is_known(&path);
    (is_sound && counts).then_some(path)
}

fn all_known() -> impl Iterator<Item = &'static str> {
    TWINS.iter().flat_map(|(top, nested)| [*top, *nested]).chain(KNOWN).chain(FOREIGN)
}

fn is_known(path: &str) -> bool {
    all_known().any(|known| match known.strip_suffix(".*") {
        Some(section) => path == section || within(path, section),
        None => path == known,
    })
}

/// Returns whether a path is the section of some known setting.
fn is_section(path: &str) -> bool {
    all_known().any(|known| within(known, path))
}

fn within(path: &str, section: &str) -> bool {
    path.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// Collects the highest keys below a section that are not known.
pub(super) fn collect_unknown(map: &Map<String, Value>, section: &str, into: &mut Vec<String>) {
    for (key, value) in map {
        let path = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
        if is_known(&path) {
            continue;
        }
        match value {
            Value::Object(inner) if is_section(&path) => collect_unknown(inner, &path, into),
            Value::Bool(_) if path == "parallelization" => {}
            _ => into.push(path),
        }
    }
}

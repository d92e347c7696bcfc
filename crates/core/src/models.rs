//! Looks up the model of an agent in a profile.

/// The agents with their models in the profiles `quality`, `balanced` and `budget`.
const TABLE: [(&str, [&str; 3]); 14] = [
    ("mow-planner", ["opus", "opus", "sonnet"]),
    ("mow-roadmapper", ["opus", "sonnet", "sonnet"]),
    ("mow-executor", ["opus", "sonnet", "sonnet"]),
    ("mow-debugger", ["opus", "sonnet", "sonnet"]),
    ("mow-phase-researcher", ["opus", "sonnet", "haiku"]),
    ("mow-project-researcher", ["opus", "sonnet", "haiku"]),
    ("mow-research-synthesizer", ["sonnet", "sonnet", "haiku"]),
    ("mow-verifier", ["sonnet", "sonnet", "haiku"]),
    ("mow-plan-checker", ["sonnet", "sonnet", "haiku"]),
    ("mow-integration-checker", ["sonnet", "sonnet", "haiku"]),
    ("mow-codebase-mapper", ["sonnet", "haiku", "haiku"]),
    ("mow-team-lead", ["opus", "sonnet", "sonnet"]),
    ("mow-phase-worker", ["opus", "sonnet", "sonnet"]),
    ("mow-dag-analyzer", ["sonnet", "sonnet", "haiku"]),
];

/// Returns the names of all agents in the table.
pub fn agents() -> [&'static str; TABLE.len()] {
    TABLE.map(|(agent, _)| agent)
}

/// The model of an agent that is not in the table.
pub const FALLBACK_MODEL: &str = "sonnet";

/// Returns the model of an agent; `None` if the agent is not in the table.
///
/// An unknown profile counts as `balanced`. The old prefix `gsd-` means the same as `mow-`.
pub fn model_of(agent: &str, profile: &str) -> Option<&'static str> {
    let bare = agent.strip_prefix("mow-").or_else(|| agent.strip_prefix("gsd-"))?;
    let (_, models) = TABLE.iter().find(|(name, _)| name.strip_prefix("mow-") == Some(bare))?;
    Some(match profile {
        "quality" => models[0],
        "budget" => models[2],
        _ => models[1],
    })
}

/// Returns the model name for a caller that starts the agent.
///
/// The largest model becomes `inherit`: the agent then uses the model that the caller runs with.
pub fn inherited_name(model: &str) -> &str {
    if model == "opus" { "inherit" } else { model }
}

#[cfg(test)]
mod tests;

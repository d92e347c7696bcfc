//! Which model an agent gets in which profile.

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

/// Returns the agents that have a row.
pub fn agents() -> [&'static str; TABLE.len()] {
    TABLE.map(|(agent, _)| agent)
}

/// What an agent gets that nobody knows.
pub const FALLBACK: &str = "sonnet";

/// Returns the model of an agent; `None` for one that is not known.
///
/// A profile that is not known acts as `balanced`, and a name with `gsd-` in front as one with
/// `mow-`.
pub fn model_of(agent: &str, profile: &str) -> Option<&'static str> {
    let bare = agent.strip_prefix("mow-").or_else(|| agent.strip_prefix("gsd-"))?;
    let (_, models) = TABLE.iter().find(|(name, _)| name.strip_prefix("mow-") == Some(bare))?;
    Some(match profile {
        "quality" => models[0],
        "budget" => models[2],
        _ => models[1],
    })
}

/// Returns a model as callers pass it on: the largest one is the one they run with themselves.
pub fn passed_on(model: &str) -> &str {
    if model == "opus" { "inherit" } else { model }
}

#[cfg(test)]
mod tests;

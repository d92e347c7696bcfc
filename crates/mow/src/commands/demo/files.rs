//! The files of the demo project, as they are laid down. `{date}` in them stands for the day.
//!
//! A plan is a runbook: each action holds a script, each verification a command. Nothing here runs
//! them; who plays the plans in order has the program that they describe.

/// Names files of `.planning/` and takes their texts in.
macro_rules! planned {
    ($($path:literal),+ $(,)?) => {
        &[$((concat!(".planning/", $path), include_str!(concat!("../../demo/", $path)))),+]
    };
}

/// Every file by its path below the root of the project.
pub(super) const FILES: &[(&str, &str)] = planned![
    "PROJECT.md",
    "REQUIREMENTS.md",
    "ROADMAP.md",
    "STATE.md",
    "config.json",
    "phases/01-log-format/01-01-PLAN.md",
    "phases/01-log-format/01-02-PLAN.md",
    "phases/01-log-format/01-CONTEXT.md",
    "phases/02-statistics/02-01-PLAN.md",
    "phases/02-statistics/02-02-PLAN.md",
    "phases/02-statistics/02-CONTEXT.md",
    "phases/03-charts/03-01-PLAN.md",
    "phases/03-charts/03-02-PLAN.md",
    "phases/03-charts/03-CONTEXT.md",
    "phases/04-import/04-01-PLAN.md",
    "phases/04-import/04-02-PLAN.md",
    "phases/04-import/04-CONTEXT.md",
    "phases/05-report/05-01-PLAN.md",
    "phases/05-report/05-02-PLAN.md",
    "phases/05-report/05-CONTEXT.md",
    "phases/06-release/06-01-PLAN.md",
    "phases/06-release/06-02-PLAN.md",
    "phases/06-release/06-CONTEXT.md",
];

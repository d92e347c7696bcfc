//! The files of the demo project. `{date}` in them is replaced by the current date.
//!
//! Each action of a plan contains a script, each verification a command. Executing all plans in
//! order creates the program that they describe.

/// Lists files of `.planning/` with their embedded texts.
macro_rules! planning_files {
    ($($path:literal),+ $(,)?) => {
        &[$((concat!(".planning/", $path), include_str!(concat!("../../demo/", $path)))),+]
    };
}

/// The path of each file below the project root, and its text.
pub(super) const FILES: &[(&str, &str)] = planning_files![
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

//! The variables of prompts and their values.

use std::collections::BTreeMap;

/// The text of a variable without a value.
pub const NONE: &str = "none";

/// The most characters of a value; the rest is cut.
const CHARS_MAX: usize = 8_000;

/// A variable of prompt templates. `prompts/README.md` lists which role has which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// The name of the role.
    Role,
    /// The number of the phase.
    Phase,
    /// The name of the phase.
    PhaseName,
    /// The name of the phase directory, such as `03-search`.
    PhaseSlug,
    /// The prefix of the file names of the phase, such as `03`.
    Prefix,
    /// The goal of the phase.
    Goal,
    /// What must be true at the end of the phase, one line each.
    Criteria,
    /// The ids of the requirements that the phase serves.
    Requirements,
    /// The path of the worktree in which the agent works.
    Worktree,
    /// The path of the phase directory.
    PhaseDir,
    /// The path of ROADMAP.md.
    Roadmap,
    /// The path of REQUIREMENTS.md.
    RequirementsFile,
    /// The path of PROJECT.md.
    ProjectFile,
    /// The path of STATE.md.
    State,
    /// The path of CONTEXT.md.
    Context,
    /// The path of RESEARCH.md.
    Research,
    /// The path of VERIFICATION.md.
    Verification,
    /// The id of the plan.
    Plan,
    /// The path of the plan.
    PlanFile,
    /// The number of the task in its plan, counted from 1.
    Task,
    /// The name of the task.
    TaskName,
    /// How often the role has run before in this stage.
    Round,
    /// The path of a file with questions and answers.
    Answers,
    /// The path of a file with the issues of the plan checker.
    Issues,
    /// The path of a file with the gaps of a finished phase.
    Findings,
    /// The path of a file that lists the files with conflicts.
    ConflictFiles,
    /// The commit on the target side of the merge.
    Ours,
    /// The commit of the phase to merge.
    Theirs,
    /// The problem of the previous attempt.
    AttemptProblem,
}

/// All variables with their names, in the order above.
const TABLE: [(Variable, &str); 29] = [
    (Variable::Role, "role"),
    (Variable::Phase, "phase"),
    (Variable::PhaseName, "phase_name"),
    (Variable::PhaseSlug, "phase_slug"),
    (Variable::Prefix, "prefix"),
    (Variable::Goal, "goal"),
    (Variable::Criteria, "criteria"),
    (Variable::Requirements, "requirements"),
    (Variable::Worktree, "worktree"),
    (Variable::PhaseDir, "phase_dir"),
    (Variable::Roadmap, "roadmap"),
    (Variable::RequirementsFile, "requirements_file"),
    (Variable::ProjectFile, "project_file"),
    (Variable::State, "state"),
    (Variable::Context, "context"),
    (Variable::Research, "research"),
    (Variable::Verification, "verification"),
    (Variable::Plan, "plan"),
    (Variable::PlanFile, "plan_file"),
    (Variable::Task, "task"),
    (Variable::TaskName, "task_name"),
    (Variable::Round, "round"),
    (Variable::Answers, "answers"),
    (Variable::Issues, "issues"),
    (Variable::Findings, "findings"),
    (Variable::ConflictFiles, "conflict_files"),
    (Variable::Ours, "ours"),
    (Variable::Theirs, "theirs"),
    (Variable::AttemptProblem, "attempt_problem"),
];

impl Variable {
    /// Returns every variable.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(variable, _)| *variable)
    }

    /// Returns the name in templates.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Returns the variable with a name.
    pub fn find(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, own)| *own == name).map(|(variable, _)| *variable)
    }
}

/// The values of variables. Values are limited in length, and most are one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptValues(BTreeMap<Variable, String>);

impl PromptValues {
    /// Sets a value; an empty value is rendered as [`NONE`].
    #[must_use]
    pub fn with(mut self, variable: Variable, value: &str) -> Self {
        let bounded = cut(value.trim());
        let text = match variable {
            Variable::Criteria => bounded,
            // Often the output of a program: it is quoted, so that the agent does not take it for a
            // part of the prompt.
            Variable::AttemptProblem if bounded.contains('\n') => {
                let lines = bounded.lines().map(|line| format!("\n> {line}"));
                lines.collect()
            }
            _ => bounded.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        self.0.insert(variable, if text.is_empty() { NONE.to_owned() } else { text });
        self
    }

    pub(crate) fn value(&self, variable: Variable) -> Option<&str> {
        self.0.get(&variable).map(String::as_str)
    }
}

/// Cuts a text after [`CHARS_MAX`] characters and marks the cut.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{} … (cut)", &text[..at]),
        None => text.to_owned(),
    }
}

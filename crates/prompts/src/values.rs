//! What is filled into texts.

use std::collections::BTreeMap;

/// What stands where there is nothing.
pub const NONE: &str = "none";

/// How much of a value is said.
const CHARS_MAX: usize = 8_000;

/// Something that differs from phase to phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variable {
    /// The name of the role.
    Role,
    /// The number of the phase.
    Phase,
    /// Its name.
    PhaseName,
    /// The name of its directory.
    PhaseSlug,
    /// What its files begin with.
    Prefix,
    /// Its goal.
    Goal,
    /// What must be true at its end, a line each.
    Criteria,
    /// The ids of the requirements it serves.
    Requirements,
    /// The directory the agent works in.
    Worktree,
    /// The path of the phase's directory.
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
    /// Its path.
    PlanFile,
    /// The number of the task.
    Task,
    /// Its name.
    TaskName,
    /// How often the role had its turn in this stage.
    Round,
    /// The path of a file with questions and answers.
    Answers,
    /// The path of a file with what the checker found.
    Issues,
    /// The path of a file with the gaps of a finished phase.
    Findings,
    /// The path of a file with the names of files that conflict.
    ConflictFiles,
    /// The commit that is there already.
    Ours,
    /// The commit that the phase brings.
    Theirs,
    /// What was wrong with the last try.
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
    /// Returns all of them.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(variable, _)| *variable)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Finds one by its name.
    pub fn find(name: &str) -> Option<Self> {
        TABLE.iter().find(|(_, own)| *own == name).map(|(variable, _)| *variable)
    }
}

/// What is filled in. Values are bounded, and most of them are one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values(BTreeMap<Variable, String>);

impl Values {
    /// Sets a value; an empty one says that there is none.
    #[must_use]
    pub fn with(mut self, variable: Variable, value: &str) -> Self {
        let bounded = cut(value.trim());
        let text = match variable {
            Variable::Criteria => bounded,
            // Often the output of a program: it is quoted, so that nobody takes it for our words.
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

/// Cuts a text that is too long; the cut shows.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((at, _)) => format!("{} … (cut)", &text[..at]),
        None => text.to_owned(),
    }
}

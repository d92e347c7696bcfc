//! What is said to agents: a text for each role, with places for what differs from phase to phase.
//!
//! The texts are in `prompts/` at the top of the repository and part of the program; a project may
//! have its own. They name paths, never what stands in the files. Nothing here reads a file, knows a
//! path by itself or talks to anybody. Start with [`render`].

mod values;

#[cfg(test)]
mod tests;

pub use values::{NONE, Values, Variable};

/// How long a project's own text may be.
pub const BYTES_MAX: usize = 64 * 1024;

/// The texts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prompt {
    /// Finds out what a person has to decide.
    Discusser,
    /// Finds out how a phase is best built.
    Researcher,
    /// Writes the plans.
    Planner,
    /// Reads the plans.
    PlanChecker,
    /// Does one task of a plan.
    Executor,
    /// Finds out whether the goal is reached.
    Verifier,
    /// Settles the conflicts of a merge.
    ConflictResolver,
}

impl Prompt {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Discusser,
        Self::Researcher,
        Self::Planner,
        Self::PlanChecker,
        Self::Executor,
        Self::Verifier,
        Self::ConflictResolver,
    ];

    /// Returns the name of the role it is for.
    pub fn role(self) -> &'static str {
        match self {
            Self::Discusser => "discusser",
            Self::Researcher => "researcher",
            Self::Planner => "planner",
            Self::PlanChecker => "plan-checker",
            Self::Executor => "executor",
            Self::Verifier => "verifier",
            Self::ConflictResolver => "conflict-resolver",
        }
    }

    /// Finds the text for a role.
    pub fn find(role: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prompt| prompt.role() == role)
    }

    /// Returns the text that is part of the program.
    pub fn text(self) -> &'static str {
        match self {
            Self::Discusser => include_str!("../../../prompts/discusser.md"),
            Self::Researcher => include_str!("../../../prompts/researcher.md"),
            Self::Planner => include_str!("../../../prompts/planner.md"),
            Self::PlanChecker => include_str!("../../../prompts/plan-checker.md"),
            Self::Executor => include_str!("../../../prompts/executor.md"),
            Self::Verifier => include_str!("../../../prompts/verifier.md"),
            Self::ConflictResolver => include_str!("../../../prompts/conflict-resolver.md"),
        }
    }

    /// Returns where a project's own text is, below its root.
    pub fn own_file(self) -> String {
        format!(".planning/prompts/{}.md", self.role())
    }
}

/// Why a text cannot be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// It has a place for something that nobody knows of.
    #[error("{file}:{line}: there is no variable {{{{{name}}}}}")]
    Unknown {
        /// The text.
        file: String,
        /// The line of the place.
        line: usize,
        /// What stands in the place.
        name: String,
    },
    /// It has a place for something that is not known for this role.
    #[error("{file}:{line}: {{{{{name}}}}} is not known for the {role}")]
    Unfilled {
        /// The text.
        file: String,
        /// The line of the place.
        line: usize,
        /// The variable.
        name: &'static str,
        /// Who is spoken to.
        role: &'static str,
    },
    /// It is longer than anybody reads.
    #[error("{file}: has {bytes} bytes, at most {BYTES_MAX} are said")]
    TooLong {
        /// The text.
        file: String,
        /// How long it is.
        bytes: usize,
    },
}

/// Fills in a text: the project's own, where it has one, else the one of the program.
///
/// A place is `{{name}}` on one line. What is filled in is not looked at again.
pub fn render(
    prompt: Prompt,
    overridden: Option<&str>,
    values: &Values,
) -> Result<String, PromptError> {
    let own_file = overridden.map(|_| prompt.own_file());
    let file = own_file.unwrap_or_else(|| format!("prompts/{}.md", prompt.role()));
    let text = overridden.unwrap_or_else(|| prompt.text());
    if text.len() > BYTES_MAX {
        return Err(PromptError::TooLong { file, bytes: text.len() });
    }
    let mut said = String::with_capacity(text.len() * 2);
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let mut rest = content;
        while let Some((before, name, after)) = next_place(rest) {
            let Some(variable) = Variable::find(name) else {
                return Err(PromptError::Unknown { file, line, name: name.to_owned() });
            };
            let Some(value) = values.value(variable) else {
                let (name, role) = (variable.name(), prompt.role());
                return Err(PromptError::Unfilled { file, line, name, role });
            };
            said.push_str(before);
            said.push_str(value);
            rest = after;
        }
        said.push_str(rest);
    }
    Ok(said)
}

/// Splits a line at its first place.
fn next_place(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name.trim(), after))
}

//! Renders the prompts of agents: one template for each role, with variables for the phase.
//!
//! The templates are in `prompts/` in the repository root and compiled in; a project may override
//! them. Prompts contain the paths of files, never their contents. This crate reads no files and
//! starts no agents. Start with [`render`].

mod values;

#[cfg(test)]
mod tests;

pub use values::{NONE, PromptValues, Variable};

/// The most bytes of a template.
pub const BYTES_MAX: usize = 64 * 1024;

/// The built-in templates, one for each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prompt {
    /// Asks a person the questions that are open before planning.
    Discusser,
    /// Researches how to build the phase.
    Researcher,
    /// Writes the plans of the phase.
    Planner,
    /// Reviews the plans.
    PlanChecker,
    /// Executes one task of a plan.
    Executor,
    /// Verifies that the phase reached its goal.
    Verifier,
    /// Resolves the conflicts of a merge.
    ConflictResolver,
}

impl Prompt {
    /// Every template, in declaration order.
    pub const ALL: [Self; 7] = [
        Self::Discusser,
        Self::Researcher,
        Self::Planner,
        Self::PlanChecker,
        Self::Executor,
        Self::Verifier,
        Self::ConflictResolver,
    ];

    /// Returns the name of the role, which is also the file name.
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

    /// Returns the template for the name of a role.
    pub fn find(role: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prompt| prompt.role() == role)
    }

    /// Returns the built-in template.
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

    /// Returns the path of the project's own template, relative to the project root.
    pub fn override_path(self) -> String {
        format!(".planning/prompts/{}.md", self.role())
    }
}

/// Why a prompt cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The template uses a variable that does not exist.
    #[error("{file}:{line}: there is no variable {{{{{name}}}}}")]
    UnknownVariable {
        /// The path of the template.
        file: String,
        /// The line of the variable, counted from 1.
        line: usize,
        /// The name between the braces.
        name: String,
    },
    /// The template uses a variable that has no value for this role.
    #[error("{file}:{line}: {{{{{name}}}}} has no value for the {role}")]
    MissingValue {
        /// The path of the template.
        file: String,
        /// The line of the variable, counted from 1.
        line: usize,
        /// The name of the variable.
        name: &'static str,
        /// The role of the template.
        role: &'static str,
    },
    /// The template is longer than [`BYTES_MAX`].
    #[error("{file}: has {bytes} bytes, but a prompt may have at most {BYTES_MAX}")]
    TooLong {
        /// The path of the template.
        file: String,
        /// The length of the template.
        bytes: usize,
    },
}

/// Renders the project's own template `overridden`, or the built-in one if it is `None`.
///
/// A variable is `{{name}}` on one line. Braces inside values are not expanded.
pub fn render(
    prompt: Prompt,
    overridden: Option<&str>,
    values: &PromptValues,
) -> Result<String, PromptError> {
    let override_file = overridden.map(|_| prompt.override_path());
    let file = override_file.unwrap_or_else(|| format!("prompts/{}.md", prompt.role()));
    let text = overridden.unwrap_or_else(|| prompt.text());
    if text.len() > BYTES_MAX {
        return Err(PromptError::TooLong { file, bytes: text.len() });
    }
    let mut rendered = String::with_capacity(text.len() * 2);
    for (line, content) in (1..).zip(text.split_inclusive('\n')) {
        let mut rest = content;
        while let Some((before, name, after)) = split_at_variable(rest) {
            let Some(variable) = Variable::find(name) else {
                return Err(PromptError::UnknownVariable { file, line, name: name.to_owned() });
            };
            let Some(value) = values.value(variable) else {
                let (name, role) = (variable.name(), prompt.role());
                return Err(PromptError::MissingValue { file, line, name, role });
            };
            rendered.push_str(before);
            rendered.push_str(value);
            rest = after;
        }
        rendered.push_str(rest);
    }
    Ok(rendered)
}

/// Splits a line at its first variable: the text before, the name, the text after.
fn split_at_variable(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("{{")?;
    let (name, after) = rest.split_once("}}")?;
    Some((before, name.trim(), after))
}

//! SUMMARY.md: what a plan left behind.
//!
//! Keys are read in both spellings, with hyphens and with underscores. A commit is only what stands
//! in a list of commits, and the self check is only what its own section says. Start with [`parse`].

mod evidence;
mod extract;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Frontmatter, Problem, Value};
use crate::text::{Text, heading, inline};
use crate::values;

pub use evidence::{SelfCheck, mentioned_files};
pub use extract::{Decision, Extract, extract};

/// The keys the summary schema asks for.
pub const REQUIRED_KEYS: [&str; 6] =
    ["phase", "plan", "subsystem", "tags", "duration", "completed"];

/// A summary as its file states it.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Whether it has a block at its top.
    pub has_block: bool,
    /// The phase as written.
    pub phase: Option<String>,
    /// The plan as written.
    pub plan: Option<String>,
    /// The name of the phase.
    pub name: Option<String>,
    /// The part of the product it is about.
    pub subsystem: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// One sentence on what was done.
    pub one_liner: Option<String>,
    /// What others may build on.
    pub provides: Vec<String>,
    /// What others are touched by it.
    pub affects: Vec<String>,
    /// The value of `key-files` as it is: a list, or `created` and `modified`.
    pub key_files: Option<Value>,
    /// What was added to the tools in use.
    pub tech_added: Vec<String>,
    /// Ways of working that others should follow.
    pub patterns: Vec<String>,
    /// What was decided.
    pub decisions: Vec<String>,
    /// The requirements that are met now.
    pub requirements_completed: Vec<String>,
    /// How long it took.
    pub duration: Option<String>,
    /// When it was finished.
    pub completed: Option<String>,
    /// What it says of its own check.
    pub self_check: SelfCheck,
    /// The commits it lists, in file order.
    pub commits: Vec<String>,
    /// What could not be read in the block.
    pub problems: Vec<Problem>,
}

/// Reads a summary.
pub fn parse(bytes: &[u8]) -> Summary {
    let block = frontmatter::parse(bytes);
    let front = block.as_ref();
    let text = Text::new(bytes);
    let value = |key: &str| values::text(front, key);
    let list = |keys: &[&str]| first_list(front, keys);
    Summary {
        has_block: front.is_some(),
        phase: value("phase"),
        plan: value("plan"),
        name: value("name"),
        subsystem: value("subsystem"),
        tags: list(&["tags"]),
        one_liner: value("one-liner").or_else(|| bold_line(&text)),
        provides: list(&["dependency-graph.provides", "provides"]),
        affects: list(&["dependency-graph.affects", "affects"]),
        key_files: front.and_then(|front| values::entry(front, "key-files")).cloned(),
        tech_added: tech_added(front),
        patterns: list(&["patterns-established"]),
        decisions: list(&["key-decisions", "decisions"]),
        requirements_completed: list(&["requirements-completed"]),
        duration: value("duration").or_else(|| value("metrics.duration")),
        completed: value("completed").or_else(|| value("metrics.completed")),
        self_check: evidence::self_check(&text),
        commits: evidence::commits(&text, front),
        problems: block.as_ref().map(|front| front.problems.clone()).unwrap_or_default(),
    }
}

/// Returns the texts of the first key that has some.
fn first_list(front: Option<&Frontmatter>, keys: &[&str]) -> Vec<String> {
    let mut lists = keys.iter().map(|key| values::list(front, key));
    lists.find(|list| !list.is_empty()).unwrap_or_default()
}

/// Reads `tech-stack.added`, of words or of objects with a name.
fn tech_added(front: Option<&Frontmatter>) -> Vec<String> {
    let value = front.and_then(|front| values::entry(front, "tech-stack.added"));
    let Some(Value::List(items)) = value else { return values::list(front, "tech-stack.added") };
    let names = items.iter().filter_map(|item| match item.as_map() {
        Some(map) => values::find(map, "name")
            .and_then(values::scalar)
            .or_else(|| values::texts(&Value::List(vec![item.clone()])).into_iter().next()),
        None => values::scalar(item),
    });
    names.collect()
}

/// Returns the first line after the title that is bold as a whole, or opens in bold as a sentence.
fn bold_line(text: &Text<'_>) -> Option<String> {
    let headings = heading::headings(text);
    let title = headings.iter().position(|heading| heading.level == 1)?;
    let start = headings[title].line + 1;
    let end = headings.get(title + 1).map_or(text.lines().len(), |next| next.line);
    let mut lines = (start..end).map(|line| text.line(line).trim());
    let line = lines.find(|line| line.starts_with("**"))?;
    let inner = line.strip_prefix("**")?;
    let (bold, after) = inner.split_once("**").unwrap_or((inner, ""));
    // `**Phase:** 3` is a field; `**One-liner:** text` is the sentence all the same.
    let label = bold.trim().trim_end_matches(':').to_lowercase();
    let sentence = match (label.as_str(), bold.trim_end().ends_with(':') || after.starts_with(':'))
    {
        ("one-liner" | "one liner" | "summary", true) => after.trim_start_matches(':'),
        (_, true) => return None,
        (_, false) => line,
    };
    Some(inline::plain(sentence).into_owned()).filter(|sentence| !sentence.is_empty())
}

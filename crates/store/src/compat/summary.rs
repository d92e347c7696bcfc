//! Reads SUMMARY.md, the report on a completed plan.
//!
//! Keys match with hyphens and underscores. A hash counts as a commit only in a list of commits,
//! and the self-check only counts in its own section. Start with [`parse`].

mod evidence;
mod extract;

#[cfg(test)]
mod tests;

use crate::frontmatter::{self, Frontmatter, Problem, Value};
use crate::frontmatter_values;
use crate::text::{Text, heading, inline};

pub use evidence::{SelfCheck, mentioned_files};
pub use extract::{ExtractedSummary, SummaryDecision, extract};

/// The frontmatter keys that the summary schema requires.
pub const REQUIRED_KEYS: [&str; 6] =
    ["phase", "plan", "subsystem", "tags", "duration", "completed"];

/// The contents of one SUMMARY.md.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Whether the file has frontmatter.
    pub has_block: bool,
    /// Phase as written.
    pub phase: Option<String>,
    /// Plan as written.
    pub plan: Option<String>,
    /// Name of the phase.
    pub name: Option<String>,
    /// Part of the product that the plan changed.
    pub subsystem: Option<String>,
    /// Search tags.
    pub tags: Vec<String>,
    /// One sentence on the result.
    pub one_liner: Option<String>,
    /// Results that other phases can build on.
    pub provides: Vec<String>,
    /// Other parts that the plan affects.
    pub affects: Vec<String>,
    /// Value of `key-files`, unchanged: a list, or a map of `created` and `modified`.
    pub key_files: Option<Value>,
    /// Tools and libraries that the plan added.
    pub tech_added: Vec<String>,
    /// Patterns that later plans should follow.
    pub patterns: Vec<String>,
    /// Decisions as written.
    pub decisions: Vec<String>,
    /// Requirements that are complete now.
    pub requirements_completed: Vec<String>,
    /// Duration of the plan.
    pub duration: Option<String>,
    /// Date of completion.
    pub completed: Option<String>,
    /// Result of the summary's self-check section.
    pub self_check: SelfCheck,
    /// Commits that the summary lists, in file order.
    pub commits: Vec<String>,
    /// Frontmatter lines that are not valid YAML.
    pub problems: Vec<Problem>,
}

/// Reads the bytes of a summary.
pub fn parse(bytes: &[u8]) -> Summary {
    let block = frontmatter::parse(bytes);
    let front = block.as_ref();
    let text = Text::new(bytes);
    let value = |key: &str| frontmatter_values::text_at(front, key);
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
        key_files: front
            .and_then(|front| frontmatter_values::value_at(front, "key-files"))
            .cloned(),
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

/// Returns the texts of the first key that is not empty.
fn first_list(front: Option<&Frontmatter>, keys: &[&str]) -> Vec<String> {
    let mut lists = keys.iter().map(|key| frontmatter_values::texts_at(front, key));
    lists.find(|list| !list.is_empty()).unwrap_or_default()
}

/// Reads `tech-stack.added`, a list of words or of maps with a name.
fn tech_added(front: Option<&Frontmatter>) -> Vec<String> {
    let value = front.and_then(|front| frontmatter_values::value_at(front, "tech-stack.added"));
    let Some(Value::List(items)) = value else {
        return frontmatter_values::texts_at(front, "tech-stack.added");
    };
    let names = items.iter().filter_map(|item| match item.as_map() {
        Some(map) => frontmatter_values::map_value(map, "name")
            .and_then(frontmatter_values::scalar_text)
            .or_else(|| {
                frontmatter_values::scalar_texts(&Value::List(vec![item.clone()]))
                    .into_iter()
                    .next()
            }),
        None => frontmatter_values::scalar_text(item),
    });
    names.collect()
}

/// Returns the first line after the title that starts in bold and is not a field.
fn bold_line(text: &Text<'_>) -> Option<String> {
    let headings = heading::headings(text);
    let title = headings.iter().position(|heading| heading.level == 1)?;
    let start = headings[title].line + 1;
    let end = headings.get(title + 1).map_or(text.lines().len(), |next| next.line);
    let mut lines = (start..end).map(|line| text.line(line).trim());
    let line = lines.find(|line| line.starts_with("**"))?;
    let inner = line.strip_prefix("**")?;
    let (bold, after) = inner.split_once("**").unwrap_or((inner, ""));
    // `**Phase:** 3` is a field, but `**One-liner:** text` is the sentence.
    let label = bold.trim().trim_end_matches(':').to_lowercase();
    let sentence = match (label.as_str(), bold.trim_end().ends_with(':') || after.starts_with(':'))
    {
        ("one-liner" | "one liner" | "summary", true) => after.trim_start_matches(':'),
        (_, true) => return None,
        (_, false) => line,
    };
    Some(inline::strip_markup(sentence).into_owned()).filter(|sentence| !sentence.is_empty())
}

//! Turns records of activity into lines for people.
//!
//! Commands and paths are shown completely, so that they can be trusted and pasted. Other texts are
//! wrapped or shortened to the width of a terminal. Control characters never reach the terminal.

use std::io::IsTerminal;

use mow_engine::activity::{ActivityKind, ActivityRecord, ActivitySource};
use mow_engine::clock::time_of_day;

use crate::commands::plural::counted;
use crate::terminal::{self, BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit_line, styled, wrap};

/// The width of the column that names role, plan and task.
const SOURCE_COLUMNS: usize = 18;
/// The columns before the text of an entry: the time, the source, and two spaces after each.
const PREFIX_COLUMNS: usize = 8 + 2 + SOURCE_COLUMNS + 2;
/// The fewest columns for the text of an entry.
const TEXT_COLUMNS_MIN: usize = 30;
/// How many lines of a shell command of the project are shown.
const COMMAND_LINES: usize = 10;
/// How many lines of a result are shown.
const RESULT_LINES: usize = 3;

/// Renders records for a width.
pub(super) struct Renderer {
    /// The columns for the text of an entry; unlimited outside of a terminal.
    columns: usize,
}

impl Renderer {
    /// Returns the renderer for standard output.
    pub(super) fn current() -> Self {
        let columns = std::io::stdout().is_terminal().then(terminal::width);
        Self::for_width(columns)
    }

    fn for_width(width: Option<usize>) -> Self {
        let text = |width: usize| width.saturating_sub(PREFIX_COLUMNS).max(TEXT_COLUMNS_MIN);
        Self { columns: width.map_or(usize::MAX, text) }
    }

    /// Returns the line above the entries of an attempt.
    pub(super) fn title(&self, text: &str) -> String {
        format!("{}\n", styled(BOLD, text))
    }

    /// Returns the lines of a record; empty for a record of a newer mow.
    pub(super) fn entry(&self, record: &ActivityRecord) -> String {
        let lines = self.lines(&record.kind);
        let source = format!("{:SOURCE_COLUMNS$}", source_text(&record.source));
        let first = format!("{}  {}  ", styled(DIM, &time_of_day(record.at)), styled(DIM, &source));
        let next = " ".repeat(PREFIX_COLUMNS);
        let prefixes = std::iter::once(&first).chain(std::iter::repeat(&next));
        prefixes.zip(&lines).map(|(prefix, line)| format!("{prefix}{line}\n")).collect()
    }

    fn lines(&self, kind: &ActivityKind) -> Vec<String> {
        match kind {
            ActivityKind::AgentStarted { agent, .. } => {
                vec![styled(BOLD, &self.fit(&format!("{agent} starts")))]
            }
            ActivityKind::CommandStarted { command, .. } => {
                // The script of a task is in its plan and may have hundreds of lines.
                let mut lines = exact("$ ", command);
                let more = lines.len().saturating_sub(COMMAND_LINES);
                lines.truncate(COMMAND_LINES);
                if more > 0 {
                    lines.push(styled(DIM, &format!("  {} more", counted(more, "line"))));
                }
                lines
            }
            ActivityKind::Text { text } => {
                text.lines().flat_map(|line| wrap(line, self.columns)).collect()
            }
            ActivityKind::Tool { name, summary, .. } => exact(&format!("{name}: "), summary),
            ActivityKind::Edit { name, paths, .. } => {
                exact(&format!("{name}: "), &format!("edit {}", paths.join(", ")))
            }
            ActivityKind::Result { ok, text, .. } => self.result(*ok, text),
            ActivityKind::Retry { reason, wait_ms } => {
                let wait = if *wait_ms == 0 {
                    String::new()
                } else {
                    format!(" in {} s", wait_ms.div_ceil(1_000))
                };
                let text = format!("the model request failed, retry{wait}: {reason}");
                vec![styled(YELLOW, &self.fit(&text))]
            }
            ActivityKind::Usage { input_tokens, output_tokens, cached_tokens, usd } => {
                let usd = usd.map_or(String::new(), |usd| format!(", ${usd:.4}"));
                let tokens =
                    format!("{input_tokens} in, {output_tokens} out, {cached_tokens} cached");
                vec![styled(DIM, &format!("tokens: {tokens}{usd}"))]
            }
            ActivityKind::Output { text } => vec![self.fit(&format!("| {text}"))],
            ActivityKind::Skipped { lines } => {
                vec![styled(DIM, &format!("| {} only in the log", counted(*lines, "line")))]
            }
            ActivityKind::Ended { ok, text } => {
                let style = if *ok { GREEN } else { RED };
                vec![styled(style, &self.fit(&format!("ended: {text}")))]
            }
            ActivityKind::Unknown => Vec::new(),
        }
    }

    /// Returns the first lines of a tool's result.
    fn result(&self, ok: bool, text: &str) -> Vec<String> {
        let (style, word) = if ok { (DIM, "ok") } else { (RED, "failed") };
        let mut texts = text.lines().filter(|line| !line.trim().is_empty());
        let first = texts.next().map(|line| format!(": {line}")).unwrap_or_default();
        let mut lines = vec![styled(style, &self.fit(&format!("  {word}{first}")))];
        let shown = texts.by_ref().take(RESULT_LINES - 1);
        lines.extend(shown.map(|line| styled(style, &self.fit(&format!("  {line}")))));
        match texts.count() {
            0 => {}
            more => lines.push(styled(DIM, &format!("  {} more", counted(more, "line")))),
        }
        lines
    }

    fn fit(&self, text: &str) -> String {
        fit_line(text, self.columns)
    }
}

/// Returns a text completely, with a line for each of its lines.
fn exact(label: &str, text: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| fit_line(line, usize::MAX));
    let label = fit_line(label, usize::MAX);
    let first = format!("{}{}", styled(CYAN, &label), lines.next().unwrap_or_default());
    std::iter::once(first).chain(lines.map(|line| format!("  {line}"))).collect()
}

/// Returns role, plan and task: `executor 03-01/2`.
fn source_text(source: &ActivitySource) -> String {
    let plan = source.plan.as_ref().map(|plan| format!(" {plan}")).unwrap_or_default();
    let task = source.task.map(|task| format!("/{task}")).unwrap_or_default();
    fit_line(&format!("{}{plan}{task}", source.role), usize::MAX)
}

#[cfg(test)]
mod tests;

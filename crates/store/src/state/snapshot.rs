//! Reads all facts of STATE.md into one value, which `state-snapshot` prints.

use serde::Serialize;

use super::position::{PhaseLine, PositionSources};
use super::{list_sections, section};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::inline::{strip_markup, unescape_comment_start};
use crate::text::list::item_at;
use crate::text::table::tables;

/// The facts in STATE.md; `None` if the document does not state a value. Field names are JSON keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Number of the current phase as written.
    pub current_phase: Option<String>,
    /// Name of the current phase.
    pub current_phase_name: Option<String>,
    /// Number of phases.
    pub total_phases: Option<i64>,
    /// Current plan as written.
    pub current_plan: Option<String>,
    /// Number of plans in the current phase.
    pub total_plans_in_phase: Option<i64>,
    /// Text of the status line.
    pub status: Option<String>,
    /// Completed share in percent.
    pub progress_percent: Option<i64>,
    /// Date of the last activity.
    pub last_activity: Option<String>,
    /// Description of the last activity.
    pub last_activity_desc: Option<String>,
    /// Decisions, from the table and the list.
    pub decisions: Vec<RecordedDecision>,
    /// Open blockers.
    pub blockers: Vec<String>,
    /// Where work was paused.
    pub paused_at: Option<String>,
    /// End of the last session.
    pub session: LastSession,
}

/// A decision recorded in STATE.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordedDecision {
    /// Phase in which the decision was made.
    pub phase: Option<String>,
    /// The decision.
    pub summary: String,
    /// Reason for the decision.
    pub rationale: Option<String>,
}

/// The end of the last session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LastSession {
    /// Date of the session.
    pub last_date: Option<String>,
    /// What the session was working on.
    pub stopped_at: Option<String>,
    /// File to resume from.
    pub resume_file: Option<String>,
}

/// Reads all facts from the bytes of STATE.md.
pub fn parse(bytes: &[u8]) -> Snapshot {
    let text = Text::new(bytes);
    let sources = PositionSources::new(&text);
    let phase = sources.phase();
    let phase_name = phase_name(&sources, phase.as_ref());
    let plan = sources.value(&["Current Plan"], &["Plan", "Current Plan"], "current_plan");
    let (current_plan, plans) = plan.as_deref().map_or((None, None), split_of);
    let number = |names: &[&str]| sources.value(names, names, "").and_then(|v| leading_number(&v));
    let activity =
        sources.value(&["Last Activity", "Last activity"], &["Last activity"], "last_activity");
    let (date, remark) = activity.as_deref().map_or((None, None), split_activity);
    let progress =
        sources.value(&["Progress"], &["Progress", "Progress bar", "Overall progress"], "");
    Snapshot {
        current_phase_name: phase_name,
        total_phases: number(&["Total Phases"])
            .or_else(|| phase.as_ref().and_then(|line| line.total))
            .or_else(|| sources.key_number("progress.total_phases")),
        current_plan,
        total_plans_in_phase: number(&["Total Plans in Phase"]).or(plans),
        status: sources
            .value(&["Status"], &["Status", "Current Status", "State"], "status")
            .or_else(|| phase.as_ref().and_then(|line| line.status.clone())),
        progress_percent: progress
            .as_deref()
            .and_then(percent)
            .or_else(|| sources.key_number("progress.percent")),
        last_activity: date,
        last_activity_desc: sources
            .value(
                &["Last Activity Description"],
                &["Last Activity Description"],
                "last_activity_desc",
            )
            .or(remark),
        decisions: decisions(&text),
        blockers: list_sections::blockers(&text),
        paused_at: sources.value(&["Paused At"], &["Paused At"], "paused_at"),
        session: session(&text, &sources),
        current_phase: phase.map(|line| line.number),
    }
}

/// Returns the name of the current phase. The frontmatter counts only if it names the same phase.
fn phase_name(sources: &PositionSources<'_>, phase: Option<&PhaseLine>) -> Option<String> {
    let same = || {
        let key = sources.key("current_phase").and_then(|value| PhaseLine::parse(&value));
        key.is_none_or(|key| Some(&key.number) == phase.map(|line| &line.number))
    };
    sources
        .value(&["Current Phase Name"], &["Phase Name"], "")
        .or_else(|| phase.and_then(|line| line.name.clone()))
        .or_else(|| same().then(|| sources.key("current_phase_name"))?)
}

pub(super) fn leading_number(value: &str) -> Option<i64> {
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().ok()
}

/// Splits `2 of 4 in current phase`.
pub(super) fn split_of(value: &str) -> (Option<String>, Option<i64>) {
    let value = value.trim();
    if value.trim_matches(['—', '–', '-', ' ']).is_empty() {
        return (None, None);
    }
    let Some((plan, rest)) = value.split_once(" of ").or_else(|| value.split_once('/')) else {
        return (Some(value.to_owned()), None);
    };
    let plain_id = plan.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    match leading_number(rest.trim_start()) {
        Some(total) if plain_id => (Some(plan.to_owned()), Some(total)),
        _ => (Some(value.to_owned()), None),
    }
}

/// Splits `2026-01-02 — what happened`.
pub(super) fn split_activity(value: &str) -> (Option<String>, Option<String>) {
    let dashes = [" — ", " – ", " -- ", " - ", ": "];
    let cut = dashes.iter().filter_map(|dash| value.find(dash).map(|at| (at, dash.len()))).min();
    match cut {
        Some((at, width)) if value[..at].contains(|c: char| c.is_ascii_digit()) => {
            (Some(value[..at].to_owned()), Some(value[at + width..].to_owned()))
        }
        _ => (Some(value.to_owned()), None),
    }
}

/// Parses the number before the first percent sign.
pub(super) fn percent(value: &str) -> Option<i64> {
    let before = value[..value.find('%')?].trim_end();
    let start = before.rfind(|c: char| !(c.is_ascii_digit() || c == '.'));
    let number =
        &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
    number.split('.').next()?.parse().ok()
}

fn decisions(text: &Text<'_>) -> Vec<RecordedDecision> {
    let Some(section) = list_sections::decisions_section(text) else { return Vec::new() };
    let table = tables(text, section.lines.clone()).into_iter().next();
    let table = table.filter(|table| table.header.cells.len() >= 3);
    let rows = table.iter().flat_map(|table| &table.rows).map(|row| {
        let cell = |column| row.cell(text, column);
        let rationale = Some(cell(2)).filter(|cell| !cell.is_empty());
        RecordedDecision { phase: Some(cell(0)), summary: cell(1), rationale }
    });
    // New decisions are added as list items, even below a table.
    let items = section.lines.filter_map(|line| item_at(text, line).filter(|item| item.indent < 2));
    let items = items.map(|item| decision(&unescape_comment_start(text.slice(item.text))));
    rows.chain(items.filter(|d| !list_sections::is_placeholder(&d.summary))).collect()
}

/// Parses `[Phase 3]: summary — rationale`.
fn decision(item: &str) -> RecordedDecision {
    let (phase, rest) = match item.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((phase, rest)) if !rest.starts_with('(') => {
            let phase = phase.trim();
            let number = phase.strip_prefix("Phase ").unwrap_or(phase);
            (Some(number.to_owned()), rest.trim_start_matches([':', ' ']))
        }
        _ => (None, item),
    };
    let (summary, rationale) = match rest.split_once(" — ") {
        Some((summary, why)) => (summary, Some(strip_markup(why).into_owned())),
        None => (rest, None),
    };
    RecordedDecision { phase, summary: strip_markup(summary).into_owned(), rationale }
}

fn session(text: &Text<'_>, sources: &PositionSources<'_>) -> LastSession {
    let lines = section(text, list_sections::SESSION).map_or(0..0, |section| section.lines);
    let all = 0..text.lines().len();
    let read = |names: &[&str]| {
        let inside = sources.field(lines.clone(), names, None);
        let bold = || names.iter().find_map(|name| find_field(text, all.clone(), name, true));
        inside.or_else(|| {
            bold()
                .map(|field| strip_markup(text.slice(field.value)).into_owned())
                .filter(|v| !v.is_empty())
        })
    };
    LastSession {
        last_date: read(&["Last Date", "Last session"]).or_else(|| sources.key("last_updated")),
        stopped_at: read(&["Stopped At", "Stopped at"]).or_else(|| sources.key("stopped_at")),
        resume_file: read(&["Resume File", "Resume file", "Resume"]),
    }
}

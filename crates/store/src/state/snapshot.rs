//! The whole of STATE.md in one value, as `state-snapshot` prints it.

use serde::Serialize;

use super::position::{PhaseLine, Places};
use super::{section, sections};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::inline::{plain, unguard};
use crate::text::list::item_at;
use crate::text::table::tables;

/// Where the project stands; what the document does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The number of the current phase, as written.
    pub current_phase: Option<String>,
    /// Its name.
    pub current_phase_name: Option<String>,
    /// How many phases there are.
    pub total_phases: Option<i64>,
    /// The current plan.
    pub current_plan: Option<String>,
    /// How many plans the phase has.
    pub total_plans_in_phase: Option<i64>,
    /// What the status line says.
    pub status: Option<String>,
    /// How much is done.
    pub progress_percent: Option<i64>,
    /// The date of the last activity.
    pub last_activity: Option<String>,
    /// What it was.
    pub last_activity_desc: Option<String>,
    /// The decisions taken.
    pub decisions: Vec<Decision>,
    /// What is in the way.
    pub blockers: Vec<String>,
    /// Where work was paused.
    pub paused_at: Option<String>,
    /// The last session.
    pub session: Session,
}

/// One decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The phase it was taken in.
    pub phase: Option<String>,
    /// What was decided.
    pub summary: String,
    /// Why.
    pub rationale: Option<String>,
}

/// The last session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Session {
    /// When it was.
    pub last_date: Option<String>,
    /// Where it stopped.
    pub stopped_at: Option<String>,
    /// The file to resume from.
    pub resume_file: Option<String>,
}

/// Reads a STATE.md.
pub fn parse(bytes: &[u8]) -> Snapshot {
    let text = Text::new(bytes);
    let places = Places::new(&text);
    let phase = places.phase();
    let phase_name = phase_name(&places, phase.as_ref());
    let plan = places.value(&["Current Plan"], &["Plan", "Current Plan"], "current_plan");
    let (current_plan, plans) = plan.as_deref().map_or((None, None), split_of);
    let number = |names: &[&str]| places.value(names, names, "").and_then(|v| leading_number(&v));
    let activity =
        places.value(&["Last Activity", "Last activity"], &["Last activity"], "last_activity");
    let (date, remark) = activity.as_deref().map_or((None, None), split_activity);
    let progress =
        places.value(&["Progress"], &["Progress", "Progress bar", "Overall progress"], "");
    Snapshot {
        current_phase_name: phase_name,
        total_phases: number(&["Total Phases"])
            .or_else(|| phase.as_ref().and_then(|line| line.total))
            .or_else(|| places.key_number("progress.total_phases")),
        current_plan,
        total_plans_in_phase: number(&["Total Plans in Phase"]).or(plans),
        status: places
            .value(&["Status"], &["Status", "Current Status", "State"], "status")
            .or_else(|| phase.as_ref().and_then(|line| line.status.clone())),
        progress_percent: progress
            .as_deref()
            .and_then(percent)
            .or_else(|| places.key_number("progress.percent")),
        last_activity: date,
        last_activity_desc: places
            .value(
                &["Last Activity Description"],
                &["Last Activity Description"],
                "last_activity_desc",
            )
            .or(remark),
        decisions: decisions(&text),
        blockers: sections::blockers(&text),
        paused_at: places.value(&["Paused At"], &["Paused At"], "paused_at"),
        session: session(&text, &places),
        current_phase: phase.map(|line| line.number),
    }
}

/// Returns the name of the current phase; the frontmatter's only when it speaks of the same phase.
fn phase_name(places: &Places<'_>, phase: Option<&PhaseLine>) -> Option<String> {
    let same = || {
        let key = places.key("current_phase").and_then(|value| PhaseLine::parse(&value));
        key.is_none_or(|key| Some(&key.number) == phase.map(|line| &line.number))
    };
    places
        .value(&["Current Phase Name"], &["Phase Name"], "")
        .or_else(|| phase.and_then(|line| line.name.clone()))
        .or_else(|| same().then(|| places.key("current_phase_name"))?)
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

/// Reads the number in front of the first percent sign.
pub(super) fn percent(value: &str) -> Option<i64> {
    let before = value[..value.find('%')?].trim_end();
    let start = before.rfind(|c: char| !(c.is_ascii_digit() || c == '.'));
    let number =
        &before[start.map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
    number.split('.').next()?.parse().ok()
}

fn decisions(text: &Text<'_>) -> Vec<Decision> {
    let Some(section) = sections::decisions_section(text) else { return Vec::new() };
    let table = tables(text, section.lines.clone()).into_iter().next();
    let table = table.filter(|table| table.header.cells.len() >= 3);
    let rows = table.iter().flat_map(|table| &table.rows).map(|row| {
        let cell = |column| row.cell(text, column);
        let rationale = Some(cell(2)).filter(|cell| !cell.is_empty());
        Decision { phase: Some(cell(0)), summary: cell(1), rationale }
    });
    // New decisions are added as items, below a table too.
    let items = section.lines.filter_map(|line| item_at(text, line).filter(|item| item.indent < 2));
    let items = items.map(|item| decision(&unguard(text.slice(item.text))));
    rows.chain(items.filter(|d| !sections::is_placeholder(&d.summary))).collect()
}

/// Reads `[Phase 3]: summary — rationale`.
fn decision(item: &str) -> Decision {
    let (phase, rest) = match item.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((phase, rest)) if !rest.starts_with('(') => {
            let phase = phase.trim();
            let number = phase.strip_prefix("Phase ").unwrap_or(phase);
            (Some(number.to_owned()), rest.trim_start_matches([':', ' ']))
        }
        _ => (None, item),
    };
    let (summary, rationale) = match rest.split_once(" — ") {
        Some((summary, why)) => (summary, Some(plain(why).into_owned())),
        None => (rest, None),
    };
    Decision { phase, summary: plain(summary).into_owned(), rationale }
}

fn session(text: &Text<'_>, places: &Places<'_>) -> Session {
    let lines = section(text, sections::SESSION).map_or(0..0, |section| section.lines);
    let all = 0..text.lines().len();
    let read = |names: &[&str]| {
        let inside = places.field(lines.clone(), names, None);
        let bold = || names.iter().find_map(|name| find_field(text, all.clone(), name, true));
        inside.or_else(|| {
            bold()
                .map(|field| plain(text.slice(field.value)).into_owned())
                .filter(|v| !v.is_empty())
        })
    };
    Session {
        last_date: read(&["Last Date", "Last session"]).or_else(|| places.key("last_updated")),
        stopped_at: read(&["Stopped At", "Stopped at"]).or_else(|| places.key("stopped_at")),
        resume_file: read(&["Resume File", "Resume file", "Resume"]),
    }
}

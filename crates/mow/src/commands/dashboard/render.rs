//! `mow dashboard render`: collects the contents of the dashboard, draws it, and records the time.
//!
//! Reads only what is shown: STATE.md, the last events, the pinned notices, the STATUS.md of running
//! phases, and ROADMAP.md if `workflow.auto_advance` is on.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use mow_core::color::ColorLevel;
use mow_core::dashboard::{self as drawing, AutoAdvance, DashboardRow, DashboardView};
use mow_core::phase::PhaseNumber;
use mow_store::config::Config;
use mow_store::dashboard::{self as stored, DashboardState};
use mow_store::disk::{self, Writer};
use mow_store::phase_dirs::PhaseDirIndex;
use mow_store::project::Project;
use mow_store::roadmap::milestone::phases_in_progress;
use mow_store::state::active_phases::{self, ActivePhase};
use mow_store::status;
use serde_json::Value;

use super::{events_path, load_state, state_path};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, compact, warn};
use crate::runs::{LiveWorktrees, notice_live_run};
use crate::terminal;
use crate::wire::dashboard::{AutoAdvanceJson, DrawingCounts};

/// How many events are shown unless `feedback.event_log_count` is set.
const EVENTS_SHOWN_DEFAULT: usize = 6;
/// How long to wait for the lock to record a drawing.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn run(context: &Context, shared: &Project, width: usize) -> Result<Output, Failure> {
    let config = context.config()?;
    let state = load_state(shared)?;
    let dashboard = gather(context, shared, &config, &state)?;
    if context.wants_json() {
        return Ok(Output::Verbatim(compact(&drawing_counts(&dashboard, width))));
    }
    let lines = dashboard.lines(width, terminal::color_level());
    let mut text = lines.join("\n") + "\n";
    let is_bell = is_on(&config, "feedback.terminal_bell");
    if is_bell && !dashboard.pins.is_empty() && !dashboard.rows.is_empty() {
        text.push('\x07');
    }
    record_drawing(shared, lines.len());
    notice_live_run(context);
    Ok(Output::Verbatim(text))
}

/// Counts what would be drawn.
pub(super) fn counts(
    context: &Context,
    shared: &Project,
    width: usize,
) -> Result<DrawingCounts, Failure> {
    let dashboard = gather(context, shared, &context.config()?, &load_state(shared)?)?;
    Ok(drawing_counts(&dashboard, width))
}

fn is_on(config: &Config, path: &str) -> bool {
    match config.lookup(path) {
        Some(Value::Bool(is_on)) => is_on,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

fn gather(
    context: &Context,
    shared: &Project,
    config: &Config,
    state: &DashboardState,
) -> Result<DashboardView, Failure> {
    let shown = config.lookup("feedback.event_log_count").and_then(|count| count.as_u64());
    let shown = shown.and_then(|count| usize::try_from(count).ok()).unwrap_or(EVENTS_SHOWN_DEFAULT);
    let events = stored::parse_events(&disk::read(&events_path(shared))?.unwrap_or_default());
    let events = &events[events.len().saturating_sub(shown)..];
    let auto_advance =
        if is_on(config, "workflow.auto_advance") { milestone_progress(context)? } else { None };
    // Finding the system's time zone takes longer than all the rest of a small dashboard.
    let zone = if events.is_empty() { TimeZone::UTC } else { TimeZone::system() };
    Ok(DashboardView {
        auto: auto_advance,
        rows: rows(context, events, state)?,
        events: events.iter().map(|event| event_row(event, &zone)).collect(),
        pins: state.pinned.iter().map(pin_row).collect(),
    })
}

/// Reads the progress of the current milestone from ROADMAP.md.
fn milestone_progress(context: &Context) -> Result<Option<AutoAdvance>, Failure> {
    let bytes = context.load("ROADMAP.md")?.unwrap_or_default();
    let phases = phases_in_progress(&bytes).unwrap_or_default();
    let Some(last) = phases.len().checked_sub(1) else { return Ok(None) };
    let at = phases.iter().position(|phase| !phase.done).unwrap_or(last);
    Ok(Some(AutoAdvance {
        phase: phases[at].written.clone(),
        position: at + 1,
        total: phases.len(),
        done: phases.iter().filter(|phase| phase.done).count(),
    }))
}

/// The last event of a phase, and whether a pinned notice waits for a person.
#[derive(Default)]
struct PhaseNotes<'a> {
    activity: &'a str,
    waiting: bool,
}

fn rows(
    context: &Context,
    events: &[stored::Event],
    state: &DashboardState,
) -> Result<Vec<DashboardRow>, Failure> {
    let bytes = context.load("STATE.md")?.unwrap_or_default();
    let mut active = active_phases::parse(&bytes).unwrap_or_default();
    active.retain(|phase| !phase.status.trim().eq_ignore_ascii_case("not started"));
    let mut notes: BTreeMap<String, PhaseNotes<'_>> = BTreeMap::new();
    for (phase, event) in events.iter().filter_map(|event| Some((event.phase.as_ref()?, event))) {
        notes.entry(phase_key(phase)).or_default().activity = &event.detail;
    }
    for phase in state.pinned.iter().filter_map(|pin| pin.phase.as_ref()) {
        notes.entry(phase_key(phase)).or_default().waiting = true;
    }
    let now = Timestamp::now();
    let counts = all_counts(context, &active)?;
    let rows = active.into_iter().zip(counts).map(|(phase, plans)| {
        let notes = if notes.is_empty() { None } else { notes.get(&phase_key(&phase.phase)) };
        row(phase, plans, notes, now)
    });
    Ok(rows.collect())
}

fn is_complete(phase: &ActivePhase) -> bool {
    phase.status.trim().get(..8).is_some_and(|word| word.eq_ignore_ascii_case("complete"))
}

/// The number of finished plans and of all plans; `None` if the STATUS.md of the phase lists none.
type PlanCounts = Option<(usize, usize)>;

/// From this many phases on, a second thread is faster.
const PARALLEL_FROM: usize = 400;

/// Reads the STATUS.md of every phase whose progress is shown.
fn all_counts(context: &Context, active: &[ActivePhase]) -> Result<Vec<PlanCounts>, Failure> {
    if active.iter().all(is_complete) {
        return Ok(vec![None; active.len()]);
    }
    let index = PhaseDirIndex::load(&context.project.planning);
    let live_worktrees = LiveWorktrees::load(context);
    let count = |phases: &[ActivePhase]| -> Result<Vec<PlanCounts>, Failure> {
        let mut buffer = Vec::new();
        let phase_counts = |phase: &ActivePhase| {
            if is_complete(phase) {
                Ok(None)
            } else {
                status_counts(&index, &live_worktrees, &phase.phase, &mut buffer)
            }
        };
        phases.iter().map(phase_counts).collect()
    };
    if active.len() < PARALLEL_FROM {
        return count(active);
    }
    let (first, second) = active.split_at(active.len() / 2);
    std::thread::scope(|scope| {
        let later = scope.spawn(|| count(second));
        let mut counts = count(first)?;
        counts.extend(later.join().expect("counting plans does not panic")?);
        Ok(counts)
    })
}

/// Returns the canonical spelling of a phase number.
fn phase_key(phase: &str) -> String {
    let number = PhaseNumber::parse(phase.trim());
    number.map_or_else(|| phase.trim().to_owned(), |number| number.to_string())
}

fn row(
    phase: ActivePhase,
    plans: PlanCounts,
    notes: Option<&PhaseNotes<'_>>,
    now: Timestamp,
) -> DashboardRow {
    let waiting = notes.is_some_and(|notes| notes.waiting);
    DashboardRow {
        complete: is_complete(&phase),
        blocked: waiting || phase.status.trim().to_lowercase().starts_with("blocked"),
        waiting,
        plans: plans.unwrap_or_else(|| parse_counts(&phase.plans)),
        activity: notes.map_or("", |notes| notes.activity).to_owned(),
        elapsed: since(&phase.last_update, now),
        phase: phase.phase,
        name: phase.name,
    }
}

/// Counts the plans in the STATUS.md of a phase; `None` if it lists none.
///
/// While a run works on the phase, the file in its worktree is read.
fn status_counts(
    index: &PhaseDirIndex,
    live_worktrees: &LiveWorktrees,
    phase: &str,
    buffer: &mut Vec<u8>,
) -> Result<PlanCounts, Failure> {
    let Some(number) = PhaseNumber::parse(phase.trim()) else { return Ok(None) };
    let live_file = live_worktrees.dir(&number);
    let live_file = live_file.and_then(|dir| Some(dir.path.join(dir.status_file()?)));
    let read = match live_file {
        Some(path) => disk::read(&path)?,
        None => None,
    };
    if let Some(bytes) = read {
        return Ok(Some(status::plan_counts(&bytes)).filter(|(_, total)| *total > 0));
    }
    let was_read = index.read_status(&number, buffer)?;
    Ok(was_read.then(|| status::plan_counts(buffer)).filter(|(_, total)| *total > 0))
}

/// Parses a cell of the column Plans, such as `1/3`.
fn parse_counts(cell: &str) -> (usize, usize) {
    let parts = cell.split_once('/');
    let counts = parts.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    counts.unwrap_or((0, 0))
}

/// Returns the age of a cell of the column Last Update; a text that is not a time is returned as is.
fn since(cell: &str, now: Timestamp) -> String {
    match cell.trim() {
        "" | "-" | "--" | "—" => "--".to_owned(),
        text => parse_time(text).map_or_else(
            || text.to_owned(),
            |then| drawing::format_elapsed(now.as_second().saturating_sub(then.as_second())),
        ),
    }
}

/// Parses a time; without a zone it is UTC, as in all planning files.
fn parse_time(text: &str) -> Option<Timestamp> {
    let in_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let date = || text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)).and_then(in_utc);
    let time = || text.trim_end_matches(" UTC").parse::<DateTime>().ok().and_then(in_utc);
    text.parse().ok().or_else(time).or_else(date)
}

fn event_row(event: &stored::Event, zone: &TimeZone) -> drawing::EventRow {
    let time = parse_time(&event.ts).map(|ts| zone.to_datetime(ts).strftime("%H:%M").to_string());
    drawing::EventRow {
        kind: event.kind.clone(),
        phase: event.phase.clone(),
        detail: event.detail.clone(),
        time: time.unwrap_or_else(|| "--:--".to_owned()),
    }
}

fn pin_row(pin: &stored::Pin) -> drawing::PinRow {
    let is_error = pin.kind == "error";
    let subject = if is_error { Some(&pin.detail) } else { pin.input_type.as_ref() };
    let subject = subject.cloned().unwrap_or_default();
    drawing::PinRow { is_error, phase: pin.phase.clone(), subject }
}

/// Returns how many lines, events, notices and phases are drawn.
fn drawing_counts(dashboard: &DashboardView, width: usize) -> DrawingCounts {
    let is_idle = dashboard.rows.is_empty();
    let lines = if is_idle { 0 } else { dashboard.lines(width, ColorLevel::None).len() };
    DrawingCounts {
        lines,
        events: dashboard.events.len(),
        pinned: dashboard.pins.len(),
        phases: dashboard.rows.len(),
        auto_advance: dashboard.auto.as_ref().map(AutoAdvanceJson::of),
    }
}

/// Records the time of the drawing. A failure is only a warning, because the drawing is complete.
fn record_drawing(shared: &Project, lines: usize) {
    if !shared.planned {
        return;
    }
    // Users without write permission can still look at the dashboard.
    if !disk::is_writable(&shared.planning) {
        return;
    }
    let write = || -> Result<(), Failure> {
        Writer::open(shared, RECORD_TIMEOUT)?.update(&state_path(shared), |old| {
            let mut state = DashboardState::parse(old.unwrap_or_default());
            state.last_line_count = lines as u64;
            state.last_render_ts = Some(now());
            Ok::<_, Failure>(Some(state.render().into_bytes()))
        })?;
        Ok(())
    };
    if let Err(failure) = write() {
        warn(&failure.message);
    }
}

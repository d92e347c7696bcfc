//! `mow dashboard render`: gathers what the dashboard shows, draws it, and notes that it did.
//!
//! Only files that are shown are read: STATE.md, the last events, the pins, the STATUS.md of phases
//! that are at work, and ROADMAP.md when the milestone is run through.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use mow_core::color::Level;
use mow_core::dashboard::{self as drawing, AutoAdvance, Dashboard, Row};
use mow_core::phase::PhaseNumber;
use mow_store::config::Config;
use mow_store::dashboard::{self as stored, State};
use mow_store::disk::{self, Writer};
use mow_store::phase_dirs::Index;
use mow_store::project::Project;
use mow_store::roadmap::milestone::phases_in_progress;
use mow_store::state::active::{self, ActivePhase};
use mow_store::status;
use serde_json::{Value, json};

use super::{events_path, load_state, state_path};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, compact, warn};
use crate::runs::{Active, tell_live};
use crate::terminal;

/// How many events are shown when the settings do not say.
const EVENTS_SHOWN: usize = 6;
/// How long a drawing waits to note that it was made.
const NOTE_WAIT: Duration = Duration::from_secs(2);

pub(super) fn run(context: &Context, shared: &Project, width: usize) -> Result<Output, Failure> {
    let config = context.config()?;
    let state = load_state(shared)?;
    let dashboard = gather(context, shared, &config, &state)?;
    if context.wants_json() {
        return Ok(Output::Drawn(counts(&dashboard, width)));
    }
    let lines = dashboard.lines(width, terminal::level());
    let mut text = lines.join("\n") + "\n";
    let is_bell = is_on(&config, "feedback.terminal_bell");
    if is_bell && !dashboard.pins.is_empty() && !dashboard.rows.is_empty() {
        text.push('\x07');
    }
    note(shared, lines.len());
    tell_live(context);
    Ok(Output::Drawn(text))
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
    state: &State,
) -> Result<Dashboard, Failure> {
    let shown = config.lookup("feedback.event_log_count").and_then(|count| count.as_u64());
    let shown = shown.and_then(|count| usize::try_from(count).ok()).unwrap_or(EVENTS_SHOWN);
    let events = stored::events(&disk::read(&events_path(shared))?.unwrap_or_default());
    let events = &events[events.len().saturating_sub(shown)..];
    let auto = if is_on(config, "workflow.auto_advance") { auto(context)? } else { None };
    // Finding the system's zone takes longer than all the rest of a small dashboard.
    let zone = if events.is_empty() { TimeZone::UTC } else { TimeZone::system() };
    Ok(Dashboard {
        auto,
        rows: rows(context, events, state)?,
        events: events.iter().map(|event| drawn_event(event, &zone)).collect(),
        pins: state.pinned.iter().map(drawn_pin).collect(),
    })
}

/// Reads how far the milestone in progress is.
fn auto(context: &Context) -> Result<Option<AutoAdvance>, Failure> {
    let bytes = context.load("ROADMAP.md")?.unwrap_or_default();
    let phases = phases_in_progress(&bytes).unwrap_or_default();
    let Some(last) = phases.len().checked_sub(1) else { return Ok(None) };
    let at = phases.iter().position(|phase| !phase.done).unwrap_or(last);
    Ok(Some(AutoAdvance {
        phase: phases[at].written.clone(),
        place: at + 1,
        total: phases.len(),
        done: phases.iter().filter(|phase| phase.done).count(),
    }))
}

/// What events and pins say of each phase.
#[derive(Default)]
struct Told<'a> {
    activity: &'a str,
    waiting: bool,
}

fn rows(context: &Context, events: &[stored::Event], state: &State) -> Result<Vec<Row>, Failure> {
    let bytes = context.load("STATE.md")?.unwrap_or_default();
    let mut active = active::parse(&bytes).unwrap_or_default();
    active.retain(|phase| !phase.status.trim().eq_ignore_ascii_case("not started"));
    let mut told: BTreeMap<String, Told<'_>> = BTreeMap::new();
    for (phase, event) in events.iter().filter_map(|event| Some((event.phase.as_ref()?, event))) {
        told.entry(key(phase)).or_default().activity = &event.detail;
    }
    for phase in state.pinned.iter().filter_map(|pin| pin.phase.as_ref()) {
        told.entry(key(phase)).or_default().waiting = true;
    }
    let now = Timestamp::now();
    let counts = all_counts(context, &active)?;
    let rows = active.into_iter().zip(counts).map(|(phase, plans)| {
        let told = if told.is_empty() { None } else { told.get(&key(&phase.phase)) };
        row(phase, plans, told, now)
    });
    Ok(rows.collect())
}

fn is_complete(phase: &ActivePhase) -> bool {
    phase.status.trim().get(..8).is_some_and(|word| word.eq_ignore_ascii_case("complete"))
}

/// Done and all plans of a phase; `None` when its STATUS.md does not say.
type Counts = Option<(usize, usize)>;

/// From how many phases on a second thread is worth its start.
const PARALLEL_FROM: usize = 400;

/// Reads the STATUS.md of every phase whose progress is shown.
fn all_counts(context: &Context, active: &[ActivePhase]) -> Result<Vec<Counts>, Failure> {
    if active.iter().all(is_complete) {
        return Ok(vec![None; active.len()]);
    }
    let index = Index::load(&context.project.planning);
    let at_work = Active::load(context);
    let count = |phases: &[ActivePhase]| -> Result<Vec<Counts>, Failure> {
        let mut buffer = Vec::new();
        let of_phase = |phase: &ActivePhase| {
            if is_complete(phase) {
                Ok(None)
            } else {
                status_counts(&index, &at_work, &phase.phase, &mut buffer)
            }
        };
        phases.iter().map(of_phase).collect()
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

/// Returns what makes two spellings of a phase the same.
fn key(phase: &str) -> String {
    let number = PhaseNumber::parse(phase.trim());
    number.map_or_else(|| phase.trim().to_owned(), |number| number.to_string())
}

fn row(phase: ActivePhase, plans: Counts, told: Option<&Told<'_>>, now: Timestamp) -> Row {
    let waiting = told.is_some_and(|told| told.waiting);
    Row {
        complete: is_complete(&phase),
        blocked: waiting || phase.status.trim().to_lowercase().starts_with("blocked"),
        waiting,
        plans: plans.unwrap_or_else(|| parse_counts(&phase.plans)),
        activity: told.map_or("", |told| told.activity).to_owned(),
        elapsed: since(&phase.last_update, now),
        phase: phase.phase,
        name: phase.name,
    }
}

/// Counts the plans in a phase's STATUS.md; `None` when there are none.
///
/// While a live run works on it, that of the phase's worktree counts.
fn status_counts(
    index: &Index,
    at_work: &Active,
    phase: &str,
    buffer: &mut Vec<u8>,
) -> Result<Counts, Failure> {
    let Some(number) = PhaseNumber::parse(phase.trim()) else { return Ok(None) };
    let there = at_work.dir(&number);
    let there = there.and_then(|dir| Some(dir.path.join(dir.status_file()?)));
    let read = match there {
        Some(path) => disk::read(&path)?,
        None => None,
    };
    if let Some(bytes) = read {
        return Ok(Some(status::plan_counts(&bytes)).filter(|(_, total)| *total > 0));
    }
    let is_there = index.read_status(&number, buffer)?;
    Ok(is_there.then(|| status::plan_counts(buffer)).filter(|(_, total)| *total > 0))
}

/// Reads a Plans cell, `1/3`.
fn parse_counts(cell: &str) -> (usize, usize) {
    let parts = cell.split_once('/');
    let counts = parts.and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    counts.unwrap_or((0, 0))
}

/// Returns how long ago a Last Update cell is; a text that is no time is shown as it is.
fn since(cell: &str, now: Timestamp) -> String {
    match cell.trim() {
        "" | "-" | "--" | "—" => "--".to_owned(),
        text => parse_time(text).map_or_else(
            || text.to_owned(),
            |then| drawing::elapsed(now.as_second().saturating_sub(then.as_second())),
        ),
    }
}

/// Reads a time; one without a zone is UTC, as all files have it.
fn parse_time(text: &str) -> Option<Timestamp> {
    let in_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let date = || text.parse::<Date>().ok().map(|date| date.at(0, 0, 0, 0)).and_then(in_utc);
    let time = || text.trim_end_matches(" UTC").parse::<DateTime>().ok().and_then(in_utc);
    text.parse().ok().or_else(time).or_else(date)
}

fn drawn_event(event: &stored::Event, zone: &TimeZone) -> drawing::Event {
    let time = parse_time(&event.ts).map(|ts| zone.to_datetime(ts).strftime("%H:%M").to_string());
    drawing::Event {
        kind: event.kind.clone(),
        phase: event.phase.clone(),
        detail: event.detail.clone(),
        time: time.unwrap_or_else(|| "--:--".to_owned()),
    }
}

fn drawn_pin(pin: &stored::Pin) -> drawing::Pin {
    let is_error = pin.kind == "error";
    let what = if is_error { Some(&pin.detail) } else { pin.input_type.as_ref() };
    let what = what.cloned().unwrap_or_default();
    drawing::Pin { is_error, phase: pin.phase.clone(), what }
}

/// Says what would be drawn, without drawing it.
fn counts(dashboard: &Dashboard, width: usize) -> String {
    let is_idle = dashboard.rows.is_empty();
    let lines = if is_idle { 0 } else { dashboard.lines(width, Level::None).len() };
    let mut answer = json!({
        "lines": lines,
        "events": dashboard.events.len(),
        "pinned": dashboard.pins.len(),
        "phases": dashboard.rows.len(),
    });
    if let Some(auto) = &dashboard.auto {
        answer["auto_advance"] = json!({
            "active": true,
            "current_phase": auto.phase,
            "total_phases": auto.total,
            "completed_phases": auto.done,
            "milestone_percent": auto.percent(),
        });
    }
    compact(&answer)
}

/// Notes that it was drawn. The drawing is good without the note, so a failure only warns.
fn note(shared: &Project, lines: usize) {
    if !shared.planned {
        return;
    }
    // Whoever only looks need not be able to write.
    if !disk::is_writable(&shared.planning) {
        return;
    }
    let write = || -> Result<(), Failure> {
        Writer::open(shared, NOTE_WAIT)?.update(&state_path(shared), |old| {
            let mut state = State::parse(old.unwrap_or_default());
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

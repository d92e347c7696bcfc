//! Draws the run into STATE.md, ROADMAP.md and REQUIREMENTS.md: only what changed, nothing else.
//!
//! The files are pictures of the journal for people and older tools; nothing is read back from them
//! but the roadmap. What people write into them meanwhile stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mow_core::lead::{Lead, Status, Track};
use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_store::disk::{self, Append, Keep, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, Artifact, PhaseDirs};
use mow_store::roadmap::edit::{self, Progress};
use mow_store::roadmap::{self, Lookup};
use mow_store::state::active::{self, RowChange, RowError};
use mow_store::state::advance;
use mow_store::state::transition::{self, Target};
use mow_store::{dashboard, exclude, requirements};

use super::merge::is_live;
use crate::EngineError;
use crate::clock::{now_text, today};
use crate::site::Site;

/// What a file looks like before it has a table of running phases.
const SECTION: &str = "\n## Active Phases\n\n\
    | Phase | Name | Status | Worker | Plans | Last Update |\n\
    |-------|------|--------|--------|-------|-------------|\n";

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    status: String,
    worker: String,
    plans: String,
}

/// A phase as it is to be drawn: all that drawing needs to know of it, so that a drawing can be made
/// while the run goes on.
#[derive(Clone, Debug)]
pub(super) struct Row {
    number: PhaseNumber,
    name: String,
    status: Status,
    attempt: u32,
    plans: (usize, usize),
    shown: Shown,
}

impl Row {
    /// Takes down how a phase stands.
    pub(super) fn of(lead: &Lead, track: &Track) -> Self {
        Self {
            number: track.spec.number,
            name: track.spec.name.clone(),
            status: track.status,
            attempt: track.attempt,
            plans: track.plans,
            shown: shown(lead, track),
        }
    }
}

/// Writes the planning files.
pub(super) struct Projection {
    site: Arc<Site>,
    shown: BTreeMap<PhaseNumber, Shown>,
    /// Phases whose completion is written.
    completed: BTreeSet<PhaseNumber>,
}

impl Projection {
    pub(super) fn new(site: Arc<Site>) -> Self {
        Self { site, shown: BTreeMap::new(), completed: BTreeSet::new() }
    }

    /// Brings the files up to date for some phases, where the run's branch is checked out.
    ///
    /// Elsewhere the files belong to another branch: then they are only made at the end.
    pub(super) fn write(&mut self, target: &str, rows: &[Row]) -> Result<(), EngineError> {
        if rows.is_empty() || !is_live(&self.site, target)? {
            return Ok(());
        }
        self.recall(rows)?;
        let is_new = |row: &&Row| self.shown.get(&row.number) != Some(&row.shown);
        let changed: Vec<_> = rows.iter().filter(is_new).collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.write_changed(&changed)?;
        for row in changed {
            self.note(row);
        }
        Ok(())
    }

    /// Takes a row for drawn.
    fn note(&mut self, row: &Row) {
        if row.status == Status::Merged {
            self.completed.insert(row.number);
        }
        self.shown.insert(row.number, row.shown.clone());
    }

    /// Takes what an earlier lead drew for drawn, so that taking up a run changes no file.
    ///
    /// STATE.md is written last, so what it shows is in the other files, too.
    fn recall(&mut self, rows: &[Row]) -> Result<(), EngineError> {
        let unknown = rows.iter().filter(|row| !self.shown.contains_key(&row.number));
        let unknown: BTreeMap<_, _> = unknown.map(|row| (row.number, row)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let state = disk::read(&self.site.project.planning.join("STATE.md"))?.unwrap_or_default();
        for drawn in active::parse(&state).unwrap_or_default() {
            let row = PhaseNumber::parse(&drawn.phase).and_then(|number| unknown.get(&number));
            let shown = Shown { status: drawn.status, worker: drawn.worker, plans: drawn.plans };
            if let Some(row) = row.filter(|row| row.shown == shown) {
                self.note(row);
            }
        }
        Ok(())
    }

    fn write_changed(&self, changed: &[&Row]) -> Result<(), EngineError> {
        let planning = &self.site.project.planning;
        let writer = Writer::open(&self.site.project, WAIT_DEFAULT)?;
        let (mut done, mut roadmap) = (Vec::new(), Vec::new());
        writer.update(&planning.join("ROADMAP.md"), |old| {
            let Some(old) = old else { return Ok(None) };
            (roadmap, done) = self.paint_roadmap(old, changed);
            Ok::<_, EngineError>(Some(roadmap.clone()))
        })?;
        failpoint::reach("projection.roadmap");
        if !done.is_empty() {
            writer.update(&planning.join("REQUIREMENTS.md"), |old| {
                Ok::<_, EngineError>(old.map(|old| requirements::mark_complete(old, &done).0))
            })?;
            failpoint::reach("projection.requirements");
        }
        writer.update(&planning.join("STATE.md"), |old| {
            Ok::<_, EngineError>(old.map(|old| self.paint_state(old, &roadmap, changed)))
        })?;
        failpoint::reach("projection.state");
        Ok(())
    }

    /// Draws the whole run into files that are not the root's.
    pub(super) fn paint(&self, lead: &Lead, files: &mut [(String, Vec<u8>)]) {
        let all: Vec<_> = lead.phases.values().map(|track| Row::of(lead, track)).collect();
        let all: Vec<_> = all.iter().collect();
        // What was drawn into the root is not in these.
        let blank = Self::new(Arc::clone(&self.site));
        let (mut roadmap, mut done) = (Vec::new(), Vec::new());
        for (_, bytes) in files.iter_mut().filter(|(file, _)| file == "ROADMAP.md") {
            (*bytes, done) = blank.paint_roadmap(bytes, &all);
            roadmap.clone_from(bytes);
        }
        for (file, bytes) in files {
            match file.as_str() {
                "REQUIREMENTS.md" => *bytes = requirements::mark_complete(bytes, &done).0,
                "STATE.md" => {
                    *bytes = blank.paint_state(bytes, &roadmap, &all);
                    *bytes = self.paint_progress(bytes, lead).unwrap_or_else(|| bytes.clone());
                }
                _ => {}
            }
        }
    }

    /// Adds what happened to the dashboard's events.
    ///
    /// They are there to look at: losing one in a power failure harms nothing.
    pub(super) fn feed(&self, events: &[dashboard::Event]) -> Result<(), EngineError> {
        if events.is_empty() {
            return Ok(());
        }
        let planning = &self.site.project.planning;
        let writer = Writer::open(&self.site.project, WAIT_DEFAULT)?;
        let keep = Keep { lines_max: dashboard::EVENTS_MAX, lines_kept: dashboard::EVENTS_KEPT };
        let options = Append { durable: false, keep: Some(keep) };
        for event in events {
            let line = event.line();
            let path = planning.join("dashboard-events.ndjson");
            writer.append_line(&path, line.trim_end().as_bytes(), options)?;
        }
        writer.update(&planning.join("dashboard-state.json"), |old| {
            let mut state = dashboard::State::parse(old.unwrap_or_default());
            let changed = events.iter().filter(|event| state.note(event)).count() > 0;
            Ok::<_, EngineError>(changed.then(|| state.render().into_bytes()))
        })?;
        failpoint::reach("projection.fed");
        Ok(())
    }

    /// Returns whether a phase became complete in this run and is not written yet.
    fn completes(&self, row: &Row) -> bool {
        row.status == Status::Merged && row.attempt > 0 && !self.completed.contains(&row.number)
    }

    /// Returns the roadmap with the progress of some phases, and the requirements that are met.
    fn paint_roadmap(&self, old: &[u8], changed: &[&Row]) -> (Vec<u8>, Vec<String>) {
        let (mut bytes, mut done) = (old.to_vec(), Vec::new());
        for row in changed.iter().filter(|row| row.plans.1 > 0) {
            if self.completes(row)
                && let Lookup::Found(details) = roadmap::details(&bytes, &row.number)
            {
                done.extend(details.requirements);
            }
            bytes = edit::set_progress(&bytes, &row.number, &progress(row, &today()));
        }
        (bytes, done)
    }

    /// Returns STATE.md with the rows of some phases, moved on where phases are complete.
    fn paint_state(&self, old: &[u8], roadmap: &[u8], changed: &[&Row]) -> Vec<u8> {
        let (mut bytes, now) = (old.to_vec(), now_text());
        for row in changed {
            bytes = set_row(&bytes, row, &now);
        }
        for row in changed.iter().filter(|row| self.completes(row)) {
            bytes = self.complete(&bytes, roadmap, row);
        }
        bytes
    }

    /// Writes how many of all plans are done into the progress line of STATE.md.
    pub(super) fn write_progress(&self, lead: &Lead) -> Result<(), EngineError> {
        let path = self.site.project.planning.join("STATE.md");
        disk::update(&self.site.project, &path, |old| {
            Ok::<_, EngineError>(old.and_then(|old| self.paint_progress(old, lead)))
        })?;
        failpoint::reach("projection.progress");
        Ok(())
    }

    fn paint_progress(&self, state: &[u8], lead: &Lead) -> Option<Vec<u8>> {
        let mut progress = advance::Progress { completed: 0, total: 0 };
        for dir in PhaseDirs::load(&self.site.project.planning).iter() {
            let plans = dir.count(Artifact::Plan);
            let track = dir.number.and_then(|number| lead.phases.get(&number));
            let merged = track.is_some_and(|track| track.status == Status::Merged);
            let done = dir.count(Artifact::Summary).min(plans);
            progress.total += plans;
            progress.completed += if merged { plans } else { done };
        }
        advance::set_progress(state, progress)
    }

    /// Moves the current position on, as `mow phase complete` does.
    fn complete(&self, bytes: &[u8], roadmap: &[u8], row: &Row) -> Vec<u8> {
        let on_disk = phase_dirs::numbers(&self.site.project.planning);
        let next = roadmap::successor(roadmap, &row.number, &on_disk);
        let entries = roadmap::parse(roadmap).entries;
        let name = |number: &PhaseNumber| {
            let entry = entries.iter().find(|entry| entry.phase.number == *number);
            entry.map(|entry| entry.phase.name.clone()).unwrap_or_default()
        };
        let next = next.map(|number| (number, name(&number)));
        let target = next.as_ref().map(|(number, name)| Target { number, name });
        let number = row.number.to_string();
        transition::complete_phase(bytes, &number, target, &today())
    }
}

/// Keeps the dashboard's files out of git, without touching the user's files.
pub(super) fn hide_feed(site: &Site) -> Result<(), EngineError> {
    let below = site.below_top().join(".planning");
    exclude::add(&site.project, &format!("/{}/dashboard-*", below.display()))?;
    Ok(())
}

/// Sets the row of a phase; a file without the table gets one at its end.
fn set_row(bytes: &[u8], row: &Row, now: &str) -> Vec<u8> {
    let change = RowChange {
        status: Some(&row.shown.status),
        worker: Some(&row.shown.worker),
        plans: Some(&row.shown.plans),
        name: Some(&row.name),
        last_update: now,
    };
    let number = row.number.to_string();
    match active::update_row(bytes, &number, change) {
        Ok((bytes, _)) => bytes,
        Err(RowError::NewRowIncomplete(_)) => bytes.to_vec(),
        Err(RowError::NoSection) => {
            let with_table = [bytes, SECTION.as_bytes()].concat();
            let added = active::update_row(&with_table, &number, change);
            added.map_or_else(|_| bytes.to_vec(), |(bytes, _)| bytes)
        }
    }
}

fn progress<'a>(row: &'a Row, today: &'a str) -> Progress<'a> {
    let counts = row.shown.plans.as_str();
    match row.status {
        Status::Merged => Progress {
            plans: Some(counts),
            status: "Complete",
            section_plans: counts,
            completed: Some(today),
        },
        _ => Progress {
            plans: Some(counts),
            status: if row.plans.0 > 0 { "In Progress" } else { "Planned" },
            section_plans: counts,
            completed: None,
        },
    }
}

fn shown(lead: &Lead, track: &Track) -> Shown {
    let status = match track.status {
        Status::Waiting => {
            let open: Vec<_> = track
                .spec
                .depends_on
                .iter()
                .filter(|number| {
                    lead.phases.get(number).is_some_and(|other| other.status != Status::Merged)
                })
                .map(ToString::to_string)
                .collect();
            if open.is_empty() {
                "not started".to_owned()
            } else {
                format!("blocked ({})", open.join(","))
            }
        }
        Status::Preparing | Status::Starting => "starting".to_owned(),
        Status::Running | Status::Ending => match track.stage {
            Some(Stage::Discuss) => "discussing",
            Some(Stage::Research) => "researching",
            Some(Stage::Plan) => "planning",
            Some(Stage::Refine) => "refining",
            Some(Stage::Execute) | None => "executing",
        }
        .to_owned(),
        Status::Parked => "waiting for input".to_owned(),
        Status::Complete | Status::Merging => "merging".to_owned(),
        Status::Merged => "complete".to_owned(),
        status => status.name().to_owned(),
    };
    let worker = if track.status.holds_slot() {
        format!("phase-{}-worker", track.spec.number.padded())
    } else {
        "--".to_owned()
    };
    Shown { status, worker, plans: format!("{}/{}", track.plans.0, track.plans.1) }
}

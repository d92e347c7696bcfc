//! Writes the state of the run into STATE.md, ROADMAP.md and REQUIREMENTS.md.
//!
//! Only changed rows are edited, so what people write into the files meanwhile stays. The files are
//! for people and older tools; the lead reads only the roadmap back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::stage::Stage;
use mow_core::view::{PhaseView, RunView};
use mow_store::disk::{self, AppendOptions, LineLimit, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseDirs, PhaseFileKind};
use mow_store::roadmap::edit::{self, RoadmapProgress};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::state::active_phases::{self, ActivePhaseChange, ActivePhaseError};
use mow_store::state::advance;
use mow_store::state::transition::{self, NextPhase};
use mow_store::{dashboard, git_exclude, requirements};

use super::merge::owns_root_files;
use super::promoted_decisions::PromotedDecisions;
use crate::EngineError;
use crate::clock::{now_text, today};
use crate::run_context::RunContext;

/// The table of phases, for a STATE.md that has none yet.
const TABLE: &str = "\n## Active Phases\n\n\
    | Phase | Name | Status | Worker | Plans | Last Update |\n\
    |-------|------|--------|--------|-------|-------------|\n";

/// The text in a phase's row of STATE.md.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowText {
    status: String,
    worker: String,
    plans: String,
}

/// A copy of the state of a phase that is needed to write it, so that the run can go on meanwhile.
#[derive(Clone, Debug)]
pub(super) struct PhaseRow {
    number: PhaseNumber,
    name: String,
    status: Status,
    attempt: u32,
    plans: (usize, usize),
    decisions: Vec<String>,
    text: RowText,
}

impl PhaseRow {
    /// Returns the row of a phase.
    pub(super) fn of(phase: &PhaseView) -> Self {
        Self {
            number: phase.number,
            name: phase.name.clone(),
            status: phase.status,
            attempt: phase.attempt,
            plans: (phase.plans_done, phase.plans),
            decisions: phase.decisions.clone(),
            text: row_text(phase),
        }
    }
}

/// Writes the planning files, and remembers what they show.
pub(super) struct Projection {
    ctx: Arc<RunContext>,
    shown: BTreeMap<PhaseNumber, RowText>,
    /// Phases whose completion is written already.
    completed: BTreeSet<PhaseNumber>,
    decisions: PromotedDecisions,
}

impl Projection {
    pub(super) fn new(ctx: Arc<RunContext>) -> Self {
        let decisions = PromotedDecisions::default();
        Self { ctx, shown: BTreeMap::new(), completed: BTreeSet::new(), decisions }
    }

    /// Writes the rows of some phases, if the target branch is checked out in the main root.
    ///
    /// Otherwise the files there belong to another branch, and the run writes its own at the end.
    pub(super) fn write(&mut self, target: &str, rows: &[PhaseRow]) -> Result<(), EngineError> {
        if rows.is_empty() || !owns_root_files(&self.ctx, target)? {
            return Ok(());
        }
        self.load_written_rows(rows)?;
        let is_new = |row: &&PhaseRow| {
            self.shown.get(&row.number) != Some(&row.text)
                || !self.decisions.has_all(row.number, &row.decisions)
        };
        let changed: Vec<_> = rows.iter().filter(is_new).collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.write_changed(&changed)?;
        for row in changed {
            self.remember(row);
            self.decisions.remember(row.number, &row.decisions);
        }
        Ok(())
    }

    /// Remembers that a row is written.
    fn remember(&mut self, row: &PhaseRow) {
        if row.status == Status::Merged {
            self.completed.insert(row.number);
        }
        self.shown.insert(row.number, row.text.clone());
    }

    /// Remembers the rows that an earlier lead wrote, so that resuming a run changes no file.
    ///
    /// STATE.md is written last, so a row that it shows is in the other files, too.
    fn load_written_rows(&mut self, rows: &[PhaseRow]) -> Result<(), EngineError> {
        let unknown = rows.iter().filter(|row| !self.shown.contains_key(&row.number));
        let unknown: BTreeMap<_, _> = unknown.map(|row| (row.number, row)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let state = disk::read(&self.ctx.project.planning.join("STATE.md"))?.unwrap_or_default();
        for written in active_phases::parse(&state).unwrap_or_default() {
            let row = PhaseNumber::parse(&written.phase).and_then(|number| unknown.get(&number));
            let shown =
                RowText { status: written.status, worker: written.worker, plans: written.plans };
            if let Some(row) = row.filter(|row| row.text == shown) {
                self.remember(row);
                // The decisions of a merged phase were written together with its last row.
                if row.status == Status::Merged {
                    self.decisions.remember(row.number, &row.decisions);
                }
            }
        }
        Ok(())
    }

    fn write_changed(&self, changed: &[&PhaseRow]) -> Result<(), EngineError> {
        let planning = &self.ctx.project.planning;
        let writer = Writer::open(&self.ctx.project, WAIT_DEFAULT)?;
        let (mut done, mut roadmap) = (Vec::new(), Vec::new());
        writer.update(&planning.join("ROADMAP.md"), |old| {
            let Some(old) = old else { return Ok(None) };
            (roadmap, done) = self.render_roadmap(old, changed);
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
            Ok::<_, EngineError>(old.map(|old| self.render_state(old, &roadmap, changed)))
        })?;
        failpoint::reach("projection.state");
        Ok(())
    }

    /// Edits files of a commit, by name and content, so that they show the whole run.
    pub(super) fn render_files(&self, run: &RunView, files: &mut [(String, Vec<u8>)]) {
        let all: Vec<_> = run.phases.iter().map(PhaseRow::of).collect();
        let all: Vec<_> = all.iter().collect();
        // These files do not have the rows that were written to the main root.
        let blank = Self::new(Arc::clone(&self.ctx));
        let (mut roadmap, mut done) = (Vec::new(), Vec::new());
        for (_, bytes) in files.iter_mut().filter(|(file, _)| file == "ROADMAP.md") {
            (*bytes, done) = blank.render_roadmap(bytes, &all);
            roadmap.clone_from(bytes);
        }
        for (file, bytes) in files {
            match file.as_str() {
                "REQUIREMENTS.md" => *bytes = requirements::mark_complete(bytes, &done).0,
                "STATE.md" => {
                    *bytes = blank.render_state(bytes, &roadmap, &all);
                    *bytes = self.render_progress(bytes, run).unwrap_or_else(|| bytes.clone());
                }
                _ => {}
            }
        }
    }

    /// Appends events to the dashboard's files.
    ///
    /// Not synced: losing an event in a power failure does no harm.
    pub(super) fn append_events(&self, events: &[dashboard::Event]) -> Result<(), EngineError> {
        if events.is_empty() {
            return Ok(());
        }
        let planning = &self.ctx.project.planning;
        let writer = Writer::open(&self.ctx.project, WAIT_DEFAULT)?;
        let keep =
            LineLimit { lines_max: dashboard::EVENTS_MAX, lines_kept: dashboard::EVENTS_KEPT };
        let options = AppendOptions { durable: false, line_limit: Some(keep) };
        for event in events {
            let line = event.line();
            let path = planning.join("dashboard-events.ndjson");
            writer.append_line(&path, line.trim_end().as_bytes(), options)?;
        }
        writer.update(&planning.join("dashboard-state.json"), |old| {
            let mut state = dashboard::DashboardState::parse(old.unwrap_or_default());
            let changed = events.iter().filter(|event| state.record_event(event)).count() > 0;
            Ok::<_, EngineError>(changed.then(|| state.render().into_bytes()))
        })?;
        failpoint::reach("projection.fed");
        Ok(())
    }

    /// Returns whether a phase was merged in this run and its completion is not written yet.
    fn completes(&self, row: &PhaseRow) -> bool {
        row.status == Status::Merged && row.attempt > 0 && !self.completed.contains(&row.number)
    }

    /// Returns the roadmap with the progress of some phases, and the requirements that they
    /// complete.
    fn render_roadmap(&self, old: &[u8], changed: &[&PhaseRow]) -> (Vec<u8>, Vec<String>) {
        let (mut bytes, mut done) = (old.to_vec(), Vec::new());
        for row in changed.iter().filter(|row| row.plans.1 > 0) {
            if self.completes(row)
                && let PhaseLookup::Found(details) = roadmap::describe_phase(&bytes, &row.number)
            {
                done.extend(details.requirements);
            }
            bytes = edit::set_progress(&bytes, &row.number, &progress(row, &today()));
        }
        (bytes, done)
    }

    /// Returns STATE.md with the rows of some phases; advances its position past complete phases.
    fn render_state(&self, old: &[u8], roadmap: &[u8], changed: &[&PhaseRow]) -> Vec<u8> {
        let (mut bytes, now) = (old.to_vec(), now_text());
        for row in changed {
            bytes = set_row(&bytes, row, &now);
            bytes = self.decisions.add_new(&bytes, row.number, &row.decisions);
        }
        for row in changed.iter().filter(|row| self.completes(row)) {
            bytes = self.advance_position(&bytes, roadmap, row);
        }
        bytes
    }

    /// Writes the number of done plans into the progress line of STATE.md.
    pub(super) fn write_progress(&self, run: &RunView) -> Result<(), EngineError> {
        let path = self.ctx.project.planning.join("STATE.md");
        disk::update(&self.ctx.project, &path, |old| {
            Ok::<_, EngineError>(old.and_then(|old| self.render_progress(old, run)))
        })?;
        failpoint::reach("projection.progress");
        Ok(())
    }

    fn render_progress(&self, state: &[u8], run: &RunView) -> Option<Vec<u8>> {
        let mut progress = advance::PlanCompletion { completed: 0, total: 0 };
        for dir in PhaseDirs::load(&self.ctx.project.planning).iter() {
            let plans = dir.count(PhaseFileKind::Plan);
            let phase = dir.number.and_then(|number| run.phase(number));
            let merged = phase.is_some_and(|phase| phase.status == Status::Merged);
            let done = dir.count(PhaseFileKind::Summary).min(plans);
            progress.total += plans;
            progress.completed += if merged { plans } else { done };
        }
        advance::set_progress(state, progress)
    }

    /// Advances the current position in STATE.md, as `mow phase complete` does.
    fn advance_position(&self, bytes: &[u8], roadmap: &[u8], row: &PhaseRow) -> Vec<u8> {
        let on_disk = phase_dirs::numbers(&self.ctx.project.planning);
        let next = roadmap::next_phase(roadmap, &row.number, &on_disk);
        let entries = roadmap::parse(roadmap).entries;
        let name = |number: &PhaseNumber| {
            let entry = entries.iter().find(|entry| entry.phase.number == *number);
            entry.map(|entry| entry.phase.name.clone()).unwrap_or_default()
        };
        let next = next.map(|number| (number, name(&number)));
        let target = next.as_ref().map(|(number, name)| NextPhase { number, name });
        let number = row.number.to_string();
        transition::complete_phase(bytes, &number, target, &today())
    }
}

/// Adds the dashboard's files to `.git/info/exclude`, not to the user's `.gitignore`.
pub(super) fn exclude_dashboard_files(ctx: &RunContext) -> Result<(), EngineError> {
    let below = ctx.below_top().join(".planning");
    git_exclude::add_line(&ctx.project, &format!("/{}/dashboard-*", below.display()))?;
    Ok(())
}

/// Sets the row of a phase in STATE.md; appends the table if the file has none.
fn set_row(bytes: &[u8], row: &PhaseRow, now: &str) -> Vec<u8> {
    let change = ActivePhaseChange {
        status: Some(&row.text.status),
        worker: Some(&row.text.worker),
        plans: Some(&row.text.plans),
        name: Some(&row.name),
        last_update: now,
    };
    let number = row.number.to_string();
    match active_phases::update_row(bytes, &number, change) {
        Ok((bytes, _)) => bytes,
        Err(ActivePhaseError::NewRowIncomplete(_)) => bytes.to_vec(),
        Err(ActivePhaseError::NoSection) => {
            let with_table = [bytes, TABLE.as_bytes()].concat();
            let added = active_phases::update_row(&with_table, &number, change);
            added.map_or_else(|_| bytes.to_vec(), |(bytes, _)| bytes)
        }
    }
}

fn progress<'a>(row: &'a PhaseRow, today: &'a str) -> RoadmapProgress<'a> {
    let counts = row.text.plans.as_str();
    match row.status {
        Status::Merged => RoadmapProgress {
            plans: Some(counts),
            status: "Complete",
            section_plans: counts,
            completed: Some(today),
        },
        _ => RoadmapProgress {
            plans: Some(counts),
            status: if row.plans.0 > 0 { "In Progress" } else { "Planned" },
            section_plans: counts,
            completed: None,
        },
    }
}

/// Returns the texts of a row, in the words that older tools know.
fn row_text(phase: &PhaseView) -> RowText {
    let status = match phase.status {
        Status::Waiting => {
            let mut open: Vec<_> = phase.open_dependencies().map(|n| n.to_string()).collect();
            if phase.waits_for_left_out > 0 {
                open.push(format!("{} more", phase.waits_for_left_out));
            }
            if open.is_empty() {
                "not started".to_owned()
            } else {
                format!("blocked ({})", open.join(","))
            }
        }
        Status::Preparing | Status::Starting => "starting".to_owned(),
        Status::Running | Status::Ending => match phase.stage {
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
    let worker = if phase.status.holds_slot() {
        format!("phase-{}-worker", phase.number.padded())
    } else {
        "--".to_owned()
    };
    RowText { status, worker, plans: format!("{}/{}", phase.plans_done, phase.plans) }
}

//! Writes the state of the run into STATE.md, ROADMAP.md and REQUIREMENTS.md.
//!
//! Only changed rows are edited, so what people write into the files meanwhile stays. The files are
//! for people and older tools; the lead reads only the roadmap back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::slug::slug;
use mow_core::view::{RunView, SessionView};
use mow_store::disk::{self, AppendOptions, LineLimit, TEMP_PATTERN, WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseDirs, PhaseFileKind};
use mow_store::roadmap::edit::{self, RoadmapProgress};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::state::transition::{self, NextPhase};
use mow_store::state::{active_phases, advance};
use mow_store::{dashboard, git_exclude, requirements};

use super::merge::owns_root_files;
use super::phase_row::{PhaseRow, RowText, WorkerText};
use super::promoted_decisions::PromotedDecisions;
use super::state_index;
use crate::EngineError;
use crate::clock::{parse_time, today};
use crate::run_context::RunContext;

/// What a write shows.
#[derive(Clone, Debug)]
pub(super) struct RunRows {
    /// The phases that may have changed.
    pub(super) rows: Vec<PhaseRow>,
    /// Where the run stands.
    pub(super) session: SessionView,
}

/// Writes the planning files, and remembers what they show.
pub(super) struct Projection {
    ctx: Arc<RunContext>,
    shown: BTreeMap<PhaseNumber, PhaseRow>,
    /// The workers that the rows show, and those that STATE.md shows.
    workers: BTreeMap<PhaseNumber, WorkerText>,
    shown_workers: Option<BTreeMap<PhaseNumber, WorkerText>>,
    shown_session: Option<SessionView>,
    /// Phases whose completion is written already.
    completed: BTreeSet<PhaseNumber>,
    decisions: PromotedDecisions,
    /// The plan counts in the folders of phases, for those that no worker has counted yet.
    folder_plans: Option<BTreeMap<PhaseNumber, String>>,
}

impl Projection {
    pub(super) fn new(ctx: Arc<RunContext>) -> Self {
        Self {
            ctx,
            shown: BTreeMap::new(),
            workers: BTreeMap::new(),
            shown_workers: None,
            shown_session: None,
            completed: BTreeSet::new(),
            decisions: PromotedDecisions::default(),
            folder_plans: None,
        }
    }

    /// Writes what changed, if the target branch is checked out in the main root.
    ///
    /// Otherwise the files there belong to another branch, and the run writes its own at the end.
    pub(super) fn write(&mut self, target: &str, mut run: RunRows) -> Result<(), EngineError> {
        self.count_plans(&mut run.rows);
        let is_shown = |row: &PhaseRow| self.shown.get(&row.number) == Some(row);
        if run.rows.iter().all(is_shown) && self.shown_session.as_ref() == Some(&run.session) {
            return Ok(());
        }
        if !owns_root_files(&self.ctx, target)? {
            return Ok(());
        }
        self.load_written_rows(&run.rows)?;
        self.set_workers(&run);
        let is_new = |row: &&PhaseRow| self.shown.get(&row.number) != Some(*row);
        let changed: Vec<_> = run.rows.iter().filter(is_new).collect();
        self.write_changed(&changed, &run.session)?;
        for row in changed {
            self.remember(row);
            self.decisions.remember(row.number, &row.decisions);
        }
        self.shown_workers = Some(self.workers.clone());
        self.shown_session = Some(run.session);
        Ok(())
    }

    /// Gives the phases that no worker has counted the number of plans in their folders.
    fn count_plans(&mut self, rows: &mut [PhaseRow]) {
        for row in rows.iter_mut().filter(|row| row.plans.1 == 0) {
            let planning = &self.ctx.project.planning;
            let counts = self.folder_plans.get_or_insert_with(|| folder_plans(planning));
            if let Some(counts) = counts.get(&row.number) {
                row.text.plans.clone_from(counts);
            }
        }
    }

    /// Remembers that a row is written.
    fn remember(&mut self, row: &PhaseRow) {
        if row.status == Status::Merged {
            self.completed.insert(row.number);
        }
        self.shown.insert(row.number, row.clone());
    }

    /// Takes the workers from the rows; of a run that has stopped, only those that still live.
    fn set_workers(&mut self, run: &RunRows) {
        for row in &run.rows {
            match &row.worker {
                Some(worker) => self.workers.insert(row.number, worker.clone()),
                None => self.workers.remove(&row.number),
            };
        }
        if !run.session.is_live {
            self.workers.retain(|_, worker| worker.color.is_some());
        }
    }

    /// Remembers the rows that an earlier lead wrote, so that resuming a run changes no file.
    ///
    /// STATE.md is written last, so a row that it shows is in the other files, too. A row that was
    /// written before the phase was merged does not tell that.
    fn load_written_rows(&mut self, rows: &[PhaseRow]) -> Result<(), EngineError> {
        let unknown = rows.iter().filter(|row| !self.shown.contains_key(&row.number));
        let unknown: BTreeMap<_, _> = unknown.map(|row| (row.number, row)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let state = disk::read(&self.ctx.project.planning.join("STATE.md"))?.unwrap_or_default();
        for written in active_phases::parse(&state).unwrap_or_default() {
            let row = PhaseNumber::parse(&written.phase).and_then(|number| unknown.get(&number));
            let is_new = |row: &PhaseRow| {
                let at = parse_time(&written.last_update);
                row.status != Status::Merged || at.is_some_and(|at| at >= row.since)
            };
            let row = row.copied().filter(|row| is_new(row));
            let shown =
                RowText { status: written.status, worker: written.worker, plans: written.plans };
            // The decisions of a merged phase were written together with its last row.
            let is_whole =
                |row: &PhaseRow| row.status == Status::Merged || row.decisions.is_empty();
            if let Some(row) = row.filter(|row| row.text == shown && is_whole(row)) {
                self.remember(row);
                self.decisions.remember(row.number, &row.decisions);
            }
        }
        Ok(())
    }

    fn write_changed(
        &self,
        changed: &[&PhaseRow],
        session: &SessionView,
    ) -> Result<(), EngineError> {
        let planning = &self.ctx.project.planning;
        let writer = Writer::open(&self.ctx.project, WAIT_DEFAULT)?;
        let (mut done, mut roadmap) = (Vec::new(), Vec::new());
        if !changed.is_empty() {
            writer.update(&planning.join("ROADMAP.md"), |old| {
                let Some(old) = old else { return Ok(None) };
                (roadmap, done) = self.render_roadmap(old, changed);
                Ok::<_, EngineError>(Some(roadmap.clone()))
            })?;
            failpoint::reach("projection.roadmap");
        }
        if !done.is_empty() {
            writer.update(&planning.join("REQUIREMENTS.md"), |old| {
                Ok::<_, EngineError>(old.map(|old| requirements::mark_complete(old, &done).0))
            })?;
            failpoint::reach("projection.requirements");
        }
        writer.update(&planning.join("STATE.md"), |old| {
            let Some(old) = old else { return Ok(None) };
            let bytes = self.render_state(old, &roadmap, changed);
            Ok::<_, EngineError>(Some(self.render_run(&bytes, session)?))
        })?;
        failpoint::reach("projection.state");
        Ok(())
    }

    /// Edits files of a commit, by name and content, so that they show the whole run.
    pub(super) fn render_files(
        &self,
        (run, session): (&RunView, &SessionView),
        files: &mut [(String, Vec<u8>)],
    ) {
        let mut all: Vec<_> = run.phases.iter().map(PhaseRow::of).collect();
        // These files do not have the rows that were written to the main root.
        let mut blank = Self::new(Arc::clone(&self.ctx));
        blank.count_plans(&mut all);
        let all: Vec<_> = all.iter().collect();
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
                    *bytes = blank.render_run(bytes, session).unwrap_or_else(|_| bytes.clone());
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
        row.is_merged_here() && !self.completed.contains(&row.number)
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
        let mut bytes = state_index::set_rows(old, changed);
        for row in changed {
            bytes = state_index::record_plans(&bytes, row);
            bytes = self.decisions.add_new(&bytes, row.number, &row.decisions);
        }
        for row in changed.iter().filter(|row| self.completes(row)) {
            bytes = self.advance_position(&bytes, roadmap, row);
        }
        bytes
    }

    /// Returns STATE.md with the workers of the run, and with where the run stands.
    fn render_run(&self, old: &[u8], session: &SessionView) -> Result<Vec<u8>, EngineError> {
        let mut bytes = old.to_vec();
        if self.shown_workers.as_ref() != Some(&self.workers) {
            let workers = state_index::place_workers(&self.ctx, &self.workers)?;
            bytes = state_index::set_workers(&bytes, &self.team_name(), &workers);
        }
        if self.shown_session.as_ref() != Some(session) {
            bytes = state_index::set_session(&bytes, session);
        }
        Ok(bytes)
    }

    /// Returns the name of the team of workers: `mow-` and the name of the project's directory.
    fn team_name(&self) -> String {
        let name = self.ctx.project.root.file_name().unwrap_or_default().to_string_lossy();
        format!("mow-{}", slug(&name)).trim_end_matches('-').to_owned()
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

/// Counts the complete plans and all plans in the folders of phases: `1/3`.
fn folder_plans(planning: &Path) -> BTreeMap<PhaseNumber, String> {
    let dirs = PhaseDirs::load(planning);
    let counts = dirs.iter().filter_map(|dir| {
        let plans = dir.count(PhaseFileKind::Plan);
        let done = dir.count(PhaseFileKind::Summary).min(plans);
        Some((dir.number?, format!("{done}/{plans}")))
    });
    counts.collect()
}

/// Adds the dashboard's and all temporary files to `.git/info/exclude`, not to the user's
/// `.gitignore`.
pub(super) fn exclude_engine_files(ctx: &RunContext) -> Result<(), EngineError> {
    let below = ctx.below_top().join(".planning");
    git_exclude::add_line(&ctx.project, &format!("/{}/dashboard-*", below.display()))?;
    git_exclude::add_line(&ctx.project, TEMP_PATTERN)?;
    Ok(())
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

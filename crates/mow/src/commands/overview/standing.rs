//! Gathers where a project stands, from the roadmap, the phase directories and STATE.md.

use mow_core::lead::{Status, Track};
use mow_core::phase::PhaseNumber;
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use mow_store::state::active::{self, ActivePhase};
use mow_store::state::snapshot::{self, Snapshot};
use mow_store::survey::{self, Survey, Surveyed};
use serde::Serialize;

use super::advice::{self, Step};
use crate::context::Context;
use crate::failure::Failure;
use crate::runs::{Brief, Run, is_over};

/// All that the overview shows; also what it prints as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Standing {
    planned: bool,
    pub(super) project: String,
    root: String,
    pub(super) milestone: Option<String>,
    pub(super) position: Option<Position>,
    pub(super) phases: Counts,
    /// The run that is live or unfinished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunLine>,
    pub(super) running: Vec<ActivePhase>,
    /// Phases that the run holds in another way than by working on their plans.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) held: Vec<HeldLine>,
    pub(super) ready: Vec<PhaseLine>,
    pub(super) blocked: Vec<PhaseLine>,
    pub(super) blockers: Vec<String>,
    pub(super) problems: Vec<String>,
    /// The command that brings the branch to what the last run did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) to_finish: Option<String>,
    pub(super) next: Vec<Step>,
}

/// Where STATE.md says the work is.
#[derive(Debug, Serialize)]
pub(super) struct Position {
    pub(super) phase: Option<String>,
    pub(super) phase_name: Option<String>,
    pub(super) total_phases: Option<i64>,
    pub(super) plan: Option<String>,
    pub(super) total_plans: Option<i64>,
    pub(super) status: Option<String>,
    pub(super) last_activity: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counts {
    pub(super) total: usize,
    pub(super) done: usize,
    pub(super) ready: usize,
    pub(super) blocked: usize,
    pub(super) running: usize,
}

/// One phase in a list.
#[derive(Debug, Serialize)]
pub(super) struct PhaseLine {
    pub(super) number: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting_on: Vec<String>,
}

/// One phase in the hands of a run.
#[derive(Debug, Serialize)]
pub(super) struct HeldLine {
    pub(super) number: String,
    pub(super) name: String,
    pub(super) how: &'static str,
}

/// The run, and what it asks.
#[derive(Debug, Serialize)]
pub(super) struct RunLine {
    #[serde(flatten)]
    pub(super) brief: Brief,
    pub(super) asks: Vec<Asked>,
}

/// A question of the run.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    pub(super) id: u32,
    pub(super) question: String,
}

impl RunLine {
    fn new(run: &Run) -> Self {
        let asked = run.lead.open_items();
        let asks = asked.map(|i| Asked { id: i.id, question: i.ask.question.clone() }).collect();
        Self { brief: run.brief(), asks }
    }
}

impl PhaseLine {
    fn new(surveyed: &Surveyed, waiting_on: Vec<String>) -> Self {
        let phase = &surveyed.entry.phase;
        Self { number: phase.written.clone(), name: phase.name.clone(), waiting_on }
    }
}

impl Standing {
    pub(super) fn load(context: &Context) -> Result<Self, Failure> {
        let planning = &context.project.planning;
        let survey = survey::load(planning)?;
        let state = context.load("STATE.md")?;
        let snapshot = state.as_deref().map(snapshot::parse).unwrap_or_default();
        let rows = state.as_deref().and_then(active::parse).unwrap_or_default();
        let mut standing = Self {
            planned: true,
            project: project_name(context)?,
            root: context.project.root.display().to_string(),
            milestone: milestone(context, survey.as_ref())?,
            position: state.is_some().then(|| Position::new(&snapshot)),
            phases: Counts::default(),
            run: None,
            running: rows.into_iter().filter(is_running).collect(),
            held: Vec::new(),
            ready: Vec::new(),
            blocked: Vec::new(),
            blockers: snapshot.blockers,
            problems: Vec::new(),
            to_finish: None,
            next: Vec::new(),
        };
        let newest = Run::newest(context)
            .and_then(|run| run.iter().try_for_each(|run| standing.add_newest(run)));
        standing.problems.extend(newest.err().map(|failure| failure.message));
        match &survey {
            Some(survey) => standing.add_phases(context, survey),
            None => standing.problems.push("ROADMAP.md is missing".to_owned()),
        }
        if state.is_none() {
            standing.problems.push("STATE.md is missing".to_owned());
        }
        standing.next = advice::inside(&standing, survey.as_ref());
        Ok(standing)
    }

    fn add_newest(&mut self, run: &Run) -> Result<(), Failure> {
        if !is_over(&run.lead) {
            self.add_run(run);
        } else if let Some(command) = run.to_finish()? {
            let (target, name) = (&run.lead.target, run.dir.run());
            self.problems.push(format!("{target} does not have what run {name} did"));
            self.to_finish = Some(command);
        }
        Ok(())
    }

    fn add_run(&mut self, run: &Run) {
        self.run = Some(RunLine::new(run));
        let is_shown = |track: &&Track| !self.running.iter().any(|row| is_row_of(row, track));
        let held = run.lead.phases.values().filter(is_shown).filter_map(|track| {
            let (number, name) = (track.spec.number.to_string(), track.spec.name.clone());
            Some(HeldLine { number, name, how: how_held(track.status)? })
        });
        self.held = held.collect();
    }

    fn add_phases(&mut self, context: &Context, survey: &Survey) {
        let scheduled = survey.scheduled();
        let graph = survey.graph(&context.project.planning, &scheduled);
        let written = |index: &usize| scheduled[*index].entry.phase.written.clone();
        let running: Vec<_> = self.running.iter().map(|row| row.phase.clone()).collect();
        let held: Vec<_> = self.held.iter().map(|line| line.number.clone()).collect();
        // What is in the backlog waits for a person, not for other phases.
        let is_open = |index: &usize| {
            let number = &scheduled[*index].entry.phase.number;
            !running.contains(&written(index))
                && !held.contains(&number.to_string())
                && !number.is_backlog()
        };
        let ready = graph.ready().into_iter().filter(is_open);
        self.ready = ready.map(|index| PhaseLine::new(scheduled[index], Vec::new())).collect();
        self.blocked = graph
            .blocked()
            .into_iter()
            .map(|(index, on)| PhaseLine::new(scheduled[index], on.iter().map(written).collect()))
            .collect();
        self.phases = Counts {
            total: survey.phases.len(),
            done: survey.phases.iter().filter(|phase| phase.is_done()).count(),
            ready: self.ready.len(),
            blocked: self.blocked.len(),
            running: self.running.len(),
        };
        if let Err(cyclic) = graph.waves() {
            self.problems.push(cyclic.to_string());
        }
        let unsure = survey.phases.iter().filter(|phase| !phase.entry.phase.completion.certain);
        match unsure.count() {
            0 => {}
            count => self.problems.push(format!(
                "the roadmap says both done and not done of {count} phases: see `mow doctor`"
            )),
        }
    }
}

impl Position {
    fn new(snapshot: &Snapshot) -> Self {
        let date = snapshot.last_activity.clone();
        let remark = snapshot.last_activity_desc.clone();
        let number = snapshot.current_phase.as_deref().and_then(PhaseNumber::parse);
        // Some count the phases of a milestone and number them over all: 41 of 14 helps nobody.
        let is_count =
            |total: &i64| number.is_none_or(|number| i64::from(number.major()) <= *total);
        Self {
            phase: snapshot.current_phase.clone(),
            phase_name: snapshot.current_phase_name.clone(),
            total_phases: snapshot.total_phases.filter(is_count),
            plan: snapshot.current_plan.clone(),
            total_plans: snapshot.total_plans_in_phase,
            status: snapshot.status.clone(),
            last_activity: match (date, remark) {
                (Some(date), Some(remark)) => Some(format!("{date}: {remark}")),
                (date, remark) => date.or(remark),
            },
        }
    }
}

/// Returns how a run holds a phase; `None` for one that it has not begun, or is done with.
fn how_held(status: Status) -> Option<&'static str> {
    match status {
        Status::Waiting | Status::Merged | Status::Cancelled => None,
        Status::Preparing | Status::Starting => Some("starting"),
        Status::Running | Status::Ending => Some("at work"),
        Status::Parked => Some("waits for a person"),
        Status::Paused => Some("paused"),
        Status::Complete | Status::Merging => Some("waits for its merge"),
        Status::Failed => Some("failed"),
    }
}

fn is_row_of(row: &ActivePhase, track: &Track) -> bool {
    PhaseNumber::parse(row.phase.trim()) == Some(track.spec.number)
}

fn is_running(row: &ActivePhase) -> bool {
    let status = row.status.trim().to_lowercase();
    ["executing", "in progress", "running"].iter().any(|word| status.starts_with(word))
}

/// The project's name: the title of PROJECT.md, else that of its directory.
fn project_name(context: &Context) -> Result<String, Failure> {
    let bytes = context.load("PROJECT.md")?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let directory = || {
        let name = context.project.root.file_name().unwrap_or(context.project.root.as_os_str());
        name.to_string_lossy().into_owned()
    };
    Ok(title.filter(|title| !title.is_empty()).map_or_else(directory, str::to_owned))
}

/// The milestone that is worked on, as `v1.2 Name`; none where the roadmap speaks of none.
fn milestone(context: &Context, survey: Option<&Survey>) -> Result<Option<String>, Failure> {
    let Some(bytes) = context.load("ROADMAP.md")? else { return Ok(None) };
    let CurrentMilestone { version, name } = current_milestone(&bytes);
    let is_named = name != "milestone";
    let is_versioned = survey.is_some_and(|survey| !survey.milestones.is_empty());
    Ok(match (is_named, is_versioned) {
        (true, _) => Some(format!("{version} {name}")),
        (false, true) => Some(version),
        (false, false) => None,
    })
}

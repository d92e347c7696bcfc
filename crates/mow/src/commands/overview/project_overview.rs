//! Collects the state of a project from the roadmap, the phase directories, STATE.md and the last
//! run.

use mow_core::lead::{PhaseState, Status};
use mow_core::phase::PhaseNumber;
use mow_store::project_phases::{self, ProjectPhase, ProjectPhases};
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use mow_store::state::active_phases::{self, ActivePhase};
use mow_store::state::snapshot::{self, Snapshot};
use serde::Serialize;

use super::advice::{self, AdviceStep};
use crate::commands::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::runs::{Run, RunOverview, is_over};

/// Everything that `mow` without a command shows; its fields are the keys of the JSON output.
#[derive(Debug, Serialize)]
pub(super) struct ProjectOverview {
    planned: bool,
    pub(super) project: String,
    root: String,
    pub(super) milestone: Option<String>,
    pub(super) position: Option<CurrentPosition>,
    pub(super) phases: PhaseCounts,
    /// The newest run, unless it is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<RunSummary>,
    pub(super) running: Vec<ActivePhase>,
    /// Phases of the run that are not in `running`, such as paused or failed ones.
    #[serde(rename = "held", skip_serializing_if = "Vec::is_empty")]
    pub(super) in_run: Vec<RunPhase>,
    pub(super) ready: Vec<OverviewPhase>,
    pub(super) blocked: Vec<OverviewPhase>,
    pub(super) blockers: Vec<String>,
    pub(super) problems: Vec<String>,
    /// The command that fast-forwards the user's branch to the work of the last run.
    #[serde(rename = "to_finish", skip_serializing_if = "Option::is_none")]
    pub(super) pending_fast_forward: Option<String>,
    pub(super) next: Vec<AdviceStep>,
}

/// The current phase and plan, according to STATE.md.
#[derive(Debug, Serialize)]
pub(super) struct CurrentPosition {
    pub(super) phase: Option<String>,
    pub(super) phase_name: Option<String>,
    pub(super) total_phases: Option<i64>,
    pub(super) plan: Option<String>,
    pub(super) total_plans: Option<i64>,
    pub(super) status: Option<String>,
    pub(super) last_activity: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct PhaseCounts {
    pub(super) total: usize,
    pub(super) done: usize,
    pub(super) ready: usize,
    pub(super) blocked: usize,
    pub(super) running: usize,
}

/// A phase that is ready or blocked.
#[derive(Debug, Serialize)]
pub(super) struct OverviewPhase {
    pub(super) number: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) waiting_on: Vec<String>,
}

/// A phase that the run has begun.
#[derive(Debug, Serialize)]
pub(super) struct RunPhase {
    pub(super) number: String,
    pub(super) name: String,
    #[serde(rename = "how")]
    pub(super) state: &'static str,
}

/// The run and its open questions.
#[derive(Debug, Serialize)]
pub(super) struct RunSummary {
    #[serde(flatten)]
    pub(super) overview: RunOverview,
    #[serde(rename = "asks")]
    pub(super) open_questions: Vec<OpenQuestion>,
}

/// A question of the run that waits for an answer.
#[derive(Debug, Serialize)]
pub(super) struct OpenQuestion {
    pub(super) id: u32,
    #[serde(rename = "question")]
    pub(super) text: String,
}

impl RunSummary {
    fn new(run: &Run) -> Self {
        let items = run.lead.inbox.open();
        let open_questions =
            items.map(|item| OpenQuestion { id: item.id, text: item.ask.question.clone() });
        Self { overview: run.overview(), open_questions: open_questions.collect() }
    }
}

impl OverviewPhase {
    fn new(project_phase: &ProjectPhase, waiting_on: Vec<String>) -> Self {
        let phase = &project_phase.entry.phase;
        Self { number: phase.written.clone(), name: phase.name.clone(), waiting_on }
    }
}

impl ProjectOverview {
    pub(super) fn load(context: &Context) -> Result<Self, Failure> {
        let planning = &context.project.planning;
        let all_phases = project_phases::load(planning)?;
        let state = context.load("STATE.md")?;
        let snapshot = state.as_deref().map(snapshot::parse).unwrap_or_default();
        let rows = state.as_deref().and_then(active_phases::parse).unwrap_or_default();
        let mut overview = Self {
            planned: true,
            project: project_name(context)?,
            root: context.project.root.display().to_string(),
            milestone: milestone(context, all_phases.as_ref())?,
            position: state.is_some().then(|| CurrentPosition::new(&snapshot)),
            phases: PhaseCounts::default(),
            run: None,
            running: rows.into_iter().filter(is_running).collect(),
            in_run: Vec::new(),
            ready: Vec::new(),
            blocked: Vec::new(),
            blockers: snapshot.blockers,
            problems: Vec::new(),
            pending_fast_forward: None,
            next: Vec::new(),
        };
        let newest = Run::newest(context)
            .and_then(|run| run.iter().try_for_each(|run| overview.add_newest_run(run)));
        overview.problems.extend(newest.err().map(|failure| failure.message));
        match &all_phases {
            Some(all_phases) => overview.add_phases(context, all_phases),
            None => overview.problems.push("ROADMAP.md is missing".to_owned()),
        }
        if state.is_none() {
            overview.problems.push("STATE.md is missing".to_owned());
        }
        overview.next = advice::inside_project(&overview, all_phases.as_ref());
        Ok(overview)
    }

    fn add_newest_run(&mut self, run: &Run) -> Result<(), Failure> {
        if !is_over(&run.lead) {
            self.add_run(run);
        } else if let Some(command) = run.pending_fast_forward()? {
            let (target, name) = (&run.lead.target.branch, run.dir.run());
            self.problems.push(format!("the work of run {name} is not in `{target}` yet"));
            self.pending_fast_forward = Some(command);
        }
        Ok(())
    }

    fn add_run(&mut self, run: &Run) {
        self.run = Some(RunSummary::new(run));
        let is_shown = |phase: &&PhaseState| !self.running.iter().any(|row| is_row_of(row, phase));
        let in_run = run.lead.phases.values().filter(is_shown).filter_map(|phase| {
            let (number, name) = (phase.spec.number.to_string(), phase.spec.name.clone());
            Some(RunPhase { number, name, state: state_in_run(phase.status)? })
        });
        self.in_run = in_run.collect();
    }

    fn add_phases(&mut self, context: &Context, all_phases: &ProjectPhases) {
        let scheduled = all_phases.scheduled();
        let graph = all_phases.graph(&context.project.planning, &scheduled);
        let written = |index: &usize| scheduled[*index].entry.phase.written.clone();
        let running: Vec<_> = self.running.iter().map(|row| row.phase.clone()).collect();
        let in_run: Vec<_> = self.in_run.iter().map(|line| line.number.clone()).collect();
        // Backlog phases wait for a person, not for other phases, so they are not ready.
        let is_open = |index: &usize| {
            let number = &scheduled[*index].entry.phase.number;
            !running.contains(&written(index))
                && !in_run.contains(&number.to_string())
                && !number.is_backlog()
        };
        let ready = graph.ready().into_iter().filter(is_open);
        self.ready = ready.map(|index| OverviewPhase::new(scheduled[index], Vec::new())).collect();
        self.blocked = graph
            .blocked()
            .into_iter()
            .map(|(index, on)| {
                OverviewPhase::new(scheduled[index], on.iter().map(written).collect())
            })
            .collect();
        self.phases = PhaseCounts {
            total: all_phases.phases.len(),
            done: all_phases.phases.iter().filter(|phase| phase.is_done()).count(),
            ready: self.ready.len(),
            blocked: self.blocked.len(),
            running: self.running.len(),
        };
        if let Err(cyclic) = graph.waves() {
            self.problems.push(cyclic.to_string());
        }
        let contradictory =
            all_phases.phases.iter().filter(|phase| !phase.entry.phase.completion.certain);
        match contradictory.count() {
            0 => {}
            count => self.problems.push(format!(
                "the roadmap marks {} as both done and not done; see `mow doctor`",
                counted(count, "phase")
            )),
        }
    }
}

impl CurrentPosition {
    fn new(snapshot: &Snapshot) -> Self {
        let date = snapshot.last_activity.clone();
        let description = snapshot.last_activity_desc.clone();
        let number = snapshot.current_phase.as_deref().and_then(PhaseNumber::parse);
        // Some projects count the phases of the milestone but number phases over all milestones.
        // "Phase 41 of 14" would be confusing, so such a total is left out.
        let is_plausible =
            |total: &i64| number.is_none_or(|number| i64::from(number.major()) <= *total);
        Self {
            phase: snapshot.current_phase.clone(),
            phase_name: snapshot.current_phase_name.clone(),
            total_phases: snapshot.total_phases.filter(is_plausible),
            plan: snapshot.current_plan.clone(),
            total_plans: snapshot.total_plans_in_phase,
            status: snapshot.status.clone(),
            last_activity: match (date, description) {
                (Some(date), Some(description)) => Some(format!("{date}: {description}")),
                (date, description) => date.or(description),
            },
        }
    }
}

/// Returns the state of a phase in the run; `None` if the run has not begun it or is done with it.
fn state_in_run(status: Status) -> Option<&'static str> {
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

fn is_row_of(row: &ActivePhase, phase: &PhaseState) -> bool {
    PhaseNumber::parse(row.phase.trim()) == Some(phase.spec.number)
}

fn is_running(row: &ActivePhase) -> bool {
    let status = row.status.trim().to_lowercase();
    ["executing", "in progress", "running"].iter().any(|word| status.starts_with(word))
}

/// Returns the title of PROJECT.md, else the name of the directory.
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

/// Returns the current milestone as `v1.2 Name`; `None` if the roadmap has no milestones.
fn milestone(
    context: &Context,
    all_phases: Option<&ProjectPhases>,
) -> Result<Option<String>, Failure> {
    let Some(bytes) = context.load("ROADMAP.md")? else { return Ok(None) };
    let CurrentMilestone { version, name } = current_milestone(&bytes);
    let is_named = name != "milestone";
    let is_versioned = all_phases.is_some_and(|all_phases| !all_phases.milestones.is_empty());
    Ok(match (is_named, is_versioned) {
        (true, _) => Some(format!("{version} {name}")),
        (false, true) => Some(version),
        (false, false) => None,
    })
}

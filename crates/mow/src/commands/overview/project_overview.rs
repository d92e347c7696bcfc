//! Collects the state of a project from the roadmap, the phase directories, STATE.md and the last
//! run.

use std::collections::BTreeSet;

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::view::{PhaseView, RunView};
use mow_store::project_phases::{self, ProjectPhase, ProjectPhases};
use mow_store::roadmap::milestone::{CurrentMilestone, current_milestone};
use mow_store::state::active_phases::{self, ActivePhase};
use mow_store::state::snapshot::{self, Snapshot};

use super::advice;
use crate::commands::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::runs::Run;
use crate::wire::VERSION;
use crate::wire::overview::{
    ActivePhaseJson, OverviewJson, PhaseCountsJson, PositionJson, RoadmapPhaseJson, RunPhaseJson,
    StepJson, UnfinishedRunJson,
};

/// Everything that `mow` without a command shows.
#[derive(Debug)]
pub(super) struct ProjectOverview {
    pub(super) project: String,
    root: String,
    pub(super) milestone: Option<String>,
    pub(super) position: Option<PositionJson>,
    pub(super) phases: PhaseCountsJson,
    /// The newest run, unless it is finished.
    pub(super) run: Option<RunView>,
    pub(super) running: Vec<ActivePhase>,
    /// Phases of the run that are not in `running`, such as paused or failed ones.
    pub(super) in_run: Vec<RunPhaseJson>,
    pub(super) ready: Vec<RoadmapPhaseJson>,
    pub(super) blocked: Vec<RoadmapPhaseJson>,
    pub(super) blockers: Vec<String>,
    pub(super) problems: Vec<String>,
    /// The command that fast-forwards the user's branch to the work of the last run.
    pub(super) pending_fast_forward: Option<String>,
    pub(super) next: Vec<StepJson>,
}

fn overview_phase(project_phase: &ProjectPhase, waiting_on: Vec<String>) -> RoadmapPhaseJson {
    let phase = &project_phase.entry.phase;
    RoadmapPhaseJson { number: phase.written.clone(), name: phase.name.clone(), waiting_on }
}

impl ProjectOverview {
    pub(super) fn load(context: &Context) -> Result<Self, Failure> {
        let planning = &context.project.planning;
        let all_phases = project_phases::load(planning)?;
        let state = context.load("STATE.md")?;
        let snapshot = state.as_deref().map(snapshot::parse).unwrap_or_default();
        let rows = state.as_deref().and_then(active_phases::parse).unwrap_or_default();
        let mut overview = Self {
            project: project_name(context)?,
            root: context.project.root.display().to_string(),
            milestone: milestone(context, all_phases.as_ref())?,
            position: state.is_some().then(|| position(&snapshot)),
            phases: PhaseCountsJson::default(),
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

    /// Returns the JSON output.
    pub(super) fn to_json(&self) -> OverviewJson {
        OverviewJson {
            v: VERSION,
            planned: true,
            project: self.project.clone(),
            root: self.root.clone(),
            milestone: self.milestone.clone(),
            position: self.position.clone(),
            phases: self.phases,
            run: self.run.as_ref().map(UnfinishedRunJson::of),
            running: self.running.iter().map(ActivePhaseJson::from).collect(),
            held: self.in_run.clone(),
            ready: self.ready.clone(),
            blocked: self.blocked.clone(),
            blockers: self.blockers.clone(),
            problems: self.problems.clone(),
            to_finish: self.pending_fast_forward.clone(),
            next: self.next.clone(),
        }
    }

    fn add_newest_run(&mut self, run: &Run) -> Result<(), Failure> {
        let view = run.view();
        if !view.is_over {
            self.add_run(view);
        } else if let Some(command) = run.pending_fast_forward()? {
            let (target, name) = (&view.target, &view.run);
            self.problems.push(format!("the work of run {name} is not in `{target}` yet"));
            self.pending_fast_forward = Some(command);
        }
        Ok(())
    }

    fn add_run(&mut self, run: RunView) {
        let rows = self.running.iter().filter_map(|row| PhaseNumber::parse(row.phase.trim()));
        let running: BTreeSet<_> = rows.collect();
        // The run has not begun a waiting phase, and is done with a merged or cancelled one.
        let is_shown = |phase: &&PhaseView| {
            !running.contains(&phase.number)
                && !matches!(phase.status, Status::Waiting | Status::Merged | Status::Cancelled)
        };
        let in_run = run.phases.iter().filter(is_shown).map(|phase| RunPhaseJson {
            number: phase.number.to_string(),
            name: phase.name.clone(),
            how: phase.phrase(),
        });
        self.in_run = in_run.collect();
        self.run = Some(run);
    }

    fn add_phases(&mut self, context: &Context, all_phases: &ProjectPhases) {
        let scheduled = all_phases.scheduled();
        let graph = all_phases.graph(&context.project.planning, &scheduled);
        let written = |index: &usize| scheduled[*index].entry.phase.written.clone();
        let running: Vec<_> = self.running.iter().map(|row| row.phase.clone()).collect();
        let in_run: Vec<_> = self.in_run.iter().map(|line| line.number.clone()).collect();
        let problems = all_phases.dependency_problems(
            &context.project.planning,
            scheduled.iter().copied().filter(|p| !p.is_done() && p.withdrawal().is_none()),
            &BTreeSet::new(),
        );
        let held: BTreeSet<_> = problems.iter().map(|problem| problem.phase).collect();
        self.problems.extend(problems.iter().map(ToString::to_string));
        // Backlog phases wait for a person, not for other phases, so they are not ready.
        let is_open = |index: &usize| {
            let number = &scheduled[*index].entry.phase.number;
            !running.contains(&written(index))
                && !in_run.contains(&number.to_string())
                && !number.is_backlog()
                && scheduled[*index].withdrawal().is_none()
                && !held.contains(number)
        };
        let ready = graph.ready().into_iter().filter(is_open);
        self.ready = ready.map(|index| overview_phase(scheduled[index], Vec::new())).collect();
        self.blocked = graph
            .blocked()
            .into_iter()
            .filter(|(index, _)| scheduled[*index].withdrawal().is_none())
            .map(|(index, on)| overview_phase(scheduled[index], on.iter().map(written).collect()))
            .collect();
        self.phases = PhaseCountsJson {
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

/// Returns the current phase and plan, according to STATE.md.
fn position(snapshot: &Snapshot) -> PositionJson {
    let date = snapshot.last_activity.clone();
    let description = snapshot.last_activity_desc.clone();
    let number = snapshot.current_phase.as_deref().and_then(PhaseNumber::parse);
    // Some projects count the phases of the milestone but number phases over all milestones.
    // "Phase 41 of 14" would be confusing, so such a total is left out.
    let is_plausible =
        |total: &i64| number.is_none_or(|number| i64::from(number.major()) <= *total);
    PositionJson {
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

//! Which phases a run may start: not those that are withdrawn, not those of other milestones, and
//! not those with a dependency that cannot be satisfied.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{Lead, PhaseSpec, Status};
use mow_core::phase::PhaseNumber;
use mow_store::disk;
use mow_store::project::Project;
use mow_store::project_phases::{DependencyCause, DependencyProblem, ProjectPhase, ProjectPhases};
use mow_store::roadmap::milestone::{MilestoneScope, milestone_scope};
use mow_store::roadmap::{Withdrawal, WithdrawalKind};

use super::phase_selection::PhaseChoice;
use crate::EngineError;

/// The phases of a run, and what to tell the user about the choice.
#[derive(Clone, Debug, Default)]
pub struct PhaseSelection {
    /// The phases to run, without those that are done.
    pub phases: Vec<PhaseSpec>,
    /// Whether phases that are added to the roadmap later join the run.
    pub all: bool,
    /// Selected phases that depend on phases which are neither done nor selected.
    pub unmet: Vec<(PhaseNumber, Vec<PhaseNumber>)>,
    /// Wanted phases that are done already.
    pub done: Vec<PhaseNumber>,
    /// The milestones whose phases were selected; empty if milestones do not matter.
    pub milestone: Vec<String>,
    /// Open phases of other milestones, by milestone.
    pub elsewhere: Vec<(String, Vec<PhaseNumber>)>,
    /// Phases that are withdrawn, if all phases were wanted.
    pub withdrawn: Vec<(PhaseNumber, Withdrawal)>,
    /// Dependencies of selected phases that cannot be satisfied.
    pub problems: Vec<DependencyProblem>,
    /// Whether the person wants the selected phases to start without their dependencies.
    pub forced: bool,
}

impl PhaseSelection {
    /// Lets the selected phases start without the dependencies that cannot be satisfied.
    pub fn force(&mut self) {
        self.forced = true;
        self.hold();
    }

    /// Counts phases as done although the roadmap does not say so.
    pub(super) fn count_as_done(&mut self, done: &BTreeSet<PhaseNumber>) {
        let phases = std::mem::take(&mut self.phases);
        let (out, open): (Vec<_>, Vec<_>) =
            phases.into_iter().partition(|spec| done.contains(&spec.number));
        self.phases = open;
        self.done.extend(out.iter().map(|spec| spec.number));
        for spec in &mut self.phases {
            spec.depends_on.retain(|number| !done.contains(number));
        }
        for (_, unmet) in &mut self.unmet {
            unmet.retain(|number| !done.contains(number));
        }
        let is_open = |number: &PhaseNumber| !done.contains(number);
        self.unmet.retain(|(phase, unmet)| is_open(phase) && !unmet.is_empty());
        self.problems.retain(|problem| {
            is_open(&problem.phase) && problem.cause.phase().is_none_or(|other| is_open(&other))
        });
        self.hold();
    }

    /// Counts the phases as done that the unfinished run has merged.
    pub fn count_merged(&mut self, lead: &Lead) {
        let merged = lead.phases.values().filter(|state| state.status == Status::Merged);
        self.count_as_done(&merged.map(|state| state.spec.number).collect());
    }

    /// Returns the unfinished phases of a run that the person did not name. They stay as they are.
    pub fn left_out(&self, lead: &Lead) -> Vec<PhaseNumber> {
        let selected: BTreeSet<_> = self.phases.iter().map(|spec| spec.number).collect();
        let elsewhere = self.elsewhere.iter().flat_map(|(_, phases)| phases).copied();
        let withdrawn = self.withdrawn.iter().map(|(phase, _)| *phase);
        let excluded: BTreeSet<_> = elsewhere.chain(withdrawn).collect();
        let unfinished = lead.phases.values().filter(|state| !state.status.is_over());
        let numbers = unfinished.map(|state| state.spec.number);
        numbers
            .filter(|number| !selected.contains(number) && (!self.all || excluded.contains(number)))
            .collect()
    }

    /// Marks the phases that must not start.
    pub(super) fn hold(&mut self) {
        for spec in &mut self.phases {
            let problem = self.problems.iter().find(|problem| problem.phase == spec.number);
            spec.held = problem.filter(|_| !self.forced).map(ToString::to_string);
        }
    }
}

/// Returns whether a phase may run at all: not done, not withdrawn, not in the backlog.
pub(super) fn is_open(phase: &ProjectPhase) -> bool {
    !phase.is_done() && phase.withdrawal().is_none() && !phase.entry.phase.number.is_backlog()
}

/// Returns the withdrawn phases.
pub(super) fn withdrawn(survey: &ProjectPhases) -> Vec<(PhaseNumber, Withdrawal)> {
    let all = survey.phases.iter();
    all.filter_map(|phase| Some((phase.entry.phase.number, phase.withdrawal()?.clone()))).collect()
}

/// Returns the problems of a phase that depends on open phases outside of the run.
pub(super) fn not_in_run<'a>(
    phase: &'a ProjectPhase,
    outside: &'a [PhaseNumber],
) -> impl Iterator<Item = DependencyProblem> + 'a {
    let entry = &phase.entry;
    outside.iter().map(|other| DependencyProblem {
        phase: entry.phase.number,
        line: entry.depends_line.unwrap_or(entry.phase.line),
        cause: DependencyCause::NotInRun(*other),
    })
}

/// The milestones of a choice, and the open phases of other milestones.
type ChosenMilestones = (Vec<String>, Vec<(String, Vec<PhaseNumber>)>);

/// Returns the milestones of a choice, and the open phases of other milestones.
pub(super) fn of_choice(
    project: &Project,
    survey: &ProjectPhases,
    choice: &PhaseChoice,
) -> Result<ChosenMilestones, EngineError> {
    let scope = load_scope(project);
    let open: Vec<_> = survey.phases.iter().filter(|phase| is_open(phase)).collect();
    let keys: Vec<_> = open.iter().map(|phase| key(phase)).collect();
    let milestone = match choice {
        PhaseChoice::Named(_) => Vec::new(),
        PhaseChoice::All | PhaseChoice::AllReady => scope.current(&keys),
        PhaseChoice::Milestone(wanted) => vec![find_milestone(&scope, wanted)?],
    };
    let mut elsewhere: Vec<(String, Vec<PhaseNumber>)> = Vec::new();
    // Phases without a milestone run with the current one, but not with one that was named.
    let is_named = matches!(choice, PhaseChoice::Milestone(_));
    for (number, block) in keys {
        let home = scope.of_phase(number, block).or(is_named.then_some("no milestone"));
        let Some(home) = home.filter(|home| !milestone.iter().any(|own| own == home)) else {
            continue;
        };
        if milestone.is_empty() {
            continue;
        }
        match elsewhere.iter_mut().find(|(other, _)| other == home) {
            Some((_, phases)) => phases.push(number),
            None => elsewhere.push((home.to_owned(), vec![number])),
        }
    }
    Ok((milestone, elsewhere))
}

fn key(phase: &ProjectPhase) -> (PhaseNumber, usize) {
    (phase.entry.phase.number, phase.entry.phase.block)
}

fn load_scope(project: &Project) -> MilestoneScope {
    let bytes = disk::read(&project.planning.join("ROADMAP.md")).ok().flatten();
    milestone_scope(&bytes.unwrap_or_default())
}

fn find_milestone(scope: &MilestoneScope, wanted: &str) -> Result<String, EngineError> {
    if let Some(found) = scope.find(wanted) {
        return Ok(found.key.clone());
    }
    let known: Vec<_> = scope.milestones.iter().map(|own| own.key.as_str()).collect();
    let wanted = wanted.escape_debug();
    let message = format!("the roadmap has no milestone `{wanted}`");
    Err(EngineError::refused(
        message,
        match known.is_empty() {
            true => {
                "the roadmap names no milestones; `mow run --all` runs all its phases".to_owned()
            }
            false => format!("its milestones are {}", known.join(", ")),
        },
    ))
}

/// Returns the open phases of some milestones; all open phases if there are no milestones.
pub(super) fn open_in_milestones(
    project: &Project,
    survey: &ProjectPhases,
    milestones: &[String],
) -> BTreeSet<PhaseNumber> {
    let scope = load_scope(project);
    let is_meant = |phase: &&ProjectPhase| {
        let (number, block) = key(phase);
        let home = scope.of_phase(number, block);
        milestones.is_empty() || home.is_none_or(|home| milestones.iter().any(|own| own == home))
    };
    let open = survey.phases.iter().filter(|phase| is_open(phase)).filter(is_meant);
    open.map(|phase| phase.entry.phase.number).collect()
}

/// Checks that the named phases exist and may run; splits them into open and done ones.
pub(super) fn split_named(
    survey: &ProjectPhases,
    open: &BTreeSet<PhaseNumber>,
    named: &[PhaseNumber],
) -> Result<(BTreeSet<PhaseNumber>, Vec<PhaseNumber>), EngineError> {
    for number in named.iter().filter(|number| !open.contains(number)) {
        let Some(phase) = survey.by_number(number) else {
            let message = format!("the roadmap has no phase {number}");
            return Err(EngineError::refused(message, "mow roadmap graph"));
        };
        if let Some(withdrawal) = phase.withdrawal() {
            return Err(refuse_withdrawn(*number, withdrawal));
        }
        if !phase.is_done() {
            let line = phase.entry.phase.line;
            return Err(EngineError::refused(
                format!("ROADMAP.md:{line}: phase {number} is in the backlog"),
                "give the phase a number below 999 to run it",
            ));
        }
    }
    let (open, done): (Vec<_>, Vec<_>) = named.iter().partition(|number| open.contains(number));
    Ok((open.into_iter().collect(), done))
}

fn refuse_withdrawn(number: PhaseNumber, withdrawal: &Withdrawal) -> EngineError {
    let Withdrawal { kind, line, text } = withdrawal;
    let text: String = text.chars().take(100).collect();
    let (problem, hint) = match kind {
        WithdrawalKind::Marked => (
            format!("phase {number} is withdrawn and does not run"),
            format!("to run it, remove the mark from line {line} of ROADMAP.md"),
        ),
        WithdrawalKind::Shipped => (
            format!("phase {number} belongs to a milestone that has shipped"),
            "to run it, move the phase to a milestone that is open".to_owned(),
        ),
    };
    EngineError::refused(format!("ROADMAP.md:{line}: {problem}: `{text}`"), hint)
}

/// Returns why phases of a run must not start, as the roadmap is now.
pub(super) fn held(
    project: &Project,
    lead: &Lead,
    selection: &PhaseSelection,
    (survey, wanted): (&ProjectPhases, &BTreeSet<PhaseNumber>),
) -> BTreeMap<PhaseNumber, String> {
    let merged = lead.phases.values().filter(|state| state.status == Status::Merged);
    let mut done: BTreeSet<_> = merged.map(|state| state.spec.number).collect();
    done.extend(&selection.done);
    let is_forced = |number: &PhaseNumber| {
        selection.forced && selection.phases.iter().any(|spec| spec.number == *number)
    };
    let phases = wanted.iter().filter(|number| !is_forced(number));
    let phases: Vec<_> = phases.filter_map(|number| survey.by_number(number)).collect();
    let mut problems = survey.dependency_problems(&project.planning, phases.iter().copied(), &done);
    let open: BTreeSet<_> = survey
        .phases
        .iter()
        .filter(|phase| is_open(phase))
        .map(|phase| phase.entry.phase.number)
        .collect();
    for phase in phases {
        let depends_on = phase.entry.phase.depends_on.iter();
        let is_outside = |number: &&PhaseNumber| {
            open.contains(number) && !wanted.contains(number) && !done.contains(number)
        };
        let outside: Vec<_> = depends_on.filter(is_outside).copied().collect();
        problems.extend(not_in_run(phase, &outside));
    }
    let mut held = BTreeMap::new();
    for problem in problems {
        held.entry(problem.phase).or_insert_with(|| problem.to_string());
    }
    held
}

//! Selects the phases of a run from the roadmap, and rereads the roadmap while the run goes on.
//!
//! A phase that has started keeps the specification it started with; only waiting phases change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::file_scope;
use mow_core::lead::{Lead, PhaseSpec, PhaseState, RunScope, Status};
use mow_core::phase::PhaseNumber;
use mow_core::stage::{Lookahead, Stage};
use mow_core::worker::Role;
use mow_host::git::Git;
use mow_store::config::Config;
use mow_store::phase_dirs::{PhaseDir, PhaseDirs, PhaseFileKind};
use mow_store::project::Project;
use mow_store::project_phases::{self, ProjectPhase, ProjectPhases};
use mow_store::roadmap::{self, PhaseLookup};
use mow_store::{disk, plan};

use super::phase_scope;
use crate::EngineError;
use crate::agent_config;

pub use super::phase_scope::PhaseSelection;

/// How old a file must be before its timestamps prove that it is unchanged.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Which phases the user wants to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseChoice {
    /// All phases of the current milestone that are not done.
    All,
    /// All phases of a milestone that are not done.
    Milestone(String),
    /// The phases of the current milestone that could start now.
    AllReady,
    /// The phases with these numbers.
    Named(Vec<PhaseNumber>),
}

/// Selects phases of a project.
///
/// Fails on duplicate numbers, on dependency cycles, and if a named phase is withdrawn.
pub fn select_phases(
    project: &Project,
    choice: &PhaseChoice,
) -> Result<PhaseSelection, EngineError> {
    let survey = project_phases::load(&project.planning)?
        .ok_or_else(|| EngineError::refused("this project has no ROADMAP.md", "mow init"))?;
    let mut plans = PlanFileCache::default();
    let mut facts = PlanningFacts::load(project, &mut plans)?;
    let (milestone, elsewhere) = phase_scope::of_choice(project, &survey, choice)?;
    let open: Vec<_> = survey.phases.iter().filter(|phase| phase_scope::is_open(phase)).collect();
    refuse_duplicate_numbers(&open)?;
    let numbers: BTreeSet<_> = open.iter().map(|phase| number_of(phase)).collect();
    let others: BTreeSet<_> = elsewhere.iter().flat_map(|(_, phases)| phases).copied().collect();
    let done = BTreeSet::new();
    let (wanted, named_done) = match choice {
        PhaseChoice::All | PhaseChoice::Milestone(_) => (&numbers - &others, Vec::new()),
        PhaseChoice::AllReady => {
            let own = open.iter().filter(|phase| !others.contains(&number_of(phase)));
            let may_start = |phase: &&&ProjectPhase| {
                open_dependencies(phase, &numbers).is_empty()
                    && survey.dependency_problems(&project.planning, [**phase], &done).is_empty()
            };
            (own.filter(may_start).map(|phase| number_of(phase)).collect(), Vec::new())
        }
        PhaseChoice::Named(named) => phase_scope::split_named(&survey, &numbers, named)?,
    };
    refuse_cycles(project, &survey, &wanted)?;
    let all = matches!(choice, PhaseChoice::All | PhaseChoice::Milestone(_));
    let chosen: Vec<_> =
        open.into_iter().filter(|phase| wanted.contains(&number_of(phase))).collect();
    let mut problems = survey.dependency_problems(&project.planning, chosen.iter().copied(), &done);
    let outside = chosen.iter().map(|phase| {
        let open = open_dependencies(phase, &numbers).into_iter();
        (*phase, open.filter(|n| !wanted.contains(n)).collect::<Vec<_>>())
    });
    let outside: Vec<_> = outside.filter(|(_, numbers)| !numbers.is_empty()).collect();
    let mut unmet = Vec::new();
    for (phase, outside) in outside {
        match all {
            true => problems.extend(phase_scope::not_in_run(phase, &outside)),
            false => unmet.push((number_of(phase), outside)),
        }
    }
    let phases = chosen.iter().map(|phase| facts.spec(phase, &wanted)).collect();
    let mut selection = PhaseSelection {
        unmet,
        phases,
        all,
        done: named_done,
        milestone,
        withdrawn: if all { phase_scope::withdrawn(&survey) } else { Vec::new() },
        elsewhere,
        problems,
        forced: false,
    };
    selection.hold();
    Ok(selection)
}

fn number_of(phase: &ProjectPhase) -> PhaseNumber {
    phase.entry.phase.number
}

fn open_dependencies(phase: &ProjectPhase, open: &BTreeSet<PhaseNumber>) -> Vec<PhaseNumber> {
    phase.entry.phase.depends_on.iter().filter(|number| open.contains(number)).copied().collect()
}

/// A cache of the files that plans change, by the path and the file stamp of the plan.
///
/// The roadmap is reread whenever the run writes it, and a run may have hundreds of plans.
#[derive(Debug, Default)]
pub(super) struct PlanFileCache(BTreeMap<PathBuf, (Stamp, Vec<String>)>);

/// Inode, length, mtime and ctime of a file.
type Stamp = (u64, u64, [i64; 4]);

impl PlanFileCache {
    /// Returns the files that a plan says it changes.
    fn files_of(&mut self, path: &Path) -> Vec<String> {
        let stamp = fs::metadata(path).ok().filter(is_settled).map(|metadata| stamp(&metadata));
        if let Some((at, files)) = self.0.get(path)
            && Some(at) == stamp.as_ref()
        {
            return files.clone();
        }
        // A plan that cannot be read is reported when it is executed.
        let bytes = disk::read(path).ok().flatten().unwrap_or_default();
        let files = plan::parse(&bytes).files_modified;
        match stamp {
            Some(stamp) => drop(self.0.insert(path.to_path_buf(), (stamp, files.clone()))),
            None => drop(self.0.remove(path)),
        }
        files
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    (metadata.ino(), metadata.len(), times)
}

/// Returns whether a later change would change the stamp: with a coarse clock, a file can change
/// twice at the same mtime.
fn is_settled(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > SETTLED_AFTER)
}

/// What the planning files in the main root say metadata phases, apart from the roadmap.
struct PlanningFacts<'a> {
    planning: PathBuf,
    config: Config,
    dirs: PhaseDirs,
    plans: &'a mut PlanFileCache,
}

impl<'a> PlanningFacts<'a> {
    fn load(project: &Project, plans: &'a mut PlanFileCache) -> Result<Self, EngineError> {
        let planning = project.planning.clone();
        let (config, dirs) = (crate::run_context::config(project)?, PhaseDirs::load(&planning));
        Ok(Self { planning, config, dirs, plans })
    }

    fn spec(&mut self, phase: &ProjectPhase, wanted: &BTreeSet<PhaseNumber>) -> PhaseSpec {
        let number = phase.entry.phase.number;
        let depends_on = open_dependencies(phase, wanted);
        let dir = self.dirs.find(&number);
        let dir = dir.map(AsRef::as_ref);
        let touches = dir.and_then(|dir| touched_files(dir, self.plans));
        PhaseSpec {
            number,
            name: phase.entry.phase.name.clone(),
            touches,
            // A phase that can start needs no look-ahead.
            ahead: if depends_on.is_empty() { Vec::new() } else { self.ahead(&number, dir) },
            depends_on,
            done: false,
            held: None,
        }
    }

    /// Returns the stages before execute that a look-ahead can do: a role is configured, and the
    /// documents are missing.
    fn ahead(&self, number: &PhaseNumber, dir: Option<&PhaseDir>) -> Vec<Stage> {
        if super::lookahead(&self.config) == Lookahead::Off {
            return Vec::new();
        }
        let has = |kind| dir.is_some_and(|dir| dir.count(kind) > 0);
        let is_played = |role: Role| {
            let command = self.config.value(&format!("roles.{}.command", role.name()));
            let is_set = |command: &str| !command.trim().is_empty();
            command.and_then(|c| c.as_str()).is_some_and(is_set)
                || agent_config::agent_for_role(&self.config, role.name()).is_some()
        };
        let mut stages = Vec::new();
        if !has(PhaseFileKind::Context) && self.asks(number) {
            stages.push(Stage::Discuss);
        }
        let researches = self.config.settings().research && is_played(Role::Researcher);
        if researches && !has(PhaseFileKind::Research) {
            stages.push(Stage::Research);
        }
        if is_played(Role::Planner) && !has(PhaseFileKind::Plan) {
            stages.push(Stage::Plan);
        }
        stages
    }

    /// Returns whether the discuss stage of a phase asks a person.
    fn asks(&self, number: &PhaseNumber) -> bool {
        let bytes = disk::read(&self.planning.join("ROADMAP.md")).ok().flatten();
        match roadmap::describe_phase(&bytes.unwrap_or_default(), number) {
            PhaseLookup::Found(details) => !crate::worker::skips_discuss(&details.section),
            _ => true,
        }
    }
}

/// Returns the files that the plans of a phase change; `None` if it has no plans.
fn touched_files(dir: &PhaseDir, cache: &mut PlanFileCache) -> Option<Vec<String>> {
    let plans = dir.files_of(PhaseFileKind::Plan).map(|file| cache.files_of(&dir.path.join(file)));
    let files: Vec<_> = plans.flatten().collect();
    (dir.count(PhaseFileKind::Plan) > 0).then(|| file_scope::normalized(&files))
}

fn refuse_duplicate_numbers(open: &[&ProjectPhase]) -> Result<(), EngineError> {
    let mut seen = BTreeSet::new();
    for phase in open {
        let (number, line) = (phase.entry.phase.number, phase.entry.phase.line);
        if !seen.insert(number) {
            return Err(EngineError::refused(
                format!("ROADMAP.md:{line}: two unfinished phases have the number {number}"),
                "mow roadmap phases",
            ));
        }
    }
    Ok(())
}

/// Fails if a wanted phase can never start because of a dependency cycle.
fn refuse_cycles(
    project: &Project,
    survey: &ProjectPhases,
    wanted: &BTreeSet<PhaseNumber>,
) -> Result<(), EngineError> {
    let scheduled = survey.scheduled();
    let graph = survey.graph(&project.planning, &scheduled);
    let Err(cyclic) = graph.waves() else { return Ok(()) };
    let is_wanted = |index: &usize| wanted.contains(&number_of(scheduled[*index]));
    if !cyclic.stuck.iter().any(is_wanted) {
        return Ok(());
    }
    Err(EngineError::refused(cyclic.to_string(), "mow roadmap analyze-dag"))
}

/// Removes phases that are done on the target branch, if another branch is checked out in the main
/// root, whose roadmap does not show that.
pub fn exclude_done_phases(
    project: &Project,
    into: Option<&str>,
    mut selection: PhaseSelection,
) -> Result<PhaseSelection, EngineError> {
    let project = project.in_main_worktree()?;
    let top = project.top();
    let git = Git::new(top);
    let (branch, tip) = super::resolve_target(&project, &git, into)?;
    if git.current_branch()?.as_deref() == Some(branch.as_str()) {
        return Ok(selection);
    }
    let below = project.root.strip_prefix(top).unwrap_or(Path::new(""));
    let roadmap = git.file_in(&tip, &below.join(".planning/ROADMAP.md"))?.unwrap_or_default();
    let entries = roadmap::parse(&roadmap).entries;
    let done = entries.iter().filter(|entry| entry.phase.completion.done);
    let done: BTreeSet<_> = done.map(|entry| entry.phase.number).collect();
    selection.count_as_done(&done);
    Ok(selection)
}

/// Rereads the roadmap for a run in progress.
///
/// A started phase keeps its specification; only waiting phases change. Fails with the reason if
/// the roadmap cannot be used.
pub(super) fn reread(
    project: &Project,
    lead: &Lead,
    selection: &PhaseSelection,
    plans: &mut PlanFileCache,
) -> Result<(RunScope, Vec<PhaseSpec>), String> {
    let survey = project_phases::load(&project.planning).map_err(|error| error.to_string())?;
    let survey = survey.ok_or("it is not there")?;
    let mut facts = PlanningFacts::load(project, plans).map_err(|error| error.sentence())?;
    let scope =
        if selection.all || lead.scope == RunScope::All { RunScope::All } else { RunScope::Named };
    let mut wanted: BTreeSet<_> = lead.phases.keys().copied().collect();
    let selected: BTreeSet<_> = selection.phases.iter().map(|spec| spec.number).collect();
    wanted.extend(&selected);
    if selection.all {
        let open = phase_scope::open_in_milestones(project, &survey, &selection.milestone);
        wanted.extend(open.difference(&selection.done.iter().copied().collect()));
    }
    let startable: BTreeSet<_> = selected.iter().chain(&wanted).copied().collect();
    refuse_cycles(project, &survey, &startable).map_err(|error| error.sentence())?;
    let held = phase_scope::held(project, lead, selection, (&survey, &wanted));
    let mut specs = Vec::new();
    for number in &wanted {
        let state = lead.phases.get(number);
        let may_change = |state: &PhaseState| {
            state.started.is_none() || matches!(state.status, Status::Waiting | Status::Cancelled)
        };
        if let Some(state) = state.filter(|state| !may_change(state)) {
            specs.push(state.spec.clone());
            continue;
        }
        let phase = survey.by_number(number).filter(|phase| phase.withdrawal().is_none());
        if let Some(phase) = phase {
            // A forced phase does not wait for phases that were not selected.
            let is_forced = selection.forced && selected.contains(number);
            let spec = facts.spec(phase, if is_forced { &selected } else { &wanted });
            let held = held.get(number).cloned();
            specs.push(PhaseSpec { done: phase.is_done(), held, ..spec });
        }
    }
    Ok((scope, specs))
}

#[cfg(test)]
mod tests;

//! Which phases a run takes in, as the roadmap says at the moment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::lead::{Lead, PhaseSpec, Scope, Status, Track};
use mow_core::phase::PhaseNumber;
use mow_core::stage::{Lookahead, Stage};
use mow_core::touch;
use mow_core::worker::Role;
use mow_host::git::Git;
use mow_store::config::Config;
use mow_store::phase_dirs::{Artifact, PhaseDir, PhaseDirs};
use mow_store::project::Project;
use mow_store::roadmap::{self, Lookup};
use mow_store::survey::{self, Survey, Surveyed};
use mow_store::{disk, plan};

use crate::EngineError;
use crate::cast;

/// How old a file is that is known to be the same by its times.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Which phases are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All that are not done.
    All,
    /// Those that could start now.
    AllReady,
    /// These.
    Named(Vec<PhaseNumber>),
}

/// The phases of a run, and what is odd about the choice.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// The phases, those that are done left out.
    pub phases: Vec<PhaseSpec>,
    /// Whether later phases of the roadmap join in.
    pub all: bool,
    /// Chosen phases that depend on phases which are neither done nor chosen.
    pub unmet: Vec<(PhaseNumber, Vec<PhaseNumber>)>,
    /// Chosen phases that are done already.
    pub done: Vec<PhaseNumber>,
}

/// Chooses phases of a project.
pub fn choose(project: &Project, choice: &Choice) -> Result<Chosen, EngineError> {
    let survey = survey::load(&project.planning)?
        .ok_or_else(|| EngineError::refused("this project has no ROADMAP.md", "mow init"))?;
    let mut plans = KnownPlans::default();
    let mut facts = Facts::load(project, &mut plans)?;
    let open: Vec<_> = survey
        .phases
        .iter()
        .filter(|phase| !phase.is_done() && !phase.entry.phase.number.is_backlog())
        .collect();
    refuse_twins(&open)?;
    refuse_cycles(project, &survey)?;
    let numbers: BTreeSet<_> = open.iter().map(|phase| phase.entry.phase.number).collect();
    let (wanted, done) = match choice {
        Choice::All => (numbers.clone(), Vec::new()),
        Choice::AllReady => {
            let is_ready = |phase: &&&Surveyed| waits_for(phase, &numbers).is_empty();
            let ready = open.iter().filter(is_ready);
            (ready.map(|phase| phase.entry.phase.number).collect(), Vec::new())
        }
        Choice::Named(named) => pick(&survey, &numbers, named)?,
    };
    let chosen = open.into_iter().filter(|phase| wanted.contains(&phase.entry.phase.number));
    let chosen: Vec<_> = chosen.collect();
    let unmet = chosen.iter().filter_map(|phase| {
        let outside: Vec<_> =
            waits_for(phase, &numbers).into_iter().filter(|n| !wanted.contains(n)).collect();
        (!outside.is_empty()).then_some((phase.entry.phase.number, outside))
    });
    Ok(Chosen {
        unmet: unmet.collect(),
        phases: chosen.iter().map(|phase| facts.spec(phase, &wanted)).collect(),
        all: *choice == Choice::All,
        done,
    })
}

fn waits_for(phase: &Surveyed, open: &BTreeSet<PhaseNumber>) -> Vec<PhaseNumber> {
    phase.entry.phase.depends_on.iter().filter(|number| open.contains(number)).copied().collect()
}

/// The files that plans change, by plan, with what tells whether it is still the same plan.
///
/// The roadmap is read again whenever it was drawn, and a run may have hundreds of plans.
#[derive(Debug, Default)]
pub(super) struct KnownPlans(BTreeMap<PathBuf, (Stamp, Vec<String>)>);

/// Number, length and times of a file.
type Stamp = (u64, u64, [i64; 4]);

impl KnownPlans {
    /// Returns the files that a plan changes.
    fn files_of(&mut self, path: &Path) -> Vec<String> {
        let stamp = fs::metadata(path).ok().filter(is_settled).map(|about| stamp(&about));
        if let Some((at, files)) = self.0.get(path)
            && Some(at) == stamp.as_ref()
        {
            return files.clone();
        }
        // A plan that cannot be read is told about when its turn comes.
        let bytes = disk::read(path).ok().flatten().unwrap_or_default();
        let files = plan::parse(&bytes).files_modified;
        match stamp {
            Some(stamp) => drop(self.0.insert(path.to_path_buf(), (stamp, files.clone()))),
            None => drop(self.0.remove(path)),
        }
        files
    }
}

fn stamp(about: &Metadata) -> Stamp {
    let times = [about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec()];
    (about.ino(), about.len(), times)
}

/// Returns whether a change would show: a file can be changed twice at one time of a coarse clock.
fn is_settled(about: &Metadata) -> bool {
    let age = about.modified().ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > SETTLED_AFTER)
}

/// What the files in the root say about phases, beside the roadmap.
struct Facts<'a> {
    planning: PathBuf,
    config: Config,
    dirs: PhaseDirs,
    plans: &'a mut KnownPlans,
}

impl<'a> Facts<'a> {
    fn load(project: &Project, plans: &'a mut KnownPlans) -> Result<Self, EngineError> {
        let planning = project.planning.clone();
        let (config, dirs) = (crate::site::config(project)?, PhaseDirs::load(&planning));
        Ok(Self { planning, config, dirs, plans })
    }

    fn spec(&mut self, phase: &Surveyed, wanted: &BTreeSet<PhaseNumber>) -> PhaseSpec {
        let number = phase.entry.phase.number;
        let depends_on = waits_for(phase, wanted);
        let dir = self.dirs.find(&number);
        let dir = dir.map(AsRef::as_ref);
        let touches = dir.and_then(|dir| touches(dir, self.plans));
        PhaseSpec {
            number,
            name: phase.entry.phase.name.clone(),
            touches,
            // Nobody looks ahead at a phase that can begin.
            ahead: if depends_on.is_empty() { Vec::new() } else { self.ahead(&number, dir) },
            depends_on,
            done: false,
        }
    }

    /// Returns the stages before execute in which somebody has something to do.
    fn ahead(&self, number: &PhaseNumber, dir: Option<&PhaseDir>) -> Vec<Stage> {
        if super::lookahead(&self.config) == Lookahead::Off {
            return Vec::new();
        }
        let has = |kind| dir.is_some_and(|dir| dir.count(kind) > 0);
        let is_played = |role: Role| {
            let command = self.config.value(&format!("roles.{}.command", role.name()));
            let is_set = |command: &str| !command.trim().is_empty();
            command.and_then(|c| c.as_str()).is_some_and(is_set)
                || cast::cast(&self.config, role.name()).is_some()
        };
        let mut stages = Vec::new();
        if !has(Artifact::Context) && self.asks(number) {
            stages.push(Stage::Discuss);
        }
        let researches = self.config.settings().research && is_played(Role::Researcher);
        if researches && !has(Artifact::Research) {
            stages.push(Stage::Research);
        }
        if is_played(Role::Planner) && !has(Artifact::Plan) {
            stages.push(Stage::Plan);
        }
        stages
    }

    /// Returns whether a person is asked about a phase before it begins.
    fn asks(&self, number: &PhaseNumber) -> bool {
        let bytes = disk::read(&self.planning.join("ROADMAP.md")).ok().flatten();
        match roadmap::details(&bytes.unwrap_or_default(), number) {
            Lookup::Found(details) => !crate::worker::skips_discuss(&details.section),
            _ => true,
        }
    }
}

/// Returns the files that the plans of a phase change; `None` where it has no plans.
fn touches(dir: &PhaseDir, known: &mut KnownPlans) -> Option<Vec<String>> {
    let plans = dir.of(Artifact::Plan).map(|file| known.files_of(&dir.path.join(file)));
    let files: Vec<_> = plans.flatten().collect();
    (dir.count(Artifact::Plan) > 0).then(|| touch::normalized(&files))
}

/// Checks that phases that were named exist; returns the open ones and those that are done.
fn pick(
    survey: &Survey,
    open: &BTreeSet<PhaseNumber>,
    named: &[PhaseNumber],
) -> Result<(BTreeSet<PhaseNumber>, Vec<PhaseNumber>), EngineError> {
    if let Some(missing) = named.iter().find(|number| survey.by_number(number).is_none()) {
        return Err(EngineError::refused(
            format!("the roadmap has no phase {missing}"),
            "mow roadmap graph",
        ));
    }
    let (open, done): (Vec<_>, Vec<_>) = named.iter().partition(|number| open.contains(number));
    Ok((open.into_iter().collect(), done))
}

fn refuse_twins(open: &[&Surveyed]) -> Result<(), EngineError> {
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

fn refuse_cycles(project: &Project, survey: &Survey) -> Result<(), EngineError> {
    let scheduled = survey.scheduled();
    let graph = survey.graph(&project.planning, &scheduled);
    let Err(cyclic) = graph.waves() else { return Ok(()) };
    Err(EngineError::refused(cyclic.to_string(), "mow roadmap analyze-dag"))
}

/// Leaves out what is done on the branch that the work is for, where the main root is on another one
/// whose roadmap does not know it.
pub fn leave_out_done(
    project: &Project,
    into: Option<&str>,
    mut chosen: Chosen,
) -> Result<Chosen, EngineError> {
    let project = project.in_main_worktree()?;
    let top = project.top();
    let git = Git::new(top);
    let (branch, tip) = super::target(&project, &git, into)?;
    if git.current_branch()?.as_deref() == Some(branch.as_str()) {
        return Ok(chosen);
    }
    let below = project.root.strip_prefix(top).unwrap_or(Path::new(""));
    let there = git.file_in(&tip, &below.join(".planning/ROADMAP.md"))?.unwrap_or_default();
    let entries = roadmap::parse(&there).entries;
    let done = entries.iter().filter(|entry| entry.phase.completion.done);
    let done: BTreeSet<_> = done.map(|entry| entry.phase.number).collect();
    let (out, mut phases): (Vec<_>, Vec<_>) =
        chosen.phases.into_iter().partition(|spec| done.contains(&spec.number));
    for spec in &mut phases {
        spec.depends_on.retain(|number| !done.contains(number));
    }
    chosen.phases = phases;
    chosen.done.extend(out.iter().map(|spec| spec.number));
    Ok(chosen)
}

/// Reads the roadmap again for a run that is under way.
///
/// What a phase has begun with stays as it is; only phases that wait can change. Fails with the
/// reason when the roadmap cannot be used as it is.
pub(super) fn reread(
    project: &Project,
    lead: &Lead,
    chosen: &Chosen,
    plans: &mut KnownPlans,
) -> Result<(Scope, Vec<PhaseSpec>), String> {
    let survey = survey::load(&project.planning).map_err(|error| error.to_string())?;
    let survey = survey.ok_or("it is not there")?;
    let mut facts = Facts::load(project, plans).map_err(|error| error.sentence())?;
    refuse_cycles(project, &survey).map_err(|error| error.sentence())?;
    let scope = if chosen.all || lead.scope == Scope::All { Scope::All } else { Scope::Named };
    let mut wanted: BTreeSet<_> = lead.phases.keys().copied().collect();
    wanted.extend(chosen.phases.iter().map(|spec| spec.number));
    if scope == Scope::All {
        let open = survey.phases.iter().filter(|phase| !phase.is_done());
        let numbers = open.map(|phase| phase.entry.phase.number);
        let is_wanted = |n: &PhaseNumber| !n.is_backlog() && !chosen.done.contains(n);
        wanted.extend(numbers.filter(is_wanted));
    }
    let mut specs = Vec::new();
    for number in &wanted {
        let track = lead.phases.get(number);
        let may_change = |track: &Track| {
            track.started.is_none() || matches!(track.status, Status::Waiting | Status::Cancelled)
        };
        if let Some(track) = track.filter(|track| !may_change(track)) {
            specs.push(track.spec.clone());
        } else if let Some(phase) = survey.by_number(number) {
            specs.push(PhaseSpec { done: phase.is_done(), ..facts.spec(phase, &wanted) });
        }
    }
    Ok((scope, specs))
}

#[cfg(test)]
mod tests;

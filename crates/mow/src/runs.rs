//! The run that a command is about: its journal read again, and who is alive.
//!
//! Only reads. Everything here works without a lead.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mow_core::dashboard::elapsed;
use mow_core::lead::{Command, Event, Lead, Scope, Standing, Status, Track};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_engine::lead as engine;
use mow_host::git::Git;
use mow_host::life;
use mow_store::claims::{self, Claims};
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir};
use mow_store::project::Project;
use mow_store::run_files::{self, RunDir};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::notice;

/// How many phases a command to go on names before it says `--all`.
const NAMED_MAX: usize = 12;

/// An event of a run with its number and time.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    pub(crate) event: Event,
}

/// A run as its journal tells it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The project as the main worktree has it.
    pub(crate) project: Project,
    pub(crate) dir: RunDir,
    pub(crate) lead: Lead,
    pub(crate) entries: Vec<Entry>,
}

/// What commands that are about something else tell about a run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Brief {
    pub(crate) run: String,
    pub(crate) lead: Option<u32>,
    pub(crate) standing: String,
    /// The numbers of the open questions.
    pub(crate) questions: Vec<u32>,
    /// The command that goes on when there is no lead.
    pub(crate) go_on: String,
}

impl Run {
    /// Loads a run by its name, or the newest one; a project without runs is refused.
    pub(crate) fn load(context: &Context, name: Option<&str>) -> Result<Self, Failure> {
        let project = context.shared()?;
        let dir = find(&project, name)?.ok_or_else(none)?;
        Self::read(project, dir)
    }

    /// Loads the newest run, if there is any.
    pub(crate) fn newest(context: &Context) -> Result<Option<Self>, Failure> {
        let project = context.shared()?;
        let Some(dir) = find(&project, None)? else { return Ok(None) };
        let run = Self::read(project, dir)?;
        Ok((!run.lead.run.is_empty()).then_some(run))
    }

    /// Loads the newest run when it is not over.
    pub(crate) fn unfinished(context: &Context) -> Result<Option<Self>, Failure> {
        Ok(Self::newest(context)?.filter(|run| !is_over(&run.lead)))
    }

    /// Returns the command that brings the branch to what the run did, where it still has to be.
    pub(crate) fn to_finish(&self) -> Result<Option<String>, Failure> {
        let Lead { target, tip, follow_refused, .. } = &self.lead;
        let Some((_, command)) = follow_refused else { return Ok(None) };
        let branch = format!("refs/heads/{target}");
        let is_there = Git::new(&self.project.root).is_ancestor(tip, &branch)?;
        Ok((!is_there).then(|| command.clone()))
    }

    /// Loads the newest run while a lead is at work on it; `None` also when it cannot be read.
    ///
    /// For commands that are about something else: those about runs say what is wrong with one.
    pub(crate) fn live(context: &Context) -> Option<Self> {
        if is_led(context) { Self::unfinished(context).ok().flatten() } else { None }
    }

    /// Returns what other commands tell about the run.
    pub(crate) fn brief(&self) -> Brief {
        let questions = self.lead.open_items().map(|item| item.id).collect();
        Brief {
            run: self.dir.run().to_owned(),
            lead: self.lead_pid().ok().flatten(),
            standing: self.standing(),
            questions,
            go_on: self.go_on(),
        }
    }

    fn read(project: Project, dir: RunDir) -> Result<Self, Failure> {
        let mut lead = Lead::default();
        let mut entries = Vec::new();
        for record in engine::records(&dir)? {
            for event in engine::parse_events(&dir, &record)? {
                lead.apply(&event, record.at);
                entries.push(Entry { seq: record.seq, at: record.at, event });
            }
        }
        Ok(Self { project, dir, lead, entries })
    }

    /// Returns the process of the lead that is at work; `None` when there is none.
    pub(crate) fn lead_pid(&self) -> Result<Option<u32>, Failure> {
        lead_pid(&self.project)
    }

    /// Finds a phase of the run.
    pub(crate) fn phase(&self, word: &str) -> Result<&Track, Failure> {
        let track = phase_dirs::parse_argument(word).and_then(|n| self.lead.phases.get(&n));
        track.ok_or_else(|| {
            let known: Vec<_> = self.lead.phases.keys().map(ToString::to_string).collect();
            let message = format!("run {} has no phase `{word}`", self.dir.run());
            Failure::refused(message).hint(format!("its phases: {}", known.join(", ")))
        })
    }

    /// Returns whether the worker of a phase's last attempt, or anything it started, is alive.
    pub(crate) fn worker_is_alive(&self, track: &Track) -> bool {
        // A lock that cannot be looked at is nobody's: nothing is decided by this.
        life::is_alive(&self.life_lock(track)).unwrap_or(false)
    }

    /// Returns the process of a phase's worker while that is alive.
    pub(crate) fn worker_pid(&self, track: &Track) -> Option<u32> {
        let holder = life::holder(&self.life_lock(track)).ok()??;
        self.worker_is_alive(track).then_some(holder.pid)
    }

    fn life_lock(&self, track: &Track) -> PathBuf {
        self.dir.life_lock(&track.spec.number, track.attempt)
    }

    /// Returns the commands that no lead has taken up yet.
    pub(crate) fn pending(&self) -> Result<Vec<Command>, Failure> {
        let pending = engine::pending(&self.dir, &self.lead)?;
        Ok(pending.into_iter().map(|(_, command)| command).collect())
    }

    /// Returns when each question was asked.
    pub(crate) fn asked_at(&self) -> BTreeMap<u32, u64> {
        let asked = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Asked { item } => Some((item.id, entry.at)),
            _ => None,
        });
        asked.collect()
    }

    /// Returns the command that goes on with the run.
    pub(crate) fn go_on(&self) -> String {
        let open = self.lead.phases.values().filter(|track| track.status != Status::Merged);
        let open: Vec<_> = open.map(|track| track.spec.number.to_string()).collect();
        if self.lead.scope == Scope::All || open.is_empty() || open.len() > NAMED_MAX {
            "mow run --all".to_owned()
        } else {
            format!("mow run {}", open.join(" "))
        }
    }

    /// Says how the run stands, in a few words.
    pub(crate) fn standing(&self) -> String {
        let of = |status| self.lead.phases.values().filter(|t| t.status == status).count();
        let running = self.lead.live().count();
        let mut parts =
            vec![format!("{} of {} merged", of(Status::Merged), self.lead.phases.len())];
        let counts = [
            (running, "running"),
            (of(Status::Parked), "waiting for a person"),
            (of(Status::Paused), "paused"),
            (of(Status::Failed), "failed"),
            (of(Status::Cancelled), "cancelled"),
        ];
        parts.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
        parts.join(", ")
    }
}

/// Returns whether a lead is at work; looks without creating anything.
pub(crate) fn is_led(context: &Context) -> bool {
    disk::is_held(&engine::lead_lock(&context.project)).unwrap_or(false)
}

/// Tells a person at a terminal that a run is live, beside the answer of a command.
pub(crate) fn tell_live(context: &Context) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    if let Some(Brief { run, standing, .. }) = Run::live(context).map(|run| run.brief()) {
        notice(&format!("run {run} is live: {standing}; mow ps shows more"));
    }
}

/// The phases that a live run works on, and the planning directories of their worktrees.
///
/// What a phase has come to stands in its worktree until it is merged. In a worktree itself, and
/// without a live run, there are none: then the files here are the ones that count.
pub(crate) struct Active {
    planning: BTreeMap<PhaseNumber, PathBuf>,
}

impl Active {
    pub(crate) fn load(context: &Context) -> Self {
        let none = Self { planning: BTreeMap::new() };
        if context.project.main_root().is_some() || !is_led(context) {
            return none;
        }
        let project = &context.project;
        let Ok(Some(bytes)) = disk::read(&claims::path(project)) else { return none };
        // Claims that cannot be read are reported by the commands about claims.
        let Ok(claims) = Claims::parse(&bytes) else { return none };
        let key = claims::project_key(project);
        let ours = claims.claims.iter().filter(|c| c.project == key && c.run.is_some());
        let planning = ours.filter_map(|claim| {
            let number = PhaseNumber::parse(&claim.assignment.phase)?;
            let planning = Path::new(&claim.assignment.worktree).join(&key).join(".planning");
            planning.is_dir().then_some((number, planning))
        });
        Self { planning: planning.collect() }
    }

    /// Finds the directory of a phase in its worktree.
    pub(crate) fn dir(&self, phase: &PhaseNumber) -> Option<PhaseDir> {
        phase_dirs::find(self.planning.get(phase)?, &phase.to_string())
    }
}

/// Returns the process of the lead that is at work on a project; `None` when there is none.
pub(crate) fn lead_pid(project: &Project) -> Result<Option<u32>, Failure> {
    let path = engine::lead_lock(project);
    if !disk::is_held(&path)? {
        return Ok(None);
    }
    Ok(Some(disk::holder(&path).map_or(0, |holder| holder.pid)))
}

/// Finds the directory of a run by its name, or of the newest one.
pub(crate) fn find(project: &Project, name: Option<&str>) -> Result<Option<RunDir>, Failure> {
    let runs = run_files::runs(&project.engine_dir)?;
    // One of another project in the repository is shown to whoever names it.
    let Some(name) = name.map(str::to_owned).or(run_files::latest(project)?) else {
        return Ok(None);
    };
    if !runs.contains(&name) {
        let message = format!("there is no run `{name}`");
        let newest: Vec<_> = runs.iter().rev().take(5).cloned().collect();
        let hint = if newest.is_empty() {
            "no run was started here yet: mow run --all".to_owned()
        } else {
            format!("the last runs: {}", newest.join(", "))
        };
        return Err(Failure::refused(message).hint(hint));
    }
    let dir = RunDir::new(&project.engine_dir, &name);
    dir.map(Some).map_err(|error| Failure::refused(error.to_string()))
}

/// The answer where no run was started yet.
pub(crate) fn none() -> Failure {
    Failure::refused("no run was started here yet").hint("mow run --all")
}

/// Returns whether nothing is left to do in a run; one that has read no roadmap yet is not over.
pub(crate) fn is_over(lead: &Lead) -> bool {
    !lead.phases.is_empty() && lead.standing() == Standing::Done
}

/// Returns a moment in the form all files use: UTC, milliseconds, `Z`.
pub(crate) fn time_text(at: u64) -> String {
    moment(at).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Returns the day of a moment, where the user is.
pub(crate) fn day(at: u64) -> String {
    moment(at).to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string()
}

fn moment(at: u64) -> Timestamp {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    moment.unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns how long ago a moment is: `5s`, `3m`, `2h`, `4d`.
pub(crate) fn ago(at: u64) -> String {
    let seconds = crate::context::now_ms().saturating_sub(at) / 1_000;
    elapsed(i64::try_from(seconds).unwrap_or(i64::MAX))
}

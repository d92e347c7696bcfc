//! Loads a run from its journal, and detects which of its processes are alive.
//!
//! This module only reads, and works with or without a live lead.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mow_core::dashboard::format_elapsed;
use mow_core::lead::{Command, Event, Lead, PhaseState, RunScope, RunStatus, RunTarget, Status};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_engine::lead as engine;
use mow_host::git::Git;
use mow_host::life_lock;
use mow_store::claims::{self, Claims};
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir};
use mow_store::project::Project;
use mow_store::run_files::{self, RunDir};
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::notice;

/// The most phases that a resume command names; with more it says `--all`.
const NAMED_MAX: usize = 12;

/// An event of the lead's journal, with its record's sequence number and time.
#[derive(Clone, Debug)]
pub(crate) struct JournalEntry {
    pub(crate) seq: u64,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    pub(crate) event: Event,
}

/// A run, rebuilt from its journal.
#[derive(Debug)]
pub(crate) struct Run {
    /// The project in the main worktree.
    pub(crate) project: Project,
    pub(crate) dir: RunDir,
    pub(crate) lead: Lead,
    pub(crate) entries: Vec<JournalEntry>,
}

/// The facts about a run that other commands show.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunOverview {
    pub(crate) run: String,
    /// The process id of the lead; `None` when no lead runs.
    pub(crate) lead: Option<u32>,
    #[serde(rename = "standing")]
    pub(crate) progress: String,
    /// The ids of the open questions.
    pub(crate) questions: Vec<u32>,
    /// The command that continues the run when no lead runs.
    #[serde(rename = "go_on")]
    pub(crate) resume_command: String,
}

impl Run {
    /// Loads a run by its id, or the newest one; fails in a project without runs.
    pub(crate) fn load(context: &Context, name: Option<&str>) -> Result<Self, Failure> {
        let project = context.main_project()?;
        let dir = find_run_dir(&project, name)?.ok_or_else(no_run_yet)?;
        Self::read(project, dir)
    }

    /// Loads the newest run; `None` without one, or while its journal is empty.
    pub(crate) fn newest(context: &Context) -> Result<Option<Self>, Failure> {
        let project = context.main_project()?;
        let Some(dir) = find_run_dir(&project, None)? else { return Ok(None) };
        let run = Self::read(project, dir)?;
        Ok((!run.lead.run.is_empty()).then_some(run))
    }

    /// Loads the newest run if it is not over.
    pub(crate) fn unfinished(context: &Context) -> Result<Option<Self>, Failure> {
        Ok(Self::newest(context)?.filter(|run| !is_over(&run.lead)))
    }

    /// Returns the command that fast-forwards the branch, while it lacks the run's work.
    pub(crate) fn pending_fast_forward(&self) -> Result<Option<String>, Failure> {
        let RunTarget { branch: target, tip, refusal, .. } = &self.lead.target;
        let Some((_, command)) = refusal else { return Ok(None) };
        let branch = format!("refs/heads/{target}");
        let is_merged = Git::new(&self.project.root).is_ancestor(tip, &branch)?;
        Ok((!is_merged).then(|| command.clone()))
    }

    /// Loads the newest run while a lead runs it; `None` also when it cannot be read.
    ///
    /// For commands that are not about runs: commands about runs report the read error.
    pub(crate) fn live(context: &Context) -> Option<Self> {
        if has_live_lead(context) { Self::unfinished(context).ok().flatten() } else { None }
    }

    /// Returns the facts that other commands show.
    pub(crate) fn overview(&self) -> RunOverview {
        let questions = self.lead.inbox.open().map(|item| item.id).collect();
        RunOverview {
            run: self.dir.run().to_owned(),
            lead: self.lead_pid().ok().flatten(),
            progress: self.progress(),
            questions,
            resume_command: self.resume_command(),
        }
    }

    fn read(project: Project, dir: RunDir) -> Result<Self, Failure> {
        let mut lead = Lead::default();
        let mut entries = Vec::new();
        for record in engine::load_records(&dir)? {
            for event in engine::parse_events(&dir, &record)? {
                lead.apply(&event, record.at);
                entries.push(JournalEntry { seq: record.seq, at: record.at, event });
            }
        }
        Ok(Self { project, dir, lead, entries })
    }

    /// Returns the process id of the lead; `None` when no lead runs.
    pub(crate) fn lead_pid(&self) -> Result<Option<u32>, Failure> {
        lead_pid(&self.project)
    }

    /// Finds a phase of the run by its number.
    pub(crate) fn phase(&self, word: &str) -> Result<&PhaseState, Failure> {
        let phase = phase_dirs::parse_argument(word).and_then(|n| self.lead.phases.get(&n));
        phase.ok_or_else(|| {
            let numbers: Vec<_> = self.lead.phases.keys().map(ToString::to_string).collect();
            let message = format!("run {} has no phase `{word}`", self.dir.run());
            Failure::refused(message)
                .hint(format!("the phases of this run are {}", numbers.join(", ")))
        })
    }

    /// Returns whether the worker of a phase's last attempt, or anything it started, is alive.
    pub(crate) fn worker_is_alive(&self, phase: &PhaseState) -> bool {
        // An unreadable lock counts as not held. The result is only shown, never acted on.
        life_lock::is_alive(&self.life_lock(phase)).unwrap_or(false)
    }

    /// Returns the process id of a phase's worker while it is alive.
    pub(crate) fn worker_pid(&self, phase: &PhaseState) -> Option<u32> {
        let holder = life_lock::holder(&self.life_lock(phase)).ok()??;
        self.worker_is_alive(phase).then_some(holder.pid)
    }

    fn life_lock(&self, phase: &PhaseState) -> PathBuf {
        self.dir.life_lock(&phase.spec.number, phase.attempt)
    }

    /// Returns the commands in the queue that no lead has processed yet.
    pub(crate) fn pending_commands(&self) -> Result<Vec<Command>, Failure> {
        let pending = engine::pending_commands(&self.dir, &self.lead)?;
        Ok(pending.into_iter().map(|(_, command)| command).collect())
    }

    /// Returns the time of each question, by its id.
    pub(crate) fn asked_at(&self) -> BTreeMap<u32, u64> {
        let asked = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Asked { item } => Some((item.id, entry.at)),
            _ => None,
        });
        asked.collect()
    }

    /// Returns the command that continues the run.
    pub(crate) fn resume_command(&self) -> String {
        resume_command(&self.lead)
    }

    /// Describes the progress of the run: `1 of 3 merged, 1 running`.
    pub(crate) fn progress(&self) -> String {
        let count = |status| self.lead.phases.values().filter(|p| p.status == status).count();
        let running = self.lead.live().count();
        let mut parts =
            vec![format!("{} of {} merged", count(Status::Merged), self.lead.phases.len())];
        let counts = [
            (running, "running"),
            (count(Status::Parked), "waiting for an answer"),
            (count(Status::Paused), "paused"),
            (count(Status::Failed), "failed"),
            (count(Status::Cancelled), "cancelled"),
        ];
        parts.extend(counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
        parts.join(", ")
    }
}

/// Returns the command that continues a run: with its open phases, or `--all`.
pub(crate) fn resume_command(lead: &Lead) -> String {
    let open = lead.phases.values().filter(|phase| phase.status != Status::Merged);
    let open: Vec<_> = open.map(|phase| phase.spec.number.to_string()).collect();
    if lead.scope == RunScope::All || open.is_empty() || open.len() > NAMED_MAX {
        "mow run --all".to_owned()
    } else {
        format!("mow run {}", open.join(" "))
    }
}

/// Returns whether a lead runs; creates no files.
pub(crate) fn has_live_lead(context: &Context) -> bool {
    disk::is_held_by_live_process(&engine::lead_lock_path(&context.project)).unwrap_or(false)
}

/// Notes on a terminal's standard error that a run is live.
pub(crate) fn notice_live_run(context: &Context) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    if let Some(RunOverview { run, progress, .. }) = Run::live(context).map(|run| run.overview()) {
        notice(&format!("run {run} is live: {progress}; `mow ps` shows more"));
    }
}

/// The planning directories in the worktrees of a live run, by phase.
///
/// Until a phase is merged, its current files are in its worktree. The map is empty inside such a
/// worktree and without a live run: then the files of the current project are the current ones.
pub(crate) struct LiveWorktrees {
    planning: BTreeMap<PhaseNumber, PathBuf>,
}

impl LiveWorktrees {
    pub(crate) fn load(context: &Context) -> Self {
        let none = Self { planning: BTreeMap::new() };
        if context.project.main_root().is_some() || !has_live_lead(context) {
            return none;
        }
        let project = &context.project;
        let Ok(Some(bytes)) = disk::read(&claims::path(project)) else { return none };
        // The claim commands report an unreadable claims file.
        let Ok(claims) = Claims::parse(&bytes) else { return none };
        let key = claims::project_key(project);
        let claims_of_run = claims.claims.iter().filter(|c| c.project == key && c.run.is_some());
        let planning = claims_of_run.filter_map(|claim| {
            let number = PhaseNumber::parse(&claim.assignment.phase)?;
            let planning = Path::new(&claim.assignment.worktree).join(&key).join(".planning");
            planning.is_dir().then_some((number, planning))
        });
        Self { planning: planning.collect() }
    }

    /// Finds the directory of a phase in the phase's worktree.
    pub(crate) fn dir(&self, phase: &PhaseNumber) -> Option<PhaseDir> {
        phase_dirs::find(self.planning.get(phase)?, &phase.to_string())
    }
}

/// Returns the process id of a project's lead, 0 if unknown; `None` when no lead runs.
pub(crate) fn lead_pid(project: &Project) -> Result<Option<u32>, Failure> {
    let path = engine::lead_lock_path(project);
    if !disk::is_held_by_live_process(&path)? {
        return Ok(None);
    }
    Ok(Some(disk::holder(&path).map_or(0, |holder| holder.pid)))
}

/// Finds the directory of a run by its id, or of the newest run.
pub(crate) fn find_run_dir(
    project: &Project,
    name: Option<&str>,
) -> Result<Option<RunDir>, Failure> {
    let runs = run_files::list_runs(&project.engine_dir)?;
    // A run of another project in the same repository can be shown by its id.
    let Some(name) = name.map(str::to_owned).or(run_files::latest_run(project)?) else {
        return Ok(None);
    };
    if !runs.contains(&name) {
        let message = format!("there is no run `{name}`");
        let newest: Vec<_> = runs.iter().rev().take(5).cloned().collect();
        let hint = if newest.is_empty() {
            "no run was started here yet: mow run --all".to_owned()
        } else {
            format!("the latest runs are {}", newest.join(", "))
        };
        return Err(Failure::refused(message).hint(hint));
    }
    let dir = RunDir::new(&project.engine_dir, &name);
    dir.map(Some).map_err(|error| Failure::refused(error.to_string()))
}

/// The failure for a project without runs.
pub(crate) fn no_run_yet() -> Failure {
    Failure::refused("no run was started here yet").hint("mow run --all")
}

/// Returns whether a run is done; a run that has not read the roadmap yet is not.
pub(crate) fn is_over(lead: &Lead) -> bool {
    !lead.phases.is_empty() && lead.status() == RunStatus::Done
}

/// Formats a time as mow's files do: UTC with milliseconds and `Z`.
pub(crate) fn format_utc(at: u64) -> String {
    timestamp(at).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Formats the date of a time in the local time zone.
pub(crate) fn local_date(at: u64) -> String {
    timestamp(at).to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string()
}

fn timestamp(at: u64) -> Timestamp {
    let timestamp = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    timestamp.unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Formats the age of a time: `5s`, `3m`, `2h`, `4d`.
pub(crate) fn format_age(at: u64) -> String {
    let seconds = crate::context::now_ms().saturating_sub(at) / 1_000;
    format_elapsed(i64::try_from(seconds).unwrap_or(i64::MAX))
}

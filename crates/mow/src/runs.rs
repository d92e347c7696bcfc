//! Loads a run from its journal, and detects which of its processes are alive.
//!
//! This module only reads, and works with or without a live lead.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mow_core::dashboard::format_elapsed;
use mow_core::lead::{Command, Event, Lead, PhaseState, RunTarget};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_core::view::{
    CostReport, EventFold, EventView, QuestionView, RunFacts, RunView, WorkerFacts, all_questions,
};
use mow_engine::client::Client;
use mow_engine::lead as engine;
use mow_host::git::Git;
use mow_host::life_lock;
use mow_store::claims::{self, Claims};
use mow_store::disk;
use mow_store::phase_dirs::{self, PhaseDir};
use mow_store::project::Project;
use mow_store::run_files::{self, RunDir};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::notice;

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
    /// Private: commands show views, and never look into the state.
    lead: Lead,
    pub(crate) entries: Vec<JournalEntry>,
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
        Ok(Self::newest(context)?.filter(|run| !run.view().is_over))
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

    /// Returns the view of the run, without its workers and its queue of commands.
    pub(crate) fn view(&self) -> RunView {
        self.view_with(&self.facts())
    }

    /// Returns the view of the run with its workers and its queue of commands.
    pub(crate) fn full_view(&self) -> Result<RunView, Failure> {
        let mut facts = self.facts_with_queue()?;
        facts.lead = self.lead_pid()?;
        facts.workers = self.workers();
        Ok(self.view_with(&facts))
    }

    /// Returns all questions, answered ones too.
    pub(crate) fn all_questions(&self) -> Result<Vec<QuestionView>, Failure> {
        Ok(all_questions(&self.lead, &self.facts_with_queue()?))
    }

    /// Returns the views of all events, oldest first.
    pub(crate) fn events(&self) -> Vec<EventView> {
        let mut fold = EventFold::default();
        let view = |entry: &JournalEntry| fold.read(&entry.event, (entry.seq, entry.at));
        self.entries.iter().map(view).collect()
    }

    /// Returns what the agents of the run have used.
    pub(crate) fn cost_report(&self) -> CostReport {
        let mut report = CostReport::default();
        for entry in &self.entries {
            report.add(&entry.event, entry.at);
        }
        report
    }

    fn view_with(&self, facts: &RunFacts) -> RunView {
        // A run whose journal is empty has a name already.
        RunView { run: self.dir.run().to_owned(), ..RunView::of(&self.lead, facts) }
    }

    fn facts(&self) -> RunFacts {
        RunFacts {
            seq: self.entries.last().map_or(0, |entry| entry.seq),
            now: crate::context::now_ms(),
            lead: self.lead_pid().ok().flatten(),
            asked_at: self.asked_at(),
            ..RunFacts::default()
        }
    }

    fn facts_with_queue(&self) -> Result<RunFacts, Failure> {
        let pending = self.client().pending()?;
        let mut facts = RunFacts { queued_commands: pending.len(), ..self.facts() };
        for command in pending {
            if let Command::Answer { item, text } = command {
                facts.queued_answers.entry(item).or_insert(text);
            }
        }
        Ok(facts)
    }

    /// Looks for the workers of the last attempts.
    fn workers(&self) -> BTreeMap<PhaseNumber, WorkerFacts> {
        let begun = self.lead.phases.values().filter(|phase| phase.attempt > 0);
        let worker = |path: PathBuf| {
            // An unreadable lock counts as not held. The result is only shown, never acted on.
            let is_alive = life_lock::is_alive(&path).unwrap_or(false);
            let holder = is_alive.then(|| life_lock::holder(&path).ok().flatten()).flatten();
            WorkerFacts { pid: holder.map(|holder| holder.pid), is_alive }
        };
        let lock = |number, attempt| self.dir.life_lock(&number, attempt);
        begun.map(|p| (p.spec.number, worker(lock(p.spec.number, p.attempt)))).collect()
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

    /// Returns whether a lead has processed a queued command.
    pub(crate) fn has_processed(&self, command: u64) -> bool {
        self.lead.commands_through >= Some(command)
    }

    /// Returns the answer to a question that a lead has taken up.
    pub(crate) fn answer_to(&self, item: u32) -> Option<String> {
        self.lead.inbox.items.get(&item)?.answer.clone()
    }

    /// Returns the most agents that the run lets work at the same time.
    pub(crate) fn max_agents(&self) -> usize {
        self.lead.settings.max_agents
    }

    /// Finds a phase of the run by its number.
    pub(crate) fn phase(&self, word: &str) -> Result<PhaseNumber, Failure> {
        Ok(find_phase(&self.lead, self.dir.run(), word)?.spec.number)
    }

    /// Returns the client for a person's requests about this run.
    pub(crate) fn client(&self) -> Client<'_> {
        Client::of_run(&self.project, &self.dir, &self.lead)
    }

    /// Returns the time of each question, by its id.
    fn asked_at(&self) -> BTreeMap<u32, u64> {
        let asked = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::Asked { item } => Some((item.id, entry.at)),
            _ => None,
        });
        asked.collect()
    }

    /// Returns the command that continues the run.
    pub(crate) fn resume_command(&self) -> String {
        resume_command(&self.view())
    }

    /// Describes the progress of the run: `1 of 3 merged, 1 running`.
    pub(crate) fn progress(&self) -> String {
        self.view().progress()
    }
}

/// Finds a phase of a run by its number.
pub(crate) fn find_phase<'a>(
    lead: &'a Lead,
    run: &str,
    word: &str,
) -> Result<&'a PhaseState, Failure> {
    let phase = phase_dirs::parse_argument(word).and_then(|n| lead.phases.get(&n));
    phase.ok_or_else(|| {
        let numbers: Vec<_> = lead.phases.keys().map(ToString::to_string).collect();
        let message = format!("run {run} has no phase `{word}`");
        Failure::refused(message).hint(format!("the phases of this run are {}", numbers.join(", ")))
    })
}

/// Returns the command that continues a run: with its open phases, or `--all`.
pub(crate) fn resume_command(run: &RunView) -> String {
    run.resume_command()
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
    if let Some(run) = Run::live(context) {
        let (name, progress) = (run.dir.run(), run.progress());
        notice(&format!("run {name} is live: {progress}; `mow ps` shows more"));
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
        Self::of_runs(&context.project)
    }

    /// Lists the worktrees that runs have claimed, with or without a live lead.
    pub(crate) fn of_runs(project: &Project) -> Self {
        let none = Self { planning: BTreeMap::new() };
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
    Ok(Client::of_project(project).lead_pid()?)
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
pub(crate) fn format_age(at: u64, now: u64) -> String {
    let seconds = now.saturating_sub(at) / 1_000;
    format_elapsed(i64::try_from(seconds).unwrap_or(i64::MAX))
}

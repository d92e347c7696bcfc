//! Runs the lead of a project: the process that schedules phases, starts workers and merges.
//!
//! At most one lead runs per project, guarded by a lock. Its whole state is in its journal, so it
//! may die at any time: the next lead replays the journal of the unfinished run, restarts effects
//! that have no outcome, adopts the workers that are alive, and continues. Start with
//! [`LeadSession::open`] and [`LeadSession::run`].

mod branch_catch_up;
mod closing;
mod completion_proof;
mod conflict_resolver;
mod dashboard_feed;
mod effects;
mod look_ahead_files;
mod manual_merge;
mod merge;
mod merge_check;
mod merge_preview;
mod notify;
mod phase_row;
mod phase_scope;
mod phase_selection;
mod projection;
mod projection_writer;
mod promoted_decisions;
mod run_change;
mod run_ref;
mod state_index;
mod user_branch;
mod wake_reason;
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::lead::{Event, Input, Lead, RunStatus, Settings};
use mow_core::machine::Machine;
use mow_core::stage::Lookahead;
use mow_host::git::Git;
use mow_host::phase_worktree;
use mow_store::config::Config;
use mow_store::disk::{DiskError, Lock};
use mow_store::journal::{Journal, JournalError, JournalReader, Record};
use mow_store::project::Project;
use mow_store::roadmap::milestone::current_milestone;
use mow_store::run_files::{self, RunDir};
use mow_store::{config, disk};

use crate::EngineError;
use crate::clock::Clock;
use crate::drive::drive;
use crate::run_context::{self, RunContext};
use world::LeadWorld;

pub use branch_catch_up::{StaleBranch, catch_up_branch};
pub use closing::close_run;
pub use look_ahead_files::is_look_ahead_file;
pub use manual_merge::{ManualMerge, ManualMergeOutcome, ManualMergeResult, merge_manually};
pub use phase_selection::{PhaseChoice, PhaseSelection, exclude_done_phases, select_phases};
pub use run_change::{RunChange, RunObserver};

/// How long a process that a dead lead was starting may still hold the inherited lock.
const INHERITED_LOCK_WAIT: Duration = Duration::from_secs(5);

/// A lead that holds the lock of its project and is ready to run.
pub struct LeadSession {
    ctx: RunContext,
    lead: Lead,
    journal: Journal,
    clock: Clock,
    selection: PhaseSelection,
    begin: Vec<Input>,
    /// How the run is closed at the end; `None` for a session that runs phases.
    closing: Option<closing::Closing>,
    _lock: Lock,
}

/// How to start a run.
pub struct RunOptions<'a> {
    /// The project whose phases run.
    pub project: &'a Project,
    /// The mow program, which workers are started with.
    pub exe: &'a Path,
    /// The phases to run.
    pub selection: PhaseSelection,
    /// The branch to merge into; `None` for the one of the settings, or else the checked-out one.
    pub target: Option<String>,
    /// The most workers at a time; `None` for the setting.
    pub max_workers: Option<usize>,
    /// Whether phases that change the same files may run in parallel.
    pub force: bool,
}

impl LeadSession {
    /// Takes the lock of the project, then loads the unfinished run or begins a new one.
    pub fn open(options: RunOptions<'_>) -> Result<Self, EngineError> {
        Self::open_chosen(options, unfinished_run)
    }

    /// Takes the lock, then loads the run that `choose` returns or begins a new one.
    fn open_chosen(
        options: RunOptions<'_>,
        choose: impl Fn(&Project) -> Result<Option<(String, Lead)>, EngineError>,
    ) -> Result<Self, EngineError> {
        let project = options.project.in_main_worktree()?;
        let lock = acquire_lead_lock(&project)?;
        failpoint::set_role(failpoint::ProcessRole::Lead);
        failpoint::reach("lead.locked");
        let config = run_context::config(&project)?;
        let (run, lead) = match choose(&project)? {
            Some((run, lead)) => {
                refuse_other_target(&run, &lead, options.target.as_deref())?;
                (run, lead)
            }
            None => (run_files::new_run_name(&project, jiff::Timestamp::now())?, Lead::default()),
        };
        let ctx = RunContext::new(&project, &run, options.exe)?;
        ctx.run.create()?;
        failpoint::reach("lead.run.made");
        phase_worktree::clear_unfinished(ctx.top())?;
        let (journal, records) = Journal::open(&ctx.run.journal(), &ctx.run.header())?;
        let clock = Clock::not_before(records.last().map_or(0, |record| record.at));
        let mut begin = Vec::new();
        if lead.run.is_empty() {
            let git = Git::new(ctx.top());
            let (target, tip) = resolve_target(&project, &git, options.target.as_deref())?;
            begin.push(Input::Begin { run, target, tip });
        }
        let left_out = options.selection.left_out(&lead);
        let settings = settings(&config, options.max_workers);
        let settings = Settings { force: options.force, left_out, ..settings };
        begin.push(Input::LeadStarted { settings });
        clear_auto_advance(&project, &config)?;
        failpoint::reach("lead.opened");
        let (selection, closing) = (options.selection, None);
        Ok(Self { ctx, lead, journal, clock, selection, begin, closing, _lock: lock })
    }

    /// Returns the name of the run.
    pub fn run_id(&self) -> &str {
        self.ctx.run.run()
    }

    /// Returns the state of the run as loaded; a new run has no phases yet.
    pub fn lead(&self) -> &Lead {
        &self.lead
    }

    /// Runs until only a person can move the run on; with `stay`, until all phases are merged.
    pub fn run(self, observer: &mut dyn RunObserver, stay: bool) -> Result<Lead, EngineError> {
        let Self { ctx, mut lead, journal, clock, selection, begin, closing, _lock } = self;
        let mut world = LeadWorld::new(ctx, journal, selection, begin, observer)?;
        world.clock = clock;
        world.stay = stay;
        world.closing = closing;
        world.resume(&lead)?;
        // If somebody removed the run directory, the first failed write reports that instead.
        drive(&mut lead, &mut world).map_err(|error| world.removed_error().unwrap_or(error))?;
        world.finish(&lead);
        failpoint::reach("lead.finished");
        Ok(lead)
    }
}

/// Returns the file that the lead of a project keeps locked while it runs.
pub fn lead_lock_path(project: &Project) -> PathBuf {
    lead_lock_path_for_tag(&project.engine_dir, &project.tag())
}

/// Returns the lock file of the lead of the project that a run belongs to.
pub fn lead_lock_path_for_run(engine_dir: &Path, run: &str) -> PathBuf {
    lead_lock_path_for_tag(engine_dir, run_files::project_tag(run))
}

fn lead_lock_path_for_tag(engine_dir: &Path, tag: &str) -> PathBuf {
    let dash = if tag.is_empty() { "" } else { "-" };
    engine_dir.join(format!("locks/lead{dash}{tag}.lock"))
}

/// Takes the lead lock of a project; fails if another lead runs.
pub fn acquire_lead_lock(project: &Project) -> Result<Lock, EngineError> {
    let path = lead_lock_path(project);
    let lock = match Lock::acquire(&path, Duration::ZERO) {
        Err(DiskError::Busy { holder: Some(holder), .. }) if holder.is_dead() => {
            Lock::acquire(&path, INHERITED_LOCK_WAIT)
        }
        lock => lock,
    };
    match lock {
        Err(DiskError::Busy { holder, .. }) => {
            let holder = holder.map_or_else(|| "another process".to_owned(), |h| h.to_string());
            Err(EngineError::LeadRunning { holder })
        }
        lock => Ok(lock?),
    }
}

/// Loads the state of a run by replaying its journal.
pub fn load_run(dir: &RunDir) -> Result<(Lead, Vec<Record>), EngineError> {
    let records = load_records(dir)?;
    let mut lead = Lead::default();
    for record in &records {
        for event in parse_events(dir, record)? {
            lead.apply(&event, record.at);
        }
    }
    Ok((lead, records))
}

/// Loads the records of a run's journal; fails if the journal belongs to another run.
pub fn load_records(dir: &RunDir) -> Result<Vec<Record>, EngineError> {
    let mut tail = JournalReader::new(&dir.journal()).without_sync();
    let records = tail.poll()?;
    match tail.header() {
        Some(found) if *found != dir.header() => {
            let (found, wanted) = (Box::new(found.clone()), Box::new(dir.header()));
            Err(JournalError::Foreign { path: dir.journal(), found, wanted }.into())
        }
        _ => Ok(records),
    }
}

/// Parses a record of a run's journal: all events of one decision.
///
/// The error names the file and the line.
pub fn parse_events(dir: &RunDir, record: &Record) -> Result<Vec<Event>, EngineError> {
    let corrupt = |_| {
        let (path, what) = (dir.journal(), "this version of mow does not know its content");
        // The header is the first line and has the number 0.
        EngineError::Journal(JournalError::Corrupt { path, line: record.seq + 1, problem: what })
    };
    record.parse().map_err(corrupt)
}

/// Returns the last run of a project with its state, if the run is not finished.
pub fn unfinished_run(project: &Project) -> Result<Option<(String, Lead)>, EngineError> {
    let Some(run) = run_files::latest_run(project)? else { return Ok(None) };
    let dir = RunDir::new(&project.engine_dir, &run)?;
    let (lead, records) = load_run(&dir)?;
    let is_over = lead.status() == RunStatus::Done;
    Ok((!records.is_empty() && !is_over).then_some((run, lead)))
}

/// Fails if a target branch is wanted that is not the one of the unfinished run.
pub fn refuse_other_target(
    run: &str,
    lead: &Lead,
    wanted: Option<&str>,
) -> Result<(), EngineError> {
    match wanted.filter(|wanted| *wanted != lead.target.branch) {
        None => Ok(()),
        Some(wanted) => Err(EngineError::refused(
            format!(
                "run {run} is not finished and is for {}, not for {wanted}",
                lead.target.branch
            ),
            "finish it with mow run --all, or give it up with mow cancel && mow run --all",
        )),
    }
}

/// Returns the target branch and its commit.
///
/// The branch is the wanted one, or `git.target`, or the branch of the milestone where the
/// branching strategy has one, or else the branch that is checked out in the main root.
pub fn resolve_target(
    project: &Project,
    git: &Git,
    wanted: Option<&str>,
) -> Result<(String, String), EngineError> {
    let config = run_context::config(project)?;
    let settings = config.settings();
    let set = config.value("git.target").and_then(|value| value.as_str());
    let branch = match wanted.or(set.filter(|name| !name.is_empty())) {
        Some(branch) => Some(branch.to_owned()),
        None if settings.branching_strategy == "milestone" => {
            let roadmap = disk::read(&project.planning.join("ROADMAP.md"))?.unwrap_or_default();
            settings.milestone_branch(&current_milestone(&roadmap))
        }
        None => git.current_branch()?,
    };
    let branch = branch.ok_or_else(|| {
        EngineError::refused(
            "no branch is checked out in the main root, so the target is not known",
            "name it with --into BRANCH",
        )
    })?;
    let name = branch.escape_debug();
    // Without this check git would resolve `main~1` to a commit.
    if !git.ask(&["check-ref-format", &format!("refs/heads/{branch}")])?.success {
        let message = format!("`{name}` is not a valid branch name");
        return Err(EngineError::refused(message, "git branch lists them"));
    }
    let tip = git.commit_of(&format!("refs/heads/{branch}"))?.ok_or_else(|| {
        EngineError::refused(
            format!("there is no branch `{name}` to merge into"),
            format!("git branch '{name}' makes it; --into names another one"),
        )
    })?;
    Ok((branch, tip))
}

fn settings(config: &Config, max_workers: Option<usize>) -> Settings {
    let number = |key: &str| config.lookup(key).and_then(|value| value.as_u64());
    let text = |key: &str| config.value(key).and_then(|v| v.as_str()).map(str::to_owned);
    let default = Settings::default();
    let count = |key: &str| number(key).and_then(|n| usize::try_from(n).ok());
    let workers = count("multi_phase.max_workers");
    let agents = count("multi_phase.max_agents").unwrap_or(default.max_agents).max(1);
    let breaker = number("multi_phase.circuit_breaker")
        .or_else(|| number("multi_phase.circuit_breaker_threshold"));
    let merge = text("multi_phase.merge").or_else(|| text("multi_phase.merge_timing"));
    Settings {
        max_workers: max_workers.or(workers).unwrap_or(default.max_workers).max(1),
        circuit_breaker: breaker
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(default.circuit_breaker),
        merge_at_once: merge.as_deref() == Some("immediate"),
        // Starts are staggered to spare the services of agents; scripts do not need that.
        stagger_ms: config.value("roles").map_or(0, |_| default.stagger_ms),
        max_agents: agents,
        budget: run_context::budget(config, "run"),
        lookahead: lookahead(config),
        ..default
    }
}

/// Returns which stages of a waiting phase may be done ahead, from `multi_phase.lookahead`.
pub(crate) fn lookahead(config: &Config) -> Lookahead {
    let word = config.lookup("multi_phase.lookahead");
    let word = word.as_ref().and_then(|word| word.as_str());
    word.and_then(Lookahead::parse).unwrap_or_default()
}

/// Switches off `workflow.auto_advance` that an older session left on: a run never uses it.
fn clear_auto_advance(project: &Project, settings: &Config) -> Result<(), EngineError> {
    if settings.value("workflow.auto_advance").and_then(serde_json::Value::as_bool) != Some(true) {
        return Ok(());
    }
    let path = project.planning.join("config.json");
    disk::update(project, &path, |old| {
        let cleared = old.and_then(|old| {
            config::set(old, "workflow.auto_advance", &serde_json::Value::Bool(false)).ok()
        });
        Ok::<_, EngineError>(cleared)
    })?;
    Ok(())
}

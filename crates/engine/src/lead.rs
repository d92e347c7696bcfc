//! The lead of a run as a process: one per project, and no harm done when it dies.
//!
//! Everything it knows is in its journal. A lead that starts reads the journal of an unfinished run
//! again, looks at what was begun, adopts the workers that are alive, and goes on. Start with
//! [`Session::open`] and [`Session::run`].

mod answers;
mod behind;
mod drawing;
mod effects;
mod feed;
mod foresight;
mod gather;
mod hand;
mod health;
mod merge;
mod notify;
mod prepare;
mod projection;
mod proof;
mod resolver;
mod roadmap;
mod run_ref;
mod start;
mod trial;
mod world;

use std::path::{Path, PathBuf};
use std::time::Duration;

use mow_core::lead::{Command, Event, Input, Lead, Settings, Standing};
use mow_core::machine::Machine;
use mow_core::stage::Lookahead;
use mow_host::git::Git;
use mow_host::phase_worktree;
use mow_store::config::Config;
use mow_store::disk::{DiskError, Lock};
use mow_store::journal::{Journal, JournalError, Record, Tail};
use mow_store::project::Project;
use mow_store::roadmap::milestone::current_milestone;
use mow_store::run_files::{self, RunDir};
use mow_store::{config, disk};

use crate::EngineError;
use crate::clock::Clock;
use crate::drive::drive;
use crate::site::{self, Site};
use world::LeadWorld;

pub use answers::Answers;
pub use behind::{Behind, catch_up};
pub use gather::is_made_ahead;
pub use hand::{ByHand, HandOutcome, Handled, by_hand};
pub use roadmap::{Choice, Chosen, choose, leave_out_done};

/// How long a program that a dead lead was about to start may still have its lock.
const LEFT_WITHIN: Duration = Duration::from_secs(5);

/// What shows a run to people.
pub trait Face {
    /// Shows what happened, and how the run stands now.
    fn show(&mut self, lead: &Lead, events: &[Event], now: u64);

    /// Says what is not in order without stopping the run.
    fn warn(&mut self, text: &str);
}

/// A lead that is about to run.
pub struct Session {
    site: Site,
    lead: Lead,
    journal: Journal,
    clock: Clock,
    chosen: Chosen,
    begin: Vec<Input>,
    _lock: Lock,
}

/// What a run is started with.
pub struct Start<'a> {
    /// The project.
    pub project: &'a Project,
    /// The program that workers are started with.
    pub exe: &'a Path,
    /// The phases to run.
    pub chosen: Chosen,
    /// The branch that the work is for; `None` for the one that is checked out.
    pub target: Option<String>,
    /// The most workers at a time, where it is not the setting.
    pub max_workers: Option<usize>,
    /// Whether phases that change the same files run side by side.
    pub force: bool,
}

impl Session {
    /// Takes the project, and reads the journal of an unfinished run or begins a new one.
    pub fn open(start: Start<'_>) -> Result<Self, EngineError> {
        let project = start.project.in_main_worktree()?;
        let lock = take_lead(&project)?;
        failpoint::enter(failpoint::Role::Lead);
        failpoint::reach("lead.locked");
        let config = site::config(&project)?;
        let (run, lead) = match unfinished(&project)? {
            Some((run, lead)) => {
                keep_target(&run, &lead, start.target.as_deref())?;
                (run, lead)
            }
            None => (run_files::new_name(&project, jiff::Timestamp::now())?, Lead::default()),
        };
        let site = Site::new(&project, &run, start.exe)?;
        site.run.create()?;
        failpoint::reach("lead.run.made");
        phase_worktree::clear_unfinished(site.top())
            .map_err(|error| EngineError::Host(error.into()))?;
        let (journal, records) = Journal::open(&site.run.journal(), &site.run.header())?;
        let clock = Clock::from(records.last().map_or(0, |record| record.at));
        let mut begin = Vec::new();
        if lead.run.is_empty() {
            let git = Git::new(site.top());
            let (target, tip) = target(&project, &git, start.target.as_deref())?;
            begin.push(Input::Begin { run, target, tip });
        }
        let settings = Settings { force: start.force, ..settings(&config, start.max_workers) };
        begin.push(Input::TakeUp { settings });
        clear_auto_advance(&project, &config)?;
        failpoint::reach("lead.opened");
        Ok(Self { site, lead, journal, clock, chosen: start.chosen, begin, _lock: lock })
    }

    /// Returns the run.
    pub fn run_id(&self) -> &str {
        self.site.run.run()
    }

    /// Returns what is known of the run so far; it has no phases when it is new.
    pub fn lead(&self) -> &Lead {
        &self.lead
    }

    /// Runs until nothing moves any more, or, while `stay`, until everything is merged.
    pub fn run(self, face: &mut dyn Face, stay: bool) -> Result<Lead, EngineError> {
        let Self { site, mut lead, journal, clock, chosen, begin, _lock } = self;
        let mut world = LeadWorld::new(site, journal, chosen, begin, face);
        world.clock = clock;
        world.stay = stay;
        world.take_up(&lead)?;
        // Whoever writes first finds that the files are gone, if they are.
        drive(&mut lead, &mut world).map_err(|error| world.gone().unwrap_or(error))?;
        world.finish(&lead);
        failpoint::reach("lead.finished");
        Ok(lead)
    }
}

/// Returns the file that the lead of a project keeps locked for as long as it lives.
pub fn lead_lock(project: &Project) -> PathBuf {
    lead_lock_of(&project.engine_dir, &project.tag())
}

/// Returns the file that is locked while the project of a run has a lead.
pub fn lead_lock_for_run(engine_dir: &Path, run: &str) -> PathBuf {
    lead_lock_of(engine_dir, run_files::tag(run))
}

fn lead_lock_of(engine_dir: &Path, tag: &str) -> PathBuf {
    let dash = if tag.is_empty() { "" } else { "-" };
    engine_dir.join(format!("locks/lead{dash}{tag}.lock"))
}

/// Takes the place of a project's lead, unless somebody has it.
pub fn take_lead(project: &Project) -> Result<Lock, EngineError> {
    let path = lead_lock(project);
    let lock = match Lock::acquire(&path, Duration::ZERO) {
        Err(DiskError::Busy { holder: Some(holder), .. }) if holder.is_gone() => {
            Lock::acquire(&path, LEFT_WITHIN)
        }
        lock => lock,
    };
    match lock {
        Err(DiskError::Busy { holder, .. }) => {
            let holder = holder.map_or_else(|| "another process".to_owned(), |h| h.to_string());
            Err(EngineError::Led { holder })
        }
        lock => Ok(lock?),
    }
}

/// Reads a run again from its journal.
pub fn load(dir: &RunDir) -> Result<(Lead, Vec<Record>), EngineError> {
    let records = records(dir)?;
    let mut lead = Lead::default();
    for record in &records {
        for event in parse_events(dir, record)? {
            lead.apply(&event, record.at);
        }
    }
    Ok((lead, records))
}

/// Reads the records of a run's journal, which must be that run's own.
pub fn records(dir: &RunDir) -> Result<Vec<Record>, EngineError> {
    let mut tail = Tail::new(&dir.journal()).without_sync();
    let records = tail.poll()?;
    match tail.header() {
        Some(found) if *found != dir.header() => {
            let (found, wanted) = (Box::new(found.clone()), Box::new(dir.header()));
            Err(JournalError::Foreign { path: dir.journal(), found, wanted }.into())
        }
        _ => Ok(records),
    }
}

/// Reads a record of a run's journal: all events of one decision, which are written whole or not
/// at all. What is wrong is said with the file and the line.
pub fn parse_events(dir: &RunDir, record: &Record) -> Result<Vec<Event>, EngineError> {
    let corrupt = |_| {
        let (path, what) = (dir.journal(), "it says nothing that this mow knows");
        // The header is the first line and has the number 0.
        EngineError::Journal(JournalError::Corrupt { path, line: record.seq + 1, what })
    };
    record.parse().map_err(corrupt)
}

/// Returns the last run of a project that is not over, with its state.
pub fn unfinished(project: &Project) -> Result<Option<(String, Lead)>, EngineError> {
    let Some(run) = run_files::latest(project)? else { return Ok(None) };
    let dir = RunDir::new(&project.engine_dir, &run)?;
    let (lead, records) = load(&dir)?;
    let is_over = lead.standing() == Standing::Done;
    Ok((!records.is_empty() && !is_over).then_some((run, lead)))
}

/// Refuses another branch than the one that an unfinished run is for.
pub fn keep_target(run: &str, lead: &Lead, wanted: Option<&str>) -> Result<(), EngineError> {
    match wanted.filter(|wanted| *wanted != lead.target) {
        None => Ok(()),
        Some(wanted) => Err(EngineError::refused(
            format!("run {run} is not finished and is for {}, not for {wanted}", lead.target),
            "finish it with mow run --all, or give it up with mow cancel && mow run --all",
        )),
    }
}

/// Returns the branch that work is for, and where it stands: the one named, the one set, that of the
/// milestone where the project has one, or else the one that is checked out in the main root.
pub fn target(
    project: &Project,
    git: &Git,
    wanted: Option<&str>,
) -> Result<(String, String), EngineError> {
    let config = site::config(project)?;
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
    // Git would take `main~1` for a commit of a branch.
    if !git.ask(&["check-ref-format", &format!("refs/heads/{branch}")])?.success {
        let message = format!("`{name}` is no name of a branch");
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
        // A distance between starts spares the services of agents; plain scripts need none.
        stagger_ms: config.value("roles").map_or(0, |_| default.stagger_ms),
        max_agents: agents,
        budget: site::budget(config, "run"),
        lookahead: lookahead(config),
        ..default
    }
}

/// Returns what may be done of phases that wait for others.
pub(crate) fn lookahead(config: &Config) -> Lookahead {
    let word = config.lookup("multi_phase.lookahead");
    let word = word.as_ref().and_then(|word| word.as_str());
    word.and_then(Lookahead::parse).unwrap_or_default()
}

/// Switches off a setting that an older session left behind; a run never advances by it.
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

/// Leaves a command for the lead of a run, alive or not; durable when this returns.
pub fn command(dir: &RunDir, command: &Command) -> Result<u64, EngineError> {
    let (mut journal, _) = Journal::open(&dir.commands(), &dir.commands_header())?;
    failpoint::reach("command.opened");
    let seq = journal.append(Clock::default().now(), std::slice::from_ref(command))?;
    failpoint::reach("command.left");
    Ok(seq)
}

/// Returns the commands that were left for a run and are not taken up yet, with their numbers.
pub fn pending(dir: &RunDir, lead: &Lead) -> Result<Vec<(u64, Command)>, EngineError> {
    let records = Tail::new(&dir.commands()).without_sync().poll()?;
    let new = records.iter().filter(|record| Some(record.seq) > lead.commands_through);
    // What cannot be read is passed over by the lead, too.
    Ok(new.filter_map(|record| Some((record.seq, record.parse().ok()?))).collect())
}

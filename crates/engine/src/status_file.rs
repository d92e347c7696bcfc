//! The STATUS.md of a phase in its worktree: creates it, and shows the progress of an attempt.
//!
//! Only what changed is edited, so what people and agents wrote into the file stays. Writes are not
//! synced, because everything that mow shows there follows from the journals and commits. A power
//! failure may leave an empty file; it counts as missing.

use std::path::PathBuf;

use mow_core::message::BlockerMode;
use mow_core::phase::PhaseNumber;
use mow_core::worker::{self, LivePlan, LiveStatus};
use mow_store::disk;
use mow_store::disk::{WAIT_DEFAULT, Writer};
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::plan;
use mow_store::project::Project;
use mow_store::status::{self, NewStatus, PlanChange, ProgressChange, UNSET};

use crate::EngineError;
use crate::clock::{now_text, utc_minute};
use crate::run_context::RunContext;

/// The length of the commits in the file.
const COMMIT_LENGTH: usize = 8;

/// Returns the name of the worker of a phase.
pub(crate) fn worker_name(phase: &PhaseNumber) -> String {
    format!("phase-{}-worker", phase.padded())
}

/// The STATUS.md of a phase.
#[derive(Clone, Debug)]
pub(crate) struct StatusFile {
    /// The project inside the worktree.
    project: Project,
    /// The directory of the phase.
    dir: PathBuf,
    phase: PhaseNumber,
    name: String,
    /// The worktree, as the file names it.
    worktree: String,
}

impl StatusFile {
    /// Returns the file in the phase directory `dir_name` of a project inside a worktree.
    pub(crate) fn new(
        ctx: &RunContext,
        project: Project,
        dir_name: &str,
        (phase, name): (&PhaseNumber, &str),
    ) -> Self {
        let depth = ctx.below_top().components().count();
        let worktree = project.root.ancestors().nth(depth).unwrap_or(&project.root);
        let worktree = worktree.strip_prefix(ctx.top()).unwrap_or(worktree);
        Self {
            dir: project.planning.join("phases").join(dir_name),
            worktree: worktree.display().to_string(),
            phase: *phase,
            name: name.to_owned(),
            project,
        }
    }

    /// Returns the name of the file of a phase.
    pub(crate) fn file_name(phase: &PhaseNumber) -> String {
        format!("{}-STATUS.md", phase.padded())
    }

    /// Returns whether the file exists.
    pub(crate) fn exists(&self) -> bool {
        self.path().is_file()
    }

    /// Changes the file, which is created if it does not exist. A change that cannot be made is
    /// skipped.
    pub(crate) fn change(
        &self,
        change: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        self.change_existing_or_new(|old, _is_new| change(old))
    }

    /// Shows that an attempt starts; creates the file for the first one.
    pub(crate) fn begin(&self, mode: Option<BlockerMode>) -> Result<(), EngineError> {
        let now = now_text();
        self.change_existing_or_new(|old, is_new| {
            let mut bytes = self.with_worker(old, &now);
            let change = ProgressChange {
                status: (!is_new).then_some(worker::INITIALIZING),
                blocker_mode: mode.map(BlockerMode::name),
                now_utc: &now,
                ..ProgressChange::default()
            };
            bytes = status::show_progress(&bytes, &change);
            Some(bytes)
        })
    }

    /// Shows how an attempt ended whose worker died before it recorded anything.
    pub(crate) fn end_start(&self, status: &str) -> Result<(), EngineError> {
        let now = now_text();
        self.change(|old| {
            let is_starting = status::parse(old).status == worker::INITIALIZING;
            let status = is_starting.then_some(status);
            let change = ProgressChange { status, now_utc: &now, ..ProgressChange::default() };
            Some(status::show_progress(old, &change))
        })
    }

    /// Shows the state of an attempt. `shown` is the state that was shown before: only what differs
    /// is written. Everything is written at each change of the status or the list of plans.
    pub(crate) fn show(
        &self,
        shown: Option<&LiveStatus>,
        next: &LiveStatus,
    ) -> Result<(), EngineError> {
        let same_step =
            shown.filter(|shown| shown.status == next.status && has_same_plans(shown, next));
        self.change_existing_or_new(|old, is_new| {
            let before = same_step.filter(|_| !is_new);
            Some(with_status(old, before, next))
        })
    }

    fn path(&self) -> PathBuf {
        self.dir.join(Self::file_name(&self.phase))
    }

    fn change_existing_or_new(
        &self,
        change: impl Fn(&[u8], bool) -> Option<Vec<u8>>,
    ) -> Result<(), EngineError> {
        let writer = Writer::open(&self.project, WAIT_DEFAULT)?;
        writer.create_dir(&self.dir)?;
        writer.update_unsynced(&self.path(), |old| match old.filter(|old| !old.is_empty()) {
            Some(old) => Ok::<_, EngineError>(change(old, false)),
            None => Ok(change(&self.new_bytes()?, true)),
        })?;
        Ok(())
    }

    /// Renders the first file of the phase, with one row for each plan.
    fn new_bytes(&self) -> Result<Vec<u8>, EngineError> {
        let dir = phase_dirs::find(&self.project.planning, &self.phase.to_string());
        let files = dir.iter().flat_map(|dir| dir.files_of(PhaseFileKind::Plan));
        let mut plans = Vec::new();
        for file in files {
            let Some(id) = PhaseFileKind::Plan.id(file) else { continue };
            let bytes = disk::read(&self.dir.join(file))?.unwrap_or_default();
            plans.push((id.to_owned(), plan::parse(&bytes).tasks.len()));
        }
        let prefix = self.phase.padded();
        let new = NewStatus { phase: &prefix, name: &self.name, plans: &plans };
        Ok(self.with_worker(status::render(&new).as_bytes(), &now_text()))
    }

    /// Names worker and worktree, and the start of the phase if it is unknown.
    fn with_worker(&self, bytes: &[u8], now: &str) -> Vec<u8> {
        let before = status::parse(bytes);
        let worker = worker_name(&self.phase);
        let started = if before.started == UNSET { now } else { &before.started };
        let fields = [
            ("worker", worker.as_str(), &before.worker),
            ("worktree", &self.worktree, &before.worktree),
            ("started", started, &before.started),
        ];
        let mut bytes = bytes.to_vec();
        for (field, value, _) in fields.into_iter().filter(|(_, value, old)| value != old) {
            bytes = status::set_field(&bytes, field, value).unwrap_or(bytes);
            bytes = status::set_field(&bytes, "last_update", now).unwrap_or(bytes);
        }
        bytes
    }
}

/// Returns whether both states have the same plans.
fn has_same_plans(shown: &LiveStatus, next: &LiveStatus) -> bool {
    let ids = |status: &LiveStatus| -> Option<Vec<String>> {
        let plans = status.plans.as_ref()?;
        Some(plans.iter().map(|plan| plan.id.clone()).collect())
    };
    next.plans.is_none() || ids(shown) == ids(next)
}

/// Returns the file with a state; writes only what differs from the state `before`.
fn with_status(old: &[u8], before: Option<&LiveStatus>, next: &LiveStatus) -> Vec<u8> {
    let shown_plans = before.and_then(|before| before.plans.as_ref());
    let is_new = |plan: &&LivePlan| shown_plans.is_none_or(|shown| !shown.contains(plan));
    let texts = next.plans.iter().flatten().filter(is_new).map(PlanTexts::of);
    let texts: Vec<_> = texts.collect();
    let now = now_text();
    let plans: Vec<_> = texts.iter().map(|texts| texts.change(&now)).collect();
    let ids = next.plans.as_ref().filter(|_| shown_plans.is_none());
    let ids: Option<Vec<_>> = ids.map(|all| all.iter().map(|plan| plan.id.as_str()).collect());
    let change = ProgressChange {
        status: before.is_none().then_some(next.status),
        blocker_mode: next.blocker_mode.map(BlockerMode::name),
        plans: &plans,
        all_plans: ids.as_deref(),
        now_utc: &now,
    };
    status::show_progress(old, &change)
}

/// The texts in the row of a plan.
struct PlanTexts<'a> {
    plan: &'a LivePlan,
    started: Option<String>,
    tasks: String,
    commit: Option<&'a str>,
}

impl<'a> PlanTexts<'a> {
    fn of(plan: &'a LivePlan) -> Self {
        let started = match plan.started {
            Some(at) => Some(utc_minute(at)),
            None => (plan.status == worker::NOT_STARTED).then(|| UNSET.to_owned()),
        };
        let commit = plan.commit.as_deref();
        Self {
            plan,
            started,
            tasks: format!("{}/{}", plan.tasks_done, plan.tasks),
            commit: commit.map(|commit| commit.get(..COMMIT_LENGTH).unwrap_or(commit)),
        }
    }

    fn change<'t>(&'t self, now_utc: &'t str) -> PlanChange<'t> {
        PlanChange {
            plan: &self.plan.id,
            status: Some(self.plan.status),
            started: self.started.as_deref(),
            commit: self.commit,
            tasks: Some(&self.tasks),
            duration: None,
            now_utc,
        }
    }
}

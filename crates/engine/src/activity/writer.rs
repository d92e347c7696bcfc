//! Writes the activity of an attempt. Errors are ignored: nobody's work may fail because of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mow_core::phase::PhaseNumber;
use mow_host::agent::{AgentError, AgentOutcome, Event, cut_text};
use mow_store::disk::RotatingFile;
use mow_store::run_files::RunDir;

use super::{ActivityKind, ActivityRecord, ActivitySource, FILE_BYTES_MAX, TEXT_BYTES_MAX};
use crate::clock::Clock;

/// Writes the activity file of one attempt. Clones write to the same file, one at a time.
#[derive(Clone, Debug, Default)]
pub struct ActivityWriter {
    /// `None` writes nothing.
    file: Option<Arc<Mutex<RotatingFile>>>,
    clock: Clock,
}

impl ActivityWriter {
    /// Returns the writer of an attempt; creates no file before the first record.
    pub fn new(run: &RunDir, phase: &PhaseNumber, attempt: u32) -> Self {
        let (path, older) = (run.activity(phase, attempt), run.older_activity(phase, attempt));
        let file = RotatingFile::new(path, older, FILE_BYTES_MAX);
        Self { file: Some(Arc::new(Mutex::new(file))), clock: Clock::default() }
    }

    /// Returns a stream of records about one agent or command.
    pub fn stream(&self, role: &str, task: Option<(&str, usize)>) -> ActivityStream {
        let (plan, task) = (task.map(|(plan, _)| plan.to_owned()), task.map(|(_, task)| task));
        let source = ActivitySource { role: role.to_owned(), plan, task };
        ActivityStream { writer: self.clone(), source, root: None }
    }

    fn write(&self, source: &ActivitySource, kinds: Vec<ActivityKind>) {
        let Some(file) = self.file.as_ref().filter(|_| !kinds.is_empty()) else { return };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // The time is taken under the lock, so that the times in the file never go back.
        let at = self.clock.now();
        let lines = kinds
            .into_iter()
            .flat_map(|kind| ActivityRecord { at, source: source.clone(), kind }.line());
        let lines: Vec<u8> = lines.collect();
        // Activity that cannot be written is lost. The next record tries again.
        file.append(&lines).ok();
    }
}

/// Writes records about one agent or command.
#[derive(Clone, Debug)]
pub struct ActivityStream {
    writer: ActivityWriter,
    source: ActivitySource,
    /// The directory that paths are relative to.
    root: Option<PathBuf>,
}

impl ActivityStream {
    /// Shows paths below this directory relative to it.
    #[must_use]
    pub fn within(mut self, root: &Path) -> Self {
        self.root = Some(root.to_path_buf());
        self
    }

    /// Writes one record.
    pub fn record(&self, kind: ActivityKind) {
        self.record_all(vec![kind]);
    }

    pub(super) fn record_all(&self, kinds: Vec<ActivityKind>) {
        self.writer.write(&self.source, kinds);
    }

    /// Records what an agent said or did.
    pub fn record_event(&self, event: &Event) {
        let relative = |path: &str| {
            let below = self.root.as_ref().and_then(|root| Path::new(path).strip_prefix(root).ok());
            below.map_or(path.to_owned(), |below| below.display().to_string())
        };
        self.record_all(ActivityKind::from_agent(event, &relative).into_iter().collect());
    }

    /// Records that a turn of an agent begins.
    pub fn agent_started(&self, agent: &str, log: &Path) {
        let (agent, log) = (agent.to_owned(), log.display().to_string());
        self.record(ActivityKind::AgentStarted { agent, log });
    }

    /// Records that a shell command begins.
    pub fn command_started(&self, command: &str, log: &Path) {
        let command = cut_text(command.trim(), TEXT_BYTES_MAX);
        self.record(ActivityKind::CommandStarted { command, log: log.display().to_string() });
    }

    /// Records how a turn of an agent ended.
    pub fn agent_ended(&self, end: &Result<AgentOutcome, AgentError>) {
        match end {
            Ok(AgentOutcome::Done { .. }) => self.ended(true, "done"),
            Ok(AgentOutcome::Parked { .. }) => self.ended(true, "waits for an answer"),
            Ok(AgentOutcome::Stopped) => self.ended(false, "stopped"),
            Ok(AgentOutcome::Failed { text, .. }) => self.ended(false, text),
            Err(error) => self.ended(false, &error.to_string()),
        }
    }

    /// Records how a turn or a command ended.
    pub fn ended(&self, ok: bool, text: &str) {
        self.record(ActivityKind::Ended { ok, text: cut_text(text.trim(), TEXT_BYTES_MAX) });
    }
}

//! Where a run stands and which command continues it, as the session section of STATE.md says it.

use super::RunView;
use crate::inbox::{InboxItem, QuestionKind};
use crate::lead::{Lead, RunScope, RunStatus, Status};
use crate::phase::PhaseNumber;

/// The most phases that a command names; with more, the command says `--all`.
const NAMED_MAX: usize = 12;

/// The most failed phases that a text names.
const FAILED_MAX: usize = 8;

/// Where a run stands, for somebody who takes up the project later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// What the run does, or why it stopped.
    pub stopped_at: String,
    /// The command that continues the run.
    pub command: String,
    /// Whether a lead continues the run by itself.
    pub is_live: bool,
}

impl SessionView {
    /// Returns where a run stands; `is_live` says whether its lead goes on.
    pub fn of(lead: &Lead, is_live: bool) -> Self {
        let merged = lead.phases.values().filter(|state| state.status == Status::Merged).count();
        let progress = format!("{merged} of {} merged", counted(lead.phases.len(), "phase"));
        let (run, go_on) = (&lead.run, lead.resume_command());
        let is_over = lead.closed || !lead.phases.is_empty() && lead.is_over();
        let (stopped_at, command) = if lead.closed {
            return Self::closed(run, &progress);
        } else if is_over {
            (format!("run {run} finished: {progress}"), NEXT.to_owned())
        } else if is_live && lead.status() == RunStatus::Moving {
            (format!("run {run} is running"), go_on)
        } else if let Some(item) = open_question(lead) {
            let id = item.id;
            let about = item.phase.map_or(String::new(), |phase| format!(" about phase {phase}"));
            let then = if is_live { String::new() } else { format!(", then {go_on}") };
            let waits =
                format!("run {run} waits for the answer to question {id}{about}: {progress}");
            (waits, format!("mow answer {id} …{then}"))
        } else if lead.status() == RunStatus::Failed {
            let failed = failed_phases(lead);
            (format!("run {run} stopped because {failed}: {progress}"), go_on)
        } else {
            (format!("run {run} was stopped: {progress}"), go_on)
        };
        Self { stopped_at, command, is_live: is_live && !is_over }
    }

    /// Returns what a run that a person closed leaves.
    pub fn of_closed(run: &RunView) -> Self {
        let counts = &run.counts;
        let progress = format!("{} of {} merged", counts.merged, counted(counts.phases, "phase"));
        Self::closed(&run.run, &progress)
    }

    fn closed(run: &str, progress: &str) -> Self {
        let stopped_at = format!("run {run} closed: {progress}");
        Self { stopped_at, command: NEXT.to_owned(), is_live: false }
    }
}

/// The command after the end of a run.
const NEXT: &str = "mow (shows what to do next)";

/// Returns the first open question that is not about a failure.
fn open_question(lead: &Lead) -> Option<&InboxItem> {
    let is_failure = |kind| matches!(kind, QuestionKind::Failed | QuestionKind::Breaker);
    lead.inbox.open().find(|item| !is_failure(item.ask.kind))
}

fn failed_phases(lead: &Lead) -> String {
    let failed = lead.phases.values().filter(|state| state.status == Status::Failed);
    let failed: Vec<_> = failed.map(|state| state.spec.number.to_string()).collect();
    let named = failed.iter().take(FAILED_MAX).cloned().collect::<Vec<_>>().join(", ");
    match failed.len() {
        0 => "the circuit breaker is open".to_owned(),
        1 => format!("phase {named} failed"),
        n if n > FAILED_MAX => format!("phases {named} and {} more failed", n - FAILED_MAX),
        _ => format!("phases {named} failed"),
    }
}

fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// An unmerged phase, as far as the command that continues the run depends on it.
struct OpenPhase {
    number: PhaseNumber,
    wave: usize,
    /// Whether the phase is cancelled, or waits for phases that are not merged.
    cannot_move: bool,
}

impl Lead {
    /// Returns the command that continues the run.
    fn resume_command(&self) -> String {
        let open = self.phases.values().filter(|state| state.status != Status::Merged);
        let is_merged = |number: &PhaseNumber| {
            self.phases.get(number).is_none_or(|state| state.status == Status::Merged)
        };
        let open = open.map(|state| {
            let waits = || !state.spec.depends_on.iter().all(is_merged);
            let (number, wave) = (state.spec.number, state.wave);
            OpenPhase { number, wave, cannot_move: cannot_move(state.status, waits) }
        });
        resume_command(self.scope, &open.collect::<Vec<_>>())
    }
}

impl RunView {
    /// Returns the command that continues the run: with its open phases, or `--all`.
    pub fn resume_command(&self) -> String {
        let open = self.phases.iter().filter(|phase| phase.status != Status::Merged);
        let open = open.map(|phase| {
            let waits = || phase.open_dependencies().next().is_some();
            let (number, wave) = (phase.number, phase.wave);
            OpenPhase { number, wave, cannot_move: cannot_move(phase.status, waits) }
        });
        let open: Vec<_> = open.collect();
        if self.phases_left_out == 0 { resume_command(self.scope, &open) } else { ALL.to_owned() }
    }
}

fn cannot_move(status: Status, waits: impl Fn() -> bool) -> bool {
    status == Status::Cancelled || status == Status::Waiting && waits()
}

/// The command that continues all phases, except those that a person cancelled.
const ALL: &str = "mow run --all";

fn resume_command(scope: RunScope, open: &[OpenPhase]) -> String {
    let command = |phases: &mut dyn Iterator<Item = &OpenPhase>| {
        let numbers = phases.take(NAMED_MAX).map(|phase| phase.number.to_string());
        format!("mow run {}", numbers.collect::<Vec<_>>().join(" "))
    };
    if open.is_empty() {
        return ALL.to_owned();
    }
    if scope == RunScope::Named && open.len() <= NAMED_MAX {
        return command(&mut open.iter());
    }
    if open.iter().all(|phase| phase.cannot_move) {
        // `--all` does not resume what a person cancelled. Phases of the first wave can start.
        let wave = open.iter().map(|phase| phase.wave).min();
        return command(&mut open.iter().filter(|phase| Some(phase.wave) == wave));
    }
    ALL.to_owned()
}

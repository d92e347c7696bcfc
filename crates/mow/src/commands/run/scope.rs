//! Says which phases do not run, and why: phases of other milestones, withdrawn phases, phases with a
//! dependency that cannot be satisfied, and older work that stays as it is.

use mow_core::lead::{Lead, PhaseState, RunStatus, Status};
use mow_core::phase::PhaseNumber;
use mow_core::view::{RunFacts, RunView};
use mow_engine::lead::PhaseSelection;
use mow_store::roadmap::WithdrawalKind;

use crate::commands::plural::counted;
use crate::output::{notice, warn};

/// The most phases that one line names.
const NAMED_MAX: usize = 12;

/// Tells the user before the start which phases do not run.
pub(super) fn show(selection: &PhaseSelection, unfinished: Option<&(String, Lead)>) {
    for (milestone, phases) in &selection.elsewhere {
        let current = selection.milestone.join(", ");
        let command = match milestone.as_str() {
            "no milestone" => format!("`mow run {}` runs them", words(phases)),
            key => format!("`mow run --all --milestone {}` runs them", quoted(key)),
        };
        let phases = list(phases);
        notice(&format!("not in milestone {current}: {phases} ({milestone}); {command}"));
    }
    let marked = selection.withdrawn.iter();
    let marked = marked.filter(|(_, withdrawal)| withdrawal.kind == WithdrawalKind::Marked);
    for (phase, withdrawal) in marked.take(NAMED_MAX) {
        let line = withdrawal.line;
        notice(&format!("phase {phase} is withdrawn and does not run (ROADMAP.md:{line})"));
    }
    for spec in &selection.phases {
        if let Some(why) = spec.held.as_ref().filter(|_| selection.all) {
            warn(&format!("phase {} does not start: {why}", spec.number));
        }
    }
    if let Some((run, lead)) = unfinished {
        show_old_work(run, &selection.left_out(lead));
    }
}

fn show_old_work(run: &str, left_out: &[PhaseNumber]) {
    if left_out.is_empty() {
        return;
    }
    let count = counted(left_out.len(), "older phase");
    let verb = if left_out.len() == 1 {
        "is not finished and stays as it is"
    } else {
        "are not finished and stay as they are"
    };
    let phases = list(left_out);
    notice(&format!("{count} of run {run} {verb}: {phases}; `mow run --all` continues the run"));
}

/// Tells the user at the end what is left of the run.
pub(super) fn show_rest(lead: &Lead) {
    let held = lead.phases.values().filter(|state| state.status == Status::Waiting);
    for state in held.filter(|state| !state.is_left_out()) {
        if let Some(why) = &state.spec.held {
            warn(&format!("phase {} did not start: {why}", state.spec.number));
        }
    }
    let left_out = lead.phases.values().filter(|state| state.is_left_out());
    show_old_work(&lead.run, &left_out.map(|state| state.spec.number).collect::<Vec<_>>());
}

/// Returns the view of a run without the phases that were left out.
pub(super) fn named_view(lead: &Lead) -> RunView {
    let mut view = RunView::of(lead, &RunFacts::default());
    let is_left_out =
        |number: PhaseNumber| lead.phases.get(&number).is_some_and(PhaseState::is_left_out);
    view.phases.retain(|phase| !is_left_out(phase.number));
    view.questions.retain(|question| !question.phase.is_some_and(is_left_out));
    if !lead.settings.left_out.is_empty() {
        view.counts.phases = view.phases.len();
        view.counts.questions = view.questions.len();
    }
    if lead.is_named_work_over() {
        view.status = RunStatus::Done;
    }
    view
}

fn list(phases: &[PhaseNumber]) -> String {
    let named: Vec<_> = phases.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = phases.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

fn words(phases: &[PhaseNumber]) -> String {
    phases.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Quotes a milestone for a shell if it contains a blank.
fn quoted(key: &str) -> String {
    if key.contains(' ') { format!("\"{key}\"") } else { key.to_owned() }
}

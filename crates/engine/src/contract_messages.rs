//! Says which contract messages are shown, and where the whole text of a cut message is.

use mow_core::message::MessageKind;
use mow_core::phase::PhaseNumber;
use mow_core::view::ContractMessage;
use mow_store::config::Config;
use mow_store::phase_dirs;
use mow_store::project::Project;

use crate::clock::utc_text;

/// Returns whether only milestones are shown: `messages.events` is `lean`.
pub fn is_lean(config: &Config) -> bool {
    config.lookup("messages.events").is_some_and(|events| events == "lean")
}

/// Returns a message as compact JSON on one line, without the line break.
pub fn render(project: &Project, message: &ContractMessage) -> String {
    let phase = message.phase.unwrap_or(PhaseNumber::whole(0));
    message.render(&utc_text(message.at), &status_ref(project, &phase, message.kind()))
}

/// Returns the path of a phase's STATUS.md below the root of its worktree, with the section that
/// has the whole text.
pub fn status_ref(project: &Project, phase: &PhaseNumber, kind: MessageKind) -> String {
    let padded = phase.padded();
    let dir = phase_dirs::find(&project.planning, &phase.to_string());
    let file = dir.as_ref().and_then(|dir| dir.status_file().map(str::to_owned));
    let dir = dir.map_or_else(|| padded.clone(), |dir| dir.name);
    let file = file.unwrap_or_else(|| format!("{padded}-STATUS.md"));
    let section = if kind == MessageKind::Blocker { "blockers" } else { "context" };
    format!(".planning/phases/{dir}/{file}#{section}")
}

//! Converts contract messages to entries of the dashboard's event file.

use mow_core::message::MessageKind;
use mow_core::view::ContractMessage;
use mow_store::dashboard;

use crate::clock::utc_text;

/// Returns the dashboard's entry for a message; `None` if the dashboard does not show it.
///
/// With `lean`, only milestones are shown. Acknowledgements are never shown.
pub(super) fn entry(message: &ContractMessage, lean: bool) -> Option<dashboard::Event> {
    let kind = message.kind();
    let is_shown = kind != MessageKind::Ack && (kind.is_milestone() || !lean);
    is_shown.then(|| dashboard::Event {
        kind: kind.name().to_owned(),
        phase: message.phase.map(|phase| phase.to_string()),
        detail: message.detail.clone(),
        ts: utc_text(message.at),
    })
}

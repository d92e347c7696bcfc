//! Closes a run: no question stays open, and nothing follows.

use super::decide::DecisionBuilder;
use super::{Caller, Event};

impl DecisionBuilder<'_> {
    /// Withdraws all open questions and closes the run. A closed run is not closed again.
    pub(super) fn close_run(&mut self, by: &Caller) {
        let lead = self.lead;
        if lead.closed {
            return;
        }
        let open = lead.inbox.open().map(|item| Event::Withdrawn { item: item.id });
        self.events.extend(open);
        let phases = lead.phases.values().filter(|state| !state.status.is_over());
        let open = phases.map(|state| state.spec.number).collect();
        self.events.push(Event::Closed { by: by.clone(), open });
    }
}

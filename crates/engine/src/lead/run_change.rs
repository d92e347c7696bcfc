//! What an observer of a run gets: new events, and the view of the run on demand.
//!
//! An observer never sees the state of the lead itself.

use mow_core::lead::{Event, Lead};
use mow_core::view::{EventView, RunFacts, RunView, ViewLimits};

/// Receives the progress of a run, to show it to people.
pub trait RunObserver {
    /// Called after events were recorded.
    fn show(&mut self, change: &RunChange<'_>);

    /// Called with a problem that does not stop the run.
    fn warn(&mut self, text: &str);
}

/// Events that were just recorded, with the state of the run after them.
pub struct RunChange<'a> {
    lead: &'a Lead,
    events: &'a [EventView],
    facts: RunFacts,
}

impl<'a> RunChange<'a> {
    /// `recorded` is the number and the time of the record that holds the events.
    pub(super) fn new(lead: &'a Lead, events: &'a [EventView], recorded: (u64, u64)) -> Self {
        let (seq, now) = recorded;
        let facts = RunFacts { seq, now, lead: Some(std::process::id()), ..RunFacts::default() };
        Self { lead, events, facts }
    }

    /// Returns the id of the run.
    pub fn run(&self) -> &str {
        &self.lead.run
    }

    /// Returns the time of the change, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        self.facts.now
    }

    /// Returns the new events, oldest first.
    pub fn events(&self) -> &[EventView] {
        self.events
    }

    /// Returns the view of the run. It is made on demand, because not every screen needs it.
    pub fn view(&self, limits: ViewLimits) -> RunView {
        RunView::limited(self.lead, &self.facts, limits)
    }
}

/// Returns the views of events of one record.
pub(super) fn event_views(events: &[Event], recorded: (u64, u64)) -> Vec<EventView> {
    events.iter().map(|event| EventView::of(event, None, recorded)).collect()
}

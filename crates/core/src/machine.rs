//! What lead and worker have in common: both decide purely, and one loop drives them.
//!
//! A machine gets an input and the time, and answers with events and effects. The events are
//! applied at once in memory; the loop writes them down durably before it releases the effects. A
//! crash in between leaves an effect that was never released, and nothing else.

/// What follows from an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<Event, Effect> {
    /// What is now a fact, in order.
    pub events: Vec<Event>,
    /// What is to be done once the events are durable.
    pub effects: Vec<Effect>,
}

impl<Event, Effect> Default for Decision<Event, Effect> {
    fn default() -> Self {
        Self { events: Vec::new(), effects: Vec::new() }
    }
}

/// Something that decides.
pub trait Machine {
    /// What reaches it.
    type Input;
    /// What it writes down.
    type Event;
    /// What it wants done.
    type Effect;

    /// Decides about an input without changing anything.
    fn decide(&self, input: &Self::Input, now: u64) -> Decision<Self::Event, Self::Effect>;

    /// Decides what else should happen now that the last decision is applied; empty at rest.
    fn follow_up(&self, now: u64) -> Decision<Self::Event, Self::Effect>;

    /// Makes an event part of the state. Cannot fail.
    fn apply(&mut self, event: &Self::Event, at: u64);

    /// Returns when [`Machine::follow_up`] wants to be asked again, in milliseconds since 1970.
    fn deadline(&self) -> Option<u64>;
}

/// The most decisions that may follow from one input; more would be a circle.
const FOLLOW_UPS_MAX: usize = 100_000;

/// Decides about an input and everything that follows from it, and applies it.
pub fn step<M: Machine>(
    machine: &mut M,
    input: Option<&M::Input>,
    now: u64,
) -> Decision<M::Event, M::Effect> {
    let mut all = Decision::default();
    let mut next = input.map_or_else(Decision::default, |input| machine.decide(input, now));
    for _ in 0..FOLLOW_UPS_MAX {
        for event in &next.events {
            machine.apply(event, now);
        }
        all.events.append(&mut next.events);
        all.effects.append(&mut next.effects);
        next = machine.follow_up(now);
        if next.events.is_empty() && next.effects.is_empty() {
            return all;
        }
    }
    all
}

//! The trait that lead and worker share: pure state machines, driven by one loop.
//!
//! A machine gets an input and the time, and returns events and effects. The events are applied at
//! once in memory; the loop makes them durable before it releases the effects. A crash in between
//! leaves an effect that was never released, and nothing else.

/// The result of an input: events to record and effects to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision<Event, Effect> {
    /// The events, in the order in which they are recorded and applied.
    pub events: Vec<Event>,
    /// The effects, to be released once the events are durable.
    pub effects: Vec<Effect>,
}

impl<Event, Effect> Default for Decision<Event, Effect> {
    fn default() -> Self {
        Self { events: Vec::new(), effects: Vec::new() }
    }
}

/// A pure state machine.
pub trait Machine {
    /// What it reacts to.
    type Input;
    /// What it records.
    type Event;
    /// What it has done by its driver.
    type Effect;

    /// Returns the decision about an input. Changes nothing.
    fn decide(&self, input: &Self::Input, now: u64) -> Decision<Self::Event, Self::Effect>;

    /// Returns the next decision that needs no input; empty when there is nothing to do now.
    fn follow_up(&self, now: u64) -> Decision<Self::Event, Self::Effect>;

    /// Applies an event to the state. Never fails.
    fn apply(&mut self, event: &Self::Event, at: u64);

    /// Returns when [`Machine::follow_up`] must be called again, in milliseconds since 1970.
    fn deadline(&self) -> Option<u64>;
}

/// The most decisions that may follow from one input; more would be an endless loop.
const FOLLOW_UPS_MAX: usize = 100_000;

/// Decides about an input, and about everything that follows from it, and applies the events.
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

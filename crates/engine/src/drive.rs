//! The one loop, for lead and worker, for the real world and a simulated one.
//!
//! For each batch of inputs: decide and apply in memory, write the events down durably, and only
//! then release the effects. When writing fails nothing is released and the loop ends: whatever was
//! decided since the last write never happened.

use mow_core::machine::{self, Decision, Machine};

/// What a machine lives in.
pub trait World<M: Machine> {
    /// Why the world cannot go on.
    type Error;

    /// Returns the time in milliseconds since 1970. It never goes back.
    fn now(&mut self) -> u64;

    /// Waits for inputs, at most until a time; returns none when the time is up.
    fn wait(&mut self, machine: &M, until: Option<u64>) -> Result<Vec<M::Input>, Self::Error>;

    /// Writes the events of a batch down so that they survive a crash: all of them or none.
    ///
    /// A part of a decision is no decision: a phase that is being prepared with nobody to prepare
    /// it would wait for ever, and a command that counts as read would never be obeyed.
    fn record(&mut self, events: &[M::Event], now: u64) -> Result<(), Self::Error>;

    /// Begins to do something, once its events are recorded.
    fn release(&mut self, machine: &M, effect: M::Effect) -> Result<(), Self::Error>;

    /// Learns what became of a batch: draws, confirms, projects. Returns whether to go on.
    fn settle(&mut self, machine: &M, events: &[M::Event]) -> Result<bool, Self::Error>;
}

/// Drives a machine until its world has enough.
pub fn drive<M: Machine, W: World<M>>(machine: &mut M, world: &mut W) -> Result<(), W::Error> {
    loop {
        let inputs = world.wait(machine, machine.deadline())?;
        let now = world.now();
        let mut all = Decision::default();
        for input in inputs.iter().map(Some).chain([None]) {
            let mut decision = machine::step(machine, input, now);
            all.events.append(&mut decision.events);
            all.effects.append(&mut decision.effects);
        }
        failpoint::reach("drive.decided");
        if !all.events.is_empty() {
            world.record(&all.events, now)?;
            failpoint::reach("drive.recorded");
        }
        for effect in all.effects {
            world.release(machine, effect)?;
        }
        failpoint::reach("drive.released");
        if !world.settle(machine, &all.events)? {
            failpoint::reach("drive.ended");
            return Ok(());
        }
    }
}

//! Runs a state machine: the main loop of the lead and of every worker, real or simulated.
//!
//! For each batch of inputs the loop decides and applies in memory, writes the events durably, and
//! only then starts the effects. If the write fails, no effect starts and the loop ends: decisions
//! that were not written never happened.

use mow_core::machine::{self, Decision, Machine};

/// The surroundings of a machine: where inputs come from, and where events and effects go.
pub trait World<M: Machine> {
    /// Why the loop has to end.
    type Error;

    /// Returns the time in milliseconds since 1970; never less than before.
    fn now(&mut self) -> u64;

    /// Waits for inputs, at most until the time `until`; returns no inputs when that is reached.
    fn wait(&mut self, machine: &M, until: Option<u64>) -> Result<Vec<M::Input>, Self::Error>;

    /// Writes the events of a batch durably: all of them or none.
    ///
    /// Half a decision would be harmful: a phase marked as in preparation without the effect that
    /// prepares it would wait for ever, and a command marked as read would never be carried out.
    fn record(&mut self, events: &[M::Event], now: u64) -> Result<(), Self::Error>;

    /// Starts an effect. Called only after the events of its batch are recorded.
    fn release(&mut self, machine: &M, effect: M::Effect) -> Result<(), Self::Error>;

    /// Completes a batch after its effects were started: updates the display, the confirmations to
    /// workers and the planning files. Returns whether the loop continues.
    fn finish_batch(&mut self, machine: &M, events: &[M::Event]) -> Result<bool, Self::Error>;
}

/// Runs a machine until [`World::finish_batch`] ends the loop.
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
        if !world.finish_batch(machine, &all.events)? {
            failpoint::reach("drive.ended");
            return Ok(());
        }
    }
}

//! With nothing to do nothing is started: not by time, nor by a look, a roadmap read again, or a new
//! lead.

use mow_core::lead::{Command, Status};
use mow_testkit::dice::Dice;

use super::fleet::Process;
use super::script::{Faults, Script};
use super::world::{Happening, Sim};

const HOUR: u64 = 60 * 60_000;
/// How often a loop looks by itself.
const LOOK_EVERY: u64 = 5_000;
const RESTART_EVERY: u64 = 10 * 60_000;
const SEEDS: u64 = 20;
/// After no time, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5 and 45.5 minutes.
const TRIES_IN_AN_HOUR: usize = 8;

/// Why nothing goes on.
#[derive(Clone, Copy, Debug)]
enum Why {
    /// Questions are open.
    Asked,
    /// Agents cannot log in.
    Denied,
    /// The money is spent.
    Spent,
    /// A person made all rest.
    Paused,
}

/// Thinks up a run in which nobody answers anything.
fn silent(seed: u64, why: Why) -> Sim {
    let mut dice = Dice::new(seed);
    let mut script = Script::roll(&mut dice, 12);
    let faults = std::mem::take(&mut script.faults);
    let (asks, denials) = match why {
        Why::Asked => (1_000, 0),
        Why::Denied => (0, 1_000),
        Why::Spent | Why::Paused => (0, 0),
    };
    script.faults =
        Faults { lead: faults.lead, worker: faults.worker, asks, denials, ..Faults::default() };
    script.settings.budget.micro_usd = matches!(why, Why::Spent).then_some(1);
    script.silent = true;
    let horizon = script.horizon;
    let mut sim = Sim::new(dice, script);
    if matches!(why, Why::Paused) {
        sim.commands.push(Command::Pause { phase: None });
        let after = sim.dice.below(horizon);
        sim.after(after, Happening::Look);
    }
    sim
}

impl Sim {
    /// Counts what was started: workers, and agents.
    fn starts(&self) -> (usize, usize) {
        (self.processes.len(), self.employed.len())
    }

    /// Lets an hour pass in which everybody looks, and the lead is started again now and then.
    fn pass_an_hour(&mut self) -> Result<(), String> {
        let until = self.now + HOUR;
        (1..HOUR / LOOK_EVERY).for_each(|n| self.after(n * LOOK_EVERY, Happening::Look));
        for n in 1..HOUR / RESTART_EVERY {
            // A lead that is started takes some time, so its number is not known before.
            self.after(n * RESTART_EVERY, Happening::Replace);
        }
        self.run_to_rest()?;
        assert!(self.now + LOOK_EVERY >= until, "the hour was {} ms short", until - self.now);
        Ok(())
    }

    fn is_open(&self) -> bool {
        let mut tracks = self.ledger.lead.phases.values();
        tracks.any(|track| track.status != Status::Merged)
    }
}

#[test]
fn nothing_is_started_in_an_hour_with_nothing_to_do() {
    for why in [Why::Asked, Why::Denied, Why::Spent, Why::Paused] {
        let mut open = 0;
        for seed in 0..SEEDS {
            let mut sim = silent(seed, why);
            let told = |problem| panic!("{why:?}, seed {seed}: {problem}");
            sim.run_to_rest().unwrap_or_else(told);
            let before = sim.starts();
            open += u64::from(sim.is_open());
            sim.pass_an_hour().unwrap_or_else(told);
            assert_eq!(sim.starts(), before, "{why:?}, seed {seed}: {}", sim.shown());
        }
        println!("{why:?}: {open} of {SEEDS} had something left to do");
        assert!(open * 2 > SEEDS, "{why:?}: nothing was left to do in most runs");
    }
}

#[test]
fn a_model_that_does_not_answer_is_asked_less_and_less() {
    for seed in 0..SEEDS {
        let mut sim = silent(seed, Why::Asked);
        sim.script.faults = Faults::default();
        let until = sim.now + HOUR;
        sim.outage = until;
        sim.run_to_rest().unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        let asked = sim.employed.iter().filter(|at| **at < until).count();
        let began = |process: &&Process| process.journal.first().is_some_and(|(at, _)| *at < until);
        let workers = sim.processes.values().filter(began).count();
        assert!(asked <= workers * TRIES_IN_AN_HOUR, "seed {seed}: {asked} by {workers} workers");
        // Whoever is not at work when it begins does not come to work before it may be over.
        let slots = sim.script.settings.max_workers.max(1);
        assert!(workers <= slots * TRIES_IN_AN_HOUR, "seed {seed}: {workers} in {slots} slots");
    }
}

//! Tests that an idle run starts nothing: not by time, polling, a reread roadmap, or a new lead.

use mow_core::lead::{Command, Status};
use mow_testkit::seeded_rng::SeededRng;

use super::scenario::{FaultBudget, Scenario};
use super::worker_processes::Process;
use super::world::{Sim, SimEvent};

const HOUR: u64 = 60 * 60_000;
/// How often the loop polls, in milliseconds.
const POLL_INTERVAL: u64 = 5_000;
const RESTART_EVERY: u64 = 10 * 60_000;
const SEEDS: u64 = 20;
/// Tries start after 0, 0.5, 1.5, 3.5, 7.5, 15.5, 30.5 and 45.5 minutes.
const TRIES_IN_AN_HOUR: usize = 8;

/// IdleReason the run is idle.
#[derive(Clone, Copy, Debug)]
enum IdleReason {
    /// Questions are open.
    Asked,
    /// Agents cannot log in.
    Denied,
    /// The budget is used up.
    Spent,
    /// A person paused all phases.
    Paused,
}

/// Creates a run in which nobody answers questions.
fn idle_run(seed: u64, why: IdleReason) -> Sim {
    let mut rng = SeededRng::new(seed);
    let mut scenario = Scenario::roll(&mut rng, 12);
    let faults = std::mem::take(&mut scenario.faults);
    let (asks, denials) = match why {
        IdleReason::Asked => (1_000, 0),
        IdleReason::Denied => (0, 1_000),
        IdleReason::Spent | IdleReason::Paused => (0, 0),
    };
    scenario.faults = FaultBudget {
        lead: faults.lead,
        worker: faults.worker,
        asks,
        denials,
        ..FaultBudget::default()
    };
    scenario.settings.budget.micro_usd = matches!(why, IdleReason::Spent).then_some(1);
    scenario.silent = true;
    let horizon = scenario.horizon;
    let mut sim = Sim::new(rng, scenario);
    if matches!(why, IdleReason::Paused) {
        sim.commands.push(Command::Pause { phase: None });
        let after = sim.rng.below(horizon);
        sim.after(after, SimEvent::Look);
    }
    sim
}

impl Sim {
    /// Returns how many workers and agents were started.
    fn starts(&self) -> (usize, usize) {
        (self.processes.len(), self.agent_starts.len())
    }

    /// Simulates an hour with regular polling and some restarts of the lead.
    fn simulate_hour(&mut self) -> Result<(), String> {
        let until = self.now + HOUR;
        (1..HOUR / POLL_INTERVAL).for_each(|n| self.after(n * POLL_INTERVAL, SimEvent::Look));
        for n in 1..HOUR / RESTART_EVERY {
            // Starting a lead takes time, so its generation is not known before.
            self.after(n * RESTART_EVERY, SimEvent::Replace);
        }
        self.run_to_rest()?;
        assert!(self.now + POLL_INTERVAL >= until, "the hour was {} ms short", until - self.now);
        Ok(())
    }

    fn is_open(&self) -> bool {
        let mut tracks = self.invariants.lead.phases.values();
        tracks.any(|track| track.status != Status::Merged)
    }
}

#[test]
fn an_idle_run_starts_nothing_in_an_hour() {
    for why in [IdleReason::Asked, IdleReason::Denied, IdleReason::Spent, IdleReason::Paused] {
        let mut open = 0;
        for seed in 0..SEEDS {
            let mut sim = idle_run(seed, why);
            let fail = |problem| panic!("{why:?}, seed {seed}: {problem}");
            sim.run_to_rest().unwrap_or_else(fail);
            let before = sim.starts();
            open += u64::from(sim.is_open());
            sim.simulate_hour().unwrap_or_else(fail);
            assert_eq!(sim.starts(), before, "{why:?}, seed {seed}: {}", sim.unmerged_status());
        }
        println!("{why:?}: {open} of {SEEDS} had something left to do");
        assert!(open * 2 > SEEDS, "{why:?}: nothing was left to do in most runs");
    }
}

#[test]
fn a_model_that_does_not_answer_is_tried_with_growing_pauses() {
    for seed in 0..SEEDS {
        let mut sim = idle_run(seed, IdleReason::Asked);
        sim.scenario.faults = FaultBudget::default();
        let until = sim.now + HOUR;
        sim.outage = until;
        sim.run_to_rest().unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        let asked = sim.agent_starts.iter().filter(|at| **at < until).count();
        let began = |process: &&Process| process.began.is_some_and(|at| at < until);
        let workers = sim.processes.values().filter(began).count();
        assert!(asked <= workers * TRIES_IN_AN_HOUR, "seed {seed}: {asked} by {workers} workers");
        // A phase that does not run when the outage begins is not started before it may be over.
        let slots = sim.scenario.settings.max_workers.max(1);
        assert!(workers <= slots * TRIES_IN_AN_HOUR, "seed {seed}: {workers} in {slots} slots");
    }
}

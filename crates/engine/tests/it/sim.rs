//! Simulates whole runs: the real lead and real workers, with a simulated world around them.
//!
//! Lead and worker run in the loop of the program, in virtual time, with random numbers from a
//! seed. Inputs come late, twice or not at all, and every process crashes. Invariants are checked
//! after every batch.
//!
//! | variable | meaning |
//! |---|---|
//! | `MOW_SIM_SEEDS` | the number of seeds |
//! | `MOW_SIM_PHASES` | the most phases of a seed |
//! | `MOW_SIM_SEED` | run only this seed |
//! | `MOW_SIM_LARGE` | the phases of the large run; it has a tenth as many workers |
//! | `MOW_SIM_LARGE_SEEDS` | the number of large runs |
//! | `MOW_SIM_LARGE_SEED` | make only the large run of this seed |

mod agents;
mod checks;
mod disk;
mod effects;
mod idle;
mod people;
mod scenario;
mod stalls;
mod worker_processes;
mod world;

use std::ops::Range;
use std::time::Instant;

use mow_core::lead::{RunStatus, Status};
use mow_core::stage::Lookahead;
use mow_core::worker::{Effect, Role};
use mow_engine::drive::drive;
use mow_testkit::seeded_rng::SeededRng;

use scenario::{FaultBudget, Scenario};
use world::{Sim, SimStop};

/// How often people intervene in a run that rests before it counts as endless.
const ROUNDS_MAX: usize = 60;

/// Counts of what happened in simulated runs.
#[derive(Debug, Default)]
struct Tally {
    done: u64,
    given_up: u64,
    batches: usize,
    attempts: usize,
    leads: u32,
    asked: usize,
    throttled: usize,
    denied: usize,
    stopped: usize,
}

impl Sim {
    /// Runs to the end, through all crashes.
    fn run(&mut self) -> Result<(), String> {
        self.queue_faults();
        for _ in 0..ROUNDS_MAX {
            self.run_to_rest()?;
            if !self.answer_open() && !self.undo_interventions() {
                return self.check_end();
            }
        }
        Err(format!("it does not come to an end: {}", self.unmerged_status()))
    }

    /// Runs until nothing more happens without people.
    fn run_to_rest(&mut self) -> Result<(), String> {
        loop {
            let mut lead = self.recover()?;
            match drive(&mut lead, self) {
                Ok(()) | Err(SimStop::Down) => {}
                Err(SimStop::Rest) => {
                    self.invariants.check(&lead)?;
                    return match lead.status() {
                        RunStatus::Moving => {
                            Err(format!("it got stuck: {}", self.unmerged_status()))
                        }
                        _ => Ok(()),
                    };
                }
                Err(SimStop::Broken(problem)) => return Err(problem),
            }
        }
    }

    /// Checks that all phases are merged, except those that people gave up and their dependents.
    fn check_end(&mut self) -> Result<(), String> {
        if let Some(broken) = self.broken.take() {
            return Err(broken);
        }
        self.check_agents()?;
        let lead = &self.invariants.lead;
        let mut excused = self.given_up.clone();
        for track in lead.phases.values() {
            let number = track.spec.number;
            if track.spec.depends_on.iter().any(|dependency| excused.contains(dependency)) {
                excused.insert(number);
            }
            if track.status == Status::Merged {
                let is_done = self.scenario.spec(number).is_some_and(|spec| spec.done);
                let done = is_done && track.started.is_none();
                let disk = &self.scenario.disks[&number];
                if !done {
                    disk.check_complete()
                        .map_err(|problem| format!("phase {number}: {problem}"))?;
                }
            } else if !excused.contains(&number) {
                return Err(format!("phase {number} was not done: {}", self.unmerged_status()));
            }
        }
        if let Some((key, _)) = self.processes.iter().find(|(_, process)| process.alive) {
            return Err(format!("the worker of {}-{} was left behind", key.0, key.1));
        }
        let expected = lead.is_over();
        if (lead.status() == RunStatus::Done) != expected || lead.target.is_closed != expected {
            return Err(format!("it stands {:?}, closed {}", lead.status(), lead.target.is_closed));
        }
        Ok(())
    }

    /// Returns the status of each phase that is not merged, for messages.
    fn unmerged_status(&self) -> String {
        let lead = &self.invariants.lead;
        let open = lead.phases.values().filter(|track| track.status != Status::Merged);
        let shown = open.map(|track| {
            format!("\n  {}-{} {:?}: {}", track.spec.number, track.attempt, track.status, track.why)
        });
        let items = lead.inbox.open().map(|item| format!("\n  asked: {}", item.ask.key));
        format!("breaker {}, open {:?}", lead.starts.breaker_open, lead.effects.open)
            + &shown.chain(items).collect::<String>()
    }

    fn count(&self, tally: &mut Tally) {
        let is_done = self.invariants.lead.is_over();
        tally.done += u64::from(is_done);
        tally.given_up += u64::from(!is_done);
        tally.batches += self.journal.len();
        tally.attempts += self.processes.len();
        tally.leads += self.generation;
        self.count_agents(tally);
    }
}

fn run_seed(seed: u64, phases_max: u64, tally: &mut Tally) -> Result<(), String> {
    let mut rng = SeededRng::new(seed);
    let scenario = Scenario::roll(&mut rng, phases_max);
    let mut sim = Sim::new(rng, scenario);
    let outcome = sim.run();
    sim.count(tally);
    outcome
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Returns the command that runs one seed again.
fn rerun_command(variables: &str) -> String {
    format!("run it again with\n  {variables} cargo test -p mow-engine --test it sim::")
}

/// Returns the seed of variable `one`, or as many seeds as variable `count` says.
fn seeds(one: &str, count: &str, default: u64) -> Range<u64> {
    match number_of(one) {
        Some(seed) => seed..seed + 1,
        None => 0..number_of(count).unwrap_or(default),
    }
}

/// Runs some seeds; returns the first problem.
fn run_seeds(seeds: impl Iterator<Item = u64>) -> Result<Tally, String> {
    let phases_max = number_of("MOW_SIM_PHASES").unwrap_or(30);
    let mut tally = Tally::default();
    for seed in seeds {
        run_seed(seed, phases_max, &mut tally).map_err(|problem| {
            let variables = format!("MOW_SIM_SEED={seed} MOW_SIM_PHASES={phases_max}");
            format!("seed {seed}: {problem}\n{}", rerun_command(&variables))
        })?;
    }
    Ok(tally)
}

#[test]
fn every_seed_keeps_the_invariants() {
    let seeds = seeds("MOW_SIM_SEED", "MOW_SIM_SEEDS", 300);
    let outcomes = std::thread::scope(|scope| {
        let halves = [0, 1].map(|skip| {
            let seeds = seeds.clone().skip(skip).step_by(2);
            scope.spawn(move || run_seeds(seeds))
        });
        halves.map(|half| half.join().expect("no seed panics"))
    });
    let is_all = seeds.count() >= 100;
    for outcome in outcomes {
        match outcome {
            Ok(tally) => {
                println!("{tally:?}");
                let Tally { asked, throttled, denied, stopped, .. } = tally;
                let least = [asked, throttled, denied, stopped].into_iter().min();
                assert!(!is_all || least > Some(10), "agents bring about too little: {tally:?}");
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

#[test]
fn a_large_run_keeps_the_invariants() {
    let phases = number_of("MOW_SIM_LARGE").unwrap_or(200);
    for seed in seeds("MOW_SIM_LARGE_SEED", "MOW_SIM_LARGE_SEEDS", 1) {
        let began = Instant::now();
        let mut tally = Tally::default();
        let outcome = run_large(seed, phases, &mut tally);
        println!("{phases} phases, seed {seed}: {:.0} s, {tally:?}", began.elapsed().as_secs_f32());
        if let Err(problem) = outcome {
            let variables = format!("MOW_SIM_LARGE={phases} MOW_SIM_LARGE_SEED={seed}");
            panic!("{problem}\n{}", rerun_command(&variables));
        }
    }
}

fn run_large(seed: u64, phases: u64, tally: &mut Tally) -> Result<(), String> {
    let mut rng = SeededRng::new(phases + seed);
    let mut scenario = Scenario::of(&mut rng, phases, usize::try_from(phases / 10 + 1).unwrap());
    scenario.settings.circuit_breaker = 0;
    scenario.settings.max_agents = usize::try_from(phases / 5 + 1).unwrap();
    scenario.faults = FaultBudget {
        lead: 10,
        worker: phases / 4,
        effects: phases / 10,
        interventions: 20,
        roadmap: 5,
        stops: 1,
        refusals: 0,
        stalls: phases / 10,
        zombies: 5,
        clocks: phases / 10,
        full: 3,
        lost_notifications: phases,
        asks: phases / 4,
        outages: phases / 20,
        denials: 3,
    };
    let mut sim = Sim::new(rng, scenario);
    let outcome = sim.run();
    sim.count(tally);
    outcome
}

/// Returns the duration of an effect: 20 % of a phase is research, 15 % planning, the rest work.
fn effect_duration(effect: &Effect) -> u64 {
    match effect {
        Effect::RunRole { role: Role::Researcher, .. } => 20_000,
        Effect::RunRole { role: Role::Planner, .. } => 15_000,
        Effect::RunTask { .. } => 65_000,
        _ => 1,
    }
}

/// Returns how long a chain of six phases takes, in virtual milliseconds.
fn chain_time(lookahead: Lookahead) -> u64 {
    let mut sim = Sim::new(SeededRng::new(1), Scenario::chain(6, lookahead, effect_duration));
    let began = sim.now;
    sim.run().unwrap();
    let ended = sim.invariants.lead.phases.values().map(|track| track.since).max();
    ended.unwrap() - began
}

#[test]
fn look_ahead_shortens_a_chain_of_phases() {
    let [off, research, plan] = Lookahead::ALL.map(chain_time);
    println!("off {off} ms, research {research} ms, plan {plan} ms");
    assert!((600_000..610_000).contains(&off), "{off}");
    assert!(off * 100 >= research * 115, "{off} {research}");
    assert!(off * 100 >= plan * 130, "{off} {plan}");
}

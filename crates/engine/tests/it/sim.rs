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
//! | `MOW_SIM_DIGESTS` | write a digest of the lead's journal of each seed to this file |

mod agents;
mod checks;
mod disk;
mod effects;
mod idle;
mod link;
mod people;
mod scenario;
mod stalls;
mod worker_processes;
mod world;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use mow_core::hash;
use mow_core::lead::{RunStatus, Status};
use mow_core::stage::Lookahead;
use mow_core::worker::{Effect, Role};
use mow_engine::drive::drive;
use mow_testkit::seeded_rng::SeededRng;

use link::{BrokenConsumer, LinkFaults};
use scenario::{FaultBudget, Scenario};
use world::{Sim, SimStop};

/// How often people intervene in a run that rests before it counts as endless.
const ROUNDS_MAX: usize = 60;

/// A digest of the lead's journal of each seed. A change that leaves all decisions the same leaves
/// them the same.
type Digests = BTreeMap<u64, String>;

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
    /// Events that a faulty link sent again, and its faults.
    resends: u64,
    link_faults: u64,
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
        self.check_resends()?;
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

    /// Returns a digest of the lead's journal.
    fn journal_digest(&self) -> String {
        let add = |digest: String, (at, line): &(u64, Box<str>)| {
            hash::hex(format!("{digest} {at} {line}").as_bytes())
        };
        self.journal.iter().fold(String::new(), add)
    }

    fn count(&self, tally: &mut Tally) {
        let is_done = self.invariants.lead.is_over();
        tally.done += u64::from(is_done);
        tally.given_up += u64::from(!is_done);
        tally.batches += self.journal.len();
        tally.attempts += self.processes.len();
        tally.leads += self.generation;
        tally.resends += self.link.resends;
        tally.link_faults += self.link.faults_seen;
        self.count_agents(tally);
    }
}

/// The link between the lead and the workers of simulated runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkKind {
    Lossless,
    Faulty,
    /// Faulty, with a consumer that must be found out.
    Broken(BrokenConsumer),
}

/// Runs a seed; returns the digest of its journal.
fn run_seed(
    seed: u64,
    phases_max: u64,
    link: LinkKind,
    tally: &mut Tally,
) -> Result<String, String> {
    let mut rng = SeededRng::new(seed);
    let scenario = Scenario::roll(&mut rng, phases_max);
    let is_faulty = link != LinkKind::Lossless;
    let faults = is_faulty.then(|| LinkFaults::roll(&mut rng, scenario.specs.len()));
    let mut sim = Sim::new(rng, scenario);
    sim.link.faults = faults;
    if let LinkKind::Broken(consumer) = link {
        sim.link.broken = Some(consumer);
    }
    let outcome = sim.run();
    sim.count(tally);
    outcome.map(|()| sim.journal_digest())
}

fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Returns the command that runs one seed again.
fn rerun_command(variables: &str, test: &str) -> String {
    format!("run it again with\n  {variables} cargo test -p mow-engine --test it sim::{test}")
}

/// Returns the seed of variable `one`, or as many seeds as variable `count` says.
fn seeds(one: &str, count: &str, default: u64) -> Range<u64> {
    match number_of(one) {
        Some(seed) => seed..seed + 1,
        None => 0..number_of(count).unwrap_or(default),
    }
}

/// Runs some seeds; returns the first problem.
fn run_seeds(seeds: impl Iterator<Item = u64>, link: LinkKind) -> Result<(Tally, Digests), String> {
    let phases_max = number_of("MOW_SIM_PHASES").unwrap_or(30);
    let test = if link == LinkKind::Lossless { "every_seed" } else { "a_faulty_link" };
    let (mut tally, mut digests) = (Tally::default(), Digests::new());
    for seed in seeds {
        let digest = run_seed(seed, phases_max, link, &mut tally).map_err(|problem| {
            let variables = format!("MOW_SIM_SEED={seed} MOW_SIM_PHASES={phases_max}");
            format!("seed {seed}: {problem}\n{}", rerun_command(&variables, test))
        })?;
        digests.insert(seed, digest);
    }
    Ok((tally, digests))
}

/// Writes the digests to the file that `MOW_SIM_DIGESTS` names.
#[expect(clippy::disallowed_methods, reason = "a file for the developer, not of a project")]
fn write_digests(digests: &Digests) {
    if let Some(path) = std::env::var_os("MOW_SIM_DIGESTS") {
        let lines = digests.iter().map(|(seed, digest)| format!("{seed} {digest}\n"));
        std::fs::write(path, lines.collect::<String>()).expect("the file can be written");
    }
}

/// The number of seeds if `MOW_SIM_SEEDS` names none.
const SEEDS: u64 = 300;

#[test]
fn every_seed_keeps_the_invariants() {
    let seeds = seeds("MOW_SIM_SEED", "MOW_SIM_SEEDS", SEEDS);
    let outcomes = run_halves(&seeds, LinkKind::Lossless);
    let is_all = seeds.count() >= 100;
    let mut all = Digests::new();
    for outcome in outcomes {
        match outcome {
            Ok((tally, digests)) => {
                all.extend(digests);
                println!("{tally:?}");
                let Tally { asked, throttled, denied, stopped, .. } = tally;
                let least = [asked, throttled, denied, stopped].into_iter().min();
                assert!(!is_all || least > Some(10), "agents bring about too little: {tally:?}");
            }
            Err(problem) => panic!("{problem}"),
        }
    }
    write_digests(&all);
}

/// Runs half of the seeds in one thread and half in another.
fn run_halves(seeds: &Range<u64>, link: LinkKind) -> [Result<(Tally, Digests), String>; 2] {
    std::thread::scope(|scope| {
        let halves = [0, 1].map(|skip| {
            let seeds = seeds.clone().skip(skip).step_by(2);
            scope.spawn(move || run_seeds(seeds, link))
        });
        halves.map(|half| half.join().expect("no seed panics"))
    })
}

#[test]
fn a_faulty_link_keeps_the_invariants() {
    let seeds = seeds("MOW_SIM_SEED", "MOW_SIM_SEEDS", SEEDS);
    for outcome in run_halves(&seeds, LinkKind::Faulty) {
        match outcome {
            Ok((tally, _)) => {
                println!("{tally:?}");
                let is_all = seeds.clone().count() >= 100;
                let least = tally.resends.min(tally.link_faults);
                assert!(!is_all || least > 1_000, "the link has too few faults: {tally:?}");
            }
            Err(problem) => panic!("{problem}"),
        }
    }
}

#[test]
fn a_broken_consumer_of_link_events_is_caught() {
    use BrokenConsumer::{EarlyExit, NoDedupe, NoFencing, NoOrder};
    for consumer in [NoDedupe, NoFencing, NoOrder, EarlyExit] {
        let problem = |seed| {
            let link = LinkKind::Broken(consumer);
            run_seed(seed, 30, link, &mut Tally::default()).err().map(|problem| (seed, problem))
        };
        let (seed, problem) = (0..SEEDS).find_map(problem).expect("some seed finds it");
        println!("{consumer:?}, seed {seed}: {}", problem.lines().next().unwrap_or_default());
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
        match outcome {
            Ok(digest) => println!("digest of the journal: {digest}"),
            Err(problem) => {
                let variables = format!("MOW_SIM_LARGE={phases} MOW_SIM_LARGE_SEED={seed}");
                panic!("{problem}\n{}", rerun_command(&variables, "a_large_run"));
            }
        }
    }
}

fn run_large(seed: u64, phases: u64, tally: &mut Tally) -> Result<String, String> {
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
    outcome.map(|()| sim.journal_digest())
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

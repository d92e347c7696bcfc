//! Simulates how long a roadmap takes: sequentially, by waves, and with each kind of look-ahead.
//!
//! The time of a phase is proportional to its weight; fixed shares of it are research and planning.
//! Phases start in the same order as in [`crate::lead`]. The simulation ignores files that phases
//! share, failures, and people who answer late.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::graph::{CycleError, Graph};
use crate::stage::Lookahead;

/// The most waiting phases that are considered for look-ahead at a time.
const CANDIDATES_MAX: usize = 64;

/// The time units that a phase of weight one takes.
pub const TIME_PER_WEIGHT: u64 = 100;

/// The shares of a phase's time that look-ahead can do early, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AheadShares {
    /// Discussion and research.
    pub research: u64,
    /// Planning.
    pub plan: u64,
}

/// The settings of a run to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastPolicy {
    /// The most phases and look-aheads that run at the same time.
    pub workers: usize,
    /// How much is done before the dependencies of a phase are merged.
    pub lookahead: Lookahead,
    /// Whether a finished phase is merged at once; otherwise its whole wave is merged together.
    pub merge_at_once: bool,
}

/// The unfinished phases of a roadmap, ready for simulation.
#[derive(Clone, Debug)]
pub struct Forecast {
    jobs: Vec<PhaseJob>,
    shares: AheadShares,
    /// The number of phases in each wave.
    waves: Vec<usize>,
}

#[derive(Clone, Debug)]
struct PhaseJob {
    weight: u64,
    /// The unfinished phases that this one depends on.
    dependencies: Vec<usize>,
    /// The unfinished phases that depend on this one.
    dependents: Vec<usize>,
    wave: usize,
}

impl Forecast {
    /// Takes the unfinished phases of a graph; `weight` gives the relative length of each.
    pub fn new(
        graph: &Graph,
        weight: impl Fn(usize) -> u64,
        shares: AheadShares,
    ) -> Result<Self, &CycleError> {
        graph.waves()?;
        let waves = graph.unfinished_waves();
        let mut places = vec![None; graph.nodes().len()];
        for (place, index) in waves.iter().flatten().enumerate() {
            places[*index] = Some(place);
        }
        let indices = |all: &[usize]| all.iter().filter_map(|index| places[*index]).collect();
        let numbered = waves.iter().enumerate();
        let jobs = numbered.flat_map(|(wave, all)| all.iter().map(move |index| (wave, *index)));
        let jobs = jobs.map(|(wave, index)| PhaseJob {
            weight: weight(index).max(1),
            dependencies: indices(graph.dependencies(index)),
            dependents: indices(graph.dependents(index)),
            wave,
        });
        Ok(Self { jobs: jobs.collect(), shares, waves: waves.iter().map(Vec::len).collect() })
    }

    /// Returns the number of unfinished phases.
    pub fn phases(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the time if all phases run one after the other.
    pub fn sequential(&self) -> u64 {
        self.jobs.iter().map(|job| job.weight * TIME_PER_WEIGHT).sum()
    }

    /// Returns the time until the last phase is merged.
    pub fn makespan(&self, policy: ForecastPolicy) -> u64 {
        let mut simulation = Simulation::new(self, policy);
        while simulation.advance() {}
        simulation.now
    }
}

/// A step that finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Finished {
    /// The look-ahead of a phase.
    Ahead(usize),
    /// The planning of a running phase.
    Plans(usize),
    /// All work of a phase.
    Phase(usize),
}

/// The state of a simulated run.
struct Simulation<'a> {
    forecast: &'a Forecast,
    policy: ForecastPolicy,
    now: u64,
    ends: BTreeSet<(u64, Finished)>,
    busy: usize,
    /// Waiting phases without unmet dependencies, and waiting phases for which look-ahead is
    /// possible.
    ready: BTreeSet<usize>,
    candidates: BTreeSet<usize>,
    unmet: Vec<usize>,
    /// Whether a look-ahead for the phase is running.
    ahead: Vec<bool>,
    researched: Vec<bool>,
    drafted: Vec<bool>,
    /// Whether the plans of the phase are final enough for plans of its dependents.
    planned: Vec<bool>,
    /// Phases with a look-ahead, running or finished, that have not started yet.
    pending: BTreeSet<usize>,
    complete: Vec<Vec<usize>>,
}

impl<'a> Simulation<'a> {
    fn new(forecast: &'a Forecast, policy: ForecastPolicy) -> Self {
        let count = forecast.jobs.len();
        let unmet: Vec<_> = forecast.jobs.iter().map(|job| job.dependencies.len()).collect();
        let (ready, candidates) = (0..count).partition(|job| unmet[*job] == 0);
        let mut simulation = Self {
            forecast,
            policy,
            now: 0,
            ends: BTreeSet::new(),
            busy: 0,
            ready,
            candidates,
            unmet,
            ahead: vec![false; count],
            researched: vec![false; count],
            drafted: vec![false; count],
            planned: vec![false; count],
            pending: BTreeSet::new(),
            complete: vec![Vec::new(); forecast.waves.len()],
        };
        simulation.start();
        simulation
    }

    /// Finishes the next step; returns false when there is none.
    fn advance(&mut self) -> bool {
        let Some((at, end)) = self.ends.pop_first() else { return false };
        self.now = at;
        match end {
            Finished::Plans(job) => self.planned[job] = true,
            Finished::Ahead(job) => {
                self.busy -= 1;
                self.ahead[job] = false;
                self.planned[job] |= self.drafted[job];
                let waiting =
                    if self.unmet[job] == 0 { &mut self.ready } else { &mut self.candidates };
                waiting.insert(job);
            }
            Finished::Phase(job) => {
                self.busy -= 1;
                self.merge(job);
            }
        }
        self.start();
        true
    }

    /// Merges a finished phase, or its wave if it is the last of it, and unblocks its dependents.
    fn merge(&mut self, job: usize) {
        let wave = self.forecast.jobs[job].wave;
        self.complete[wave].push(job);
        let is_wave_complete = self.complete[wave].len() == self.forecast.waves[wave];
        let merged = match (self.policy.merge_at_once, is_wave_complete) {
            (true, _) => vec![job],
            (false, true) => self.complete[wave].clone(),
            (false, false) => Vec::new(),
        };
        for next in merged.iter().flat_map(|job| &self.forecast.jobs[*job].dependents) {
            self.unmet[*next] -= 1;
            if self.unmet[*next] == 0 {
                self.candidates.remove(next);
                self.pending.remove(next);
                if !self.ahead[*next] {
                    self.ready.insert(*next);
                }
            }
        }
    }

    /// Fills the free worker slots: ready phases first, then look-aheads.
    fn start(&mut self) {
        while self.busy < self.policy.workers.max(1) {
            let shares = self.forecast.shares;
            if let Some(job) = self.ready.pop_first() {
                let weight = self.forecast.jobs[job].weight;
                let research = if self.researched[job] { 0 } else { shares.research };
                let plan = if self.drafted[job] { 0 } else { shares.plan };
                let rest = TIME_PER_WEIGHT.saturating_sub(shares.research + shares.plan);
                self.ends.insert((self.now + weight * (research + plan), Finished::Plans(job)));
                self.ends
                    .insert((self.now + weight * (research + plan + rest), Finished::Phase(job)));
            } else if let Some((job, drafts)) = self.next_lookahead() {
                self.candidates.remove(&job);
                self.pending.insert(job);
                self.ahead[job] = true;
                let research = if self.researched[job] { 0 } else { shares.research };
                let share = research + if drafts { shares.plan } else { 0 };
                (self.researched[job], self.drafted[job]) = (true, drafts);
                self.ends.insert((
                    self.now + self.forecast.jobs[job].weight * share,
                    Finished::Ahead(job),
                ));
            } else {
                return;
            }
            self.busy += 1;
        }
    }

    /// Returns the next phase for look-ahead, and whether its plans are drafted too.
    fn next_lookahead(&self) -> Option<(usize, bool)> {
        let is_full = self.pending.len() >= 2 * self.policy.workers.max(1);
        self.candidates.iter().take(CANDIDATES_MAX).find_map(|job| {
            if is_full && !self.pending.contains(job) {
                return None;
            }
            let is_plannable =
                self.forecast.jobs[*job].dependencies.iter().all(|other| self.planned[*other]);
            let drafts =
                self.policy.lookahead == Lookahead::Plan && is_plannable && !self.drafted[*job];
            let researches = self.policy.lookahead != Lookahead::Off && !self.researched[*job];
            (drafts || researches).then_some((*job, drafts))
        })
    }
}

//! How long a roadmap takes: one phase at a time, by waves, and with each kind of look-ahead.
//!
//! A phase takes as long as its weight says, and a given part of that for research and for planning.
//! Phases start the way [`crate::lead`] starts them. Nothing is known here about files that phases
//! share, about failures or about people who answer late.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::graph::{Cyclic, Graph};
use crate::stage::Lookahead;

/// How many phases that wait are looked at for one to take ahead.
const LOOKED_AT_MAX: usize = 64;

/// The time of a phase of weight one.
pub const UNIT: u64 = 100;

/// The parts of a phase's time that can be spent ahead, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Discussion and research.
    pub research: u64,
    /// Planning.
    pub plan: u64,
}

/// How a roadmap is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The most phases at a time.
    pub workers: usize,
    /// What is done ahead.
    pub lookahead: Lookahead,
    /// Whether a phase is merged at once and not with its wave.
    pub merge_at_once: bool,
}

/// The unfinished phases of a roadmap.
#[derive(Clone, Debug)]
pub struct Forecast {
    jobs: Vec<Job>,
    shares: Shares,
    /// How many phases each wave has.
    waves: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Job {
    weight: u64,
    after: Vec<usize>,
    before: Vec<usize>,
    wave: usize,
}

impl Forecast {
    /// Takes the unfinished phases of a graph, each with a weight.
    pub fn new(
        graph: &Graph,
        weight: impl Fn(usize) -> u64,
        shares: Shares,
    ) -> Result<Self, &Cyclic> {
        graph.waves()?;
        let waves = graph.unfinished_waves();
        let mut places = vec![None; graph.nodes().len()];
        for (place, index) in waves.iter().flatten().enumerate() {
            places[*index] = Some(place);
        }
        let known = |all: &[usize]| all.iter().filter_map(|index| places[*index]).collect();
        let numbered = waves.iter().enumerate();
        let jobs = numbered.flat_map(|(wave, all)| all.iter().map(move |index| (wave, *index)));
        let jobs = jobs.map(|(wave, index)| Job {
            weight: weight(index).max(1),
            after: known(graph.dependencies(index)),
            before: known(graph.dependents(index)),
            wave,
        });
        Ok(Self { jobs: jobs.collect(), shares, waves: waves.iter().map(Vec::len).collect() })
    }

    /// Returns how many phases there are.
    pub fn phases(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the time that the phases take one after the other.
    pub fn sequential(&self) -> u64 {
        self.jobs.iter().map(|job| job.weight * UNIT).sum()
    }

    /// Returns the time until the last phase is merged.
    pub fn makespan(&self, way: Way) -> u64 {
        let mut play = Play::new(self, way);
        while play.go_on() {}
        play.now
    }
}

/// What comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// A look-ahead.
    Ahead(usize),
    /// The plans of a phase at work.
    Plans(usize),
    /// A phase.
    Phase(usize),
}

/// A roadmap that is gone through in thought.
struct Play<'a> {
    all: &'a Forecast,
    way: Way,
    now: u64,
    ends: BTreeSet<(u64, End)>,
    busy: usize,
    /// Phases that wait with nothing in front of them, and others that could be taken ahead.
    ready: BTreeSet<usize>,
    candidates: BTreeSet<usize>,
    unmet: Vec<usize>,
    /// Whether a look-ahead of the phase is under way.
    ahead: Vec<bool>,
    researched: Vec<bool>,
    drafted: Vec<bool>,
    /// Whether the plans of the phase can be built on.
    planned: Vec<bool>,
    /// Phases that were taken ahead and wait for their turn.
    pending: BTreeSet<usize>,
    complete: Vec<Vec<usize>>,
}

impl<'a> Play<'a> {
    fn new(all: &'a Forecast, way: Way) -> Self {
        let count = all.jobs.len();
        let unmet: Vec<_> = all.jobs.iter().map(|job| job.after.len()).collect();
        let (ready, candidates) = (0..count).partition(|job| unmet[*job] == 0);
        let mut play = Self {
            all,
            way,
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
            complete: vec![Vec::new(); all.waves.len()],
        };
        play.start();
        play
    }

    /// Lets the next thing come to its end; returns whether there was one.
    fn go_on(&mut self) -> bool {
        let Some((at, end)) = self.ends.pop_first() else { return false };
        self.now = at;
        match end {
            End::Plans(job) => self.planned[job] = true,
            End::Ahead(job) => {
                self.busy -= 1;
                self.ahead[job] = false;
                self.planned[job] |= self.drafted[job];
                let waiting =
                    if self.unmet[job] == 0 { &mut self.ready } else { &mut self.candidates };
                waiting.insert(job);
            }
            End::Phase(job) => {
                self.busy -= 1;
                self.merge(job);
            }
        }
        self.start();
        true
    }

    fn merge(&mut self, job: usize) {
        let wave = self.all.jobs[job].wave;
        self.complete[wave].push(job);
        let is_closed = self.complete[wave].len() == self.all.waves[wave];
        let merged = match (self.way.merge_at_once, is_closed) {
            (true, _) => vec![job],
            (false, true) => self.complete[wave].clone(),
            (false, false) => Vec::new(),
        };
        for next in merged.iter().flat_map(|job| &self.all.jobs[*job].before) {
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

    /// Fills the free places: phases that can start first, then look-aheads.
    fn start(&mut self) {
        while self.busy < self.way.workers.max(1) {
            let shares = self.all.shares;
            if let Some(job) = self.ready.pop_first() {
                let weight = self.all.jobs[job].weight;
                let research = if self.researched[job] { 0 } else { shares.research };
                let plan = if self.drafted[job] { 0 } else { shares.plan };
                let rest = UNIT.saturating_sub(shares.research + shares.plan);
                self.ends.insert((self.now + weight * (research + plan), End::Plans(job)));
                self.ends.insert((self.now + weight * (research + plan + rest), End::Phase(job)));
            } else if let Some((job, drafts)) = self.next_ahead() {
                self.candidates.remove(&job);
                self.pending.insert(job);
                self.ahead[job] = true;
                let research = if self.researched[job] { 0 } else { shares.research };
                let share = research + if drafts { shares.plan } else { 0 };
                (self.researched[job], self.drafted[job]) = (true, drafts);
                self.ends.insert((self.now + self.all.jobs[job].weight * share, End::Ahead(job)));
            } else {
                return;
            }
            self.busy += 1;
        }
    }

    /// Returns what to take ahead, and whether its plans are drafted.
    fn next_ahead(&self) -> Option<(usize, bool)> {
        let is_full = self.pending.len() >= 2 * self.way.workers.max(1);
        self.candidates.iter().take(LOOKED_AT_MAX).find_map(|job| {
            if is_full && !self.pending.contains(job) {
                return None;
            }
            let is_known = self.all.jobs[*job].after.iter().all(|other| self.planned[*other]);
            let drafts = self.way.lookahead == Lookahead::Plan && is_known && !self.drafted[*job];
            let researches = self.way.lookahead != Lookahead::Off && !self.researched[*job];
            (drafts || researches).then_some((*job, drafts))
        })
    }
}

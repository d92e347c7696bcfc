//! Generates a scenario from a seed: the phases, their disks, and the faults that may happen.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{PhaseSpec, Settings};
use mow_core::phase::PhaseNumber;
use mow_core::stage::Lookahead;
use mow_core::worker::Effect;
use mow_testkit::seeded_rng::SeededRng;

use super::disk::Disk;

/// How often each kind of fault may still happen. All are bounded, so that every run can end.
#[derive(Debug, Default)]
pub(crate) struct FaultBudget {
    /// The lead crashes.
    pub(crate) lead: u64,
    /// A worker crashes.
    pub(crate) worker: u64,
    /// A merge conflicts, a worktree or a start fails.
    pub(crate) effects: u64,
    /// A person pauses, resumes or cancels something.
    pub(crate) interventions: u64,
    /// The roadmap gets another phase.
    pub(crate) roadmap: u64,
    /// The lead is asked to stop, and started again.
    pub(crate) stops: u64,
    /// A person refuses something.
    pub(crate) refusals: u64,
    /// A command is stuck for a long time, or a worker is stopped.
    pub(crate) stalls: u64,
    /// A stopped worker cannot be ended, and continues after it was given up.
    pub(crate) zombies: u64,
    /// A process starts with a wrong clock.
    pub(crate) clocks: u64,
    /// The disk is full for some writes of the lead.
    pub(crate) full: u64,
    /// A file notification is lost.
    pub(crate) lost_notifications: u64,
    /// An agent asks a question.
    pub(crate) asks: u64,
    /// The models do not answer for a while.
    pub(crate) outages: u64,
    /// An agent cannot log in.
    pub(crate) denials: u64,
}

/// One simulated run.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) specs: Vec<PhaseSpec>,
    pub(crate) settings: Settings,
    pub(crate) disks: BTreeMap<PhaseNumber, Disk>,
    pub(crate) faults: FaultBudget,
    /// Phases that are wrongly ticked as done in the roadmap.
    pub(crate) ticked: BTreeSet<PhaseNumber>,
    /// The rough duration of the run in milliseconds, over which faults are spread.
    pub(crate) horizon: u64,
    /// Whether nobody answers questions.
    pub(crate) silent: bool,
    /// Fixed durations of worker effects; `None` for random ones.
    pub(crate) durations: Option<fn(&Effect) -> u64>,
}

impl Scenario {
    /// Generates a run of at most `phases_max` phases.
    pub(crate) fn roll(rng: &mut SeededRng, phases_max: u64) -> Self {
        let count = 1 + rng.below(phases_max).min(rng.below(phases_max));
        let max_workers = 1 + usize::try_from(rng.below(5)).unwrap();
        let mut scenario = Self::of(rng, count, max_workers);
        scenario.settings.circuit_breaker = [0, 2, 3][usize::try_from(rng.below(3)).unwrap()];
        scenario.settings.merge_at_once = rng.below(2) == 0;
        scenario.settings.stagger_ms = rng.below(2) * 100;
        scenario.settings.max_agents = 1 + usize::try_from(rng.below(8)).unwrap();
        scenario.settings.lookahead = Lookahead::ALL[usize::try_from(rng.below(3)).unwrap()];
        scenario.settings.force = rng.below(6) == 0;
        let calm = rng.below(10) == 0;
        if calm {
            return scenario;
        }
        scenario.faults = FaultBudget {
            lead: rng.below(6),
            worker: rng.below(2 + count),
            effects: rng.below(4),
            interventions: rng.below(6),
            roadmap: rng.below(3),
            stops: rng.below(2),
            refusals: rng.below(2),
            stalls: rng.below(4),
            zombies: rng.below(3),
            clocks: rng.below(4),
            full: rng.below(3),
            lost_notifications: rng.below(8),
            asks: rng.below(2 + count),
            outages: rng.below(4),
            denials: rng.below(3),
        };
        if rng.below(3) == 0 {
            scenario.settings.budget.micro_usd = Some(rng.below(1_000 * count));
        }
        scenario
    }

    /// Builds a run of exactly `count` phases, with no faults but those of the phases.
    pub(crate) fn of(rng: &mut SeededRng, count: u64, max_workers: usize) -> Self {
        let settings = Settings { max_workers, ..Settings::default() };
        let mut scenario = Self {
            specs: Vec::new(),
            settings,
            disks: BTreeMap::new(),
            faults: FaultBudget::default(),
            ticked: BTreeSet::new(),
            horizon: 60_000 * count / max_workers as u64 + 60_000,
            silent: false,
            durations: None,
        };
        for _ in 0..count {
            let troubles = rng.below(3);
            scenario.add(rng, |rng| Disk::roll(rng, troubles));
        }
        scenario
    }

    /// Adds a phase that depends on some of the earlier ones.
    pub(crate) fn add(&mut self, rng: &mut SeededRng, disk: impl Fn(&mut SeededRng) -> Disk) {
        let before = self.specs.len() as u64;
        let number = PhaseNumber::whole(u32::try_from(before + 1).unwrap());
        let mut depends_on = Vec::new();
        for _ in 0..rng.below(4).min(before) {
            let back = 1 + rng.below(before.min(8));
            let dependency = PhaseNumber::whole(u32::try_from(before + 1 - back).unwrap());
            if !depends_on.contains(&dependency) {
                depends_on.push(dependency);
            }
        }
        let done = rng.below(20) == 0 && depends_on.is_empty();
        self.specs.push(PhaseSpec {
            number,
            name: format!("Phase {number}"),
            depends_on,
            done,
            touches: None,
            ahead: Vec::new(),
            held: None,
        });
        self.disks.insert(number, disk(rng));
    }

    /// Builds a chain of phases without faults, whose effects take fixed times.
    pub(crate) fn chain(count: u64, lookahead: Lookahead, durations: fn(&Effect) -> u64) -> Self {
        let mut scenario = Self::of(&mut SeededRng::new(0), 0, 3);
        scenario.settings.lookahead = lookahead;
        scenario.durations = Some(durations);
        for n in 1..=u32::try_from(count).unwrap() {
            let before = n.checked_sub(1).filter(|n| *n > 0);
            let number = PhaseNumber::whole(n);
            scenario.disks.insert(number, Disk::plain());
            scenario.specs.push(PhaseSpec {
                number,
                name: format!("Phase {n}"),
                depends_on: before.map(PhaseNumber::whole).into_iter().collect(),
                done: false,
                touches: None,
                ahead: Vec::new(),
                held: None,
            });
        }
        scenario
    }

    /// Returns the phases with the facts on their disks now.
    pub(crate) fn specs_now(&self) -> Vec<PhaseSpec> {
        let mut specs = self.specs.clone();
        for spec in &mut specs {
            (spec.touches, spec.ahead) = self.disks[&spec.number].facts();
            spec.done |= self.ticked.contains(&spec.number);
        }
        specs
    }

    pub(crate) fn spec(&self, number: PhaseNumber) -> Option<&PhaseSpec> {
        // Phase 1 is the first one.
        let at = usize::try_from(number.major()).unwrap().checked_sub(1)?;
        self.specs.get(at).filter(|spec| spec.number == number)
    }
}

//! What a seed means: the phases, their disks, and how much of what goes wrong.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{PhaseSpec, Settings};
use mow_core::phase::PhaseNumber;
use mow_core::stage::Lookahead;
use mow_core::worker::Effect;
use mow_testkit::dice::Dice;

use super::disk::Disk;

/// How often each kind of trouble may still happen. All are bounded, so that every run can end.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The lead crashes.
    pub(crate) lead: u64,
    /// A worker crashes.
    pub(crate) worker: u64,
    /// A merge conflicts, a worktree or a start fails.
    pub(crate) effects: u64,
    /// A person pauses, resumes or cancels something.
    pub(crate) meddling: u64,
    /// The roadmap gets another phase.
    pub(crate) roadmap: u64,
    /// The lead is asked to stop, and started again.
    pub(crate) stops: u64,
    /// A person says no.
    pub(crate) refusals: u64,
    /// A command shows no sign of life for a long time, or a worker is stopped.
    pub(crate) stalls: u64,
    /// A worker that is stopped cannot be ended, and goes on after it was given up.
    pub(crate) zombies: u64,
    /// A process is started with a clock that somebody has set, back or forth.
    pub(crate) clocks: u64,
    /// The disk is full when the lead wants to write, for a while.
    pub(crate) full: u64,
    /// A note that something was written gets lost.
    pub(crate) unheard: u64,
    /// An agent asks something.
    pub(crate) asks: u64,
    /// The models do not answer for a while.
    pub(crate) laters: u64,
    /// An agent cannot log in.
    pub(crate) denials: u64,
}

/// One simulated run.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) specs: Vec<PhaseSpec>,
    pub(crate) settings: Settings,
    pub(crate) disks: BTreeMap<PhaseNumber, Disk>,
    pub(crate) faults: Faults,
    /// Phases that somebody calls done in the roadmap, who did not do them.
    pub(crate) ticked: BTreeSet<PhaseNumber>,
    /// How long all of it may take about, which is when trouble is sent.
    pub(crate) horizon: u64,
    /// Whether nobody answers anything.
    pub(crate) silent: bool,
    /// How long the work of a worker takes, where that is not thrown.
    pub(crate) times: Option<fn(&Effect) -> u64>,
}

impl Script {
    /// Thinks up a run of at most so many phases.
    pub(crate) fn roll(dice: &mut Dice, phases_max: u64) -> Self {
        let count = 1 + dice.below(phases_max).min(dice.below(phases_max));
        let max_workers = 1 + usize::try_from(dice.below(5)).unwrap();
        let mut script = Self::of(dice, count, max_workers);
        script.settings.circuit_breaker = [0, 2, 3][usize::try_from(dice.below(3)).unwrap()];
        script.settings.merge_at_once = dice.below(2) == 0;
        script.settings.stagger_ms = dice.below(2) * 100;
        script.settings.max_agents = 1 + usize::try_from(dice.below(8)).unwrap();
        script.settings.lookahead = Lookahead::ALL[usize::try_from(dice.below(3)).unwrap()];
        script.settings.force = dice.below(6) == 0;
        let calm = dice.below(10) == 0;
        if calm {
            return script;
        }
        script.faults = Faults {
            lead: dice.below(6),
            worker: dice.below(2 + count),
            effects: dice.below(4),
            meddling: dice.below(6),
            roadmap: dice.below(3),
            stops: dice.below(2),
            refusals: dice.below(2),
            stalls: dice.below(4),
            zombies: dice.below(3),
            clocks: dice.below(4),
            full: dice.below(3),
            unheard: dice.below(8),
            asks: dice.below(2 + count),
            laters: dice.below(4),
            denials: dice.below(3),
        };
        if dice.below(3) == 0 {
            script.settings.budget.micro_usd = Some(dice.below(1_000 * count));
        }
        script
    }

    /// Builds a run of exactly so many phases and workers, without trouble beyond the phases' own.
    pub(crate) fn of(dice: &mut Dice, count: u64, max_workers: usize) -> Self {
        let settings = Settings { max_workers, ..Settings::default() };
        let mut script = Self {
            specs: Vec::new(),
            settings,
            disks: BTreeMap::new(),
            faults: Faults::default(),
            ticked: BTreeSet::new(),
            horizon: 60_000 * count / max_workers as u64 + 60_000,
            silent: false,
            times: None,
        };
        for _ in 0..count {
            let troubles = dice.below(3);
            script.add(dice, |dice| Disk::roll(dice, troubles));
        }
        script
    }

    /// Adds a phase that depends on some of those before it.
    pub(crate) fn add(&mut self, dice: &mut Dice, disk: impl Fn(&mut Dice) -> Disk) {
        let before = self.specs.len() as u64;
        let number = PhaseNumber::whole(u32::try_from(before + 1).unwrap());
        let mut depends_on = Vec::new();
        for _ in 0..dice.below(4).min(before) {
            let back = 1 + dice.below(before.min(8));
            let dependency = PhaseNumber::whole(u32::try_from(before + 1 - back).unwrap());
            if !depends_on.contains(&dependency) {
                depends_on.push(dependency);
            }
        }
        let done = dice.below(20) == 0 && depends_on.is_empty();
        self.specs.push(PhaseSpec {
            number,
            name: format!("Phase {number}"),
            depends_on,
            done,
            touches: None,
            ahead: Vec::new(),
        });
        self.disks.insert(number, disk(dice));
    }

    /// Builds a chain of phases without any trouble, whose work takes fixed times.
    pub(crate) fn chain(count: u64, lookahead: Lookahead, times: fn(&Effect) -> u64) -> Self {
        let mut script = Self::of(&mut Dice::new(0), 0, 3);
        script.settings.lookahead = lookahead;
        script.times = Some(times);
        for n in 1..=u32::try_from(count).unwrap() {
            let before = n.checked_sub(1).filter(|n| *n > 0);
            let number = PhaseNumber::whole(n);
            script.disks.insert(number, Disk::plain());
            script.specs.push(PhaseSpec {
                number,
                name: format!("Phase {n}"),
                depends_on: before.map(PhaseNumber::whole).into_iter().collect(),
                done: false,
                touches: None,
                ahead: Vec::new(),
            });
        }
        script
    }

    /// Returns the phases with what their disks say now.
    pub(crate) fn specs_now(&self) -> Vec<PhaseSpec> {
        let mut specs = self.specs.clone();
        for spec in &mut specs {
            (spec.touches, spec.ahead) = self.disks[&spec.number].facts();
            spec.done |= self.ticked.contains(&spec.number);
        }
        specs
    }

    pub(crate) fn spec(&self, number: PhaseNumber) -> Option<&PhaseSpec> {
        self.specs.iter().find(|spec| spec.number == number)
    }
}

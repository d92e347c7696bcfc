//! Simulated agents: what they bring about beside their work, and what must not follow from that.
//!
//! A session asks under keys of its own, waits for all answers, and takes them once; one that is cut
//! off is lost, and the next one asks anew.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::item::{Answer, Ask, Item, ItemKind};
use mow_core::lead::Status;
use mow_core::money::{Money, Spent};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Report, THROTTLED_MAX_MS};
use mow_core::worker::{self, Effect, Outcome, Role, discuss_key};
use mow_testkit::dice::Dice;

use super::Tally;
use super::fleet::{Key, Process};
use super::world::{Happening, Sim};

/// How long a model is left alone at least, and at most.
const REST_MIN: u64 = 30_000;
pub(crate) const REST_MAX: u64 = THROTTLED_MAX_MS;
/// What stands in place of an answer to a question that was taken back.
const WITHDRAWN: &str = "no longer asked";
const POOR: &str = "the phase has used what it may";

/// Returns whether an agent asks such things.
pub(crate) fn is_of_agent(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Permission | ItemKind::Question)
}

/// What the agents of a phase remember. It outlives every worker of the phase.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Those that wait for people: the job, and what they asked.
    parked: BTreeMap<String, Vec<Ask>>,
    /// How often one has asked.
    asked: u32,
    /// The answers that reached whoever had asked, by the keys.
    taken: BTreeMap<String, String>,
    /// How often a discusser still thinks of questions.
    pub(crate) rounds: u64,
}

impl Sessions {
    /// Lets a session that waits go on, if all that it asked is answered.
    fn resume(&mut self, job: &str, answers: &[Answer]) -> Result<(), String> {
        let Some(asks) = self.parked.get(job) else { return Ok(()) };
        let of = |ask: &Ask| answers.iter().filter(|a| a.key == ask.key).collect::<Vec<_>>();
        let found: Vec<_> = asks.iter().map(of).collect();
        if found.iter().any(Vec::is_empty) {
            return Ok(());
        }
        for answers in found {
            let [answer] = answers[..] else {
                return Err(format!("{} is answered several times", answers[0].key));
            };
            if self.taken.insert(answer.key.clone(), answer.text.clone()).is_some() {
                return Err(format!("the answer to {} was taken twice", answer.key));
            }
        }
        self.parked.remove(job);
        Ok(())
    }

    /// Thinks of something to ask.
    fn ask(&mut self, phase: PhaseNumber, job: &str, dice: &mut Dice) -> Vec<Ask> {
        self.asked += 1;
        let id = self.asked;
        if dice.below(2) == 0 {
            let choices = ["allow", "always", "deny"].map(str::to_owned).to_vec();
            let key = format!("{phase}/permission/{job}/{id}");
            return vec![ask(key, ItemKind::Permission, choices)];
        }
        let question = |n: u64| {
            let choices = if n == 1 { vec!["left".to_owned(), "right".to_owned()] } else { vec![] };
            ask(format!("{phase}/question/{job}/{id}.{n}"), ItemKind::Question, choices)
        };
        (1..=1 + dice.below(3)).map(question).collect()
    }
}

fn ask(key: String, kind: ItemKind, choices: Vec<String>) -> Ask {
    Ask { question: format!("{key}?"), key, kind, choices }
}

/// Names what an agent is to do; `None` where none does it.
fn job(effect: &Effect) -> Option<String> {
    match effect {
        Effect::RunRole { role, .. } => Some(role.name().to_owned()),
        Effect::RunTask { plan, task, .. } => Some(format!("{plan}-{task}")),
        _ => None,
    }
}

fn is_denied(event: &worker::Event) -> bool {
    let worker::Event::Finished { outcome, .. } = event else { return false };
    matches!(outcome, Outcome::Hopeless { everybody: true, .. })
}

impl Process {
    /// Returns what its agents have used.
    pub(crate) fn spent(&self) -> Money {
        let mut all = Money::default();
        for (_, report) in self.reports(0) {
            if let Report::Spent(spent) = report {
                all += spent.money;
            }
        }
        all
    }

    /// Finds whether nobody will hear that agents are of no use.
    pub(crate) fn check_denial(&self) -> Result<(), String> {
        let knows = self.journal.iter().any(|(_, event)| is_denied(event));
        let says = self.reports(0).any(|(_, report)| matches!(report, Report::Denied { .. }));
        if knows && !says {
            Err("it knows of no hope and does not say so".to_owned())
        } else {
            Ok(())
        }
    }

    /// Finds whether an agent of it must not begin now, after how others had ended when that was
    /// decided.
    fn check_begin(&self, begun: u64, now: u64) -> Result<(), String> {
        use worker::Event;
        let is_it = |event: &Event| matches!(event, Event::Intended { id, .. } if *id == begun);
        let (mut until, mut laters) = (0, 0_u32);
        for (at, event) in self.journal.iter().take_while(|(_, event)| !is_it(event)) {
            match event {
                Event::Finished { outcome: Outcome::Later { wait_ms, .. }, .. } => {
                    let own = REST_MIN << laters.min(6);
                    until = at + wait_ms.unwrap_or(0).max(own).min(REST_MAX);
                    laters += 1;
                }
                Event::Finished { outcome: Outcome::Hopeless { .. }, .. } => {
                    return Err("an agent begins although that is of no use".to_owned());
                }
                Event::Finished { outcome: Outcome::Asked { .. }, .. } => {}
                Event::Finished { .. } => laters = 0,
                Event::Halted { .. } => return Err("an agent begins at the end".to_owned()),
                _ => {}
            }
        }
        match until.checked_sub(self.clock.shown(now)) {
            Some(early) if early > 0 => Err(format!("an agent begins {early} ms early")),
            _ => Ok(()),
        }
    }
}

impl Sim {
    /// Starts an agent for an effect, where it needs one.
    pub(crate) fn employ(&mut self, key: Key, id: u64, effect: &Effect) {
        let Some(job) = job(effect) else { return };
        self.employed.push(self.now);
        let process = &self.processes[&key];
        let answers = process.worker.brief.as_ref().map_or(&[][..], |brief| &brief.answers);
        let may_begin = process.check_begin(id, self.now);
        let disk = self.script.disks.get_mut(&key.0).expect("each phase has a disk");
        let resumed = may_begin.and_then(|()| disk.sessions.resume(&job, answers));
        if let Err(problem) = resumed {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
    }

    /// Ends the agent of an effect; returns what it brought about in place of its work.
    pub(crate) fn dismiss(&mut self, key: Key, effect: &Effect) -> Option<Outcome> {
        let job = job(effect).filter(|_| self.script.times.is_none())?;
        let (phase, faults) = (key.0, &mut self.script.faults);
        let disk = self.script.disks.get_mut(&phase).expect("each phase has a disk");
        let (sessions, dice) = (&mut disk.sessions, &mut self.dice);
        if disk.purse.is_some_and(|most| spent_by(&self.processes, phase).micro_usd >= most) {
            let reason = POOR.to_owned();
            return Some(Outcome::Hopeless { reason, everybody: false });
        }
        if faults.denials > 0 && dice.below(20) == 0 {
            faults.denials -= 1;
            let reason = "not logged in".to_owned();
            return Some(Outcome::Hopeless { reason, everybody: true });
        }
        if faults.laters > 0 && dice.below(8) == 0 {
            // Whoever does not answer once does not answer for a while.
            faults.laters -= 1;
            self.outage = self.now + dice.below(600_000);
        }
        if self.now < self.outage {
            let wait_ms = (dice.below(2) == 0).then(|| dice.below(2_000_000));
            return Some(Outcome::Later { reason: "overloaded".to_owned(), wait_ms });
        }
        if let Some(asks) = sessions.parked.get(&job) {
            return Some(Outcome::Asked { asks: asks.clone() });
        }
        if let Effect::RunRole { role: Role::Discusser, round } = effect {
            if sessions.rounds == 0 {
                return None;
            }
            sessions.rounds -= 1;
            let count = 1 + usize::try_from(dice.below(2)).unwrap();
            let number = phase.to_string();
            let key = |n| discuss_key(&number, round + 1, n);
            let choices = vec!["fail".to_owned(), "other".to_owned()];
            let asks = (1..=count).map(|n| ask(key(n), ItemKind::Discuss, choices.clone()));
            return Some(Outcome::Asked { asks: asks.collect() });
        }
        if faults.asks > 0 && dice.below(5) == 0 {
            faults.asks -= 1;
            let asks = sessions.ask(phase, &job, dice);
            if !matches!(effect, Effect::RunTask { beside: true, .. }) {
                sessions.parked.insert(job, asks.clone());
            }
            return Some(Outcome::Asked { asks });
        }
        None
    }

    /// Has a worker learn what an agent used, and what came of its effect.
    pub(crate) fn hand_over(&mut self, key: Key, id: u64, effect: &Effect, outcome: Outcome) {
        let input = worker::Input::Finished { id, outcome };
        let twice = self.dice.below(10) == 0;
        if job(effect).is_some() && self.script.times.is_none() {
            let spent = worker::Input::Spent(self.bill());
            if self.dice.below(2) == 0 {
                self.feed(key, vec![spent]);
                self.feed(key, vec![input.clone()]);
            } else {
                self.feed(key, vec![spent, input.clone()]);
            }
        } else {
            self.feed(key, vec![input.clone()]);
        }
        if twice {
            self.feed(key, vec![input, worker::Input::Tick]);
        }
    }

    fn bill(&mut self) -> Spent {
        let (input, micro_usd) = (self.dice.below(1_000), self.dice.below(1_000));
        let (role, agent) = ("executor".to_owned(), "one".to_owned());
        let money = Money { input, micro_usd, ..Money::default() };
        Spent { role, agent, money, ..Spent::default() }
    }

    /// Checks that a phase is told what it has cost so far.
    pub(crate) fn check_brief(&mut self, brief: &mow_core::report::Brief) {
        let attempts = self.processes.range((brief.phase, 0)..=(brief.phase, u32::MAX));
        let has_zombie = attempts.into_iter().any(|(_, process)| process.zombie);
        let spent = spent_by(&self.processes, brief.phase);
        if !has_zombie && brief.spent != spent {
            let (told, phase) = (brief.spent, brief.phase);
            self.broken = Some(format!("phase {phase} is told of {told:?} and used {spent:?}"));
        }
    }

    /// Checks that all that people decided about a phase is written down, and nothing else.
    pub(crate) fn check_context(&mut self, phase: PhaseNumber, answers: &[Answer]) {
        let written: BTreeSet<_> =
            answers.iter().map(|a| (a.key.clone(), a.text.clone())).collect();
        let said = self.answered(phase, |kind| kind == ItemKind::Discuss);
        if written.len() != answers.len() || !written.iter().cloned().eq(said) {
            self.broken = Some(format!("phase {phase} takes for decided {answers:?}"));
        }
    }

    /// Returns what people answered to questions of a phase that were not taken back.
    fn answered(
        &self,
        phase: PhaseNumber,
        of: impl Fn(ItemKind) -> bool,
    ) -> BTreeMap<String, String> {
        let items = self.ledger.lead.items.values();
        let own = items.filter(|item| item.phase == Some(phase) && of(item.ask.kind));
        let answer = |item: &Item| item.answer.clone().filter(|text| text != WITHDRAWN);
        own.filter_map(|item| Some((item.ask.key.clone(), answer(item)?))).collect()
    }

    /// Checks that each answer reached whoever had asked, once, and that all is counted.
    pub(crate) fn check_agents(&self) -> Result<(), String> {
        let lead = &self.ledger.lead;
        for (phase, disk) in &self.script.disks {
            let Some(track) = lead.phases.get(phase) else { continue };
            let (said, taken) = (self.answered(*phase, is_of_agent), &disk.sessions.taken);
            if let Some((key, text)) =
                taken.iter().find(|(key, text)| said.get(*key) != Some(*text))
            {
                return Err(format!("nobody answered {key} with {text}"));
            }
            // Where the plans are found good as they are, nobody revises them any more.
            let moot = disk.sessions.parked.get(Role::Planner.name());
            let is_moot =
                |key: &String| moot.is_some_and(|asks| asks.iter().any(|a| a.key == *key));
            let lost = said.keys().find(|key| !taken.contains_key(*key) && !is_moot(key));
            if let Some(key) = lost.filter(|_| track.status == Status::Merged) {
                return Err(format!("the answer to {key} reached nobody"));
            }
        }
        let mut all = Money::default();
        self.processes.values().for_each(|process| all += process.spent());
        let has_zombie = self.processes.values().any(|process| process.zombie);
        if all != lead.spent && !has_zombie {
            return Err(format!("{all:?} was used and {:?} counted", lead.spent));
        }
        Ok(())
    }

    /// Counts what agents brought about.
    pub(crate) fn count_agents(&self, tally: &mut Tally) {
        let items = self.ledger.lead.items.values();
        tally.asked += items.filter(|item| is_of_agent(item.ask.kind)).count();
        for (_, report) in self.processes.values().flat_map(|process| process.reports(0)) {
            tally.throttled += usize::from(matches!(report, Report::Throttled { .. }));
            tally.denied += usize::from(matches!(report, Report::Denied { .. }));
            let is_poor = |reason: &str| reason.starts_with(POOR);
            tally.stopped +=
                usize::from(matches!(report, Report::Failed { reason } if is_poor(reason)));
        }
        let is_poor = |item: &&Item| item.ask.question.starts_with("the run has used");
        tally.stopped += self.ledger.lead.items.values().filter(is_poor).count();
    }

    /// Lets a phase use more, as a person does who wants it to go on.
    pub(crate) fn fill_purse(&mut self, phase: PhaseNumber) {
        let purse = self.script.disks.get_mut(&phase).and_then(|disk| disk.purse.as_mut());
        if let Some(most) = purse {
            *most += 20_000;
        }
    }

    /// Lets the run use more, from when its lead is started again.
    pub(crate) fn raise_budget(&mut self) {
        if let Some(most) = &mut self.script.settings.budget.micro_usd {
            *most += 20_000;
            let generation = self.generation;
            self.after(1_000, Happening::Restart { generation });
        }
    }
}

/// Returns what the agents of a phase have used.
fn spent_by(processes: &BTreeMap<Key, Process>, phase: PhaseNumber) -> Money {
    let mut all = Money::default();
    for (_, process) in processes.range((phase, 0)..=(phase, u32::MAX)) {
        all += process.spent();
    }
    all
}

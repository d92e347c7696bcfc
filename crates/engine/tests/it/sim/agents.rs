//! Simulates agents: their questions, failures and spending, and checks what the worker makes of
//! them.
//!
//! A session asks under its own keys, waits for all answers, and takes each once. A session that is
//! cut off is lost, and the next one asks again.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::inbox::{
    InboxAnswer, InboxItem, InboxQuestion, QuestionKey, QuestionKind, QuestionTopic,
};
use mow_core::lead::Status;
use mow_core::money::{AgentSpending, Spending};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Report, THROTTLED_MAX_MS};
use mow_core::worker::{self, Effect, Outcome, Role};
use mow_testkit::seeded_rng::SeededRng;

use super::Tally;
use super::worker_processes::{Key, Process};
use super::world::{Sim, SimEvent};

/// The least and the most milliseconds before a model that did not answer is tried again.
const REST_MIN: u64 = 30_000;
pub(crate) const REST_MAX: u64 = THROTTLED_MAX_MS;
/// The answer to a question that was withdrawn.
const WITHDRAWN: &str = "no longer asked";
const BUDGET_USED_UP: &str = "the phase has used what it may";

/// Returns whether an agent asks questions of a kind.
pub(crate) fn is_agent_question(kind: QuestionKind) -> bool {
    matches!(kind, QuestionKind::Permission | QuestionKind::Question)
}

/// The sessions of the agents of a phase, which outlive every worker.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Sessions that wait for answers: the job, and its questions.
    parked: BTreeMap<String, Vec<InboxQuestion>>,
    /// How often an agent has asked.
    asked: u32,
    /// The answers that reached their sessions, by the keys of the questions.
    taken: BTreeMap<QuestionKey, String>,
    /// How many more rounds of questions the discusser has.
    pub(crate) rounds: u64,
}

impl Sessions {
    /// Resumes a waiting session if all its questions are answered.
    fn resume(&mut self, job: &str, answers: &[InboxAnswer]) -> Result<(), String> {
        let Some(asks) = self.parked.get(job) else { return Ok(()) };
        let of =
            |ask: &InboxQuestion| answers.iter().filter(|a| a.key == ask.key).collect::<Vec<_>>();
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

    /// Generates questions.
    fn ask(&mut self, phase: PhaseNumber, job: &str, rng: &mut SeededRng) -> Vec<InboxQuestion> {
        self.asked += 1;
        let id = self.asked;
        if rng.below(2) == 0 {
            let topic =
                QuestionTopic::Permission { session: job.to_owned(), request: id.to_string() };
            let choices = ["allow", "always", "deny"];
            return vec![ask(topic.of_phase(phase), QuestionKind::Permission, &choices)];
        }
        let question = |n: u64| {
            let choices = if n == 1 { &["left", "right"][..] } else { &[] };
            let (session, request) = (job.to_owned(), id.to_string());
            let number = usize::try_from(n).unwrap();
            let topic = QuestionTopic::AgentQuestion { session, request, number };
            ask(topic.of_phase(phase), QuestionKind::Question, choices)
        };
        (1..=1 + rng.below(3)).map(question).collect()
    }
}

fn ask(key: QuestionKey, kind: QuestionKind, choices: &[&str]) -> InboxQuestion {
    let question = format!("{key}?");
    InboxQuestion::new(key, kind, question).with_choices(choices.iter().copied())
}

/// Returns the name of the agent job of an effect; `None` if it needs no agent.
fn job(effect: &Effect) -> Option<String> {
    match effect {
        Effect::RunRole { role, .. } => Some(role.name().to_owned()),
        Effect::RunTask { plan, task, .. } => Some(format!("{plan}-{task}")),
        _ => None,
    }
}

fn is_denied(event: &worker::Event) -> bool {
    let worker::Event::Finished { outcome, .. } = event else { return false };
    matches!(outcome, Outcome::PermanentFailure { affects_all_phases: true, .. })
}

impl Process {
    /// Returns what its agents have used.
    pub(crate) fn spent(&self) -> Spending {
        let mut all = Spending::default();
        for (_, report) in self.reports(0) {
            if let Report::Spent(spent) = report {
                all += spent.money;
            }
        }
        all
    }

    /// Fails if the worker did not report that its agent was denied.
    pub(crate) fn check_denial(&self) -> Result<(), String> {
        let knows = self.journal.iter().any(|(_, event)| is_denied(event));
        let says = self.reports(0).any(|(_, report)| matches!(report, Report::Denied { .. }));
        if knows && !says {
            Err("it knows of no hope and does not say so".to_owned())
        } else {
            Ok(())
        }
    }

    /// Fails if an agent must not start now, by how other agents had ended when that was decided.
    fn check_agent_start(&self, begun: u64, now: u64) -> Result<(), String> {
        use worker::Event;
        let is_it = |event: &Event| matches!(event, Event::Intended { id, .. } if *id == begun);
        let (mut until, mut outages) = (0, 0_u32);
        for (at, event) in self.journal.iter().take_while(|(_, event)| !is_it(event)) {
            match event {
                Event::Finished { outcome: Outcome::RetryLater { wait_ms, .. }, .. } => {
                    let own = REST_MIN << outages.min(6);
                    until = at + wait_ms.unwrap_or(0).max(own).min(REST_MAX);
                    outages += 1;
                }
                Event::Finished { outcome: Outcome::PermanentFailure { .. }, .. } => {
                    return Err("an agent begins although that is of no use".to_owned());
                }
                Event::Finished { outcome: Outcome::Asked { .. }, .. } => {}
                Event::Finished { .. } => outages = 0,
                Event::Halted(_) => return Err("an agent begins at the end".to_owned()),
                _ => {}
            }
        }
        match until.checked_sub(self.clock.clock_time(now)) {
            Some(early) if early > 0 => Err(format!("an agent begins {early} ms early")),
            _ => Ok(()),
        }
    }
}

impl Sim {
    /// Starts an agent for an effect that needs one.
    pub(crate) fn start_agent(&mut self, key: Key, id: u64, effect: &Effect) {
        let Some(job) = job(effect) else { return };
        self.agent_starts.push(self.now);
        let process = &self.processes[&key];
        let answers = process.worker.brief.as_ref().map_or(&[][..], |brief| &brief.answers);
        let may_begin = process.check_agent_start(id, self.now);
        let disk = self.scenario.disks.get_mut(&key.0).expect("each phase has a disk");
        let resumed = may_begin.and_then(|()| disk.sessions.resume(&job, answers));
        if let Err(problem) = resumed {
            self.broken = Some(format!("phase {}-{}: {problem}", key.0, key.1));
        }
    }

    /// Ends the agent of an effect; returns the outcome if the agent did not do its work.
    pub(crate) fn end_agent(&mut self, key: Key, effect: &Effect) -> Option<Outcome> {
        let job = job(effect).filter(|_| self.scenario.durations.is_none())?;
        let (phase, faults) = (key.0, &mut self.scenario.faults);
        let disk = self.scenario.disks.get_mut(&phase).expect("each phase has a disk");
        let (sessions, rng) = (&mut disk.sessions, &mut self.rng);
        if disk.budget.is_some_and(|most| spent_by(&self.processes, phase).micro_usd >= most) {
            let reason = BUDGET_USED_UP.to_owned();
            return Some(Outcome::PermanentFailure { reason, affects_all_phases: false });
        }
        if faults.denials > 0 && rng.below(20) == 0 {
            faults.denials -= 1;
            let reason = "not logged in".to_owned();
            return Some(Outcome::PermanentFailure { reason, affects_all_phases: true });
        }
        if faults.outages > 0 && rng.below(8) == 0 {
            // A model that does not answer once does not answer for a while.
            faults.outages -= 1;
            self.outage = self.now + rng.below(600_000);
        }
        if self.now < self.outage {
            let wait_ms = (rng.below(2) == 0).then(|| rng.below(2_000_000));
            return Some(Outcome::RetryLater { reason: "overloaded".to_owned(), wait_ms });
        }
        if let Some(asks) = sessions.parked.get(&job) {
            return Some(Outcome::Asked { asks: asks.clone() });
        }
        if let Effect::RunRole { role: Role::Discusser, round } = effect {
            if sessions.rounds == 0 {
                return None;
            }
            sessions.rounds -= 1;
            let count = 1 + usize::try_from(rng.below(2)).unwrap();
            let key = |number| QuestionTopic::Discuss { round: round + 1, number }.of_phase(phase);
            let choices = ["fail", "other"];
            let asks = (1..=count).map(|n| ask(key(n), QuestionKind::Discuss, &choices));
            return Some(Outcome::Asked { asks: asks.collect() });
        }
        if faults.asks > 0 && rng.below(5) == 0 {
            faults.asks -= 1;
            let asks = sessions.ask(phase, &job, rng);
            if !matches!(effect, Effect::RunTask { parallel: true, .. }) {
                sessions.parked.insert(job, asks.clone());
            }
            return Some(Outcome::Asked { asks });
        }
        None
    }

    /// Delivers the spending of an agent and the outcome of its effect to the worker.
    pub(crate) fn deliver_outcome(&mut self, key: Key, id: u64, effect: &Effect, outcome: Outcome) {
        let input = worker::Input::Finished { id, outcome };
        let twice = self.rng.below(10) == 0;
        if job(effect).is_some() && self.scenario.durations.is_none() {
            let spent = worker::Input::Spent(self.random_spending());
            if self.rng.below(2) == 0 {
                self.feed(key, vec![spent]);
                self.feed(key, vec![input.clone()]);
            } else {
                self.feed(key, vec![spent, input.clone()]);
            }
        } else {
            self.feed(key, vec![input.clone()]);
        }
        if twice {
            self.feed(key, vec![input]);
        }
    }

    fn random_spending(&mut self) -> AgentSpending {
        let (input, micro_usd) = (self.rng.below(1_000), self.rng.below(1_000));
        let (role, agent) = ("executor".to_owned(), "one".to_owned());
        let money = Spending { input, micro_usd, ..Spending::default() };
        AgentSpending { role, agent, money, ..AgentSpending::default() }
    }

    /// Checks that a brief contains what the phase has cost so far.
    pub(crate) fn check_brief(&mut self, brief: &mow_core::report::Brief) {
        let attempts = self.processes.range((brief.phase, 0)..=(brief.phase, u32::MAX));
        let has_zombie = attempts.into_iter().any(|(_, process)| process.zombie);
        let spent = spent_by(&self.processes, brief.phase);
        if !has_zombie && brief.spent != spent {
            let (spent_before, phase) = (brief.spent, brief.phase);
            self.broken = Some(format!(
                "phase {phase} is spent_before of {spent_before:?} and used {spent:?}"
            ));
        }
    }

    /// Checks that the context contains exactly what people decided about a phase.
    pub(crate) fn check_context(&mut self, phase: PhaseNumber, answers: &[InboxAnswer]) {
        let written: BTreeSet<_> =
            answers.iter().map(|a| (a.key.clone(), a.text.clone())).collect();
        let decided = self.answered(phase, |kind| kind == QuestionKind::Discuss);
        if written.len() != decided.len() || !written.iter().cloned().eq(decided) {
            self.broken = Some(format!("phase {phase} takes for decided {answers:?}"));
        }
    }

    /// Returns the answers to questions of a phase that were not withdrawn.
    fn answered(
        &self,
        phase: PhaseNumber,
        of: impl Fn(QuestionKind) -> bool,
    ) -> BTreeMap<QuestionKey, String> {
        let own = self.invariants.questions_about(phase).filter(|item| of(item.ask.kind));
        let answer = |item: &InboxItem| item.answer.clone().filter(|text| text != WITHDRAWN);
        own.filter_map(|item| Some((item.ask.key.clone(), answer(item)?))).collect()
    }

    /// Checks that each answer reached its session once, and that all spending is counted.
    pub(crate) fn check_agents(&self) -> Result<(), String> {
        let lead = &self.invariants.lead;
        for (phase, disk) in &self.scenario.disks {
            let Some(track) = lead.phases.get(phase) else { continue };
            let (answers, taken) = (self.answered(*phase, is_agent_question), &disk.sessions.taken);
            if let Some((key, text)) =
                taken.iter().find(|(key, text)| answers.get(*key) != Some(*text))
            {
                return Err(format!("nobody answered {key} with {text}"));
            }
            // Plans that pass the check are not revised any more.
            let moot = disk.sessions.parked.get(Role::Planner.name());
            let is_moot =
                |key: &QuestionKey| moot.is_some_and(|asks| asks.iter().any(|a| a.key == *key));
            let lost = answers.keys().find(|key| !taken.contains_key(*key) && !is_moot(key));
            if let Some(key) = lost.filter(|_| track.status == Status::Merged) {
                return Err(format!("the answer to {key} reached nobody"));
            }
        }
        let mut all = Spending::default();
        self.processes.values().for_each(|process| all += process.spent());
        let has_zombie = self.processes.values().any(|process| process.zombie);
        if all != lead.spent && !has_zombie {
            return Err(format!("{all:?} was used and {:?} counted", lead.spent));
        }
        Ok(())
    }

    /// Adds the questions and failures of agents to the tally.
    pub(crate) fn count_agents(&self, tally: &mut Tally) {
        let items = self.invariants.lead.inbox.items.values();
        tally.asked += items.filter(|item| is_agent_question(item.ask.kind)).count();
        for (_, report) in self.processes.values().flat_map(|process| process.reports(0)) {
            tally.throttled += usize::from(matches!(report, Report::Throttled { .. }));
            tally.denied += usize::from(matches!(report, Report::Denied { .. }));
            let is_poor = |reason: &str| reason.starts_with(BUDGET_USED_UP);
            tally.stopped +=
                usize::from(matches!(report, Report::Failed { reason } if is_poor(reason)));
        }
        let is_poor = |item: &&InboxItem| item.ask.question.starts_with("the run has used");
        tally.stopped += self.invariants.lead.inbox.items.values().filter(is_poor).count();
    }

    /// Raises the budget of a phase, as a person does to continue it.
    pub(crate) fn raise_phase_budget(&mut self, phase: PhaseNumber) {
        let budget = self.scenario.disks.get_mut(&phase).and_then(|disk| disk.budget.as_mut());
        if let Some(most) = budget {
            *most += 20_000;
        }
    }

    /// Raises the budget of the run, effective at the next start of the lead.
    pub(crate) fn raise_budget(&mut self) {
        if let Some(most) = &mut self.scenario.settings.budget.micro_usd {
            *most += 20_000;
            let generation = self.generation;
            self.after(1_000, SimEvent::Restart { generation });
        }
    }
}

/// Returns what the agents of a phase have used.
fn spent_by(processes: &BTreeMap<Key, Process>, phase: PhaseNumber) -> Spending {
    let mut all = Spending::default();
    for (_, process) in processes.range((phase, 0)..=(phase, u32::MAX)) {
        all += process.spent();
    }
    all
}

//! The simulated worktree of a phase: documents and commits, which outlive every worker.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::file_scope;
use mow_core::stage::{Gates, Stage};
use mow_core::worker::{
    Effect, Outcome, PhaseSnapshot, PlanSnapshot, Role, Settings, TaskSnapshot, Verdict,
};
use mow_testkit::seeded_rng::SeededRng;

use super::agents::Sessions;

/// A task, by its plan and its number.
type Task = (String, usize);

/// The files and commits of a phase, and the faults that are still to come in it.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// The snapshot that a worker takes, without what follows from commits.
    found: PhaseSnapshot,
    /// The files that these plans change.
    files: Vec<String>,
    /// The plans that the planner will write.
    unwritten: Vec<PlanSnapshot>,
    /// Tasks that leave nothing to commit.
    empty: BTreeSet<Task>,
    /// How often a task still meets a blocker.
    blocked: BTreeMap<Task, u32>,
    /// How many more effects fail.
    stumbles: u64,
    /// How many more reviews or verifications find problems.
    refusals: u64,
    /// How often each task was committed.
    commits: BTreeMap<Task, u32>,
    /// Tasks that were committed while plans ran in parallel, and not checked since.
    unchecked: BTreeSet<Task>,
    /// Plans of which a task was undone.
    undone: BTreeSet<String>,
    /// How often each plan was closed.
    closings: BTreeMap<String, u32>,
    /// How many commits the branch of the phase has.
    heads: u32,
    is_closed: bool,
    /// A violation of an invariant.
    broken: Option<String>,
    /// What existed when a look-ahead began: context, research, plans.
    before: (bool, bool, bool),
    /// The sessions of its agents.
    pub(crate) sessions: Sessions,
    /// The budget of the phase, in micro-dollars.
    pub(crate) budget: Option<u64>,
}

impl Disk {
    /// Generates a phase with a number of faults.
    pub(crate) fn roll(rng: &mut SeededRng, troubles: u64) -> Self {
        let mut disk = Self { stumbles: troubles, refusals: troubles.min(2), ..Self::default() };
        disk.found.settings = roll_settings(rng, troubles);
        disk.found.context = rng.below(3) > 0;
        disk.found.skip_discuss = rng.below(2) == 0;
        disk.sessions.rounds = rng.below(3);
        disk.budget = (troubles > 0 && rng.below(4) == 0).then(|| rng.below(3_000));
        disk.found.criteria = (0..rng.below(2)).map(|n| format!("criterion {n}")).collect();
        let plans = 1 + rng.below(4);
        for n in 1..=plans {
            let plan = disk.roll_plan(rng, n, troubles);
            disk.unwritten.push(plan);
        }
        if rng.below(2) == 0 {
            disk.write_plans();
        }
        disk
    }

    fn roll_plan(&mut self, rng: &mut SeededRng, n: u64, troubles: u64) -> PlanSnapshot {
        let id = format!("p{n}");
        let count = 1 + usize::try_from(rng.below(3)).unwrap();
        let mut plan = PlanSnapshot {
            id: id.clone(),
            wave: 1 + u32::try_from(n / 3).unwrap(),
            files: (0..rng.below(3)).map(|_| format!("src/{}", rng.below(6))).collect(),
            ..PlanSnapshot::default()
        };
        if rng.below(3) == 0 {
            let pool = ["a/x", "a/y", "./a/", "b", "c/**", "c/d/e", "f"];
            plan.files.push(pool[usize::try_from(rng.below(7)).unwrap()].to_owned());
        }
        if n > 1 && rng.below(3) == 0 {
            plan.depends_on.push(format!("p{}", n - 1));
        }
        for at in 1..=count {
            let mut task = TaskSnapshot { name: format!("t{at}"), ..TaskSnapshot::default() };
            match rng.below(12) {
                0 => {
                    task.question = Some("Is it well?".to_owned());
                    task.choices = vec!["approved".to_owned(), "rejected".to_owned()];
                }
                1 => {
                    self.empty.insert((id.clone(), at));
                }
                2 if troubles > 0 => {
                    self.blocked.insert((id.clone(), at), 1);
                }
                _ => {}
            }
            plan.tasks.push(task);
        }
        plan
    }

    /// Writes the plans, as a planner or a person does.
    pub(crate) fn write_plans(&mut self) {
        self.found.plans.append(&mut self.unwritten);
        self.note_files();
    }

    fn note_files(&mut self) {
        self.files = file_scope::normalized(self.found.plans.iter().flat_map(|plan| &plan.files));
    }

    /// Returns a phase of one task without faults, whose research and plan are still to be done.
    pub(crate) fn plain() -> Self {
        let mut disk = Self::default();
        disk.found.context = true;
        let (research, verifier) = (true, false);
        let roles = BTreeSet::from([Role::Researcher, Role::Planner, Role::Executor]);
        disk.found.settings = Settings { research, verifier, roles, ..Settings::default() };
        let tasks = vec![TaskSnapshot::default()];
        disk.unwritten =
            vec![PlanSnapshot { id: "p1".to_owned(), tasks, ..PlanSnapshot::default() }];
        disk
    }

    /// Returns the files that the plans change.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// Returns what the planning files say: the files of the plans, and the stages for a
    /// look-ahead.
    pub(crate) fn facts(&self) -> (Option<Vec<String>>, Vec<Stage>) {
        let PhaseSnapshot { settings, context, skip_discuss, research, plans, .. } = &self.found;
        let has = |role| settings.roles.contains(&role);
        let mut ahead = Vec::new();
        if !context && !skip_discuss {
            ahead.push(Stage::Discuss);
        }
        if !research && settings.research && has(Role::Researcher) {
            ahead.push(Stage::Research);
        }
        if plans.is_empty() && has(Role::Planner) {
            ahead.push(Stage::Plan);
        }
        ((!plans.is_empty()).then(|| self.files.clone()), ahead)
    }

    /// Remembers what exists before a look-ahead.
    pub(crate) fn look_ahead(&mut self) {
        let PhaseSnapshot { context, research, plans, .. } = &self.found;
        self.before = (*context, *research, !plans.is_empty());
    }

    /// Removes the documents of a look-ahead that belong to incomplete stages.
    pub(crate) fn collect_look_ahead(&mut self, through: Option<Stage>) {
        let keeps = |stage| through >= Some(stage);
        self.found.context &= self.before.0 || keeps(Stage::Discuss);
        self.found.research &= self.before.1 || keeps(Stage::Research);
        if !self.before.2 && !keeps(Stage::Plan) {
            self.unwritten.append(&mut self.found.plans);
            self.note_files();
        }
        self.look_ahead();
    }

    /// Carries out an effect of a worker.
    pub(crate) fn run_effect(&mut self, effect: &Effect, rng: &mut SeededRng) -> Outcome {
        let is_fragile = !matches!(effect, Effect::Checkpoint { .. } | Effect::NoteStatus { .. });
        if is_fragile && self.stumbles > 0 && rng.below(8) == 0 {
            self.stumbles -= 1;
            return Outcome::Failed { reason: "it stumbled".to_owned() };
        }
        match effect {
            Effect::Inspect => Outcome::Inspected { found: self.look() },
            Effect::WriteContext { .. } => {
                self.found.context = true;
                Outcome::Done
            }
            Effect::RunRole { role, .. } => self.play(*role, rng),
            Effect::RunTask { plan, task, parallel } => self.run(&(plan.clone(), *task), *parallel),
            Effect::CheckPlan { plan } => self.check(plan, rng),
            Effect::ClosePlan { plan, .. } => {
                if self.unchecked.iter().any(|(of, _)| of == plan) {
                    self.broken = Some(format!("plan {plan} is closed and not checked"));
                }
                *self.closings.entry(plan.clone()).or_default() += 1;
                self.commit()
            }
            Effect::ClosePhase if self.is_closed => self.head_again(),
            Effect::ClosePhase => {
                self.is_closed = true;
                self.commit()
            }
            Effect::CheckCompletePlans
            | Effect::Freeze
            | Effect::Checkpoint { .. }
            | Effect::NoteStatus { .. }
            | Effect::PrepareParallel { .. }
            | Effect::CheckFileScopes { .. }
            | Effect::Interrupt { .. } => Outcome::Done,
        }
    }

    fn look(&self) -> PhaseSnapshot {
        let mut found = self.found.clone();
        for plan in &mut found.plans {
            plan.done = self.closings.contains_key(&plan.id);
            let of_plan = self.commits.keys().filter(|(id, _)| *id == plan.id);
            plan.tasks_done = of_plan.map(|(_, task)| *task).collect();
            plan.unchecked = self.unchecked.iter().any(|(of, _)| *of == plan.id);
            plan.alone = self.undone.contains(&plan.id);
        }
        found
    }

    fn play(&mut self, role: Role, rng: &mut SeededRng) -> Outcome {
        let gaps = |text: &str| Verdict::Gaps { text: text.to_owned() };
        match role {
            Role::Researcher => self.found.research = true,
            Role::Planner => self.write_plans(),
            Role::PlanChecker | Role::Verifier => {
                let is_content = self.refusals == 0 || rng.below(2) == 0;
                self.refusals -= u64::from(!is_content);
                let verdict = if is_content { Verdict::Passed } else { gaps("not yet") };
                if role == Role::Verifier {
                    self.found.verification = Some(verdict.clone());
                }
                return Outcome::Verdict { verdict };
            }
            Role::Discusser | Role::Executor => {}
        }
        Outcome::Done
    }

    /// Returns the files of a plan.
    pub(crate) fn files_of(&self, plan: &str) -> &[String] {
        let plan = self.found.plans.iter().find(|found| found.id == plan);
        plan.map_or(&[], |plan| &plan.files)
    }

    /// Checks a plan; undoes tasks that fail.
    fn check(&mut self, plan: &str, rng: &mut SeededRng) -> Outcome {
        let count = self.found.plans.iter().find(|p| p.id == plan).map_or(1, |p| p.tasks.len());
        if self.stumbles == 0 || rng.below(3) > 0 {
            self.unchecked.retain(|(of, _)| of != plan);
            return Outcome::Done;
        }
        self.stumbles -= 1;
        let task = 1 + usize::try_from(rng.below(count as u64)).unwrap();
        let is_undone = |(of, at): &Task| of == plan && *at >= task;
        self.commits.retain(|key, _| !is_undone(key));
        self.unchecked.retain(|key| !is_undone(key));
        self.undone.insert(plan.to_owned());
        self.heads += 1;
        Outcome::Undone { task, reason: "it does not pass".to_owned() }
    }

    fn run(&mut self, task: &Task, parallel: bool) -> Outcome {
        if let Some(times) = self.blocked.get_mut(task).filter(|times| **times > 0) {
            *times -= 1;
            return Outcome::Blocked { text: "which one?".to_owned() };
        }
        if self.empty.contains(task) {
            return Outcome::Committed { commit: None };
        }
        *self.commits.entry(task.clone()).or_default() += 1;
        if parallel {
            self.unchecked.insert(task.clone());
        }
        self.commit()
    }

    fn commit(&mut self) -> Outcome {
        self.heads += 1;
        self.head_again()
    }

    fn head_again(&self) -> Outcome {
        Outcome::Committed { commit: Some(self.head()) }
    }

    /// Returns the name of the last commit of the phase.
    pub(crate) fn head(&self) -> String {
        format!("h{}", self.heads)
    }

    /// Fails if a task or a closing was committed twice.
    pub(crate) fn check_once(&self) -> Result<(), String> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        if let Some((task, times)) = self.commits.iter().find(|(_, times)| **times > 1) {
            return Err(format!("task {task:?} was committed {times} times"));
        }
        match self.closings.iter().find(|(_, times)| **times > 1) {
            Some((plan, times)) => Err(format!("plan {plan} was closed {times} times")),
            None => Ok(()),
        }
    }

    /// Fails if something is missing in a phase that is reported as complete.
    pub(crate) fn check_complete(&self) -> Result<(), String> {
        self.check_once()?;
        if !self.is_closed || self.found.plans.is_empty() {
            return Err("it is not closed".to_owned());
        }
        for plan in &self.found.plans {
            if !self.closings.contains_key(&plan.id) {
                return Err(format!("plan {} is not closed", plan.id));
            }
            for (n, task) in (1..).zip(&plan.tasks) {
                let key = (plan.id.clone(), n);
                let leaves = task.question.is_none() && !self.empty.contains(&key);
                if leaves && !self.commits.contains_key(&key) {
                    return Err(format!("task {key:?} was never committed"));
                }
            }
        }
        Ok(())
    }
}

fn roll_settings(rng: &mut SeededRng, troubles: u64) -> Settings {
    let mut roles = BTreeSet::from([Role::Executor, Role::Verifier]);
    for role in [Role::Discusser, Role::Researcher, Role::Planner, Role::PlanChecker] {
        if rng.below(2) == 0 {
            roles.insert(role);
        }
    }
    let gates = [Gates::None, Gates::None, Gates::BeforeExecute, Gates::EveryStage];
    Settings {
        research: rng.below(2) == 0,
        plan_check: rng.below(2) == 0,
        verifier: rng.below(2) == 0,
        gates: gates[usize::try_from(rng.below(4)).unwrap()],
        strict: rng.below(2) == 0,
        tries_max: 1 + u32::try_from(rng.below(2)).unwrap(),
        wall_max_ms: (troubles > 0 && rng.below(6) == 0).then_some(90_000),
        roles,
        side_by_side: rng.below(3) > 0,
        retry_ms: None,
        blocker_timeout_ms: None,
    }
}

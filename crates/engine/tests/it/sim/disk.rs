//! What a simulated phase has on its disk: it outlives every worker of the phase.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::stage::{Gates, Stage};
use mow_core::touch;
use mow_core::worker::{Effect, Found, FoundPlan, FoundTask, Outcome, Role, Settings, Verdict};
use mow_testkit::dice::Dice;

use super::agents::Sessions;

/// A task, by its plan and its number.
type Task = (String, usize);

/// The files and commits of a phase, and what is still to go wrong in it.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// What a look finds, but for what follows from commits.
    found: Found,
    /// The plans that are there once somebody writes them.
    unwritten: Vec<FoundPlan>,
    /// Tasks that leave nothing to commit.
    empty: BTreeSet<Task>,
    /// How often a task still meets a blocker.
    blocked: BTreeMap<Task, u32>,
    /// How often something still does not work.
    stumbles: u64,
    /// How often a checker is still not content.
    refusals: u64,
    /// How often each task was committed.
    commits: BTreeMap<Task, u32>,
    /// Tasks that were committed beside other plans and not checked since.
    unchecked: BTreeSet<Task>,
    /// Plans of which a task was undone.
    undone: BTreeSet<String>,
    /// How often each plan was closed.
    closings: BTreeMap<String, u32>,
    /// How often the phase got another last commit.
    heads: u32,
    is_closed: bool,
    /// What must not have happened.
    broken: Option<String>,
    /// What was there when a look-ahead began: context, research, and whether there were plans.
    before: (bool, bool, bool),
    /// What its agents remember.
    pub(crate) sessions: Sessions,
    /// What it may cost.
    pub(crate) purse: Option<u64>,
}

impl Disk {
    /// Thinks up a phase with the given number of things that go wrong.
    pub(crate) fn roll(dice: &mut Dice, troubles: u64) -> Self {
        let mut disk = Self { stumbles: troubles, refusals: troubles.min(2), ..Self::default() };
        disk.found.settings = roll_settings(dice, troubles);
        disk.found.context = dice.below(3) > 0;
        disk.found.skip_discuss = dice.below(2) == 0;
        disk.sessions.rounds = dice.below(3);
        disk.purse = (troubles > 0 && dice.below(4) == 0).then(|| dice.below(3_000));
        disk.found.criteria = (0..dice.below(2)).map(|n| format!("criterion {n}")).collect();
        let plans = 1 + dice.below(4);
        for n in 1..=plans {
            let plan = disk.roll_plan(dice, n, troubles);
            disk.unwritten.push(plan);
        }
        if dice.below(2) == 0 {
            disk.write_plans();
        }
        disk
    }

    fn roll_plan(&mut self, dice: &mut Dice, n: u64, troubles: u64) -> FoundPlan {
        let id = format!("p{n}");
        let count = 1 + usize::try_from(dice.below(3)).unwrap();
        let mut plan = FoundPlan {
            id: id.clone(),
            wave: 1 + u32::try_from(n / 3).unwrap(),
            files: (0..dice.below(3)).map(|_| format!("src/{}", dice.below(6))).collect(),
            ..FoundPlan::default()
        };
        if dice.below(3) == 0 {
            let pool = ["a/x", "a/y", "./a/", "b", "c/**", "c/d/e", "f"];
            plan.files.push(pool[usize::try_from(dice.below(7)).unwrap()].to_owned());
        }
        if n > 1 && dice.below(3) == 0 {
            plan.depends_on.push(format!("p{}", n - 1));
        }
        for at in 1..=count {
            let mut task = FoundTask { name: format!("t{at}"), ..FoundTask::default() };
            match dice.below(12) {
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

    /// Writes the plans, as a planner does or a person.
    pub(crate) fn write_plans(&mut self) {
        self.found.plans.append(&mut self.unwritten);
    }

    /// Thinks up a phase of one task whose research and plan somebody has to do, without trouble.
    pub(crate) fn plain() -> Self {
        let mut disk = Self::default();
        disk.found.context = true;
        let (research, verifier) = (true, false);
        let roles = BTreeSet::from([Role::Researcher, Role::Planner, Role::Executor]);
        disk.found.settings = Settings { research, verifier, roles, ..Settings::default() };
        let tasks = vec![FoundTask::default()];
        disk.unwritten = vec![FoundPlan { id: "p1".to_owned(), tasks, ..FoundPlan::default() }];
        disk
    }

    /// Returns the files that the plans change.
    pub(crate) fn files(&self) -> Vec<String> {
        touch::normalized(self.found.plans.iter().flat_map(|plan| &plan.files))
    }

    /// Returns what a roadmap says beside it: the files, and the stages that can be done ahead.
    pub(crate) fn facts(&self) -> (Option<Vec<String>>, Vec<Stage>) {
        let Found { settings, context, skip_discuss, research, plans, .. } = &self.found;
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
        ((!plans.is_empty()).then(|| self.files()), ahead)
    }

    /// Keeps in mind what is there before a look-ahead.
    pub(crate) fn look_ahead(&mut self) {
        let Found { context, research, plans, .. } = &self.found;
        self.before = (*context, *research, !plans.is_empty());
    }

    /// Puts aside what a look-ahead left of stages that are not complete.
    pub(crate) fn gather(&mut self, through: Option<Stage>) {
        let keeps = |stage| through >= Some(stage);
        self.found.context &= self.before.0 || keeps(Stage::Discuss);
        self.found.research &= self.before.1 || keeps(Stage::Research);
        if !self.before.2 && !keeps(Stage::Plan) {
            self.unwritten.append(&mut self.found.plans);
        }
        self.look_ahead();
    }

    /// Does what a worker wants.
    pub(crate) fn perform(&mut self, effect: &Effect, dice: &mut Dice) -> Outcome {
        let is_fragile = !matches!(effect, Effect::Checkpoint { .. } | Effect::NoteStatus { .. });
        if is_fragile && self.stumbles > 0 && dice.below(8) == 0 {
            self.stumbles -= 1;
            return Outcome::Failed { reason: "it stumbled".to_owned() };
        }
        match effect {
            Effect::Look => Outcome::Found { found: self.look() },
            Effect::WriteContext { .. } => {
                self.found.context = true;
                Outcome::Done
            }
            Effect::RunRole { role, .. } => self.play(*role, dice),
            Effect::RunTask { plan, task, beside } => self.run(&(plan.clone(), *task), *beside),
            Effect::CheckPlan { plan } => self.check(plan, dice),
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
            Effect::Freeze
            | Effect::Checkpoint { .. }
            | Effect::NoteStatus { .. }
            | Effect::Clear { .. }
            | Effect::Gather { .. }
            | Effect::Interrupt { .. } => Outcome::Done,
        }
    }

    fn look(&self) -> Found {
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

    fn play(&mut self, role: Role, dice: &mut Dice) -> Outcome {
        let gaps = |text: &str| Verdict::Gaps { text: text.to_owned() };
        match role {
            Role::Researcher => self.found.research = true,
            Role::Planner => self.write_plans(),
            Role::PlanChecker | Role::Verifier => {
                let is_content = self.refusals == 0 || dice.below(2) == 0;
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

    /// Checks a plan; what does not pass is undone.
    fn check(&mut self, plan: &str, dice: &mut Dice) -> Outcome {
        let count = self.found.plans.iter().find(|p| p.id == plan).map_or(1, |p| p.tasks.len());
        if self.stumbles == 0 || dice.below(3) > 0 {
            self.unchecked.retain(|(of, _)| of != plan);
            return Outcome::Done;
        }
        self.stumbles -= 1;
        let task = 1 + usize::try_from(dice.below(count as u64)).unwrap();
        let is_undone = |(of, at): &Task| of == plan && *at >= task;
        self.commits.retain(|key, _| !is_undone(key));
        self.unchecked.retain(|key| !is_undone(key));
        self.undone.insert(plan.to_owned());
        self.heads += 1;
        Outcome::Undone { task, reason: "it does not pass".to_owned() }
    }

    fn run(&mut self, task: &Task, beside: bool) -> Outcome {
        if let Some(times) = self.blocked.get_mut(task).filter(|times| **times > 0) {
            *times -= 1;
            return Outcome::Blocked { text: "which one?".to_owned() };
        }
        if self.empty.contains(task) {
            return Outcome::Committed { commit: None };
        }
        *self.commits.entry(task.clone()).or_default() += 1;
        if beside {
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

    /// Names the last commit of the phase.
    pub(crate) fn head(&self) -> String {
        format!("h{}", self.heads)
    }

    /// Finds what was committed twice.
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

    /// Finds what is missing in a phase that says it is complete.
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

fn roll_settings(dice: &mut Dice, troubles: u64) -> Settings {
    let mut roles = BTreeSet::from([Role::Executor, Role::Verifier]);
    for role in [Role::Discusser, Role::Researcher, Role::Planner, Role::PlanChecker] {
        if dice.below(2) == 0 {
            roles.insert(role);
        }
    }
    let gates = [Gates::None, Gates::None, Gates::BeforeExecute, Gates::EveryStage];
    Settings {
        research: dice.below(2) == 0,
        plan_check: dice.below(2) == 0,
        verifier: dice.below(2) == 0,
        gates: gates[usize::try_from(dice.below(4)).unwrap()],
        strict: dice.below(2) == 0,
        tries_max: 1 + u32::try_from(dice.below(2)).unwrap(),
        wall_max_ms: (troubles > 0 && dice.below(6) == 0).then_some(90_000),
        roles,
        side_by_side: dice.below(3) > 0,
        retry_ms: None,
    }
}

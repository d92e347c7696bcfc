//! What reaches a worker, what it writes down, and what it wants done. Closed lists, plain data.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::role::Role;
use crate::item::{Answer, Ask};
use crate::report::{Brief, Halt, Note, Report, Spent};
use crate::stage::Gates;

/// How a phase is to go, as the project's settings say at the moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether there is a research stage.
    pub research: bool,
    /// Whether plans are checked.
    pub plan_check: bool,
    /// Whether there is a refine stage.
    pub verifier: bool,
    /// Where a person is asked.
    pub gates: Gates,
    /// Whether a blocker stops the whole phase.
    pub strict: bool,
    /// How often a task is tried.
    pub tries_max: u32,
    /// How long the phase may take.
    pub wall_max_ms: Option<u64>,
    /// The roles that somebody fills.
    pub roles: BTreeSet<Role>,
    /// Whether plans may run side by side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
    /// How long the first wait for a model is that does not answer; `None` for the usual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            research: true,
            plan_check: true,
            verifier: true,
            gates: Gates::None,
            strict: false,
            tries_max: 1,
            wall_max_ms: None,
            roles: BTreeSet::from([Role::Executor, Role::Verifier]),
            side_by_side: false,
            retry_ms: None,
        }
    }
}

/// What is there of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// How the phase is to go.
    pub settings: Settings,
    /// What the phase is for.
    pub goal: String,
    /// What must be true at its end.
    pub criteria: Vec<String>,
    /// Whether the roadmap wants no discussion.
    pub skip_discuss: bool,
    /// Whether there is a CONTEXT.md.
    pub context: bool,
    /// Whether there is a RESEARCH.md.
    pub research: bool,
    /// The plans, ordered by wave and id.
    pub plans: Vec<FoundPlan>,
    /// What VERIFICATION.md says.
    pub verification: Option<Verdict>,
}

/// A plan that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundPlan {
    /// Its id.
    pub id: String,
    /// Its wave.
    pub wave: u32,
    /// The plans of this phase that come before it.
    pub depends_on: Vec<String>,
    /// Its tasks.
    pub tasks: Vec<FoundTask>,
    /// Whether it is complete.
    pub done: bool,
    /// The tasks that are committed, counted from one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tasks_done: BTreeSet<usize>,
    /// Why it cannot be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The files and directories it says it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether tasks of it are committed whose checks have still to be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// Whether a task of it was undone after it ran side by side with others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// A task of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundTask {
    /// Its name.
    pub name: String,
    /// What a person is asked, where the task waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The words the person may choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// A plan as it was when its phase began to be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenPlan {
    /// Its id.
    pub id: String,
    /// The hash of what it says.
    pub hash: String,
    /// What it says: checks are taken from here and from nowhere else.
    pub text: String,
    /// Whether it was complete before this phase had a commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub older: bool,
}

/// What came of a check, and of which code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The commit that it ran on.
    pub commit: String,
    /// The tree of that commit.
    pub tree: String,
    /// The hash of all its files but the planning files: the same code is not checked twice.
    pub code: String,
    /// The command.
    pub command: String,
    /// Its exit code; `None` when it did not come to its end.
    pub exit: Option<i32>,
    /// The hash of what it printed.
    pub output: String,
    /// When it ended, in milliseconds since 1970.
    pub at: u64,
    /// Whether it ran in a fresh checkout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Shows that the worker wrote it, and no agent.
    #[serde(default)]
    pub seal: String,
}

/// What a checker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// All is well.
    Passed,
    /// Something is missing.
    Gaps {
        /// What.
        text: String,
    },
    /// A person must look.
    HumanNeeded {
        /// At what.
        text: String,
    },
}

/// What reaches a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// It begins.
    Begin {
        /// What it is about.
        brief: Brief,
        /// Its process.
        pid: u32,
    },
    /// An effect came to its end.
    Finished {
        /// Its number.
        id: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// What it is doing shows no sign of life.
    Stuck {
        /// The number of the effect.
        id: u64,
        /// The signs and their numbers, in words.
        signs: String,
    },
    /// What seemed to be stuck moves again.
    Moving {
        /// The number of the effect.
        id: u64,
    },
    /// The lead says something.
    Told(Note),
    /// An agent used something that costs money.
    Spent(Spent),
    /// The lead has not confirmed what it was told for too long.
    Unheard {
        /// What to note about it.
        text: String,
    },
    /// A check was run.
    Proved(Evidence),
    /// Something came to light that people should know.
    Noted {
        /// A sentence.
        text: String,
    },
    /// Time has passed.
    Tick,
}

/// What a worker writes down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It was told what it is about.
    Briefed {
        /// What.
        brief: Brief,
    },
    /// An effect is about to be released.
    Intended {
        /// Its number.
        id: u64,
        /// What it is.
        effect: Effect,
    },
    /// An effect came to its end.
    Finished {
        /// Its number.
        id: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// It is to be ended.
    Halted {
        /// Why.
        how: Halt,
    },
    /// What it is doing is cut off.
    Interrupted,
    /// What it is doing shows no sign of life.
    Stuck {
        /// The number of the effect.
        id: u64,
        /// The key of the question about it.
        key: String,
        /// What is stuck, and by which signs.
        text: String,
    },
    /// What seemed to be stuck moves again.
    Moving {
        /// The number of the effect.
        id: u64,
    },
    /// A person said what to do about something that is stuck.
    Decided {
        /// The number of the effect.
        id: u64,
        /// What the person chose.
        choice: String,
    },
    /// The lead does not answer.
    Unheard {
        /// What was noted about it.
        text: String,
    },
    /// What the commits of this attempt are sealed with; the first record of all.
    Sealed {
        /// The root of the chain.
        root: String,
        /// The root of the chain for what was proved.
        proofs: String,
    },
    /// A check was run.
    Proved(Evidence),
    /// The lead is told something.
    Reported(Report),
}

/// What a worker wants done. Each looks before it acts, so that doing it again is safe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Look at what is there.
    Look,
    /// Write CONTEXT.md.
    WriteContext {
        /// What a person answered; empty where nobody was asked.
        answers: Vec<Answer>,
    },
    /// Let a role do its job.
    RunRole {
        /// Which.
        role: Role,
        /// How often it has done it before.
        round: u32,
    },
    /// Take the plans as they are, so that nobody changes what proves them.
    Freeze,
    /// Carry out a task, commit it and check it.
    RunTask {
        /// The plan.
        plan: String,
        /// The task, counted from one.
        task: usize,
        /// Whether other plans run at the same time: then only what the plan says it changes is
        /// committed, and the checks are left for later.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        beside: bool,
    },
    /// Put aside what is not committed, before plans run side by side.
    Clear {
        /// Those plans.
        plans: Vec<String>,
    },
    /// Look for what plans that ran side by side changed without having said so.
    Gather {
        /// Those plans.
        plans: Vec<String>,
    },
    /// Run the checks of a plan whose tasks were committed without; undo what does not pass.
    CheckPlan {
        /// The plan.
        plan: String,
    },
    /// Write a plan's summary and make its closing commit.
    ClosePlan {
        /// The plan.
        plan: String,
        /// When it began.
        began: u64,
    },
    /// Make the last commit of the phase.
    ClosePhase,
    /// Keep what is not committed, and write down where to go on.
    Checkpoint {
        /// `failed`, `paused`, `cancelled` or `timeout`.
        status: String,
        /// Why.
        reason: String,
        /// The plan it was at.
        plan: Option<String>,
        /// The task it was at.
        task: Option<usize>,
    },
    /// Note something in STATUS.md.
    NoteStatus {
        /// What.
        text: String,
    },
    /// Cut off what is being done.
    Interrupt {
        /// The number of the effect; `None` for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<u64>,
    },
}

impl Effect {
    /// Returns the plan it is about.
    pub fn plan(&self) -> Option<&str> {
        match self {
            Self::RunTask { plan, .. }
            | Self::CheckPlan { plan }
            | Self::ClosePlan { plan, .. } => Some(plan),
            _ => None,
        }
    }

    /// Returns whether it runs commands or agents, which may take long and can be cut off.
    pub fn is_long(&self) -> bool {
        matches!(self, Self::RunTask { .. } | Self::RunRole { .. } | Self::CheckPlan { .. })
    }
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It is done and there is nothing to say about it.
    Done,
    /// This is there.
    Found {
        /// What.
        found: Found,
    },
    /// The plans are taken.
    Frozen {
        /// All that count in this phase.
        plans: Vec<FrozenPlan>,
        /// The hash of git's own settings.
        settings: String,
    },
    /// It is committed.
    Committed {
        /// The commit; `None` when there was nothing to commit.
        commit: Option<String>,
    },
    /// A checker's answer.
    Verdict {
        /// Which.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// It cannot go on without a decision.
    Blocked {
        /// What is in the way.
        text: String,
    },
    /// A check does not pass, and the work of a task and of those after it was undone.
    Undone {
        /// The task.
        task: usize,
        /// Why.
        reason: String,
    },
    /// People have to answer these first.
    Asked {
        /// The questions.
        asks: Vec<Ask>,
    },
    /// Who does it cannot do it now, but after a while.
    Later {
        /// Why.
        reason: String,
        /// After how long, where somebody said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wait_ms: Option<u64>,
    },
    /// Trying again is of no use before a person has done something.
    Hopeless {
        /// What.
        reason: String,
        /// Whether it concerns all phases.
        everybody: bool,
    },
    /// It was cut off.
    Interrupted,
    /// It could not be done.
    Failed {
        /// Why.
        reason: String,
    },
}

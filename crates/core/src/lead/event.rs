//! What reaches a lead, what it writes down, and what it wants done. Closed lists, plain data.

use serde::{Deserialize, Serialize};

use super::{Commit, Settings, Status};
use crate::item::Item;
use crate::money::{Money, Spent};
use crate::phase::PhaseNumber;
use crate::report::{Brief, Halt, Note, Report};
use crate::stage::Stage;

/// A phase as a run sees it in the roadmap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSpec {
    /// Its number.
    pub number: PhaseNumber,
    /// Its name.
    pub name: String,
    /// The phases of this run that must be merged before.
    pub depends_on: Vec<PhaseNumber>,
    /// Whether the roadmap says that it is done.
    pub done: bool,
    /// The files that its plans change, in one form; `None` while it has no plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touches: Option<Vec<String>>,
    /// The stages before execute in which somebody has something to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<Stage>,
}

impl PhaseSpec {
    /// Returns whether the roadmap says the same about both, whatever their files say.
    pub(super) fn is_same_in_roadmap(&self, other: &Self) -> bool {
        let said = |spec: &Self| Self { touches: None, ahead: Vec::new(), ..spec.clone() };
        said(self) == said(other)
    }
}

/// Which phases a run takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those that were named at the start.
    Named,
    /// All of the roadmap, those added later too.
    All,
}

/// Whether anything new is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Yes.
    None,
    /// No; what runs may end by itself.
    Draining,
    /// No; what runs is ended with checkpoints.
    Stopping,
}

/// What a person or a program wants of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// A phase shall rest, or all.
    Pause {
        /// The phase.
        phase: Option<PhaseNumber>,
    },
    /// A resting, failed or cancelled phase shall go on, or all that rest.
    Resume {
        /// The phase.
        phase: Option<PhaseNumber>,
    },
    /// A phase is not wanted any more, or none that is unfinished.
    Cancel {
        /// The phase.
        phase: Option<PhaseNumber>,
    },
    /// A question is answered.
    Answer {
        /// The number of the question.
        item: u32,
        /// What was answered.
        text: String,
    },
}

/// What reaches a lead.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A run begins.
    Begin {
        /// Its id.
        run: String,
        /// The branch it is for.
        target: String,
        /// Where that stands.
        tip: Commit,
    },
    /// A lead takes up the run, for the first time or again, and may start things.
    TakeUp {
        /// How it shall go.
        settings: Settings,
    },
    /// What the roadmap says now about the phases of the run.
    Roadmap {
        /// Which phases the run takes in.
        scope: Scope,
        /// Those phases.
        phases: Vec<PhaseSpec>,
    },
    /// A record of a worker.
    Report {
        /// Whose.
        phase: PhaseNumber,
        /// Of which attempt.
        attempt: u32,
        /// Its number in the worker's journal.
        seq: u64,
        /// What it says.
        report: Report,
    },
    /// A worker and all it started are gone; everything it wrote has been read.
    Gone {
        /// Whose.
        phase: PhaseNumber,
        /// Which attempt.
        attempt: u32,
    },
    /// A worker lives and shows no sign of it.
    Hung {
        /// Whose.
        phase: PhaseNumber,
        /// Which attempt.
        attempt: u32,
        /// The signs and their numbers, in words.
        signs: String,
    },
    /// A worker shows signs of life again.
    Awake {
        /// Whose.
        phase: PhaseNumber,
        /// Which attempt.
        attempt: u32,
    },
    /// An effect came to its end.
    Finished {
        /// Its number.
        id: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// Somebody wants something.
    Command {
        /// The number of the command in its file.
        seq: u64,
        /// What is wanted.
        command: Command,
    },
    /// Nothing new shall be started.
    Hold(Hold),
    /// Something that was done which people should know.
    Told {
        /// What.
        text: String,
    },
    /// Something about a phase that people should know early.
    Noted {
        /// Which.
        phase: PhaseNumber,
        /// What.
        text: String,
    },
    /// An agent that works for the lead itself used something.
    Spent {
        /// For which phase.
        phase: PhaseNumber,
        /// What.
        spent: Spent,
    },
}

/// What a lead writes down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run began.
    Begun {
        /// Its id.
        run: String,
        /// The branch it is for.
        target: String,
        /// Where that stood.
        tip: Commit,
    },
    /// A lead took it up.
    TakenUp {
        /// How it goes.
        settings: Settings,
    },
    /// The roadmap was read and says something new.
    Planned {
        /// Which phases the run takes in.
        scope: Scope,
        /// All phases of the run.
        phases: Vec<PhaseSpec>,
    },
    /// The files of some phases say something new; what they depend on is as it was.
    Observed {
        /// These phases.
        phases: Vec<PhaseSpec>,
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
    /// A worker's record was read.
    Reported {
        /// Whose.
        phase: PhaseNumber,
        /// Of which attempt.
        attempt: u32,
        /// Its number in the worker's journal.
        seq: u64,
        /// What it says.
        report: Report,
    },
    /// A phase has a new status.
    Moved {
        /// Which.
        phase: PhaseNumber,
        /// Its attempt from now on.
        attempt: u32,
        /// The status.
        to: Status,
        /// The reason, for people.
        why: String,
        /// How far an attempt that begins looks ahead; `None` of one that does all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ahead: Option<Stage>,
    },
    /// A worker is to be ended.
    Halted {
        /// Whose.
        phase: PhaseNumber,
        /// Why.
        how: Halt,
    },
    /// A worker that was to be ended is wanted again; if it ends all the same, another is started.
    Unhalted {
        /// Whose.
        phase: PhaseNumber,
    },
    /// A worker ended without a last word.
    Died {
        /// Whose.
        phase: PhaseNumber,
    },
    /// Something that was done which people should know; it changes nothing.
    Told {
        /// What.
        text: String,
    },
    /// Something about a phase that people should know early; it changes nothing.
    Noted {
        /// Which.
        phase: PhaseNumber,
        /// What.
        text: String,
    },
    /// An agent that works for the lead itself used something.
    Spent {
        /// For which phase.
        phase: PhaseNumber,
        /// What.
        spent: Spent,
    },
    /// A person is asked.
    Asked {
        /// The question.
        item: Item,
    },
    /// A person answered, or what the person did is an answer.
    Answered {
        /// The number of the question.
        item: u32,
        /// The answer.
        text: String,
    },
    /// A question is no longer of interest; it may be put again.
    Withdrawn {
        /// The number of the question.
        item: u32,
    },
    /// A command was read.
    Commanded {
        /// Its number in its file.
        seq: u64,
        /// What it wants.
        command: Command,
        /// What became of it, for people.
        effect: String,
    },
    /// Too many phases failed, or a person closed the breaker again.
    Breaker {
        /// Whether it is open.
        open: bool,
    },
    /// Whether anything new is started.
    Held {
        /// The new hold.
        hold: Hold,
    },
}

/// What a lead wants done. Each looks before it acts, so that doing it again is safe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Make the worktree of a phase, and claim the phase for it.
    Prepare {
        /// The phase.
        phase: PhaseNumber,
        /// The attempt it is for.
        attempt: u32,
        /// What it starts from.
        base: Commit,
        /// Whether work that is there already is to stand on that, too.
        #[serde(default)]
        renew: bool,
    },
    /// Start a worker.
    Start {
        /// What the worker must know.
        brief: Brief,
    },
    /// Tell a worker something.
    Tell {
        /// Whose worker.
        phase: PhaseNumber,
        /// Which attempt.
        attempt: u32,
        /// The number of the note, counted from one.
        n: u32,
        /// What to tell.
        note: Note,
    },
    /// End a worker and all it started.
    End {
        /// Whose worker.
        phase: PhaseNumber,
        /// Which attempt.
        attempt: u32,
    },
    /// Bring what a look-ahead left to the main root, and its worktree back to its commit.
    Gather {
        /// The phase.
        phase: PhaseNumber,
        /// Its attempt.
        attempt: u32,
        /// The last stage that is complete; what came after it is put aside.
        through: Option<Stage>,
    },
    /// Merge a complete phase into the run's own target.
    Merge {
        /// The phase.
        phase: PhaseNumber,
        /// Its attempt.
        attempt: u32,
        /// Its last commit.
        commit: Commit,
        /// Where the run stands.
        onto: Commit,
        /// What the phase has cost so far: an agent may have to settle conflicts.
        #[serde(default, skip_serializing_if = "Money::is_none")]
        spent: Money,
        /// Whether no agent may do that, since nothing new is to be started.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
    },
    /// Bring the target branch to where the run is.
    Follow {
        /// The branch.
        target: String,
        /// The commit to follow to.
        commit: Commit,
        /// Where the branch was seen last.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        from: Commit,
    },
    /// Write and commit the planning files at the end.
    Close {
        /// The branch that they are for.
        target: String,
        /// The commit to build on.
        commit: Commit,
    },
}

/// What came of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It is done and there is nothing to say about it.
    Done,
    /// The worktree is there.
    Prepared {
        /// What it stands on.
        base: Commit,
    },
    /// The work is in the run's target.
    Merged {
        /// The new tip.
        commit: Commit,
        /// What people should know about it; mostly nothing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
    /// The merge would conflict.
    Conflict {
        /// In which files.
        files: Vec<Clash>,
        /// What a person can do.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        settle: String,
    },
    /// What the worker said is not what is there.
    Refuted {
        /// Why.
        reason: String,
    },
    /// The target branch did not follow.
    Refused {
        /// Why.
        reason: String,
        /// What a person can do.
        command: String,
    },
    /// It could not be done.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A file that cannot be merged by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenClash")]
pub struct Clash {
    /// The file.
    pub path: String,
    /// What happened to it on both sides, in words; empty where that is not known.
    pub kind: String,
}

/// Older journals have the names alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenClash {
    Name(String),
    Whole { path: String, kind: String },
}

impl From<WrittenClash> for Clash {
    fn from(written: WrittenClash) -> Self {
        match written {
            WrittenClash::Name(path) => Self { path, kind: String::new() },
            WrittenClash::Whole { path, kind } => Self { path, kind },
        }
    }
}

impl std::fmt::Display for Clash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind.as_str() {
            "" => f.write_str(&self.path),
            kind => write!(f, "{} ({kind})", self.path),
        }
    }
}

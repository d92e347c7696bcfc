//! The five stages of a phase, and where a person is asked between them.

use serde::{Deserialize, Serialize};

/// A stage of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A person says what is wanted; leaves CONTEXT.md.
    Discuss,
    /// An agent finds out what is needed; leaves RESEARCH.md.
    Research,
    /// An agent writes plans, another checks them; leaves PLAN.md files.
    Plan,
    /// The plans are carried out; leaves commits and a SUMMARY.md for each.
    Execute,
    /// The result is checked against the goal; leaves VERIFICATION.md.
    Refine,
}

impl Stage {
    /// All stages in their order.
    pub const ALL: [Self; 5] =
        [Self::Discuss, Self::Research, Self::Plan, Self::Execute, Self::Refine];

    /// Returns the stage after this one.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }

    /// Returns the stage before this one.
    pub fn before(self) -> Option<Self> {
        Self::ALL.get((self as usize).checked_sub(1)?).copied()
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discuss => "discuss",
            Self::Research => "research",
            Self::Plan => "plan",
            Self::Execute => "execute",
            Self::Refine => "refine",
        }
    }
}

/// What may be done of a phase while the phases before it are not merged yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookahead {
    /// Nothing.
    Off,
    /// Discussion and research.
    #[default]
    Research,
    /// These, and a draft of the plans.
    Plan,
}

impl Lookahead {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Off, Self::Research, Self::Plan];

    /// Returns the word of the setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Research => "research",
            Self::Plan => "plan",
        }
    }

    /// Reads the word of the setting.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == word.trim())
    }
}

/// At which boundaries a person must say yes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gates {
    /// Nowhere.
    #[default]
    None,
    /// After the plans are made.
    BeforeExecute,
    /// After every stage but the last.
    EveryStage,
}

impl Gates {
    /// Reads the word of the setting.
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim() {
            "none" => Some(Self::None),
            "before_execute" => Some(Self::BeforeExecute),
            "every_stage" => Some(Self::EveryStage),
            _ => None,
        }
    }

    /// Returns whether a person must say yes when a stage has ended.
    pub fn stop_after(self, stage: Stage) -> bool {
        match self {
            Self::None => false,
            Self::BeforeExecute => stage == Stage::Plan,
            Self::EveryStage => stage != Stage::Refine,
        }
    }
}

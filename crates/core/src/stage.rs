//! The five stages of a phase, the gates between them, and how far a look-ahead may go.

use serde::{Deserialize, Serialize};

/// A stage of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A person says what the phase should do; writes CONTEXT.md.
    Discuss,
    /// An agent finds out what the phase needs; writes RESEARCH.md.
    Research,
    /// An agent writes the PLAN.md files, another checks them.
    Plan,
    /// The plans are carried out; makes commits and one SUMMARY.md for each plan.
    Execute,
    /// The result is checked against the goal; writes VERIFICATION.md.
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

    /// Returns the name that JSON output and messages use.
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

/// Which stages of a phase may run while its dependencies are not merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lookahead {
    /// None.
    Off,
    /// Discuss and research.
    #[default]
    Research,
    /// Discuss, research and plan.
    Plan,
}

impl Lookahead {
    /// All values of the setting.
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

/// After which stages a person must approve.
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

    /// Returns whether a person must approve after this stage.
    pub fn stop_after(self, stage: Stage) -> bool {
        match self {
            Self::None => false,
            Self::BeforeExecute => stage == Stage::Plan,
            Self::EveryStage => stage != Stage::Refine,
        }
    }
}

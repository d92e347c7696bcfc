//! What agents use, and what that costs. Dollars are counted in millionths, so that sums are exact.

#[cfg(test)]
mod tests;

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Millionths of a dollar in a dollar.
const MICRO: f64 = 1_000_000.0;

/// What one run of an agent used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The role it had.
    pub role: String,
    /// The plan it worked on, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The agent.
    pub agent: String,
    /// The model, where one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long it took.
    pub ms: u64,
    /// What it used.
    #[serde(flatten)]
    pub money: Money,
}

impl Spent {
    /// Returns it in a few words for people.
    pub fn sentence(&self) -> String {
        let plan = self.plan.as_ref().map(|plan| format!(" on plan {plan}")).unwrap_or_default();
        let dollars = match self.money.micro_usd {
            0 => String::new(),
            _ => format!(", ${:.4}", self.money.usd()),
        };
        let (role, agent, tokens) = (&self.role, &self.agent, self.money.tokens());
        format!("the {role}{plan} ({agent}) used {tokens} tokens{dollars}")
    }
}

/// Tokens, and dollars where an agent counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// Tokens that a model read, those from its cache not counted.
    pub input: u64,
    /// Tokens that it wrote.
    pub output: u64,
    /// Tokens that it read from its cache.
    #[serde(default)]
    pub cached: u64,
    /// Millionths of a dollar.
    #[serde(default)]
    pub micro_usd: u64,
}

impl Money {
    /// Returns whether nothing was used.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the tokens that count towards a limit; those from a cache hardly cost anything.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the dollars.
    #[expect(clippy::cast_precision_loss, reason = "nobody spends billions")]
    pub fn usd(&self) -> f64 {
        self.micro_usd as f64 / MICRO
    }

    /// Counts dollars in millionths; what is no amount counts as nothing.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is bounded")]
    pub fn micro(usd: f64) -> u64 {
        if usd.is_finite() && usd > 0.0 { (usd * MICRO).min(1e15).round() as u64 } else { 0 }
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
        self.micro_usd = self.micro_usd.saturating_add(more.micro_usd);
    }
}

/// The most that may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budget {
    /// Returns whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Says which limit is reached: `$5.02 of $5.00`.
    pub fn exceeded(&self, spent: &Money) -> Option<String> {
        let dollars = self.micro_usd.filter(|most| spent.micro_usd >= *most).map(|most| {
            let most = Money { micro_usd: most, ..Money::default() };
            format!("${:.2} of ${:.2}", spent.usd(), most.usd())
        });
        let tokens = self.tokens.filter(|most| spent.tokens() >= *most);
        dollars.or_else(|| Some(format!("{} of {} tokens", spent.tokens(), tokens?)))
    }
}

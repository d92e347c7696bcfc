//! Tokens and dollars that agents use, and budgets. Dollars are counted in millionths, so that sums
//! are exact.

#[cfg(test)]
mod tests;

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Millionths of a dollar in a dollar.
const MICRO: f64 = 1_000_000.0;

/// What one turn of an agent used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpending {
    /// The role of the agent.
    pub role: String,
    /// The plan that the agent worked on, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The configured name of the agent.
    pub agent: String,
    /// The model, if one was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The duration in milliseconds.
    pub ms: u64,
    /// The tokens and dollars.
    #[serde(flatten)]
    pub money: Spending,
}

impl AgentSpending {
    /// Returns the spending in a few words for people.
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

/// Tokens, and dollars where the agent reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Tokens that the model read, without those from its cache.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Tokens that the model read from its cache.
    #[serde(default)]
    pub cached: u64,
    /// Millionths of a dollar.
    #[serde(default)]
    pub micro_usd: u64,
}

impl Spending {
    /// Returns whether nothing was used.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the tokens that count towards a budget. Cached tokens hardly cost anything and do not.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the amount in dollars.
    #[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53 millionths")]
    pub fn usd(&self) -> f64 {
        self.micro_usd as f64 / MICRO
    }

    /// Converts dollars to millionths. Negative and non-finite values become 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is bounded")]
    pub fn micro(usd: f64) -> u64 {
        if usd.is_finite() && usd > 0.0 { (usd * MICRO).min(1e15).round() as u64 } else { 0 }
    }
}

impl AddAssign for Spending {
    fn add_assign(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cached = self.cached.saturating_add(more.cached);
        self.micro_usd = self.micro_usd.saturating_add(more.micro_usd);
    }
}

/// The most that a run may use; `None` for no limit.
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
    /// Returns whether no limit is set.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the limit that is reached, for people: `$5.02 of $5.00`.
    pub fn exceeded(&self, spent: &Spending) -> Option<String> {
        let dollars = self.micro_usd.filter(|most| spent.micro_usd >= *most).map(|most| {
            let most = Spending { micro_usd: most, ..Spending::default() };
            format!("${:.2} of ${:.2}", spent.usd(), most.usd())
        });
        let tokens = self.tokens.filter(|most| spent.tokens() >= *most);
        dollars.or_else(|| Some(format!("{} of {} tokens", spent.tokens(), tokens?)))
    }
}

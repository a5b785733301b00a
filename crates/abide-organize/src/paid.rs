//! What questions to a model took, as it is kept.

use crate::contract::{Spend, Tokens};
use abide_llm::{Answer, Spent, Usage};
use serde::{Deserialize, Serialize};

/// What questions took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Paid {
    /// Requests.
    pub calls: u32,
    /// Tokens.
    pub usage: Usage,
    /// What they cost, in millionths.
    pub cost_micros: u64,
}

impl Paid {
    /// What an answer took.
    #[must_use]
    pub fn of(answer: &Answer) -> Paid {
        Paid::spent(Spent::of(answer))
    }

    /// What a question took, answered or not.
    #[must_use]
    pub fn spent(spent: Spent) -> Paid {
        let calls = u32::try_from(spent.requests).unwrap_or(u32::MAX);
        Paid { calls, usage: spent.usage, cost_micros: spent.cost_micros }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Paid) -> Paid {
        Paid {
            calls: self.calls.saturating_add(other.calls),
            usage: self.usage.plus(other.usage),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    /// As it goes over the wire.
    #[must_use]
    pub fn spend(self) -> Spend {
        let Usage { input_tokens: prompt, output_tokens: completion } = self.usage;
        let tokens = Tokens { prompt, completion, total: prompt.saturating_add(completion) };
        Spend { llm_calls: self.calls, tokens, cost_usd: self.cost_micros as f64 / 1e6 }
    }
}

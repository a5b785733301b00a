//! What answers cost.

use crate::answer::Answer;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// Tokens of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by it.
    pub output_tokens: u64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
        }
    }
}

/// The price of a million tokens, in millionths of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// Of what the model reads.
    pub input_micros: u64,
    /// Of what it writes.
    pub output_micros: u64,
}

impl Price {
    /// What `usage` costs, rounded up.
    #[must_use]
    pub fn of(self, usage: Usage) -> u64 {
        let input = u128::from(self.input_micros) * u128::from(usage.input_tokens);
        let output = u128::from(self.output_micros) * u128::from(usage.output_tokens);
        u64::try_from((input + output).div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// What a client has spent since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Requests sent.
    pub requests: u64,
    /// Tokens.
    pub usage: Usage,
    /// What they cost.
    pub cost_micros: u64,
}

impl Spent {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Spent) -> Spent {
        Spent {
            requests: self.requests.saturating_add(other.requests),
            usage: self.usage.plus(other.usage),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }

    /// What an answer took.
    #[must_use]
    pub fn of(answer: &Answer) -> Spent {
        Spent { requests: u64::from(answer.requests), usage: answer.usage, cost_micros: answer.cost_micros }
    }
}

/// Counts what is spent, also by attempts that gave nothing.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    requests: AtomicU64,
    input_tokens: AtomicU64,
    output_tokens: AtomicU64,
}

impl Ledger {
    pub(crate) fn note_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn note(&self, usage: Usage) {
        self.input_tokens.fetch_add(usage.input_tokens, Ordering::Relaxed);
        self.output_tokens.fetch_add(usage.output_tokens, Ordering::Relaxed);
    }

    pub(crate) fn spent(&self, price: Price) -> Spent {
        let usage = Usage {
            input_tokens: self.input_tokens.load(Ordering::Relaxed),
            output_tokens: self.output_tokens.load(Ordering::Relaxed),
        };
        Spent { requests: self.requests.load(Ordering::Relaxed), usage, cost_micros: price.of(usage) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_rounded_up_and_never_overflows() {
        let price = Price { input_micros: 150_000, output_micros: 600_000 };
        for (input_tokens, output_tokens, expected) in
            [(0, 0, 0), (1, 0, 1), (1_000_000, 0, 150_000), (1_000, 500, 450)]
        {
            assert_eq!(price.of(Usage { input_tokens, output_tokens }), expected);
        }
        let dear = Price { input_micros: u64::MAX, output_micros: u64::MAX };
        assert_eq!(dear.of(Usage { input_tokens: u64::MAX, output_tokens: 1 }), u64::MAX);
    }
}

//! A counter: the smallest object that remembers.

use abide_engine::{Answer, Halt, Nothing, Object, Refusal, Turn};
use serde::{Deserialize, Serialize};

/// Counts. It never goes below zero.
pub struct Counter;

/// What a counter is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Add this much; negative to take away.
    Add(i64),
    /// Change nothing.
    Count,
}

/// What a counter says no to.
#[derive(Debug, thiserror::Error)]
pub enum No {
    /// There is not so much to take away.
    #[error("the count is {count}, and {by} would take it below zero")]
    BelowZero {
        /// What it is.
        count: i64,
        /// What was to be added.
        by: i64,
    },
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::BelowZero { .. } => "below_zero",
        }
    }
}

impl Object for Counter {
    const KIND: &'static str = "counter";
    type Call = Ask;
    type Reply = i64;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<i64>, Halt<No>> {
        let count = turn.get::<i64>("count")?.unwrap_or(0);
        let by = match ask {
            Ask::Add(by) => by,
            Ask::Count => return Ok(count.into()),
        };
        let sum = count.saturating_add(by);
        if sum < 0 {
            return Err(No::BelowZero { count, by }.into());
        }
        turn.put("count", &sum)?;
        Ok(sum.into())
    }
}

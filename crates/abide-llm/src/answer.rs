//! An answer.

use crate::spend::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a model said, in the form that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// An object that fits the schema, or a string.
    pub value: Value,
    /// The model that the endpoint says it used.
    pub model: String,
    /// Tokens, over all attempts.
    pub usage: Usage,
    /// What they cost, in millionths of the currency of the price.
    pub cost_micros: u64,
    /// Requests that were sent for it.
    pub requests: u32,
    /// Whether the JSON had to be repaired.
    pub repaired: bool,
}

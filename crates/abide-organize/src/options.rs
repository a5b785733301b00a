//! How the service behaves.

use abide_llm::Model;
use std::sync::Arc;

/// How the service behaves.
#[derive(Clone)]
pub struct Options {
    /// What is asked; the built-in organizer if there is none.
    pub model: Option<Arc<dyn Model>>,
    /// Questions to it at a time.
    pub concurrency: usize,
    /// `MAX_TOKENS`: what the model can take in all.
    pub max_tokens: usize,
    /// `TOKEN_BUDGET_PERCENTAGE`: which share of it a question may take.
    pub token_budget_percentage: f64,
    /// `MAX_RETRIES_PER_PI`: attempts at one directory.
    pub max_retries_per_pi: u32,
    /// `MAX_CALLBACK_RETRIES`: attempts at one callback over HTTP.
    pub max_callback_retries: u32,
    /// How long a finished request can be looked at.
    pub retain_ms: i64,
    /// Nothing is asked any more for a batch that has cost so much, in millionths; no cap if none.
    pub batch_cap_micros: Option<u64>,
}

impl Options {
    /// The numbers of the specification, without a model.
    #[must_use]
    pub fn builtin() -> Options {
        Options {
            model: None,
            concurrency: 3,
            max_tokens: 163_839,
            token_budget_percentage: 0.3,
            max_retries_per_pi: 3,
            max_callback_retries: 3,
            retain_ms: 30 * 24 * 60 * 60 * 1_000,
            batch_cap_micros: None,
        }
    }

    /// What a question may take, in tokens.
    #[must_use]
    pub fn budget(&self) -> usize {
        (self.max_tokens as f64 * self.token_budget_percentage).floor() as usize
    }
}

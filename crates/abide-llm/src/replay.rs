//! Models as their callers see them, and one that answers from a recording.

use crate::answer::Answer;
use crate::ask::Ask;
use crate::error::LlmError;
use crate::spend::{Price, Spent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::pin::Pin;

/// Something that answers questions.
pub trait Model: Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> &str;

    /// Asks.
    fn ask<'a>(&'a self, ask: &'a Ask)
    -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>>;

    /// Asks, and says what it took also if there is no answer.
    fn ask_counted<'a>(&'a self, ask: &'a Ask) -> Counted<'a> {
        Box::pin(async move {
            let answer = self.ask(ask).await;
            let spent = answer.as_ref().map_or_else(|_| Spent::default(), Spent::of);
            (answer, spent)
        })
    }

    /// What its tokens cost.
    fn price(&self) -> Price {
        Price::default()
    }

    /// What one request with this question may cost, in millionths: as many tokens as it takes at most, and as many of answer as
    /// it has room for.
    fn most_micros(&self, _ask: &Ask) -> u64 {
        0
    }

    /// Asks as long as that cannot cost more than `allowance_micros`.
    fn ask_within<'a>(&'a self, ask: &'a Ask, _allowance_micros: u64) -> Reckoned<'a> {
        Box::pin(async move {
            let (answer, spent) = self.ask_counted(ask).await;
            Reckoning { answer, spent, unanswered_micros: 0 }
        })
    }
}

/// An answer or none, and what it took.
pub type Counted<'a> = Pin<Box<dyn Future<Output = (Result<Answer, LlmError>, Spent)> + Send + 'a>>;

/// What came of a question, and all that it may have cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reckoning {
    /// The answer, or why there is none.
    pub answer: Result<Answer, LlmError>,
    /// What it took.
    pub spent: Spent,
    /// What requests may have cost at most that were never answered, so that nobody knows what they took.
    pub unanswered_micros: u64,
}

/// A reckoning that is on its way.
pub type Reckoned<'a> = Pin<Box<dyn Future<Output = Reckoning> + Send + 'a>>;

/// A model that says again what another one said: for tests that cost nothing and need no network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Replay {
    model: String,
    answers: BTreeMap<String, Answer>,
}

impl Replay {
    /// An empty recording of `model`.
    #[must_use]
    pub fn of(model: impl Into<String>) -> Replay {
        Replay { model: model.into(), answers: BTreeMap::new() }
    }

    /// A recording as [`Replay::to_json`] wrote it.
    pub fn from_json(text: &str) -> Result<Replay, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The recording as text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// Keeps an answer.
    pub fn record(&mut self, ask: &Ask, answer: Answer) {
        self.answers.insert(ask.key(&self.model), answer);
    }
}

impl Model for Replay {
    fn name(&self) -> &str {
        &self.model
    }

    fn ask<'a>(
        &'a self,
        ask: &'a Ask,
    ) -> Pin<Box<dyn Future<Output = Result<Answer, LlmError>> + Send + 'a>> {
        let key = ask.key(&self.model);
        let answer = self.answers.get(&key).cloned().ok_or(LlmError::NotRecorded(key));
        Box::pin(async move { answer })
    }
}

//! Models as their callers see them, and one that answers from a recording.

use crate::answer::Answer;
use crate::ask::Ask;
use crate::error::LlmError;
use crate::spend::Spent;
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
}

/// An answer or none, and what it took.
pub type Counted<'a> = Pin<Box<dyn Future<Output = (Result<Answer, LlmError>, Spent)> + Send + 'a>>;

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

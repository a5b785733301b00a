//! Records and descriptions, by whoever makes them.

use crate::description;
use crate::directory::Directory;
use crate::facts::Facts;
use crate::limits::SHOWN_TOKENS;
use crate::pinax::{self, Pinax, Validation};
use abide_llm::{Answer, Ask, LlmError, Model, Spent, Usage};
use std::sync::Arc;

/// The name that records and descriptions made here carry in place of a model's.
const BUILTIN: &str = "abide/builtin-1";

/// Describes directories.
#[derive(Clone)]
pub struct Describer {
    model: Option<Arc<dyn Model>>,
    shown_tokens: usize,
}

/// A record that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// It.
    pub pinax: Pinax,
    /// Whether it is whole.
    pub validation: Validation,
    /// What made it.
    pub by: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// What they cost.
    pub cost_micros: u64,
}

/// A description that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// It, in Markdown.
    pub text: String,
    /// What made it.
    pub by: String,
    /// Tokens that it took.
    pub usage: Usage,
    /// What they cost.
    pub cost_micros: u64,
}

/// What was not made, and what it took all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Untold {
    /// Why it was not.
    pub why: LlmError,
    /// What was paid for answers that are of no use.
    pub spent: Spent,
}

impl Describer {
    /// One that needs no model.
    #[must_use]
    pub fn builtin() -> Describer {
        Describer { model: None, shown_tokens: SHOWN_TOKENS }
    }

    /// One that asks `model`, and shows it at most so many tokens of a directory.
    #[must_use]
    pub fn by(model: Arc<dyn Model>, shown_tokens: usize) -> Describer {
        Describer { model: Some(model), shown_tokens }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        self.model.as_ref().map_or(BUILTIN, |model| model.name())
    }

    /// The metadata record of a directory. `this_year` is for one with nothing in it.
    pub async fn record(&self, directory: &Directory, this_year: u32) -> Result<Recorded, Untold> {
        let done = |pinax: Pinax, by: String, usage: Usage, cost_micros: u64| {
            let validation = pinax.validate();
            Recorded { pinax, validation, by, usage, cost_micros }
        };
        if directory.is_empty() {
            let pinax = Pinax::minimal(directory, this_year);
            return Ok(done(pinax, BUILTIN.to_owned(), Usage::default(), 0));
        }
        let Some(model) = &self.model else {
            let pinax = pinax::builtin(directory, &Facts::of(directory));
            return Ok(done(pinax, BUILTIN.to_owned(), Usage::default(), 0));
        };
        let (answer, spent) = asked(model.as_ref(), &pinax::ask(directory, self.shown_tokens)).await?;
        let unusable =
            |error: serde_json::Error| Untold { why: LlmError::BadAnswer(error.to_string()), spent };
        let draft = pinax::draft(answer.value).map_err(unusable)?;
        Ok(done(Pinax::finish(draft, directory), answer.model, answer.usage, answer.cost_micros))
    }

    /// The description of a directory, whose record is known or not.
    pub async fn describe(&self, directory: &Directory, record: Option<&Pinax>) -> Result<Described, Untold> {
        let Some(model) = self.model.as_ref().filter(|_| !directory.is_empty()) else {
            let facts = Facts::of(directory);
            let made = pinax::builtin(directory, &facts);
            let record = record.unwrap_or(&made);
            let text = description::builtin(directory, record, &facts.with(record));
            return Ok(Described { text, by: BUILTIN.to_owned(), usage: Usage::default(), cost_micros: 0 });
        };
        let question = description::ask(directory, record, self.shown_tokens);
        let (answer, spent) = asked(model.as_ref(), &question).await?;
        let text = answer.value.as_str().and_then(description::spoken);
        let nothing = || Untold { why: LlmError::BadAnswer("it says nothing".to_owned()), spent };
        let text = text.ok_or_else(nothing)?;
        Ok(Described { text, by: answer.model, usage: answer.usage, cost_micros: answer.cost_micros })
    }
}

async fn asked(model: &dyn Model, question: &Ask) -> Result<(Answer, Spent), Untold> {
    match model.ask_counted(question).await {
        (Ok(answer), spent) => Ok((answer, spent)),
        (Err(why), spent) => Err(Untold { why, spent }),
    }
}

impl std::fmt::Debug for Describer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Describer").field("name", &self.name()).finish_non_exhaustive()
    }
}

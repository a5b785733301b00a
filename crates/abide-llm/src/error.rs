//! How a question fails.

/// A question without an answer. Endpoints are named as they were configured, never with their key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The client cannot be made of these settings.
    #[error("the model's endpoint cannot be used: {0}")]
    Setup(String),
    /// The endpoint says that there were too many questions.
    #[error("{endpoint} asks to wait: it answered {status}")]
    Limited {
        /// Which.
        endpoint: String,
        /// Its status.
        status: u16,
        /// For how long, if it said so.
        wait_ms: Option<i64>,
    },
    /// The endpoint cannot answer now.
    #[error("{endpoint} cannot answer now: {why}")]
    Unavailable {
        /// Which.
        endpoint: String,
        /// What it said.
        why: String,
    },
    /// It took too long.
    #[error("{endpoint} did not answer within {timeout_ms} ms")]
    Timeout {
        /// Which.
        endpoint: String,
        /// How long it had.
        timeout_ms: u64,
    },
    /// The endpoint does not take the question: a wrong key, an unknown model, too much text.
    #[error("{endpoint} refused the question with {status}: {message}")]
    Refused {
        /// Which.
        endpoint: String,
        /// Its status.
        status: u16,
        /// The code that its error carries, if any.
        code: Option<String>,
        /// What it said, shortened.
        message: String,
    },
    /// The model declined to answer.
    #[error("the model declined to answer: {0}")]
    Declined(String),
    /// What came back is no answer in the asked form.
    #[error("the answer cannot be used: {0}")]
    BadAnswer(String),
    /// The answer ended before it was whole.
    #[error("the answer was cut after {max_tokens} tokens")]
    Cut {
        /// How many it had.
        max_tokens: u32,
    },
    /// The budget is used up.
    #[error("the budget of {budget_micros} millionths is used up")]
    OverBudget {
        /// How much there was.
        budget_micros: u64,
    },
    /// What a request may cost could not be written down, so it was not sent.
    #[error("what the question may cost cannot be noted: {0}")]
    NotNoted(String),
    /// A recording has no answer to this question.
    #[error("the recording has no answer to the question {0}")]
    NotRecorded(String),
}

impl LlmError {
    /// Whether the same question may be answered later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            LlmError::Limited { .. }
            | LlmError::Unavailable { .. }
            | LlmError::Timeout { .. }
            | LlmError::BadAnswer(_)
            | LlmError::NotNoted(_) => true,
            LlmError::Setup(_)
            | LlmError::Refused { .. }
            | LlmError::Declined(_)
            | LlmError::Cut { .. }
            | LlmError::OverBudget { .. }
            | LlmError::NotRecorded(_) => false,
        }
    }

    /// How long to leave the endpoint alone, if it said so.
    #[must_use]
    pub const fn wait_ms(&self) -> Option<i64> {
        match self {
            LlmError::Limited { wait_ms, .. } => *wait_ms,
            LlmError::Setup(_)
            | LlmError::Unavailable { .. }
            | LlmError::Timeout { .. }
            | LlmError::Refused { .. }
            | LlmError::Declined(_)
            | LlmError::BadAnswer(_)
            | LlmError::Cut { .. }
            | LlmError::OverBudget { .. }
            | LlmError::NotNoted(_)
            | LlmError::NotRecorded(_) => None,
        }
    }
}

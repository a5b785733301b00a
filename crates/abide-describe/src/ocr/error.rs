//! How reading an image fails.

use abide_llm::Spent;

/// An image that was not read. Each variant asks for something else of whoever wanted it read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OcrError {
    /// This image will never be read: it is broken, too large or of a kind that is not taken.
    #[error("{0}")]
    Permanent(String),
    /// Whoever reads asks to be left alone for a while; that is no failure of the image.
    #[error("{message}")]
    Limited {
        /// What was said.
        message: String,
        /// For how long, if that was said.
        wait_ms: Option<i64>,
    },
    /// Another attempt may help.
    #[error("{0}")]
    Transient(String),
}

/// An image that was not read, and what it took all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unread {
    /// Why it was not.
    pub why: OcrError,
    /// What was paid for answers that are of no use.
    pub spent: Spent,
}

impl From<OcrError> for Unread {
    fn from(why: OcrError) -> Unread {
        Unread { why, spent: Spent::default() }
    }
}

//! How reading an image fails.

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

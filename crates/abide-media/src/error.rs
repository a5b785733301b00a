//! Why a file was not converted.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::format::Format;

/// Why a file was not converted. The text is one sentence for the person who owns the file; [`MediaError::code`] is for
/// programs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MediaError {
    /// The file could not be read, or a result not written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file is of another format than it was taken for.
    #[error("the file is not {expected} but {}", found.name())]
    WrongFormat {
        /// What the conversion reads.
        expected: &'static str,
        /// What the bytes say.
        found: Format,
    },
    /// Converting it would take more than [`Bounds`](crate::Bounds) allow. Nothing was allocated.
    #[error("{what} is {needed}, more than the {bound} that are allowed")]
    TooLarge {
        /// What is too large, with its unit.
        what: &'static str,
        /// How much there is.
        needed: u64,
        /// How much there may be.
        bound: u64,
    },
    /// The file is sound, as far as is known, but uses what this converter does not read.
    #[error("{what} is not supported")]
    Unsupported {
        /// What it uses.
        what: String,
    },
    /// The file is not what its format prescribes.
    #[error("the file is damaged: {what}")]
    Damaged {
        /// Where and how.
        what: String,
    },
    /// The file needs a password.
    #[error("the file is encrypted: {what}")]
    Encrypted {
        /// In which way.
        what: &'static str,
    },
    /// The document is sound and has no pages.
    #[error("the document has no pages")]
    NoPages,
}

impl MediaError {
    /// A word that never changes, for tasks, metrics and tests.
    pub fn code(&self) -> &'static str {
        match self {
            MediaError::Io { .. } => "io",
            MediaError::Empty => "empty",
            MediaError::WrongFormat { .. } => "wrong_format",
            MediaError::TooLarge { .. } => "too_large",
            MediaError::Unsupported { .. } => "unsupported",
            MediaError::Damaged { .. } => "damaged",
            MediaError::Encrypted { .. } => "encrypted",
            MediaError::NoPages => "no_pages",
        }
    }

    /// Whether the same conversion of the same file may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            MediaError::Io { .. } => true,
            MediaError::Empty
            | MediaError::WrongFormat { .. }
            | MediaError::TooLarge { .. }
            | MediaError::Unsupported { .. }
            | MediaError::Damaged { .. }
            | MediaError::Encrypted { .. }
            | MediaError::NoPages => false,
        }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> MediaError {
        MediaError::Damaged { what: what.into() }
    }

    pub(crate) fn unsupported(what: impl Into<String>) -> MediaError {
        MediaError::Unsupported { what: what.into() }
    }
}

/// Refuses what is past its bound.
pub(crate) fn within(what: &'static str, needed: u64, bound: u64) -> Result<(), MediaError> {
    if needed > bound { Err(MediaError::TooLarge { what, needed, bound }) } else { Ok(()) }
}

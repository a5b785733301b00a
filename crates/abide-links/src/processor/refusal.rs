//! What the processor says no with.

use crate::identity::BadUrl;
use abide_engine::{Refusal, RefusalClass};

/// The code of an answer that is too large: what was asked for is done.
pub const LARGE_ANSWER: &str = "large_answer";

/// The code of a request that waited in vain until it could be decided: nothing of it is done.
pub const NOT_DONE: &str = "not_done";

/// A request that cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such link.
    #[error("there is no link {0:?}")]
    UnknownLink(String),
    /// The URL cannot be saved.
    #[error(transparent)]
    BadUrl(#[from] BadUrl),
    /// The request does not make sense.
    #[error("{0}")]
    Invalid(String),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::UnknownLink(_) => "unknown_link",
            No::BadUrl(_) => "invalid_url",
            No::Invalid(_) => "invalid_request",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::UnknownLink(_) => RefusalClass::NotFound,
            No::BadUrl(_) | No::Invalid(_) => RefusalClass::Invalid,
        }
    }
}

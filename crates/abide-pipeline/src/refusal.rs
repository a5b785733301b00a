//! What a batch says no with.

use abide_engine::{Refusal, RefusalClass};

/// What a batch says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such batch.
    #[error("there is no batch {0}")]
    UnknownBatch(String),
    /// There is no such directory in it.
    #[error("the batch has no directory {0}")]
    UnknownNode(u32),
    /// A callback says nothing of any directory.
    #[error("the callback has no results")]
    NoResults,
    /// A callback is about another batch.
    #[error("the callback is about the batch {0}")]
    OtherBatch(String),
    /// Nobody outside does that work.
    #[error(
        "{0:?} is no service that calls back: organizer, ocr, pinax and description are, if they are reached by URL"
    )]
    UnknownService(String),
    /// A message cannot start a batch.
    #[error("{0}")]
    BadMessage(String),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::UnknownBatch(_) => "unknown_batch",
            No::UnknownNode(_) => "unknown_node",
            No::NoResults => "no_results",
            No::OtherBatch(_) => "other_batch",
            No::UnknownService(_) => "unknown_service",
            No::BadMessage(_) => "bad_message",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::UnknownBatch(_) | No::UnknownNode(_) => RefusalClass::NotFound,
            No::NoResults | No::OtherBatch(_) | No::UnknownService(_) | No::BadMessage(_) => {
                RefusalClass::Invalid
            }
        }
    }
}

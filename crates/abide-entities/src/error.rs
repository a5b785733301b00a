//! How a request about entities fails, with the codes that go over the wire.

use crate::content::{BadContentId, ContentId};
use crate::id::{BadId, EntityId};
use serde::{Deserialize, Serialize};

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntityError {
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// A parameter of the query is wrong.
    #[error("{0}")]
    InvalidParams(String),
    /// A cursor was not given out by us.
    #[error("{0:?} is not a cursor of this listing: use next_cursor as it was given")]
    InvalidCursor(String),
    /// The caller may not.
    #[error("{0}")]
    Forbidden(String),
    /// It does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The id is taken by another content.
    #[error("{0}")]
    Conflict(String),
    /// Somebody else moved the tip.
    #[error(
        "the tip is {}, and the request expects {}: read the entity again and repeat the change",
        .0.actual, .0.expect
    )]
    Cas(Box<CasDetails>),
    /// The request is larger than it may be.
    #[error("{0}")]
    TooLarge(String),
    /// The bytes of blobs cannot be reached.
    #[error("{0}")]
    Blobs(String),
    /// What keeps the entities cannot be reached.
    #[error("{0}")]
    Backend(String),
    /// A defect.
    #[error("{0}")]
    Internal(String),
}

/// An error as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The code.
    pub error: String,
    /// What was wrong and what to do.
    pub message: String,
    /// What a program needs to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<CasDetails>,
}

/// Both tips of a failed compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CasDetails {
    /// The tip.
    pub actual: ContentId,
    /// What the request took for it.
    pub expect: ContentId,
}

impl EntityError {
    /// There is no such entity.
    #[must_use]
    pub fn unknown(id: &EntityId) -> EntityError {
        EntityError::NotFound(format!("there is no entity {id}"))
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            EntityError::Invalid(_) => "VALIDATION_ERROR",
            EntityError::InvalidParams(_) => "INVALID_PARAMS",
            EntityError::InvalidCursor(_) => "INVALID_CURSOR",
            EntityError::Forbidden(_) => "FORBIDDEN",
            EntityError::NotFound(_) => "NOT_FOUND",
            EntityError::Conflict(_) => "CONFLICT",
            EntityError::Cas(_) => "CAS_FAILURE",
            EntityError::TooLarge(_) => "PAYLOAD_TOO_LARGE",
            EntityError::Blobs(_) => "IPFS_ERROR",
            EntityError::Backend(_) => "BACKEND_ERROR",
            EntityError::Internal(_) => "INTERNAL_ERROR",
        }
    }

    /// The status of an answer with it.
    #[must_use]
    pub const fn status(&self) -> u16 {
        match self {
            EntityError::Invalid(_) | EntityError::InvalidParams(_) | EntityError::InvalidCursor(_) => 400,
            EntityError::Forbidden(_) => 403,
            EntityError::NotFound(_) => 404,
            EntityError::Conflict(_) | EntityError::Cas(_) => 409,
            EntityError::TooLarge(_) => 413,
            EntityError::Internal(_) => 500,
            EntityError::Blobs(_) | EntityError::Backend(_) => 503,
        }
    }

    /// Whether the same request, with the tip read again, may succeed later.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, EntityError::Cas(_) | EntityError::Blobs(_) | EntityError::Backend(_))
    }

    /// As it goes over the wire.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let details = match self {
            EntityError::Cas(details) => Some(CasDetails::clone(details)),
            _ => None,
        };
        ErrorBody { error: self.code().to_owned(), message: self.to_string(), details }
    }

    /// An error that another server sent.
    #[must_use]
    pub fn read(status: u16, body: ErrorBody) -> EntityError {
        let ErrorBody { error, message, details } = body;
        match (error.as_str(), details) {
            ("CAS_FAILURE", Some(details)) => EntityError::Cas(Box::new(details)),
            ("INVALID_PARAMS", _) => EntityError::InvalidParams(message),
            ("INVALID_CURSOR", _) => EntityError::InvalidCursor(message),
            ("IPFS_ERROR", _) => EntityError::Blobs(message),
            _ => match status {
                401 | 403 => EntityError::Forbidden(message),
                404 => EntityError::NotFound(message),
                409 => EntityError::Conflict(message),
                413 => EntityError::TooLarge(message),
                400..=499 => EntityError::Invalid(message),
                500 => EntityError::Internal(message),
                _ => EntityError::Backend(message),
            },
        }
    }
}

impl From<BadId> for EntityError {
    fn from(error: BadId) -> EntityError {
        EntityError::Invalid(error.to_string())
    }
}

impl From<BadContentId> for EntityError {
    fn from(error: BadContentId) -> EntityError {
        EntityError::Invalid(error.to_string())
    }
}

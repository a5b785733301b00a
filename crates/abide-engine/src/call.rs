//! Calls from outside, and how they can fail.

use crate::halt::TurnError;
use crate::object::Refused;
use abide_core::json::Json;
use abide_core::name::{IdempotencyKey, Kind};
use abide_core::object::ObjectKey;
use abide_store::StoreError;

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Whom.
    pub object: ObjectKey,
    /// What.
    pub body: Json,
    /// The client's name for this call, if repeating it must change nothing.
    pub key: Option<IdempotencyKey>,
}

/// Why a call has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The object says no. Nothing changed.
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Refused),
    /// The turn could not go on. Nothing changed.
    #[error(transparent)]
    Failed(#[from] TurnError),
    /// No object has that kind.
    #[error("no object is of the kind {0}")]
    UnknownKind(Kind),
    /// Too many calls wait for the object. Nothing changed.
    #[error("too many calls wait for {object}: try again in {retry_after_ms} ms")]
    Overloaded {
        /// Whose.
        object: ObjectKey,
        /// When to try again.
        retry_after_ms: i64,
    },
    /// The key was used for another request. Nothing changed.
    #[error("the idempotency key {0} was used for another request")]
    KeyReused(IdempotencyKey),
    /// The store failed or the engine ended while the call was under way: it may have taken effect or not.
    #[error("it is not known whether the call took effect: the store failed or the engine ended meanwhile")]
    OutcomeUnknown,
    /// The store could not write. Nothing changed.
    #[error(transparent)]
    Store(StoreError),
    /// The engine is stopping. Nothing changed.
    #[error("the engine is stopping")]
    Stopping,
}

//! How something with a collection fails.

use crate::refusal::No;
use abide_blob::BlobError;
use abide_engine::CallError;
use abide_entities::EntityError;

/// How something with a collection fails.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// The request is wrong.
    #[error("{0}")]
    No(#[from] No),
    /// There is no such part.
    #[error("there is no {path:?} in {name:?}: abide collection tree shows what is")]
    NoPart {
        /// Which collection.
        name: String,
        /// What was looked for.
        path: String,
    },
    /// The object that remembers collections says no, or does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Entities say no, or do not answer.
    #[error(transparent)]
    Entities(#[from] EntityError),
    /// Images cannot be reached.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// A defect.
    #[error("the collections answer in another way than asked")]
    Strange,
}

//! How a bucket can fail.

use crate::key::Key;
use std::error::Error;
use std::io;

/// A key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} cannot be a key in a bucket: {reason}")]
pub struct BadKey {
    /// The key, cut.
    pub given: String,
    /// What is wrong with it.
    pub reason: String,
}

/// A bucket did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The key cannot be used.
    #[error(transparent)]
    BadKey(#[from] BadKey),
    /// There is nothing under that key.
    #[error("there is nothing under {0} in the bucket")]
    NotFound(Key),
    /// It is larger than the caller takes.
    #[error("{key} has {bytes} bytes, and at most {bound} are taken here")]
    TooLarge {
        /// Which.
        key: Key,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        bound: u64,
    },
    /// The directory's disk takes no more.
    #[error("the bucket has no room for {key}: {reason}")]
    Full {
        /// For which key.
        key: String,
        /// What the system says.
        reason: String,
    },
    /// The directory or the service failed.
    #[error("the bucket failed at {key}: {reason}")]
    Failed {
        /// At which key.
        key: String,
        /// What it says.
        reason: String,
    },
    /// The bucket cannot be used at all.
    #[error("the bucket {bucket} cannot be used: {reason}")]
    Unusable {
        /// Which.
        bucket: String,
        /// Why.
        reason: String,
    },
}

impl BlobError {
    pub(crate) fn at(key: &Key, error: object_store::Error) -> BlobError {
        match error {
            object_store::Error::NotFound { .. } => BlobError::NotFound(key.clone()),
            other if is_full(&other) => BlobError::Full { key: key.to_string(), reason: other.to_string() },
            other => BlobError::Failed { key: key.to_string(), reason: other.to_string() },
        }
    }

    pub(crate) fn of_file(key: &Key, error: &io::Error) -> BlobError {
        let (key, reason) = (key.to_string(), error.to_string());
        if is_full(error) { BlobError::Full { key, reason } } else { BlobError::Failed { key, reason } }
    }
}

/// What an error says, down to its cause.
pub(crate) fn because(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |told, cause| {
        let cause = cause.to_string();
        if told.ends_with(&cause) { told } else { format!("{told}: {cause}") }
    })
}

/// Whether an error, or what it came of, is that of a disk without room.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

//! How a bucket can fail.

use crate::key::Key;

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
            other => BlobError::Failed { key: key.to_string(), reason: other.to_string() },
        }
    }
}

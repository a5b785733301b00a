//! What can go wrong with a store.

/// A store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It is not known whether the write is durable. Reopen before anything else.
    #[error("it is not known whether the write reached the disk: {0}")]
    Ambiguous(String),
    /// The disk is full. Nothing was applied.
    #[error("the disk is full: {0}. Free some space; work goes on by itself")]
    Full(String),
    /// The directory or file cannot be written. Nothing was applied.
    #[error("the store cannot be written: {0}. Check the owner and permissions of the data directory")]
    ReadOnly(String),
    /// It did not work this time. Nothing was applied.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// One of the writes cannot be applied, whatever is tried. Nothing of the batch was applied.
    #[error("the store refused the write: {0}")]
    Rejected(String),
    /// The file is damaged.
    #[error("the store is damaged: {0}. Restore a backup")]
    Corrupt(String),
}

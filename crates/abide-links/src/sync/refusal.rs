//! What a store's log says no with.

use super::limits::{APPEND_KEY_BYTES, EVENTS_PER_APPEND, EVENTS_PER_MESSAGE};
use abide_engine::{Refusal, RefusalClass};

/// The code of [`No::KeyReused`].
pub const KEY_REUSED: &str = "key_reused";

/// What a store's log says no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// A push is larger than it may be.
    #[error("a push may have at most {EVENTS_PER_MESSAGE} events, and this has {0}: send it in parts")]
    LargePush(usize),
    /// Numbers of a push do not follow each other.
    #[error(
        "event {at} of the push has the number {seq_num} after {parent_seq_num}, and {expected} after {before} \
         was expected: numbers go up by one, without a gap"
    )]
    NotContiguous {
        /// Its place in the push, from 1.
        at: usize,
        /// Its number.
        seq_num: i64,
        /// The number it names as the one before.
        parent_seq_num: i64,
        /// What its number should be.
        expected: i64,
        /// What the one before should be.
        before: i64,
    },
    /// An append is larger than it may be.
    #[error("an append may have at most {EVENTS_PER_APPEND} events, and this has {0}: send it in parts")]
    LargeAppend(usize),
    /// An append's key cannot be used.
    #[error("the key of an append has 1 to {APPEND_KEY_BYTES} bytes, and this has {0}")]
    BadKey(usize),
    /// An append's key was used for another append.
    #[error("the key {0:?} was used for an append of other events: give each append a key of its own")]
    KeyReused(String),
    /// A text of an append that names somebody or something is empty.
    #[error("{0} of an append is empty")]
    Empty(&'static str),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::LargePush(_) => "large_push",
            No::NotContiguous { .. } => "not_contiguous",
            No::LargeAppend(_) => "large_append",
            No::BadKey(_) => "bad_key",
            No::KeyReused(_) => KEY_REUSED,
            No::Empty(_) => "empty_field",
        }
    }

    fn class(&self) -> RefusalClass {
        RefusalClass::Invalid
    }
}

//! Timestamps: when an item passed where.

use crate::millis::Millis;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};

/// One timestamp of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its place in the item's list and where the item passed: `3-processingStarted`.
    pub tag: String,
    /// When.
    pub time: Millis,
}

/// Where an item passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The coordinator took it.
    ServerReceived,
    /// It went into the queue.
    QueueEnqueued,
    /// It was sent to the processor.
    DirectSend,
    /// A worker took it out of the queue.
    ConsumerPickedUp,
    /// Processing began.
    ProcessingStarted,
    /// Processing ended.
    ProcessingCompleted,
    /// It used up its attempts.
    ReachedDlq,
}

impl Tag {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Tag::ServerReceived => "serverReceived",
            Tag::QueueEnqueued => "queueEnqueued",
            Tag::DirectSend => "directSend-rpc",
            Tag::ConsumerPickedUp => "consumerPickedUp",
            Tag::ProcessingStarted => "processingStarted",
            Tag::ProcessingCompleted => "processingCompleted",
            Tag::ReachedDlq => "reachedDLQ",
        }
    }
}

/// Adds a timestamp, numbered by its place.
pub(crate) fn stamp(stamps: &mut Vec<Stamp>, tag: Tag, at: Time) {
    let tag = format!("{}-{}", stamps.len() + 1, tag.as_str());
    stamps.push(Stamp { tag, time: at.into() });
}

/// From the first timestamp to the last, if there are two.
pub(crate) fn time_taken(stamps: &[Stamp]) -> Option<Millis> {
    match stamps {
        [first, .., last] => last.time.since(&first.time),
        [_] | [] => None,
    }
}

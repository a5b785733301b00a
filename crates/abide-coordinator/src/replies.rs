//! Replies: what a coordinator answers, as the client gets it.

use crate::items::Place;
use crate::tally::Tally;
use crate::work::WorkItem;
use serde::{Deserialize, Serialize};

/// What a call is answered with: one of the answers, written as it is.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To [`Call::Status`](crate::Call::Status).
    Status(StatusAnswer),
    /// To [`Call::Queue`](crate::Call::Queue).
    Queue(QueueAnswer),
    /// To [`Call::Item`](crate::Call::Item) and [`Call::Submit`](crate::Call::Submit).
    Item(Box<ItemAnswer>),
    /// To [`Call::SubmitBatch`](crate::Call::SubmitBatch).
    Batch(BatchAnswer),
    /// To [`Call::Process`](crate::Call::Process).
    Process(ProcessAnswer),
    /// To [`Call::Stats`](crate::Call::Stats).
    Stats(StatsAnswer),
    /// To [`Call::Result`](crate::Call::Result) and [`Call::Clear`](crate::Call::Clear).
    Success(SuccessAnswer),
}

/// Whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// In words.
    pub status: String,
}

/// A page of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueAnswer {
    /// Oldest first.
    pub queue: Vec<WorkItem>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Place>,
}

/// One item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemAnswer {
    /// It.
    pub work_item: WorkItem,
}

/// The items of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchAnswer {
    /// In the order of the messages.
    pub work_items: Vec<WorkItem>,
    /// How many.
    pub count: usize,
}

/// Whether an item was begun again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessAnswer {
    /// True.
    pub success: bool,
    /// Whether this call began it: not if it is under way or completed.
    pub started: bool,
}

/// Done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuccessAnswer {
    /// True.
    pub success: bool,
}

/// How many items there are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsAnswer {
    /// Not begun.
    pub pending: u64,
    /// Under way.
    pub processing: u64,
    /// With a result.
    pub completed: u64,
    /// With an error.
    pub failed: u64,
    /// All.
    pub total: u64,
}

impl From<&Tally> for StatsAnswer {
    fn from(tally: &Tally) -> StatsAnswer {
        let Tally { pending, processing, completed, failed, .. } = *tally;
        StatsAnswer { pending, processing, completed, failed, total: tally.total() }
    }
}

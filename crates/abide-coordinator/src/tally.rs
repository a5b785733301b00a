//! The tally: how many items there are in each status, and the next place.

use crate::items::Place;
use crate::limits::KEPT_NEWEST;
use crate::work::Status;
use abide_engine::Record;
use serde::{Deserialize, Serialize};

/// How many items there are in each status, and the next place. Written with every item that it counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// Places given so far.
    pub(crate) given: i64,
    pub(crate) pending: u64,
    pub(crate) processing: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
}

impl Record for Tally {}

impl Tally {
    pub(crate) fn total(&self) -> u64 {
        self.pending + self.processing + self.completed + self.failed
    }

    /// The place of the next item.
    pub(crate) fn next_place(&mut self) -> Place {
        self.given += 1;
        Place(self.given)
    }

    /// Whether an item is among the newest, which are kept. Only others are trimmed, so the newest have no gaps.
    pub(crate) fn keeps(&self, place: Place) -> bool {
        place.0 > self.given - KEPT_NEWEST
    }

    /// Whether no item comes after this one: the newest is never trimmed.
    pub(crate) fn is_last(&self, place: Place) -> bool {
        place.0 >= self.given
    }

    /// The newest item that is not among the newest, if there are so many.
    pub(crate) fn last_beyond(&self) -> Option<Place> {
        (self.given > KEPT_NEWEST).then_some(Place(self.given - KEPT_NEWEST))
    }

    /// The place before the newest so many, if there are more.
    pub(crate) fn before_newest(&self, newest: u32) -> Option<Place> {
        let before = self.given - i64::from(newest);
        (before > 0).then_some(Place(before))
    }

    pub(crate) fn count(&mut self, status: Status) {
        *self.of(status) += 1;
    }

    pub(crate) fn uncount(&mut self, status: Status) {
        let of = self.of(status);
        *of = of.saturating_sub(1);
    }

    fn of(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Pending => &mut self.pending,
            Status::Processing => &mut self.processing,
            Status::Completed => &mut self.completed,
            Status::Failed => &mut self.failed,
        }
    }
}

//! Orders of links: by when they were created.

use super::calls::State;
use super::refusal::No;
use abide_core::time::Time;

/// The last instant that has a place of its own.
const LAST: i64 = 99_999_999_999_999;

/// In which order links come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

impl Sort {
    pub(super) const BOTH: [Sort; 2] = [Sort::Newest, Sort::Oldest];

    /// The order that a request names.
    pub(super) fn named(word: Option<&str>) -> Result<Sort, No> {
        match word.unwrap_or("newest") {
            "newest" => Ok(Sort::Newest),
            "oldest" => Ok(Sort::Oldest),
            other => Err(No::Invalid(format!("sort is {other:?}: give newest or oldest"))),
        }
    }

    /// What keys of links of `state` in this order begin with.
    pub(super) fn prefix(self, state: State) -> String {
        let order = match self {
            Sort::Newest => "new",
            Sort::Oldest => "old",
        };
        format!("{order}/{}/", state.as_str())
    }

    /// Where an instant is in this order, as text that sorts so.
    pub(super) fn rank(self, at: Time) -> String {
        let at = at.0.clamp(0, LAST);
        match self {
            Sort::Newest => format!("{:014}", LAST - at),
            Sort::Oldest => format!("{at:014}"),
        }
    }
}

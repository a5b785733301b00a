//! What the collections say no with.

use crate::limits::{ITEMS_PER_CALL, NAME_CHARS, PATH_BYTES};
use abide_engine::{Refusal, RefusalClass};

/// What the collections say no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such collection.
    #[error("there is no collection {0:?}")]
    Unknown(String),
    /// The name cannot be one.
    #[error(
        "{0:?} cannot be the name of a collection: 1 to {NAME_CHARS} characters, none of them / or a control character"
    )]
    BadName(String),
    /// A path is too long.
    #[error("the path {0:?} has more than {PATH_BYTES} bytes: shorten it")]
    LongPath(String),
    /// A call brings too much.
    #[error("a call brings at most {ITEMS_PER_CALL} files, not {0}")]
    TooMany(usize),
    /// It is being deleted.
    #[error("the collection {0:?} is being deleted: run `abide collection delete` again to finish that")]
    Deleting(String),
    /// It was deleted while somebody worked on it.
    #[error("the collection {0:?} was deleted meanwhile")]
    Gone(String),
    /// A run was stopped while files came to their places.
    #[error(
        "files are just being brought into the collection {0:?}: wait, or run `abide ingest` again if it was stopped"
    )]
    Bringing(String),
    /// What was decided does not know of a change by hand.
    #[error("something of the collection {0:?} was changed by hand meanwhile: look at it again")]
    ByHand(String),
    /// Nothing of it is there yet.
    #[error("nothing of the collection {0:?} is there yet: run `abide ingest` again to go on")]
    Nothing(String),
    /// A collection that still has files is not removed.
    #[error("the collection {0:?} still has files")]
    HasFiles(String),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::Unknown(_) => "unknown_collection",
            No::BadName(_) => "bad_name",
            No::LongPath(_) => "long_path",
            No::TooMany(_) => "too_many",
            No::Deleting(_) => "deleting",
            No::Bringing(_) => "bringing",
            No::ByHand(_) => "changed_by_hand",
            No::Gone(_) => "gone",
            No::Nothing(_) => "nothing_yet",
            No::HasFiles(_) => "has_files",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::Unknown(_) | No::Nothing(_) => RefusalClass::NotFound,
            No::HasFiles(_) | No::Deleting(_) | No::Bringing(_) | No::ByHand(_) | No::Gone(_) => {
                RefusalClass::Conflict
            }
            No::BadName(_) | No::LongPath(_) | No::TooMany(_) => RefusalClass::Invalid,
        }
    }
}

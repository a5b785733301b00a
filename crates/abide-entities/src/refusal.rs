//! What the objects of this service say no with.

use crate::content::ContentId;
use crate::id::EntityId;
use crate::limits::COMPONENTS;
use abide_engine::{Refusal, RefusalClass};

/// What an entity, the catalog or the blobs say no with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum No {
    /// There is no such entity.
    #[error("there is no entity {0}")]
    Unknown(EntityId),
    /// The object's name is no id.
    #[error("{0:?} is not an entity's id")]
    BadName(String),
    /// The id is taken by another content.
    #[error("there is an entity {0} already, and it was created with another content")]
    Taken(EntityId),
    /// It has children.
    #[error("{id} has {children} children: delete them first, or move them to another parent")]
    HasChildren {
        /// Which entity.
        id: EntityId,
        /// How many.
        children: u64,
    },
    /// It is being deleted.
    #[error("{0} is being deleted: try again in a moment")]
    Leaving(EntityId),
    /// It has no such version.
    #[error("{id} has no version {given}")]
    UnknownVersion {
        /// Which entity.
        id: EntityId,
        /// What was asked for.
        given: String,
    },
    /// The entity would have too many components.
    #[error("an entity may have at most {COMPONENTS} components, and this one would have {0}")]
    TooManyComponents(usize),
    /// The request breaks a rule that was to be checked before.
    #[error("{0}")]
    Invalid(String),
    /// Nothing has this content id.
    #[error("there is nothing with the content id {0}")]
    UnknownContent(ContentId),
    /// A cursor was not given out by us.
    #[error("{0}")]
    BadCursor(String),
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::Unknown(_) => "unknown_entity",
            No::BadName(_) => "bad_name",
            No::Taken(_) => "taken",
            No::HasChildren { .. } => "has_children",
            No::Leaving(_) => "leaving",
            No::UnknownVersion { .. } => "unknown_version",
            No::TooManyComponents(_) => "too_many_components",
            No::Invalid(_) => "invalid",
            No::UnknownContent(_) => "unknown_content",
            No::BadCursor(_) => BAD_CURSOR,
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::Unknown(_) | No::UnknownContent(_) => RefusalClass::NotFound,
            No::Taken(_) | No::HasChildren { .. } | No::Leaving(_) => RefusalClass::Conflict,
            No::BadName(_)
            | No::UnknownVersion { .. }
            | No::TooManyComponents(_)
            | No::Invalid(_)
            | No::BadCursor(_) => RefusalClass::Invalid,
        }
    }
}

/// The code of a bad cursor.
pub(crate) const BAD_CURSOR: &str = "bad_cursor";

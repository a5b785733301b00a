//! Objects: what identifies one, its lives, and the fence that keeps it to one writer.

use crate::name::{BadName, Kind, Name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// `(kind, name)`: which object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Chooses the handler.
    pub kind: Kind,
    /// Which one of its kind.
    pub name: Name,
}

impl ObjectKey {
    /// Checks both parts.
    pub fn new(kind: impl AsRef<str>, name: impl AsRef<str>) -> Result<ObjectKey, BadName> {
        Ok(ObjectKey { kind: Kind::new(kind)?, name: Name::new(name)? })
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl fmt::Debug for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl std::str::FromStr for ObjectKey {
    type Err = BadName;

    /// `kind/name`; the name may itself contain `/`.
    fn from_str(text: &str) -> Result<ObjectKey, BadName> {
        let (kind, name) = text.split_once('/').unwrap_or((text, ""));
        ObjectKey::new(kind, name)
    }
}

/// One life of an engine on a store: a number that rises at every start and is never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Life(pub u32);

/// One life of an object. Never reused: rows, alarms, messages and jobs hang on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub i64);

impl Incarnation {
    /// The `nth` life of an object that an engine begins in its own life. Lives are unique, so this is.
    #[must_use]
    pub const fn nth_of(life: Life, nth: u32) -> Incarnation {
        Incarnation(((life.0 as i64) << 32) | nth as i64)
    }
}

/// How many commits this life of an object has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub i64);

impl Version {
    /// The version after one more commit.
    #[must_use]
    pub const fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

/// What a turn read, and so what must still be true for its commit to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// The object did not exist. If the commit keeps state, it begins this life.
    Absent {
        /// The life it would begin.
        begin: Incarnation,
    },
    /// The object was in this life, at this version.
    At {
        /// The life.
        incarnation: Incarnation,
        /// The version.
        version: Version,
        /// The engine's life that committed this version. A turn that ran on rows which are not committed yet names its
        /// own; if another engine got ahead with a commit of the same number, the fence does not hold.
        by: Life,
    },
}

impl Fence {
    /// The life that a commit with this fence writes to.
    #[must_use]
    pub const fn incarnation(&self) -> Incarnation {
        match *self {
            Fence::Absent { begin } => begin,
            Fence::At { incarnation, .. } => incarnation,
        }
    }

    /// The version a commit with this fence leaves behind, if it keeps state.
    #[must_use]
    pub const fn version_after(&self) -> Version {
        match *self {
            Fence::Absent { .. } => Version(1),
            Fence::At { version, .. } => version.next(),
        }
    }
}

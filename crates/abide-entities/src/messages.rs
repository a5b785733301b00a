//! What the objects of this service tell each other.
//!
//! A link of a parent to a child has a number, which the parent draws and which only grows. Each message about a link names
//! it, so whatever order they arrive in, both sides end with the same link or with none.

use crate::answer::Metadata;
use crate::content::ContentId;
use serde::{Deserialize, Serialize};

/// What entities send each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToEntity {
    /// A new entity asks to be a child; the answer is [`Adopted`](ToEntity::Adopted) or [`Missing`](ToEntity::Missing).
    Adopt {
        /// The number of its question.
        asked: u64,
    },
    /// You are my child under this link.
    Adopted {
        /// The link.
        link: u64,
        /// The child's question, if it asked.
        asked: Option<u64>,
        /// The parent's call that waits.
        wait: Option<u64>,
    },
    /// I am your child under this link.
    Confirmed {
        /// The link.
        link: u64,
        /// The parent's call that waits.
        wait: Option<u64>,
    },
    /// I am not your child under this link any more.
    Left {
        /// The link.
        link: u64,
    },
    /// You are not my child any more, under this link or an older one.
    Released {
        /// The link.
        link: u64,
        /// The parent's call that waits.
        wait: Option<u64>,
    },
    /// I am not your child, as you said.
    Freed {
        /// The parent's call that waits.
        wait: Option<u64>,
    },
    /// There is no entity here that could be your child or parent.
    Missing {
        /// The link that was offered.
        link: Option<u64>,
        /// The question that was asked.
        asked: Option<u64>,
        /// The sender's call that waits.
        wait: Option<u64>,
    },
    /// From the blobs and the catalog to an entity that is being deleted: what it told them is done.
    Forgotten,
}

/// What entities tell the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToCatalog {
    /// A new version.
    Version {
        /// Its manifest.
        cid: ContentId,
        /// Pages of children that are new in it.
        pages: Vec<(u64, ContentId)>,
        /// What a list says about it.
        metadata: Box<Metadata>,
    },
    /// The entity is being deleted. The answer is [`Forgotten`](ToEntity::Forgotten).
    Gone {
        /// Manifests of versions that it had.
        gone: Vec<ContentId>,
    },
}

/// What entities tell the blobs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToBlobs {
    /// Named by a manifest: once for each component that begins to be it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<ContentId>,
    /// Brought again by a version that had it already: whoever was about to name it has done so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<ContentId>,
    /// Named no more, as often as they were named, because the entity is being deleted. The answer is
    /// [`Forgotten`](ToEntity::Forgotten).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<ContentId>,
}

//! What is remembered of a collection.

use crate::by_hand::ByHand;
use abide_core::time::Time;
use abide_engine::Record;
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// What people call it; there is one of each name.
    pub name: String,
    /// Its topmost entity.
    pub root_pi: EntityId,
    /// The folder that it was made from.
    pub folder: String,
    /// Files of that folder.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is not done yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
    /// How many collections of this name were deleted before it.
    #[serde(default)]
    pub life: u64,
    /// How many runs came to nothing or not to the end of everything: the next one is another.
    #[serde(default)]
    pub abandoned: u64,
    /// How many changes by hand were begun.
    #[serde(default)]
    pub by_hand: u64,
    /// The last of them, until it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changing: Option<ByHand>,
    /// Whether it is being deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// When it was first saved.
    #[serde(default)]
    pub created_at: Time,
    /// When it was last saved.
    #[serde(default)]
    pub updated_at: Time,
}

impl Record for Collection {}

impl Collection {
    /// One of which nothing is there yet.
    #[must_use]
    pub fn new(name: &str, root_pi: EntityId, folder: String) -> Collection {
        Collection {
            name: name.to_owned(),
            root_pi,
            folder,
            files: 0,
            bytes: 0,
            pending: None,
            life: 0,
            abandoned: 0,
            by_hand: 0,
            changing: None,
            deleting: false,
            created_at: Time::default(),
            updated_at: Time::default(),
        }
    }

    /// Whether it is decided where files come, and they are not all there.
    pub(crate) fn places_files(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.stage.places_files())
    }
}

/// What is to be done again with an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// Everything: its images are read and its files grouped.
    All,
    /// It is described.
    Words,
}

impl Record for Unfinished {}

/// A run that was begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Its batch.
    pub batch_id: String,
    /// How far it is.
    #[serde(default)]
    pub stage: Stage,
}

/// How far a run is. Each stage may be repeated from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Files are converted. Nothing of the collection has changed.
    Converting,
    /// What is to change is written down, and the tree is changed accordingly.
    Bringing,
    /// Files are remembered as they are in the tree.
    Recording,
    /// What changed is read, grouped and described.
    #[default]
    Describing,
    /// Nothing is left but to sweep.
    Sweeping,
}

impl Stage {
    /// Whether it is decided where files come, and they are not all there: nobody may move them now.
    #[must_use]
    pub const fn places_files(self) -> bool {
        match self {
            Stage::Bringing | Stage::Recording => true,
            Stage::Converting | Stage::Describing | Stage::Sweeping => false,
        }
    }
}

/// A file of a folder, as it was when it was brought into the collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its bytes.
    pub bytes: u64,
    /// When it was last changed.
    pub modified_ms: i64,
    /// Its SHA-256.
    pub digest: String,
    /// Components that it became.
    pub made: Vec<String>,
    /// Where somebody moved them by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<EntityId>,
    /// What somebody calls them: by the names that they would have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, String>,
}

impl Record for SourceFile {}

/// An image in the archive that a collection has, with the refs that stand for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archived {
    /// As blobs.
    pub refs: Vec<ContentId>,
}

impl Record for Archived {}

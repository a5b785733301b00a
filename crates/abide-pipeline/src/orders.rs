//! Jobs of a batch: what they are told, and what they answer.

use abide_core::object::Incarnation;
use abide_entities::{ContentId, EntityId};
use abide_preprocess::BatchId;
use serde::{Deserialize, Serialize};

use crate::away::ServiceRequest;
use crate::status::PhaseName;
use crate::work::Spent;

/// The queue of everything that batches ask for.
pub const QUEUE: &str = "pipeline";
/// The queue of messages that start batches.
pub const MESSAGES: &str = "arke-batch-jobs";
/// The kind of the jobs in it.
pub const START: &str = "start";
/// Finds the directories and files of a batch.
pub const DISCOVER: &str = "pipeline.discover";
/// Makes the entity of a node what its files are.
pub const SNAPSHOT: &str = "pipeline.snapshot";
/// Reads one image.
pub const OCR: &str = "pipeline.ocr";
/// Finds what the organizer made of a node.
pub const LOOK: &str = "pipeline.look";
/// Brings a request to an organizer of somebody else.
pub const DISPATCH: &str = "pipeline.dispatch";
/// Brings a request to a service of somebody else that reads, extracts or describes.
pub const AWAY: &str = "pipeline.away";
/// Extracts the metadata of a node.
pub const PINAX: &str = "pipeline.pinax";
/// Describes a node.
pub const DESCRIBE: &str = "pipeline.describe";

/// Which batch, in which life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchOrder {
    /// Which.
    pub batch_id: BatchId,
    /// In which life: what another one asked for changes nothing.
    pub life: Incarnation,
}

/// Find the directories and files of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiscoverOrder {
    /// Of which batch.
    #[serde(flatten)]
    pub batch: BatchOrder,
    /// What started it.
    pub message: crate::message::IngestMessage,
    /// In which round: from the second on, only what is new is brought.
    #[serde(default)]
    pub round: u32,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOrder {
    /// Of which batch.
    #[serde(flatten)]
    pub batch: BatchOrder,
    /// Its place in the batch.
    pub place: u32,
    /// Its entity.
    pub pi: EntityId,
}

/// Make the entity of a node what its files are: files and children are asked of the batch, page by page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotOrder {
    /// Which node.
    #[serde(flatten)]
    pub node: NodeOrder,
    /// For which phase.
    pub phase: PhaseName,
}

/// Read one image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OcrOrder {
    /// Of which node.
    #[serde(flatten)]
    pub node: NodeOrder,
    /// The component that stands for it: `scan.jpg.ref.json`.
    pub filename: String,
    /// What is in that.
    pub cid: ContentId,
}

/// Bring a request to a service of somebody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwayOrder {
    /// For which phase.
    pub phase: PhaseName,
    /// What is asked.
    pub request: ServiceRequest,
}

/// What came of reading an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ocr", rename_all = "snake_case")]
pub enum OcrDone {
    /// Its text is in a new ref.
    Read {
        /// The ref.
        cid: ContentId,
        /// Characters of the text.
        chars: usize,
        /// What read it.
        by: String,
        /// What it took.
        #[serde(default)]
        spent: Spent,
    },
    /// Its ref had the text already.
    Already,
    /// It cannot be read, now or later.
    Unreadable {
        /// Why.
        reason: String,
    },
}

/// An entity has a new version, or needed none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// The newest manifest.
    pub tip: ContentId,
    /// The newest version.
    pub ver: u32,
    /// What people should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What a model took.
    #[serde(default)]
    pub spent: Spent,
}

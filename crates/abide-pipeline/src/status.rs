//! Where a batch is, in the words of the routes.

use crate::node::Node;
use crate::work::Spent;
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};

/// A phase of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseName {
    /// Files become entities.
    Discovery,
    /// Images are read.
    Ocr,
    /// Files are put into groups.
    Reorganization,
    /// Metadata is extracted.
    Pinax,
    /// Accepted, and skipped.
    Cheimarros,
    /// Descriptions are written.
    Description,
}

impl PhaseName {
    /// All of them, in their order.
    pub const ALL: [PhaseName; 6] = [
        PhaseName::Discovery,
        PhaseName::Ocr,
        PhaseName::Reorganization,
        PhaseName::Pinax,
        PhaseName::Cheimarros,
        PhaseName::Description,
    ];

    /// The word, as in `phase_errors` and in keys of rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            PhaseName::Discovery => "discovery",
            PhaseName::Ocr => "ocr",
            PhaseName::Reorganization => "reorganization",
            PhaseName::Pinax => "pinax",
            PhaseName::Cheimarros => "cheimarros",
            PhaseName::Description => "description",
        }
    }

    /// The phase after it.
    #[must_use]
    pub fn next(self) -> Option<PhaseName> {
        PhaseName::ALL.into_iter().skip_while(|phase| *phase != self).nth(1)
    }

    /// What says that a node is through with it.
    pub(crate) const fn flag(self, node: &mut Node) -> &mut bool {
        match self {
            PhaseName::Discovery => &mut node.snapshot_published,
            PhaseName::Ocr => &mut node.ocr_complete,
            PhaseName::Reorganization => &mut node.reorganization_complete,
            PhaseName::Pinax => &mut node.pinax_complete,
            PhaseName::Cheimarros => &mut node.entity_ops_complete,
            PhaseName::Description => &mut node.description_complete,
        }
    }

    /// Whether a node is through with it.
    #[must_use]
    pub const fn is_complete(self, node: &Node) -> bool {
        match self {
            PhaseName::Discovery => node.snapshot_published,
            PhaseName::Ocr => node.ocr_complete,
            PhaseName::Reorganization => node.reorganization_complete,
            PhaseName::Pinax => node.pinax_complete,
            PhaseName::Cheimarros => node.entity_ops_complete,
            PhaseName::Description => node.description_complete,
        }
    }
}

/// Where a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// Its message came, and its files are not known yet.
    Queued,
    /// Files become entities.
    Discovery,
    /// Images are read.
    OcrInProgress,
    /// Files are put into groups.
    Reorganization,
    /// Metadata is extracted.
    PinaxExtraction,
    /// Passed through, with a note.
    CheimarrosExtraction,
    /// Descriptions are written.
    Description,
    /// Through.
    Done,
    /// It ended before it was through.
    Error,
}

impl From<PhaseName> for Status {
    fn from(phase: PhaseName) -> Status {
        match phase {
            PhaseName::Discovery => Status::Discovery,
            PhaseName::Ocr => Status::OcrInProgress,
            PhaseName::Reorganization => Status::Reorganization,
            PhaseName::Pinax => Status::PinaxExtraction,
            PhaseName::Cheimarros => Status::CheimarrosExtraction,
            PhaseName::Description => Status::Description,
        }
    }
}

/// Directories by how far they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// All; grows while files are put into groups.
    pub directories_total: u64,
    /// Their entities are there.
    pub directories_snapshot_published: u64,
    /// Their images are read.
    pub directories_ocr_complete: u64,
    /// Their files are in groups.
    pub directories_reorganization_complete: u64,
    /// They have metadata.
    pub directories_pinax_complete: u64,
    /// They are past the phase that is skipped.
    pub directories_cheimarros_complete: u64,
    /// They have a description.
    pub directories_description_complete: u64,
}

impl Progress {
    /// Directories that are through with a phase.
    pub fn complete(&mut self, phase: PhaseName) -> &mut u64 {
        match phase {
            PhaseName::Discovery => &mut self.directories_snapshot_published,
            PhaseName::Ocr => &mut self.directories_ocr_complete,
            PhaseName::Reorganization => &mut self.directories_reorganization_complete,
            PhaseName::Pinax => &mut self.directories_pinax_complete,
            PhaseName::Cheimarros => &mut self.directories_cheimarros_complete,
            PhaseName::Description => &mut self.directories_description_complete,
        }
    }
}

/// Files by what became of them: each is in exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// All.
    pub total: u64,
    /// Not looked at yet.
    pub open: u64,
    /// They are components of an entity.
    pub published: u64,
    /// They could not be taken; the node says why.
    pub failed: u64,
    /// Images that are to be read, or were.
    #[serde(default)]
    pub ocr_total: u64,
    /// Images that were read.
    pub ocr_read: u64,
    /// Images that could not be read; the file says why.
    pub ocr_failed: u64,
}

/// What models took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// US dollars.
    pub cost_usd: f64,
    /// Tokens in both directions.
    pub tokens: u64,
}

impl Cost {
    /// That, too.
    pub(crate) fn add(&mut self, spent: &Spent) {
        self.cost_usd += spent.cost_usd;
        self.tokens += spent.tokens;
    }
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// Which.
    pub batch_id: String,
    /// Where it is.
    pub status: Status,
    /// Directories by how far they are.
    pub progress: Progress,
    /// Its topmost entity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_pi: Option<EntityId>,
    /// When its message came.
    pub started_at: String,
    /// When something last changed.
    pub updated_at: String,
    /// When it was through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Files by what became of them.
    pub files: Ledger,
    /// Directories that a phase gave up on, with the reason in `phase_errors` of the node.
    pub directories_failed: u64,
    /// What is under way in the phase: jobs and requests.
    pub in_flight: u64,
    /// What models took.
    pub cost: Cost,
    /// What people should know, newest last, at most fifty.
    pub notes: Vec<String>,
}

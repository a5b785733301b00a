//! What a request is answered with at once, and how far it is.

use super::callback::Spend;
use super::request::Operation;
use serde::{Deserialize, Serialize};

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Taken, and nothing begun.
    Pending,
    /// Directories are read and grouped.
    Processing,
    /// Groups become entities.
    Publishing,
    /// Whoever asked is told.
    Callback,
    /// They were told.
    Done,
    /// They could not be told: what came of it is kept here and in a dead letter. Or it was stopped, with the reason.
    Error,
}

impl Phase {
    /// Whether nothing more happens.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Phase::Pending | Phase::Processing | Phase::Publishing | Phase::Callback => false,
            Phase::Done | Phase::Error => true,
        }
    }

    /// In lower case, as `status` says it.
    #[must_use]
    pub const fn lower(self) -> &'static str {
        match self {
            Phase::Pending => "pending",
            Phase::Processing => "processing",
            Phase::Publishing => "publishing",
            Phase::Callback => "callback",
            Phase::Done => "done",
            Phase::Error => "error",
        }
    }
}

/// Who decides what belongs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrganizerKind {
    /// A model.
    Model,
    /// What needs none.
    Builtin,
}

/// The answer to `POST /organizer/process`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ProcessReply {
    /// It begins.
    Accepted {
        /// Which part of the batch.
        chunk_id: String,
        /// How many directories; 1 to strategize.
        total_pis: usize,
        /// What is done.
        operation: Operation,
    },
    /// It had begun before.
    AlreadyProcessing {
        /// Which part of the batch.
        chunk_id: String,
        /// Where it is.
        phase: Phase,
    },
}

/// The answer to `GET /organizer/status/{batchId}/{chunkId}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StatusReply {
    /// How far it is.
    Found(Box<Standing>),
    /// There is no such request, or it is forgotten: `{"status": "not_found"}`.
    NotFound {
        /// `not_found`.
        status: String,
    },
}

impl StatusReply {
    /// There is no such request, or it is forgotten.
    #[must_use]
    pub fn not_found() -> StatusReply {
        StatusReply::NotFound { status: "not_found".to_owned() }
    }
}

/// How far a request is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The phase in lower case.
    pub status: String,
    /// Where it is.
    pub phase: Phase,
    /// What was asked.
    pub operation: Operation,
    /// Directories by where they are.
    pub progress: Progress,
    /// To strategize: `pending`, `processing`, `done` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategize_status: Option<String>,
    /// Who decides.
    pub organizer: OrganizerKind,
    /// Which model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it took so far.
    #[serde(flatten)]
    pub spend: Spend,
    /// What all parts of the batch took so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Spend>,
    /// When it began: `2026-01-15T10:30:00.000Z`.
    pub started_at: String,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Directories of a request by where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// All.
    pub total: usize,
    /// Not begun.
    pub pending: usize,
    /// Being read.
    pub fetching: usize,
    /// Being grouped.
    pub processing: usize,
    /// Becoming entities.
    pub publishing: usize,
    /// Organized.
    pub done: usize,
    /// Given up.
    pub failed: usize,
}

//! What an organizer is asked, by routes and by those who run its jobs.

use crate::contract::{ProcessReply, ProcessRequest, StatusReply};
use crate::jobs::Planned;
use crate::paid::Paid;
use crate::rows::{Asked, Prompts};
use abide_entities::ContentId;
use abide_llm::Answer;
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Begin; the callback goes over HTTP.
    Process(Box<Accept>),
    /// Say how far it is.
    Status,
    /// By a job: what is to be grouped?
    Work {
        /// Of which run.
        run: u32,
        /// Which directory.
        place: usize,
    },
    /// By a job: was this question answered?
    Kept {
        /// In which run it is asked.
        run: u32,
        /// Which question.
        key: String,
    },
    /// By a job: a question was asked, and is paid for.
    Paid(Box<Paying>),
    /// By a job: an attempt failed, and there will be another.
    Failing {
        /// Of which run.
        run: u32,
        /// Which directory.
        place: usize,
        /// Why.
        reason: String,
    },
    /// By a job: what is to be published?
    Plan {
        /// Of which run.
        run: u32,
        /// Which directory.
        place: usize,
    },
}

/// A request, with large contents kept apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Accept {
    /// The request.
    pub request: ProcessRequest,
    /// Blobs with contents of files, one for each directory; empty if contents are in the request.
    #[serde(default)]
    pub contents: Vec<Option<ContentId>>,
}

/// What a question took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paying {
    /// In which run.
    pub run: u32,
    /// For which directory.
    pub place: usize,
    /// What it took.
    pub paid: Paid,
    /// Whether something was set aside for it.
    #[serde(default)]
    pub is_reserved: bool,
    /// What requests may have cost at most that were never answered.
    #[serde(default)]
    pub unanswered_micros: u64,
    /// The question and its answer, if that is worth keeping: it is not asked for again then.
    pub answer: Option<(String, Answer)>,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Call::Process`].
    Process(ProcessReply),
    /// To [`Call::Status`].
    Status(StatusReply),
    /// To [`Call::Work`]: none if there is nothing to do any more.
    Work(Option<Box<Work>>),
    /// To [`Call::Kept`].
    Kept(Option<Box<Answer>>),
    /// To [`Call::Paid`].
    Paid,
    /// To [`Call::Failing`].
    Failing,
    /// To [`Call::Plan`]: none if there is nothing to do any more.
    Plan(Option<Box<Publish>>),
}

/// What a job is to have grouped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Of which batch.
    pub batch_id: String,
    /// Which directory.
    pub asked: Asked,
    /// What the owner wants.
    pub prompts: Prompts,
}

/// What a job is to publish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Publish {
    /// Of which batch.
    pub batch_id: String,
    /// By which part of it.
    pub chunk_id: String,
    /// Which directory.
    pub asked: Asked,
    /// What goes where.
    pub planned: Planned,
}

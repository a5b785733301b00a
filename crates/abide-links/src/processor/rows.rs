//! Rows of the processor.

use super::calls::Call;
use crate::page::Metadata;
use abide_core::log::Seq;
use abide_core::object::Incarnation;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_engine::Record;
use abide_llm::Spent;
use serde::{Deserialize, Serialize};

/// Who the processor is to its log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The id of its session: drawn once.
    pub id: String,
    /// The life of the log that it follows, once it has seen an entry.
    pub source: Option<Incarnation>,
    /// The last event that it has seen; none if that was not kept when it began.
    #[serde(default)]
    pub seen: Option<i64>,
    /// How many requests wait until it has seen the whole log.
    #[serde(default)]
    pub asked: u32,
    /// Whether there are answers of a model.
    #[serde(default)]
    pub has_answers: bool,
    /// Whether it reads a part of the log of which it does not know the end.
    #[serde(default, skip_serializing_if = "CatchUp::is_over")]
    pub catch_up: CatchUp,
}

/// How a long part of the log is read: nothing is begun before its end, because it may say what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// What comes is all there is.
    #[default]
    Over,
    /// The log was asked how far it goes.
    Asked,
    /// It went so far.
    To(i64),
}

impl CatchUp {
    fn is_over(&self) -> bool {
        *self == CatchUp::Over
    }
}

/// A link as the log says it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its id.
    pub id: String,
    /// As it was saved.
    pub url: String,
    /// Its host.
    pub domain: String,
    /// Who brought it.
    pub source: Option<String>,
    /// When.
    pub created_at: Time,
    /// When it was read.
    pub completed_at: Option<Time>,
    /// When it was put away.
    pub deleted_at: Option<Time>,
    /// The newest snapshot.
    pub snapshot: Option<Metadata>,
    /// The newest summary.
    pub summary: Option<String>,
    /// What made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// Where its processing stands.
    pub processing: Option<Processing>,
    /// Ids of its tags.
    pub tags: Vec<String>,
    /// Names that were suggested and not dismissed.
    pub suggested: Vec<String>,
    /// How often this processor began it.
    pub attempts: u32,
    /// The link that led to the same page and was shown in its place when it came, if it is not the one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<String>,
    /// Ids of links that lead to the same page, oldest first, if it is the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<String>,
    /// What its summaries took, if a model made one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// Where a link's processing stands, as the log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processing {
    /// The word.
    pub status: Status,
    /// The code of its failure.
    pub error: Option<String>,
    /// What was the matter, for people.
    #[serde(default)]
    pub reason: Option<String>,
    /// Since when.
    pub updated_at: Time,
}

/// The words for where processing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Begun.
    Pending,
    /// Done.
    Completed,
    /// Failed for good, unless somebody asks again.
    Failed,
    /// Stopped.
    Cancelled,
    /// Somebody asks again.
    ReprocessRequested,
}

impl Link {
    /// Whether it is to be processed: that follows from what the log says and from nothing else.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        let wants = match self.processing.as_ref().map(|processing| processing.status) {
            None | Some(Status::Pending | Status::ReprocessRequested) => true,
            Some(Status::Completed | Status::Failed | Status::Cancelled) => false,
        };
        wants && self.deleted_at.is_none() && self.duplicate_of.is_none()
    }
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// A tag that was suggested for a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// For which link.
    pub link: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub status: SuggestionStatus,
}

/// What became of a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionStatus {
    /// Nobody said anything.
    Pending,
    /// Somebody took it.
    Accepted,
    /// Somebody did not want it.
    Dismissed,
}

/// A link that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Which attempt.
    pub attempt: u32,
    /// How far.
    pub stage: Stage,
}

/// How far a link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Its page is being fetched.
    Fetching,
    /// Its text is being summarized.
    Summarizing,
    /// Its end was written, and has not come back by the log yet.
    Ending,
    /// It was stopped, which was written and has not come back either.
    Stopping,
}

/// A summary and what it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The key of the question.
    pub key: String,
    /// What was asked about, as a hash; none if nobody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The summary.
    pub summary: Option<String>,
    /// Who made it.
    pub model: String,
    /// Names for tags.
    pub tags: Vec<String>,
    /// What it took, if a model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// Somebody waits for what they wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Events that have not come back yet, and others whose events have not.
    pub left: usize,
    /// Who is answered.
    pub ticket: Ticket,
    /// What they wrote about.
    pub links: Vec<Wanted>,
    /// Sessions of others who wait for this one, because it adds what they want.
    pub then: Vec<String>,
}

/// A request that waits until the whole log has been read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// What is asked.
    pub call: Call,
    /// Who is answered.
    pub ticket: Ticket,
    /// Up to where the log must have been read, once that is known.
    pub head: Option<i64>,
    /// When.
    #[serde(default)]
    pub at: Time,
}

/// A link that is on its way to the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adding {
    /// Its id.
    pub id: String,
    /// Whose request adds it.
    pub session: String,
}

/// A link that somebody wrote about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Which.
    pub id: String,
    /// Under which key it was to be added, if it was.
    pub same: Option<String>,
}

/// Events that could not be projected.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PassedOver {
    /// How many.
    pub count: u64,
    /// The last of them, the newest last.
    pub last: Vec<Passed>,
}

/// An event that could not be projected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// Its number.
    pub seq: Seq,
    /// What it is called.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// How many links there are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// To be read.
    pub inbox: u64,
    /// Read.
    pub completed: u64,
    /// Put away.
    pub archive: u64,
}

impl Record for Session {}
impl Record for Link {}
impl Record for Tag {}
impl Record for Suggestion {}
impl Record for Work {}
impl Record for Answered {}
impl Record for Wait {}
impl Record for Adding {}
impl Record for Asked {}
impl Record for Tally {}
impl Record for PassedOver {}

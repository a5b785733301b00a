//! Jobs of a request: what the outside is asked to do, and the words in which it is asked.

use crate::contract::{CallbackPayload, GroupEntity, LlmMetrics, StrategizeResult};
use crate::limits::PUBLISH_ATTEMPTS;
use crate::options::Options;
use crate::plan::Plan;
use abide_core::job::{BadJob, NewJob};
use abide_core::name::{LimitKey, UniqueKey};
use abide_core::retry::Backoff;
use abide_entities::ContentId;
use serde::{Deserialize, Serialize};

/// The queue of everything that organizers ask for.
pub const QUEUE: &str = "organizer";
/// The kind of the job that reads a directory and has it grouped.
pub const LLM: &str = "llm";
/// The kind of the job that makes entities of groups.
pub const PUBLISH: &str = "publish";
/// The kind of the job that delivers a callback over HTTP.
pub const CALLBACK: &str = "callback";

/// Which directory of which request. The rest is asked of the object, which keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The object's name.
    pub organizer: String,
    /// Which run of it.
    pub run: u32,
    /// Which of its directories.
    pub place: usize,
}

/// What a question about a directory is called where money is set aside for it.
pub(crate) fn question(organizer: &str, run: u32, place: usize) -> String {
    format!("{organizer}/{run}/{place}")
}

/// A part of a callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Whose.
    pub batch_id: String,
    /// What.
    pub payload: CallbackPayload,
}

/// What came of reading a directory and having it grouped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// A plan.
    Planned(Box<Planned>),
    /// How the parts of a large directory go together.
    Strategy(StrategizeResult),
    /// It is left as it is, with good reason.
    Skipped(Skipped),
    /// It was given up.
    Failed {
        /// Why.
        reason: String,
    },
    /// The same, and nothing else comes of asking again.
    Hopeless {
        /// Why.
        reason: String,
    },
}

/// A plan and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// What had to be repaired.
    pub metrics: LlmMetrics,
}

/// A directory that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Why.
    pub reason: String,
    /// Its files.
    pub files: Vec<String>,
    /// Its tip.
    pub tip: ContentId,
    /// Its version.
    pub ver: u32,
}

/// What came of publishing a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is published.
    Published(Box<Published>),
    /// It was given up.
    Failed {
        /// Why.
        reason: String,
    },
}

/// A published directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Its tip.
    pub tip: ContentId,
    /// Its version.
    pub ver: u32,
    /// Groups that got files.
    pub groups: Vec<GroupEntity>,
    /// Files that stay where they were.
    pub ungrouped: Vec<String>,
    /// What is worth knowing.
    pub warnings: Vec<String>,
}

/// What a job is known by to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobKey {
    pub(crate) what: What,
    pub(crate) run: u32,
    pub(crate) place: usize,
}

/// Which job of a directory, or a part of the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Llm,
    Publish,
    Callback,
}

impl What {
    const ALL: [What; 3] = [What::Llm, What::Publish, What::Callback];

    const fn word(self) -> &'static str {
        match self {
            What::Llm => LLM,
            What::Publish => PUBLISH,
            What::Callback => CALLBACK,
        }
    }
}

impl JobKey {
    pub(crate) fn text(self) -> Result<UniqueKey, BadJob> {
        Ok(UniqueKey::new(format!("{}/{}/{}", self.what.word(), self.run, self.place))?)
    }

    pub(crate) fn read(key: &UniqueKey) -> Option<JobKey> {
        let mut parts = key.as_str().split('/');
        let (word, run, place) = (parts.next()?, parts.next()?, parts.next()?);
        let what = What::ALL.into_iter().find(|what| what.word() == word)?;
        Some(JobKey { what, run: run.parse().ok()?, place: place.parse().ok()? })
    }
}

/// The limit that all questions to a model share.
#[must_use]
pub fn model_limit(model: &str) -> String {
    format!("model:{model}")
}

/// The job that has a directory grouped.
pub(crate) fn llm(order: &Order, options: &Options) -> Result<NewJob, BadJob> {
    let limit = options.model.as_ref().map(|model| LimitKey::new(model_limit(model.name())));
    let job = NewJob::of(QUEUE, LLM, order)?;
    Ok(NewJob {
        unique_key: Some(JobKey { what: What::Llm, run: order.run, place: order.place }.text()?),
        limit_keys: limit.transpose()?.into_iter().collect(),
        max_attempts: Some(options.max_retries_per_pi.max(1)),
        backoff: Some(Backoff { base_ms: 1_000, cap_ms: 30_000 }),
        ..job
    })
}

/// The job that publishes a directory.
pub(crate) fn publish(order: &Order) -> Result<NewJob, BadJob> {
    let job = NewJob::of(QUEUE, PUBLISH, order)?;
    Ok(NewJob {
        unique_key: Some(JobKey { what: What::Publish, run: order.run, place: order.place }.text()?),
        max_attempts: Some(PUBLISH_ATTEMPTS),
        backoff: Some(Backoff { base_ms: 500, cap_ms: 30_000 }),
        ..job
    })
}

/// The job that delivers a part of a callback.
pub(crate) fn callback(
    delivery: &Delivery,
    run: u32,
    part: usize,
    options: &Options,
) -> Result<NewJob, BadJob> {
    let job = NewJob::of(QUEUE, CALLBACK, delivery)?;
    Ok(NewJob {
        unique_key: Some(JobKey { what: What::Callback, run, place: part }.text()?),
        max_attempts: Some(options.max_callback_retries.max(1)),
        backoff: Some(Backoff { base_ms: 2_000, cap_ms: 60_000 }),
        ..job
    })
}

//! Calls: what can be asked of a coordinator, one for each route.

use crate::coordinator::Coordinator;
use crate::fields::{self, Fields};
use crate::invalid::Invalid;
use crate::items::Place;
use crate::mode::Mode;
use crate::report::Report;
use crate::submit::{Batch, Submit};
use crate::work::WorkId;
use abide_core::name::BadName;
use abide_core::object::ObjectKey;
use abide_engine::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What can be asked of a coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Call {
    /// Whether it is there.
    Status,
    /// Its items, oldest first.
    Queue(Page),
    /// One of its items.
    Item {
        /// Which.
        work_id: WorkId,
    },
    /// Take one message.
    Submit(Submit),
    /// Take many.
    SubmitBatch(Batch),
    /// Begin an item again: one that failed, or any unfinished one in another mode.
    Process {
        /// Which.
        work_id: WorkId,
        /// In this mode; in the one it has if none.
        mode: Option<Mode>,
    },
    /// This came of an item. Late and repeated ones change nothing.
    Result {
        /// Which.
        work_id: WorkId,
        /// Who says so.
        by: ResultBy,
        /// What.
        report: Report,
    },
    /// How many items there are in each status.
    Stats,
    /// Forget all items and stop what is under way.
    Clear,
}

/// A page of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    /// After the one with this place: `next` of the page before.
    pub after: Option<Place>,
    /// Only the newest so many; they begin later than `after` says, if both are given.
    pub newest: Option<u32>,
    /// At most so many, and never more than [`PAGE_ITEMS`](crate::limits::PAGE_ITEMS).
    pub limit: Option<usize>,
}

/// Who says what came of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ResultBy {
    /// Who processes it, with what its job or message carried.
    Attempt {
        /// Which attempt.
        attempt: u32,
        /// The proof of it.
        proof: String,
    },
    /// Somebody who may decide over any item. The server knows who that is.
    Operator,
}

impl ResultBy {
    /// `attempt` and `proof` of a body, if it has both.
    #[must_use]
    pub fn read(body: &Value) -> Option<ResultBy> {
        let attempt = u32::try_from(body.get("attempt")?.as_u64()?).ok()?;
        let proof = body.get("proof")?.as_str()?.to_owned();
        Some(ResultBy::Attempt { attempt, proof })
    }
}

impl Call {
    /// `GET /queue/:workId`.
    #[must_use]
    pub fn item(work_id: &str) -> Call {
        Call::Item { work_id: WorkId(work_id.to_owned()) }
    }

    /// `POST /queue`.
    pub fn submit(body: &Value) -> Result<Call, Invalid> {
        Submit::read(body).map(Call::Submit)
    }

    /// `POST /queue/batch`.
    pub fn submit_batch(body: &Value) -> Result<Call, Invalid> {
        Batch::read(body).map(Call::SubmitBatch)
    }

    /// `POST /process/:workId`; the body `{mode?}` may be missing.
    pub fn process(work_id: &str, body: Option<&Value>) -> Result<Call, Invalid> {
        let mode = match body {
            None => None,
            Some(body) => {
                let mut fields = Fields::of(body);
                match fields.optional("mode", None, |found| fields::mode(found).map(Some)) {
                    Some(mode) => mode,
                    None => return Err(fields.invalid()),
                }
            }
        };
        Ok(Call::Process { work_id: WorkId(work_id.to_owned()), mode })
    }

    /// `POST /result/:workId`.
    pub fn result(work_id: &str, by: ResultBy, body: &Value) -> Result<Call, Invalid> {
        Ok(Call::Result { work_id: WorkId(work_id.to_owned()), by, report: Report::read(body)? })
    }
}

/// The coordinator `name`.
pub fn coordinator(name: &str) -> Result<ObjectKey, BadName> {
    ObjectKey::new(Coordinator::KIND, name)
}

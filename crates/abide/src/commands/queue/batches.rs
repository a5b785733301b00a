//! Jobs as the server takes them: many at a time, within its bounds.

use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::limits::ENQUEUE_ITEMS;
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey};
use serde::{Deserialize, Serialize};

/// Jobs of one batch: enough that a sync costs little, few enough that nobody waits long behind it.
const JOBS: usize = 5_000;
/// Bytes of one batch.
const BYTES: usize = 2 << 20;
const _: () = assert!(JOBS <= ENQUEUE_ITEMS);

const HEAD: &str = "{\"jobs\":[";
const TAIL: &str = "]}";

/// A job as the server reads it.
#[derive(Serialize)]
struct JobDocument<'a> {
    queue: &'a QueueName,
    kind: &'a JobKind,
    payload: &'a Json,
    priority: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    unique_key: Option<&'a UniqueKey>,
    limit_keys: &'a [LimitKey],
}

/// The answer to a batch.
#[derive(Debug, Deserialize)]
pub(super) struct Entered {
    pub(super) jobs: Vec<EnteredJob>,
}

/// The answer to one of its jobs.
#[derive(Debug, Deserialize)]
pub(super) struct EnteredJob {
    pub(super) job: i64,
    pub(super) duplicate: bool,
}

/// A request in the making.
pub(super) struct Batch {
    body: String,
    jobs: usize,
    bytes_max: usize,
}

impl Batch {
    /// An empty one for a server that takes bodies of `body_max` bytes.
    pub(super) fn new(body_max: usize) -> Batch {
        Batch { body: HEAD.to_owned(), jobs: 0, bytes_max: BYTES.min(body_max) }
    }

    /// Adds a job. If there is no room for it, the batch before it is full and given back.
    pub(super) fn add(&mut self, job: &NewJob) -> Option<String> {
        let document = JobDocument {
            queue: &job.queue,
            kind: &job.kind,
            payload: &job.payload,
            priority: job.priority,
            unique_key: job.unique_key.as_ref(),
            limit_keys: &job.limit_keys,
        };
        let text = serde_json::to_string(&document).expect("names and JSON are JSON");
        let is_full = self.jobs == JOBS || self.body.len() + text.len() + TAIL.len() + 1 > self.bytes_max;
        let full = if is_full { self.take() } else { None };
        if self.jobs > 0 {
            self.body.push(',');
        }
        self.body.push_str(&text);
        self.jobs += 1;
        full
    }

    /// What has gathered; none if nothing has.
    pub(super) fn take(&mut self) -> Option<String> {
        if self.jobs == 0 {
            return None;
        }
        self.jobs = 0;
        self.body.push_str(TAIL);
        Some(std::mem::replace(&mut self.body, HEAD.to_owned()))
    }
}

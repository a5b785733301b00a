//! Jobs as the server takes them: many at a time, within its bounds.

use std::ops::Range;

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

/// Jobs of lines, gathered for one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// The jobs, one after the other, with a comma between them.
    text: String,
    jobs: Vec<Placed>,
}

/// Where a job of a batch is.
#[derive(Debug, PartialEq, Eq)]
struct Placed {
    /// In the file.
    line: u64,
    /// In the text.
    bytes: Range<usize>,
}

impl Batch {
    /// How many jobs it has.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// The line that a job came from.
    pub(super) fn line(&self, job: usize) -> u64 {
        self.jobs[job].line
    }

    /// The request that enters some of its jobs, which are at least one.
    pub(super) fn body(&self, jobs: Range<usize>) -> String {
        let of_jobs = self.jobs[jobs.start].bytes.start..self.jobs[jobs.end - 1].bytes.end;
        format!("{HEAD}{}{TAIL}", &self.text[of_jobs])
    }

    fn push(&mut self, line: u64, job: &str) {
        if !self.jobs.is_empty() {
            self.text.push(',');
        }
        let start = self.text.len();
        self.text.push_str(job);
        self.jobs.push(Placed { line, bytes: start..self.text.len() });
    }
}

/// Batches in the making.
pub(super) struct Gathering {
    batch: Batch,
    bytes_max: usize,
}

impl Gathering {
    /// For a server that takes bodies of `body_max` bytes.
    pub(super) fn new(body_max: usize) -> Gathering {
        Gathering { batch: Batch::default(), bytes_max: BYTES.min(body_max) }
    }

    /// Adds the job of a line. If there is no room for it, the batch before it is full and given back.
    pub(super) fn add(&mut self, line: u64, job: &NewJob) -> Option<Batch> {
        let document = JobDocument {
            queue: &job.queue,
            kind: &job.kind,
            payload: &job.payload,
            priority: job.priority,
            unique_key: job.unique_key.as_ref(),
            limit_keys: &job.limit_keys,
        };
        let text = serde_json::to_string(&document).expect("names and JSON are JSON");
        let bytes = HEAD.len() + self.batch.text.len() + 1 + text.len() + TAIL.len();
        let is_full = self.batch.len() == JOBS || bytes > self.bytes_max;
        let full = if is_full { self.take() } else { None };
        self.batch.push(line, &text);
        full
    }

    /// What has gathered; none if nothing has.
    pub(super) fn take(&mut self) -> Option<Batch> {
        let batch = std::mem::take(&mut self.batch);
        (batch.len() > 0).then_some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;

    #[test]
    fn any_part_of_a_batch_is_a_request() {
        let mut batch = Batch::default();
        for (line, job) in [(1, "{}"), (4, "{\"b\":1}"), (5, "[]")] {
            batch.push(line, job);
        }
        assert_eq!(batch.body(0..3), "{\"jobs\":[{},{\"b\":1},[]]}");
        assert_eq!(batch.body(1..2), "{\"jobs\":[{\"b\":1}]}");
        assert_eq!(batch.body(1..3), "{\"jobs\":[{\"b\":1},[]]}");
        assert_eq!((batch.len(), batch.line(1)), (3, 4));
    }
}

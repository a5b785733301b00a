//! Every bound of the engine, in one place.
//!
//! Past a bound there is an error that names it ([`OverBound`]), and nothing is lost.

use std::fmt;

/// Bytes of one row's value, one message, one job payload or one job result.
pub const VALUE_BYTES: usize = 256 * 1024;
/// Bytes of one call: the largest log entry fits, with what is around it.
pub const CALL_BYTES: usize = LOG_ENTRY_BYTES + 64 * 1024;
/// Levels of arrays and objects in JSON from outside: what common readers take.
pub const JSON_DEPTH: usize = 100;
/// Bytes of one log entry.
pub const LOG_ENTRY_BYTES: usize = 1024 * 1024;
/// Bytes of entries in one page of a log; one entry is always given.
pub const LOG_PAGE_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of everything one commit carries.
pub const COMMIT_BYTES: usize = 4 * 1024 * 1024;
/// Rows, alarms, messages, jobs, cancellations and log entries in one commit.
pub const COMMIT_ITEMS: usize = 2_000;
/// Bytes of a row's key.
pub const ROW_KEY_BYTES: usize = 1_024;
/// Bytes of an object's name, a unique key, an idempotency key, an alarm's name or a limit key.
pub const NAME_BYTES: usize = 512;
/// Bytes of a kind or a queue's name.
pub const KIND_BYTES: usize = 64;
/// Limit keys of one job.
pub const LIMIT_KEYS_PER_JOB: usize = 8;
/// Jobs in one bulk enqueue.
pub const ENQUEUE_ITEMS: usize = 10_000;
/// Jobs handed out by one claim.
pub const CLAIM_ITEMS: usize = 1_000;
/// Candidates one claim may look at before it answers; the claimer asks again.
pub const CLAIM_LOOKS: usize = 4_000;
/// Bytes of a job's progress note.
pub const PROGRESS_BYTES: usize = 4 * 1024;
/// Bytes kept of an error or a reason.
pub const REASON_BYTES: usize = 2 * 1024;
/// Rows one scan may ask for.
pub const SCAN_ROWS: usize = 1_000;
/// Rows, jobs, objects or dead letters in one page of a listing.
pub const PAGE_ITEMS: usize = 1_000;
/// Bytes of payloads, results or values in one page of a listing, or of payloads that one claim hands out; one is always given.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Times a turn may be run again for rows that were not in memory.
pub const TURN_MISSES: u32 = 1_000;
/// Calls waiting for one object.
pub const INBOX_CALLS: usize = 1_000;
/// Messages of one object held in memory; the rest waits in the store.
pub const INBOX_MESSAGES: usize = 256;
/// Uncommitted turns one object may run ahead.
pub const PIPELINE_TURNS: usize = 512;
/// Failed turns of one event before it is a dead letter.
pub const TURN_ATTEMPTS: u32 = 6;
/// Unclean exits in which one event was running before it is a dead letter.
pub const EVENT_CRASHES: u32 = 3;
/// Engines that may end without a word while they run one job, before it is a dead letter.
pub const JOB_RESTARTS: u32 = 10;
/// How far from now a job may be put off: ten years.
pub const LATER_MS: i64 = 3_653 * 24 * 60 * 60 * 1000;
/// Attempts of one job that are remembered, the latest: those that do not count have no end.
pub const ATTEMPTS_KEPT: u32 = 1_000;
/// Attempts of a job whose queue says nothing.
pub const JOB_ATTEMPTS: u32 = 3;
/// How long a reply is kept for its idempotency key, and a resolved ticket for whoever asks.
pub const REPLY_KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// Lease of a worker that heartbeats.
pub const LEASE_MS: i64 = 5_000;
/// A difference between wall time and elapsed time that counts as a jump of the clock.
pub const CLOCK_JUMP_MS: i64 = 5_000;
/// A turn longer than this is reported.
pub const SLOW_TURN_MS: i64 = 1_000;
/// How far *behind how many* is counted before it says "at least".
pub const AHEAD_COUNTED: u64 = 1_000;
/// A worker outside of the engine's process counts as there for this long after it was last heard of.
pub const WORKER_SEEN_MS: i64 = 60_000;
/// Rows removed by one step of a sweep or a prune.
pub const SWEEP_ROWS: usize = 1_000;

/// Something was larger than its bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBound {
    /// What was too large, for a person.
    pub what: &'static str,
    /// The bound.
    pub bound: usize,
    /// What was given.
    pub given: usize,
}

impl fmt::Display for OverBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} may be at most {}, and this has {}", self.what, self.bound, self.given)
    }
}

impl std::error::Error for OverBound {}

/// Checks `given` against `bound`.
pub fn within(what: &'static str, bound: usize, given: usize) -> Result<(), OverBound> {
    if given <= bound { Ok(()) } else { Err(OverBound { what, bound, given }) }
}

/// Cuts a reason to what is kept of it, at a character boundary.
pub fn cut_reason(reason: &str) -> &str {
    if reason.len() <= REASON_BYTES {
        return reason;
    }
    let mut end = REASON_BYTES;
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    &reason[..end]
}

//! Every bound of this service.
//!
//! Together they keep the largest possible item within a row.

/// Messages in one batch.
pub const BATCH_ITEMS: usize = 100;
/// The longest delay.
pub const DELAY_MS: i64 = 5_000;
/// Bytes of an item's message, written as JSON.
pub const MESSAGE_BYTES: usize = 32 * 1024;
/// Bytes of a result that a worker or a person gives, written as JSON.
pub const RESULT_BYTES: usize = 128 * 1024;
/// Timestamps that come with a submission.
pub const STAMPS_SUBMITTED: usize = 50;
/// Timestamps that come with a result.
pub const STAMPS_REPORTED: usize = 200;
/// Bytes of a timestamp's tag, written as JSON.
pub const TAG_BYTES: usize = 64;
/// Times that one item may be begun.
pub const ATTEMPTS: u32 = 20;
/// The newest items are never trimmed.
pub const KEPT_NEWEST: i64 = 50;
/// Items trimmed in one turn.
pub const TRIMMED_ITEMS: usize = 200;
/// Rows a processor forgets in one turn, of each sort.
pub const FORGOTTEN_ROWS: usize = 500;
/// Items in one page of `GET /queue`.
pub const PAGE_ITEMS: usize = 1_000;
/// A page of `GET /queue` ends when its items have this many bytes, about.
pub const PAGE_BYTES: usize = 8 * 1024 * 1024;

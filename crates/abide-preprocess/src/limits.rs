//! Every bound of this service.

/// Bytes of a queue message: what queues of this kind carry.
pub const MESSAGE_BYTES: usize = 128_000;
/// Bytes of a manifest.
pub const MANIFEST_BYTES: u64 = 512 * 1024 * 1024;
/// Bytes of what a manifest says about one file.
pub const FILE_BYTES: usize = 8 * 1024;
/// Files that one call brings.
pub const FILES_PER_CALL: usize = 300;
/// Bytes of what one call brings.
pub const CALL_BYTES: usize = 160 * 1024;
/// Tasks that one turn hands to launchers.
pub const HANDED_PER_TURN: usize = 300;
/// Tasks that one turn of a reset stops.
pub const CANCELLED_PER_TURN: usize = 300;
/// Tasks or files on one page.
pub const PAGE_ITEMS: usize = 500;
/// Bytes of a batch's id.
pub const BATCH_ID_BYTES: usize = 128;
/// Attempts to start a machine or process for one attempt of a task.
pub const LAUNCH_ATTEMPTS: u32 = 5;
/// Attempts to read a manifest: a message's delivery and three more.
pub const MANIFEST_ATTEMPTS: u32 = 4;
/// Attempts to deliver a finished batch, over about two days.
pub const DELIVERY_ATTEMPTS: u32 = 300;
/// Attempts to empty staging.
pub const SWEEP_ATTEMPTS: u32 = 20;
/// Bytes of one input that a worker takes.
pub const INPUT_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Pages of one report.
pub const REPORT_PAGES: usize = 10_000;
/// Bytes of a callback: a report of that many pages with texts, under names as long as people give.
pub const REPORT_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of what a report says of its performance; more is not kept.
pub const PERFORMANCE_BYTES: usize = 16 * 1024;
/// Pages of a report that one call brings and one row holds. One turn writes the files that they become: an image and a text
/// each, a row for either, and two for a task about it.
pub const PAGES_PER_PART: usize = 100;
/// Bytes of them.
pub const PART_BYTES: usize = 128 * 1024;
/// Blobs of one report that are looked for at a time.
pub const LOOKS_AT_A_TIME: usize = 32;
/// Bytes that must be free where workers and buckets write before a worker is started.
pub const ROOM_BYTES: u64 = 8 * 1024 * 1024;
/// How long nothing is started where there is no room.
pub const ROOM_REST_MS: i64 = 5_000;

//! Every bound of the sync protocol, in one place.

/// Events in one push, and in one page of a pull: what the published clients send and take.
pub const EVENTS_PER_MESSAGE: usize = 100;
/// Bytes of one page of a pull. An event that is larger has a page of its own. Clients take up to 900,000; what a socket was
/// sent once it keeps room for, and there may be ten thousand.
pub const PAGE_BYTES: usize = 256 * 1024;
/// Bytes of one frame or body from a client.
pub const FRAME_BYTES: usize = 1024 * 1024;
/// Events that an author inside appends at once.
pub const EVENTS_PER_APPEND: usize = 1_000;
/// Bytes of the key of an append.
pub const APPEND_KEY_BYTES: usize = 512;
/// Keys of appends that are forgotten at a time.
pub const KEYS_FORGOTTEN: usize = 500;

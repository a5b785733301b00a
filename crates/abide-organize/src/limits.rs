//! Every bound of this service.

/// Bytes of a batch's id, and of a chunk's: both together are an object's name.
pub const ID_BYTES: usize = 200;
/// Directories of one request.
pub const PIS: usize = 100;
/// Files of one directory in one request.
pub const FILES: usize = 1_000;
/// Bytes of a custom prompt, and of guidance.
pub const PROMPT_BYTES: usize = 100_000;

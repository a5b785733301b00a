//! Every bound of reading and describing, in one place.

use std::time::Duration;

/// Bytes of text that are kept of one image.
pub const TEXT_BYTES: u64 = 256 * 1024;
/// Bytes of an image that a model is sent.
pub const IMAGE_BYTES: usize = 20 * 1024 * 1024;
/// Bytes of what `tesseract` says beside text.
pub const SAID_BYTES: u64 = 16 * 1024;
/// How long `tesseract` may take for one image.
pub const TESSERACT_WALL: Duration = Duration::from_secs(120);
/// Memory that it may hold.
pub const TESSERACT_MEMORY: u64 = 1024 * 1024 * 1024;
/// How long it may take to say which languages it has.
pub const TESSERACT_ASKED: Duration = Duration::from_secs(10);
/// Tokens that a model may read off one image.
pub const READING_TOKENS: u32 = 8_192;
/// Tokens of a record.
pub const RECORD_TOKENS: u32 = 4_096;
/// Tokens of a description.
pub const DESCRIPTION_TOKENS: u32 = 3_072;
/// Tokens of what a model is shown of a directory, unless somebody says otherwise.
pub const SHOWN_TOKENS: usize = 40_000;
/// Names, subjects and places of a record.
pub const SUBJECTS: usize = 8;
/// Names that a record has as creators.
pub const CREATORS: usize = 100;
/// Of them named in a description; the rest is counted.
pub const SIGNERS_NAMED: usize = 8;
/// Children that a description lists one by one.
pub const CHILDREN_LISTED: usize = 40;
/// Files that a description lists one by one.
pub const FILES_LISTED: usize = 12;

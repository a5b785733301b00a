//! Every bound of this service.

/// Bytes of a batch's id, and of a chunk's: both together are an object's name.
pub const ID_BYTES: usize = 200;
/// Directories of one request.
pub const PIS: usize = 100;
/// Files of one directory in one request.
pub const FILES: usize = 1_000;
/// Bytes of a custom prompt, and of guidance.
pub const PROMPT_BYTES: usize = 100_000;
/// Bytes of what a request says about one directory, contents of files apart: it is one row.
pub const DIRECTORY_BYTES: usize = 160 * 1024;
/// Bytes of a request, contents of files apart: it is one call.
pub const CALL_BYTES: usize = 1024 * 1024;
/// Bytes of a request that is kept as it is; contents of a larger one are kept as a blob.
pub const INLINE_BYTES: usize = 128 * 1024;
/// Bytes of a request over HTTP.
pub const REQUEST_BYTES: usize = 10 * 1024 * 1024;
/// Bytes of a file that are read; what is past them says nothing about where it belongs.
pub const FILE_BYTES: u64 = 256 * 1024;
/// Bytes of a reference that is read.
pub const REF_BYTES: u64 = 1024 * 1024;
/// Files that are read at a time, of one directory.
pub const READS: usize = 8;
/// Groups of earlier runs that are offered.
pub const EXISTING_GROUPS: usize = 100;
/// Files of a group of an earlier run that are looked at to see what is in it.
pub const EXISTING_FILES: usize = 20;
/// Bytes of one part of a callback: it is a message or a job's payload.
pub const CALLBACK_BYTES: usize = 120_000;
/// Bytes of a plan with the ids of its groups: what is told of a directory is a part of a callback.
pub const PLAN_BYTES: usize = 72 * 1024;
/// Bytes of what is told of a group beside its name, description and files.
pub const GROUP_ID_BYTES: usize = 400;
/// Bytes of how a directory was grouped.
pub const DESCRIPTION_BYTES: usize = 6_000;
/// Bytes of what is in a group.
pub const GROUP_DESCRIPTION_BYTES: usize = 2_000;
/// Names of files that answers left out, in what is told.
pub const MISSING_FILES: usize = 50;
/// Warnings that are kept of one directory.
pub const WARNINGS: usize = 50;
/// Bytes of one warning.
pub const WARNING_BYTES: usize = 300;
/// Components that change in one version.
pub const CHANGES: usize = 500;
/// How often a directory is published again because its files changed meanwhile.
pub const PUBLISH_ROUNDS: usize = 5;
/// How often somebody else may be faster to change a directory, in one attempt.
pub const CONFLICTS: usize = 100;
/// Attempts to publish a directory.
pub const PUBLISH_ATTEMPTS: u32 = 6;
/// Directories that are begun in one turn.
pub const BEGIN_AT_ONCE: usize = 16;
/// Parts of a directory that are read at the same time.
pub const READ_AT_ONCE: usize = 8;
/// Bytes of an answer that is kept.
pub const ANSWER_BYTES: usize = 200 * 1024;
/// Answers that are kept: two for each directory.
pub const ANSWERS: usize = 2 * PIS;
/// How long a callback may take.
pub const CALLBACK_MS: u64 = 30_000;

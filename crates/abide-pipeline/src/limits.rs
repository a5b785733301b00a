//! Every bound of this service.

/// Bytes of a message: what queues of this kind carry.
pub const MESSAGE_BYTES: usize = 128_000;
/// Characters of one custom prompt.
pub const PROMPT_CHARS: usize = 60_000;
/// Characters of all custom prompts.
pub const PROMPTS_CHARS: usize = 80_000;
/// Bytes of all custom prompts, written as JSON: the rest of a message must fit beside them.
pub const PROMPT_BYTES: usize = 100_000;
/// Bytes of a custom note: what an entity takes.
pub const NOTE_BYTES: usize = 4 * 1024;
/// Bytes of a manifest.
pub const MANIFEST_BYTES: u64 = 512 * 1024 * 1024;
/// Directories of one batch.
pub const DIRECTORIES: u32 = 1_000_000;
/// Levels of directories.
pub const DEPTH: usize = 100;
/// Files of one directory: what an entity takes, less what the phases add.
pub const FILES_PER_DIRECTORY: u32 = 9_900;
/// Directories or files that one call brings.
pub const ITEMS_PER_CALL: usize = 300;
/// The same for a batch that has some: everything that each of them is in changes with it.
pub const NEW_PER_CALL: usize = 60;
/// Bytes of what one call brings.
pub const CALL_BYTES: usize = 160 * 1024;
/// Nodes that one turn looks at.
pub const NODES_PER_TURN: usize = 100;
/// Jobs that one turn cancels.
pub const CANCELLED_PER_TURN: usize = 500;
/// Items on one page.
pub const PAGE_ITEMS: usize = 500;
/// Notes kept of a batch: they are in the row that every turn writes.
pub const NOTES: usize = 50;
/// Bytes of one of them.
pub const NOTE_CHARS: usize = 400;
/// Bytes of a text that is given to a model or the built-in, of one file.
pub const CONTEXT_FILE_BYTES: usize = 256 * 1024;
/// Bytes of all texts that are given to a model or the built-in, of one node.
pub const CONTEXT_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an image that is read.
pub const IMAGE_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a ref.
pub const REF_BYTES: usize = 4 * 1024 * 1024;
/// Attempts to find the files of a batch.
pub const DISCOVER_ATTEMPTS: u32 = 4;
/// How long nothing may come for an upload until it counts as abandoned.
pub const ABANDONED_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

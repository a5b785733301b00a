//! How batches behave.

use crate::away::Away;
use crate::upload::Limits;

/// How batches behave: the numbers of the configuration, by the names that the routes' clients know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Directories whose images are read at a time: `BATCH_SIZE_OCR`.
    pub batch_size_ocr: u32,
    /// Images of each of them that are read at a time: `OCR_CHUNK_SIZE`.
    pub ocr_chunk_size: u32,
    /// Requests to the organizer at a time: `BATCH_SIZE_REORGANIZATION`.
    pub batch_size_reorganization: u32,
    /// Directories whose metadata is extracted at a time: `BATCH_SIZE_METADATA`, `BATCH_SIZE_PINAX`.
    pub batch_size_pinax: u32,
    /// Directories that are described at a time: `BATCH_SIZE_DESCRIPTION`.
    pub batch_size_description: u32,
    /// Directories whose entities are made at a time.
    pub batch_size_discovery: u32,
    /// Attempts of a phase at one directory: `MAX_DIRECTORY_RETRIES`.
    pub max_directory_retries: u32,
    /// With fewer files a directory is left as it is: `MIN_FILES_FOR_REORGANIZATION`.
    pub min_files: u32,
    /// With more files a directory is organized in parts: `MAX_FILES_FOR_ORGANIZER`.
    pub max_files: u32,
    /// How long an answer of the organizer is awaited: `CALLBACK_TIMEOUT_MS`.
    pub callback_timeout_ms: i64,
    /// Who organizes; what [`Setup`](crate::Setup) says of that counts.
    pub organizer: Organizer,
    /// Who else does other phases; what [`Setup`](crate::Setup) says of that counts.
    pub away: Away,
    /// How large files and batches may be that are uploaded.
    pub uploads: Limits,
}

/// Who organizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Organizer {
    /// The object of this engine, by message.
    Here,
    /// Somebody else, by HTTP: `ORGANIZER_URL`.
    Elsewhere,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            batch_size_ocr: 10,
            ocr_chunk_size: 10,
            batch_size_reorganization: 5,
            batch_size_pinax: 5,
            batch_size_description: 5,
            batch_size_discovery: 8,
            max_directory_retries: 3,
            min_files: 3,
            max_files: 50,
            callback_timeout_ms: 900_000,
            organizer: Organizer::Here,
            away: Away::default(),
            uploads: Limits::default(),
        }
    }
}

//! How batches go through the pipeline.

section! {
    /// How batches go through the pipeline.
    pipeline: Pipeline {
        /// Directories of a batch whose images are read at a time.
        batch_size_ocr: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(10),
            aliases: &["BATCH_SIZE_OCR"],
        }
        /// Images of each of them that are read at a time.
        ocr_chunk_size: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(10),
            aliases: &["OCR_CHUNK_SIZE"],
        }
        /// Requests of a batch to the organizer at a time.
        batch_size_reorganization: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(5),
            aliases: &["BATCH_SIZE_REORGANIZATION"],
        }
        /// Directories of a batch whose metadata is extracted at a time.
        batch_size_metadata: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(5),
            aliases: &["BATCH_SIZE_METADATA", "BATCH_SIZE_PINAX"],
        }
        /// Directories of a batch that are described at a time.
        batch_size_description: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(5),
            aliases: &["BATCH_SIZE_DESCRIPTION"],
        }
        /// Accepted, and without effect: knowledge graphs are not extracted.
        batch_size_cheimarros: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(3),
            aliases: &["BATCH_SIZE_CHEIMARROS"],
        }
        /// Accepted, and without effect: nothing here polls.
        alarm_delay_ocr_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(3_000),
            aliases: &["ALARM_DELAY_OCR"],
        }
        /// Accepted, and without effect: nothing here polls.
        alarm_delay_reorganize_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(3_000),
            aliases: &["ALARM_DELAY_REORGANIZATION"],
        }
        /// Attempts of a phase at one directory.
        max_directory_retries: u32 = {
            kind: Kind::Integer { min: 1, max: 100 },
            default: DefaultValue::Integer(3),
            aliases: &["MAX_DIRECTORY_RETRIES"],
        }
        /// With fewer files a directory is left as it is.
        min_files: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(3),
            aliases: &["MIN_FILES_FOR_REORGANIZATION"],
        }
        /// With more files a directory is organized in parts.
        max_files: u32 = {
            kind: Kind::Integer { min: 3, max: 500 },
            default: DefaultValue::Integer(50),
            aliases: &["MAX_FILES_FOR_ORGANIZER"],
        }
        /// How long an answer of the organizer is awaited.
        callback_timeout_ms: i64 = {
            kind: Kind::Integer { min: 1_000, max: 86_400_000 },
            default: DefaultValue::Integer(900_000),
            aliases: &["CALLBACK_TIMEOUT_MS"],
        }
        /// URL of an organizer of somebody else; empty for this server's own.
        organizer_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["ORGANIZER_URL"],
        }
        /// Token that it wants; empty for none.
        organizer_token: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            secret: true,
        }
        /// URL of a service of somebody else that reads images; empty for this server's own.
        ocr_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["OCR_URL"],
        }
        /// URL of a service of somebody else that extracts metadata; empty for this server's own.
        pinax_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["PINAX_URL"],
        }
        /// URL of a service of somebody else that describes; empty for this server's own.
        description_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["DESCRIPTION_URL"],
        }
        /// More tokens of texts and children than this, and metadata is extracted without what was read off images.
        ocr_text_token_threshold: usize = {
            kind: Kind::Integer { min: 0, max: 100_000_000 },
            default: DefaultValue::Integer(10_000),
            aliases: &["OCR_TEXT_TOKEN_THRESHOLD"],
        }
        /// How long URLs are good to which files are uploaded, in seconds.
        presigned_url_expiry_s: u64 = {
            kind: Kind::Integer { min: 1, max: 604_800 },
            default: DefaultValue::Integer(3_600),
            aliases: &["PRESIGNED_URL_EXPIRY"],
        }
        /// Largest file that is uploaded.
        max_file_size: u64 = {
            kind: Kind::Integer { min: 1, max: 1 << 50 },
            default: DefaultValue::Integer(5 << 30),
            aliases: &["MAX_FILE_SIZE"],
        }
        /// Largest batch that is uploaded.
        max_batch_size: u64 = {
            kind: Kind::Integer { min: 1, max: 1 << 50 },
            default: DefaultValue::Integer(100 << 30),
            aliases: &["MAX_BATCH_SIZE"],
        }
    }
}

//! How batches of scans are preprocessed.

section! {
    /// How batches of scans are preprocessed.
    preprocess: Preprocess {
        /// URL under which workers reach the routes of preprocessing; empty for this server's own.
        orchestrator_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["ORCHESTRATOR_URL"],
        }
        /// URL that finished batches are delivered to; empty for nobody.
        worker_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["WORKER_URL"],
        }
        /// Tasks of a batch in TIFF_CONVERSION that are with the launcher at a time.
        batch_size_tiff: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_TIFF_CONVERSION"],
        }
        /// How often a batch in TIFF_CONVERSION is looked at, beside every callback.
        alarm_delay_tiff_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_TIFF_CONVERSION"],
        }
        /// How long one attempt of a task in TIFF_CONVERSION may take.
        task_timeout_tiff_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(60_000),
            aliases: &["TASK_TIMEOUT_TIFF_CONVERSION"],
        }
        /// Memory of a worker in TIFF_CONVERSION.
        memory_tiff_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(1_024),
        }
        /// Tasks of a batch in PDF_SPLITTING that are with the launcher at a time.
        batch_size_pdf: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_PDF_SPLITTING"],
        }
        /// How often a batch in PDF_SPLITTING is looked at, beside every callback.
        alarm_delay_pdf_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_PDF_SPLITTING"],
        }
        /// How long one attempt of a task in PDF_SPLITTING may take.
        task_timeout_pdf_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(600_000),
            aliases: &["TASK_TIMEOUT_PDF_SPLITTING"],
        }
        /// Memory of a worker in PDF_SPLITTING.
        memory_pdf_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(2_048),
        }
        /// Tasks of a batch in IMAGE_PROCESSING that are with the launcher at a time.
        batch_size_image: usize = {
            kind: Kind::Integer { min: 1, max: 100_000 },
            default: DefaultValue::Integer(1_000),
            aliases: &["BATCH_SIZE_IMAGE_PROCESSING"],
        }
        /// How often a batch in IMAGE_PROCESSING is looked at, beside every callback.
        alarm_delay_image_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(5_000),
            aliases: &["ALARM_DELAY_IMAGE_PROCESSING"],
        }
        /// How long one attempt of a task in IMAGE_PROCESSING may take.
        task_timeout_image_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 86_400_000 },
            default: DefaultValue::Integer(120_000),
            aliases: &["TASK_TIMEOUT_IMAGE_PROCESSING"],
        }
        /// Memory of a worker in IMAGE_PROCESSING.
        memory_image_mb: u32 = {
            kind: Kind::Integer { min: 64, max: 1_048_576 },
            default: DefaultValue::Integer(2_048),
        }
        /// The longest wait after a phase could start nothing.
        alarm_delay_error_retry_ms: i64 = {
            kind: Kind::Integer { min: 100, max: 3_600_000 },
            default: DefaultValue::Integer(30_000),
            aliases: &["ALARM_DELAY_ERROR_RETRY"],
        }
        /// Failures of a phase itself, one after the other, that end a batch.
        max_retry_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(5),
            aliases: &["MAX_RETRY_ATTEMPTS"],
        }
        /// Attempts of one task.
        task_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 100 },
            default: DefaultValue::Integer(3),
        }
        /// How long staging is kept after a batch was delivered.
        staging_kept_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 31_536_000_000 },
            default: DefaultValue::Integer(604_800_000),
        }
        /// Dots per inch of PDF pages that are drawn.
        pdf_dpi: u16 = {
            kind: Kind::Integer { min: 72, max: 600 },
            default: DefaultValue::Integer(300),
        }
        /// URL at which assets are registered; empty for nowhere.
        cdn_api_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["CDN_API_URL"],
        }
        /// URL under which a CDN serves assets; empty for this server.
        cdn_public_url: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
            aliases: &["CDN_PUBLIC_URL"],
        }
    }
}

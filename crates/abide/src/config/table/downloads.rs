//! How downloads run.

section! {
    /// How downloads run.
    downloads: Downloads {
        /// Directory that files go to; empty for downloads in the data directory.
        out: String = {
            kind: Kind::Text,
            default: DefaultValue::Text(""),
        }
        /// Bytes that stay free on the disk of that directory; a download waits until there is room.
        reserve_bytes: u64 = {
            kind: Kind::Integer { min: 0, max: 1 << 50 },
            default: DefaultValue::Integer(abide_fetch::limits::DISK_FLOOR_BYTES as i64),
        }
        /// Downloads at the same time; with 0 the server runs none and leaves them to queue run.
        workers: usize = {
            kind: Kind::Integer { min: 0, max: 256 },
            default: DefaultValue::Integer(abide_downloads::WORKERS as i64),
            aliases: &["DTKG_ORCHESTRATOR__MAX_WORKERS"],
        }
        /// Downloads at the same time from one host, until the limit host:* is set.
        max_per_host: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(abide_downloads::PER_HOST as i64),
            aliases: &["DTKG_ORCHESTRATOR__MAX_PER_HOST"],
        }
        /// Failures after which a download is a dead letter, until the queue's policy is set.
        max_attempts: u32 = {
            kind: Kind::Integer { min: 1, max: 1_000 },
            default: DefaultValue::Integer(3),
            aliases: &["DTKG_ORCHESTRATOR__MAX_JOB_ATTEMPTS"],
        }
        /// Wait before the second attempt; it doubles with each failure, until the queue's policy is set.
        retry_backoff_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(60_000),
        }
        /// The longest wait between attempts, until the queue's policy is set.
        retry_backoff_max_ms: i64 = {
            kind: Kind::Integer { min: 0, max: 86_400_000 },
            default: DefaultValue::Integer(600_000),
        }
        /// How long queue run waits for its server to come back before it goes on without one.
        server_away_ms: u64 = {
            kind: Kind::Integer { min: 0, max: 3_600_000 },
            default: DefaultValue::Integer(60_000),
        }
    }
}

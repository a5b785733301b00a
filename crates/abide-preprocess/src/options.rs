//! How the service behaves.

use crate::phases;
use abide_blob::Signer;
use std::collections::BTreeMap;

/// How tasks of one phase are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhaseSettings {
    /// Tasks of a batch that are with launchers at a time: `BATCH_SIZE_…`.
    pub batch_size: usize,
    /// How often a running phase is looked at, beside every callback: `ALARM_DELAY_…`.
    pub alarm_delay_ms: i64,
    /// How long one attempt may take from the start of its machine or process: `TASK_TIMEOUT_…`.
    pub task_timeout_ms: i64,
    /// The memory of its machine, or of its process.
    pub memory_mb: u32,
}

impl PhaseSettings {
    /// What phases start from.
    pub const DEFAULT: PhaseSettings =
        PhaseSettings { batch_size: 1_000, alarm_delay_ms: 5_000, task_timeout_ms: 60_000, memory_mb: 1_024 };
}

/// How batches behave.
#[derive(Debug, Clone)]
pub struct Options {
    /// By the phase's name; a phase that is not here has its own settings.
    pub settings: BTreeMap<&'static str, PhaseSettings>,
    /// The longest wait after a failure of a phase: `ALARM_DELAY_ERROR_RETRY`.
    pub error_retry_ms: i64,
    /// Failures of a phase itself, one after the other, that end a batch: `MAX_RETRY_ATTEMPTS`.
    pub max_retry_attempts: u32,
    /// Attempts of one task.
    pub task_attempts: u32,
    /// Whether workers write to the disks of this machine, which are everybody's, and not to disks of their own.
    pub shares_disk: bool,
    /// Whether finished batches are delivered to somebody.
    pub delivers: bool,
    /// How long staging is kept after delivery.
    pub staging_kept_ms: i64,
    /// The kind of object that is told of finished batches, if there is one: `pipeline`.
    pub tell: Option<String>,
    /// The kind of object that is asked before the staging of a batch is emptied that was delivered, if there is one: `ingest`. The
    /// delivery may have been to this very server, which reads it then.
    pub ask: Option<String>,
    /// Checks callbacks.
    pub signer: Signer,
}

impl Options {
    /// Everything as it is by default, with this key for callbacks.
    #[must_use]
    pub fn new(signer: Signer) -> Options {
        Options {
            settings: BTreeMap::new(),
            error_retry_ms: 30_000,
            max_retry_attempts: 5,
            task_attempts: 3,
            shares_disk: true,
            delivers: false,
            staging_kept_ms: 7 * 24 * 60 * 60 * 1_000,
            tell: None,
            ask: None,
            signer,
        }
    }

    /// The settings of a phase.
    #[must_use]
    pub fn settings_of(&self, phase: &dyn phases::Phase) -> PhaseSettings {
        self.settings.get(phase.name()).copied().unwrap_or_else(|| phase.settings())
    }
}

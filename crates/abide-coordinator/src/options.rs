//! Options: how the coordinator behaves.

use abide_core::time::Clock;
use abide_engine::clock::SystemClock;
use std::sync::Arc;

/// How the coordinator behaves.
#[derive(Clone)]
pub struct Options {
    /// How long a finished item is kept when it is not among the newest.
    pub retain_finished_for_ms: i64,
    /// Items of mode `queue` that are processed at a time.
    pub slots: usize,
    /// How often an item of mode `queue` is tried again before it is a dead letter.
    pub retries: u32,
    /// What the worker stamps with.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            retain_finished_for_ms: 60 * 60 * 1000,
            slots: 10,
            retries: 3,
            clock: Arc::new(SystemClock::new()),
        }
    }
}

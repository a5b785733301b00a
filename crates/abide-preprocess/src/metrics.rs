//! What the service counts: a few numbers that only grow, and one that shows what is under way.

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::time::Instant;

/// Numbers since the process began.
#[derive(Debug, Default)]
pub struct Metrics {
    spawned: AtomicU64,
    in_flight: AtomicU64,
    callbacks: AtomicU64,
    callbacks_failed: AtomicU64,
    runs: AtomicU64,
    run_ms: AtomicU64,
    bytes_in: AtomicU64,
    pixels: AtomicU64,
}

/// The numbers at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Numbers {
    /// Workers that were started.
    pub spawned_total: u64,
    /// Workers at it now.
    pub in_flight: u64,
    /// Callbacks that told of success.
    pub callbacks_succeeded_total: u64,
    /// Callbacks that told of failure.
    pub callbacks_failed_total: u64,
    /// Workers that ended.
    pub runs_total: u64,
    /// Milliseconds from the start of a worker to its end, which follows its callback, of all that ended.
    pub run_ms_total: u64,
    /// Bytes of inputs that workers were started on.
    pub input_bytes_total: u64,
    /// Pixels of what they made, as far as workers say.
    pub pixels_total: u64,
}

/// A worker under way: it counts until this is dropped.
pub(crate) struct InFlight<'a> {
    metrics: &'a Metrics,
    began: Instant,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.metrics.runs.fetch_add(1, Ordering::Relaxed);
        self.metrics.run_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A worker is started on an input of so many bytes.
    pub(crate) fn spawned(&self, input_bytes: u64) -> InFlight<'_> {
        self.bytes_in.fetch_add(input_bytes, Ordering::Relaxed);
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { metrics: self, began: Instant::now() }
    }

    /// A worker called back, having made so many pixels.
    pub fn called_back(&self, succeeded: bool, pixels: u64) {
        let counted = if succeeded { &self.callbacks } else { &self.callbacks_failed };
        counted.fetch_add(1, Ordering::Relaxed);
        self.pixels.fetch_add(pixels, Ordering::Relaxed);
    }

    /// The numbers now.
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Numbers {
            spawned_total: read(&self.spawned),
            in_flight: read(&self.in_flight),
            callbacks_succeeded_total: read(&self.callbacks),
            callbacks_failed_total: read(&self.callbacks_failed),
            runs_total: read(&self.runs),
            run_ms_total: read(&self.run_ms),
            input_bytes_total: read(&self.bytes_in),
            pixels_total: read(&self.pixels),
        }
    }
}

//! What the service counts: a few numbers that only grow, and one that shows what is under way.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers since the process began.
#[derive(Debug, Default)]
pub struct Metrics {
    spawned: AtomicU64,
    in_flight: AtomicU64,
    callbacks: AtomicU64,
    callbacks_failed: AtomicU64,
    callback_ms: AtomicU64,
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
    /// Milliseconds from the start of a worker to its callback, of all that called back.
    pub callback_latency_ms_total: u64,
    /// Bytes of inputs of tasks that succeeded.
    pub input_bytes_total: u64,
    /// Pixels of what they made, as far as workers say.
    pub pixels_total: u64,
}

/// A worker under way: it counts until this is dropped.
pub struct InFlight<'a>(&'a Metrics);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A worker is started.
    pub(crate) fn spawned(&self) -> InFlight<'_> {
        self.spawned.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(self)
    }

    /// A worker called back with success.
    pub fn succeeded(&self, latency_ms: u64, input_bytes: u64, pixels: u64) {
        self.callbacks.fetch_add(1, Ordering::Relaxed);
        self.callback_ms.fetch_add(latency_ms, Ordering::Relaxed);
        self.bytes_in.fetch_add(input_bytes, Ordering::Relaxed);
        self.pixels.fetch_add(pixels, Ordering::Relaxed);
    }

    /// A worker called back with a failure.
    pub fn failed(&self) {
        self.callbacks_failed.fetch_add(1, Ordering::Relaxed);
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
            callback_latency_ms_total: read(&self.callback_ms),
            input_bytes_total: read(&self.bytes_in),
            pixels_total: read(&self.pixels),
        }
    }
}

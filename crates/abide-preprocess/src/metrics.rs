//! What the service counts: a few numbers that only grow, and one that shows what is under way.

use crate::calls::AttemptRef;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;

/// Numbers since the process began.
#[derive(Debug, Default)]
pub struct Metrics {
    spawned: AtomicU64,
    in_flight: AtomicU64,
    callbacks: AtomicU64,
    callbacks_failed: AtomicU64,
    callback_ms: AtomicU64,
    // When each worker that is under way was started, by its attempt: locked for a lookup at a time.
    began: Mutex<HashMap<String, Instant>>,
    runs: AtomicU64,
    run_ms: AtomicU64,
    bytes_in: AtomicU64,
    pixels: AtomicU64,
}

/// The numbers at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Numbers {
    /// Workers that were started, not those that could not be.
    pub spawned_total: u64,
    /// Workers at it now: those that are there, not those that wait for room.
    pub in_flight: u64,
    /// Callbacks that told of success.
    pub callbacks_succeeded_total: u64,
    /// Callbacks that told of failure.
    pub callbacks_failed_total: u64,
    /// Milliseconds from the start of workers to their callbacks, of all that called back.
    pub callback_ms_total: u64,
    /// Workers that ended.
    pub runs_total: u64,
    /// Milliseconds from the start of a worker to its end, which follows its callback, of all that ended.
    pub run_ms_total: u64,
    /// Bytes of inputs that workers were started on.
    pub input_bytes_total: u64,
    /// Pixels of what they made, as far as workers say.
    pub pixels_total: u64,
}

/// When a worker was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Started {
    /// Just now.
    Now,
    /// Before this process was.
    Before,
}

/// A worker under way: it counts until this is dropped.
pub(crate) struct InFlight<'a> {
    metrics: &'a Metrics,
    attempt: String,
    began: Instant,
    started: Started,
}

impl InFlight<'_> {
    /// The worker has ended, which is more than that nobody looks after it any more.
    pub(crate) fn ended(self) {
        // How long one took that was there before is not known.
        if self.started == Started::Now {
            self.metrics.runs.fetch_add(1, Ordering::Relaxed);
            self.metrics.run_ms.fetch_add(ms_since(self.began), Ordering::Relaxed);
        }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut began = self.metrics.began.lock().unwrap_or_else(PoisonError::into_inner);
        began.remove(&self.attempt);
        drop(began);
        self.metrics.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

fn key(attempt: &AttemptRef) -> String {
    format!("{}/{}/{}", attempt.life.0, attempt.task_id, attempt.attempt)
}

impl Metrics {
    /// A worker is at an attempt, on an input of so many bytes.
    pub(crate) fn at_it(&self, attempt: &AttemptRef, input_bytes: u64, started: Started) -> InFlight<'_> {
        let (now, key) = (Instant::now(), key(attempt));
        if started == Started::Now {
            self.began.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), now);
            self.bytes_in.fetch_add(input_bytes, Ordering::Relaxed);
            self.spawned.fetch_add(1, Ordering::Relaxed);
        }
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight { metrics: self, attempt: key, began: now, started }
    }

    /// The worker of an attempt called back and was believed, having made so many pixels. If it was not started by this
    /// process, the batch says how long it took.
    pub(crate) fn called_back(&self, attempt: &AttemptRef, succeeded: bool, pixels: u64, took_ms: u64) {
        let began = self.began.lock().unwrap_or_else(PoisonError::into_inner).get(&key(attempt)).copied();
        self.callback_ms.fetch_add(began.map_or(took_ms, ms_since), Ordering::Relaxed);
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
            callback_ms_total: read(&self.callback_ms),
            runs_total: read(&self.runs),
            run_ms_total: read(&self.run_ms),
            input_bytes_total: read(&self.bytes_in),
            pixels_total: read(&self.pixels),
        }
    }
}

fn ms_since(began: Instant) -> u64 {
    u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)
}

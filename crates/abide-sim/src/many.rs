//! Many seeds, on several threads.

use crate::counts::Counts;
use crate::outcome::{Failure, Report};
use crate::plan::Plan;
use crate::run as run_one;
use crate::world::{CRASHES, EVENTS};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So many seeds must show every fault and transition.
pub const ENOUGH: u64 = 1_000;

/// What many seeds came to.
#[derive(Debug, Default)]
pub struct Sum {
    /// Seeds that ran.
    pub seeds: u64,
    /// Events of all of them.
    pub events: u64,
    /// Engines that died.
    pub crashes: u64,
    /// How often each fault and transition happened.
    pub counts: Counts,
    /// Seeds in which something did not happen that must in every one.
    pub without: Vec<(u64, &'static str)>,
    /// Seeds with fewer events or crashes than a seed has at least.
    pub short: Vec<u64>,
    /// The first seed that failed, if one did.
    pub failure: Option<Failure>,
}

impl Sum {
    fn add(&mut self, result: Result<Report, Failure>) {
        self.seeds += 1;
        match result {
            Ok(report) => {
                self.events += report.events;
                self.crashes += report.crashes;
                self.counts.add(&report.counts);
                if report.events < EVENTS || report.crashes < CRASHES {
                    self.short.push(report.seed);
                }
                self.without.extend(report.counts.missing_in_seed().map(|name| (report.seed, name)));
            }
            Err(failure) => {
                if self.failure.as_ref().is_none_or(|first| first.seed > failure.seed) {
                    self.failure = Some(failure);
                }
            }
        }
    }
}

/// Runs seeds `from..from + count` with `threads` threads; stops when one has failed.
#[must_use]
pub fn run(from: u64, count: u64, threads: usize, plan: &Plan) -> Sum {
    // Shared by the threads of one call; held for one addition at a time.
    let sum = Mutex::new(Sum::default());
    let next = AtomicU64::new(from);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        return;
                    }
                    let result = run_one(seed, plan);
                    failed.fetch_or(result.is_err(), Ordering::Relaxed);
                    if let Ok(mut sum) = sum.lock() {
                        sum.add(result);
                    }
                }
            });
        }
    });
    sum.into_inner().unwrap_or_default()
}

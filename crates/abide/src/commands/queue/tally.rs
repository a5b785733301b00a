//! What a run has done, and how much more it may do.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_core::job::{AttemptEnd, Finish, JobId, JobState, Lease, RetryWish};
use abide_engine::{JobContext, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// What became of the jobs that were tried here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Ended {
    pub(super) done: u64,
    pub(super) skipped: u64,
    /// For good.
    pub(super) failed: u64,
    /// Failed, and wait to be tried again.
    pub(super) to_retry: u64,
    /// How often one was given back unfinished.
    pub(super) handed_back: u64,
    /// Of the files that were saved.
    pub(super) bytes: u64,
}

/// Shared by everything that runs jobs in one run. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    // Locked for an addition at a time.
    state: Mutex<State>,
    used_up: Notify,
}

#[derive(Debug, Default)]
struct State {
    ended: Ended,
    /// Jobs whose last attempt here failed and was not the last of all.
    waiting: BTreeSet<JobId>,
    running: u64,
    /// Jobs that may still start; none if there is no bound.
    budget: Option<u64>,
}

impl Tally {
    /// At most `budget` jobs.
    pub(super) fn new(budget: Option<u64>) -> Tally {
        Tally(Arc::new(Shared {
            state: Mutex::new(State { budget, ..State::default() }),
            used_up: Notify::new(),
        }))
    }

    /// What has ended so far.
    pub(super) fn ended(&self) -> Ended {
        let state = self.lock();
        Ended { to_retry: state.waiting.len() as u64, ..state.ended }
    }

    /// How many more jobs may start, if that is bounded.
    pub(super) fn budget(&self) -> Option<u64> {
        self.lock().budget
    }

    /// Resolves when as many jobs as are allowed have run.
    pub(super) async fn used_up(&self) {
        loop {
            let notified = self.0.used_up.notified();
            if self.lock().is_used_up() {
                return;
            }
            notified.await;
        }
    }

    fn start(&self) -> bool {
        let mut state = self.lock();
        let may = state.budget != Some(0);
        if may {
            state.running += 1;
            state.budget = state.budget.map(|budget| budget - 1);
        }
        may
    }

    fn end(&self, lease: &Lease, finish: &Finish) {
        let mut state = self.lock();
        state.running -= 1;
        if is_uncounted(finish) {
            state.budget = state.budget.map(|budget| budget + 1);
        }
        if state.ended.add(lease, finish) {
            state.waiting.insert(lease.lease.job);
        } else if finish.end != AttemptEnd::HandedBack {
            state.waiting.remove(&lease.lease.job);
        }
        if state.is_used_up() {
            self.0.used_up.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each step leaves the counts whole, so a panic elsewhere under the lock spoils nothing.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_used_up(&self) -> bool {
        self.budget == Some(0) && self.running == 0
    }
}

#[derive(Deserialize)]
struct Size {
    #[serde(default)]
    size: u64,
}

impl Ended {
    /// Whether the job waits for another attempt.
    fn add(&mut self, lease: &Lease, finish: &Finish) -> bool {
        match lease.becomes(&finish.end) {
            JobState::Done => self.done += 1,
            JobState::Skipped => self.skipped += 1,
            JobState::Failed => self.failed += 1,
            JobState::Scheduled => return true,
            JobState::Ready | JobState::Running | JobState::Cancelled => self.handed_back += 1,
        }
        if let AttemptEnd::Done { result } = &finish.end {
            self.bytes += result.decode::<Size>().map_or(0, |result| result.size);
        }
        false
    }

    /// Jobs that are over.
    pub(super) fn over(&self) -> u64 {
        self.done + self.skipped + self.failed
    }
}

/// Whether the attempt is as if it had not been.
fn is_uncounted(finish: &Finish) -> bool {
    match finish.end {
        AttemptEnd::HandedBack | AttemptEnd::Error { retry: RetryWish::UncountedAfterMs(_), .. } => true,
        AttemptEnd::Done { .. } | AttemptEnd::Skipped { .. } | AttemptEnd::Error { .. } => false,
    }
}

/// A worker whose attempts are counted, and which starts no more than it may.
#[derive(Clone)]
pub(super) struct Counted<W> {
    pub(super) worker: W,
    pub(super) tally: Tally,
}

impl<W: Worker + Clone> Worker for Counted<W> {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let Counted { worker, tally } = self.clone();
        // Counted before it is first looked at: whoever asks for more jobs knows of this one.
        let may_run = tally.start();
        Box::pin(async move {
            if !may_run {
                // The run ends as soon as those before it have ended, and then this is handed back.
                job.stopped().await;
                return AttemptEnd::HandedBack.into();
            }
            let lease = job.lease().clone();
            let finish = worker.run(job).await;
            tally.end(&lease, &finish);
            finish
        })
    }
}

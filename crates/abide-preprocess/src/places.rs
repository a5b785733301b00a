//! Places for workers. When the process ends, workers of this machine that have one may finish and call back, no more are
//! started, and who takes too long is stopped.

use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// How long a job that comes after the end is held: whoever stops the engine comes at once.
const HELD: Duration = Duration::from_millis(100);

/// Whether workers are started, and let be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// They are.
    Open,
    /// None is started any more.
    Ending,
    /// And none is let be.
    Over,
}

/// The places, and whether they may be taken.
#[derive(Debug)]
pub(crate) struct Places {
    // Phases of different batches share what this machine has.
    places: Semaphore,
    count: u32,
    stage: watch::Sender<Stage>,
}

impl Places {
    pub(crate) fn new(count: usize) -> Places {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        Places { places: Semaphore::new(count as usize), count, stage: watch::channel(Stage::Open).0 }
    }

    fn is(&self, stage: Stage) -> bool {
        *self.stage.borrow() == stage
    }

    /// A place for a worker, once one is free; none if no more are started.
    pub(crate) async fn take(&self) -> Option<SemaphorePermit<'_>> {
        if !self.is(Stage::Open) {
            return None;
        }
        let place = self.places.acquire().await.ok()?;
        self.is(Stage::Open).then_some(place)
    }

    /// Resolves when no worker is let be any more: after a moment if that was so before, so that a job that is handed back and
    /// comes again does so seldom.
    pub(crate) async fn over(&self) {
        if self.is(Stage::Over) {
            tokio::time::sleep(HELD).await;
        }
        // The sender is here as long as we are.
        drop(self.stage.subscribe().wait_for(|stage| *stage == Stage::Over).await);
    }

    /// Starts no more workers and waits for those that are at it, at most so long; then they are stopped.
    pub(crate) async fn end(&self, patience: Duration) {
        self.stage.send_replace(Stage::Ending);
        drop(tokio::time::timeout(patience, self.places.acquire_many(self.count)).await);
        self.stage.send_replace(Stage::Over);
        // Who is stopped leaves its place.
        drop(self.places.acquire_many(self.count).await);
    }
}

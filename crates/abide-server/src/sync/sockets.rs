//! How many sockets there are, and waiting until none is left.

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sockets at a time. They are not counted as connections: an idle one costs a file and some KiB.
const SOCKETS: u32 = 16_384;

/// The places for sockets.
pub(crate) struct Sockets(Arc<Semaphore>);

impl Sockets {
    pub(crate) fn new() -> Sockets {
        Sockets(Arc::new(Semaphore::new(SOCKETS as usize)))
    }

    /// A place for one more, if there is one.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        SOCKETS as usize - self.0.available_permits()
    }

    /// Resolves when all are closed, or `patience` is over.
    pub(crate) async fn closed(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.0.acquire_many(SOCKETS)).await.is_err() {
            tracing::info!(target: "sync", sockets = self.count(), "sockets that did not close were cut off");
        }
    }
}

//! How many sockets there are, what they may take together, and waiting until none is left.

use super::page_room::PageRoom;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Pages that are read at a time: what is read of the log for one is more than goes into it.
const READ_AT_ONCE: usize = 4;

/// The places for sockets.
pub(crate) struct Sockets {
    places: Arc<Semaphore>,
    max: u32,
    pages: PageRoom,
    bodies: PageRoom,
    reads: Semaphore,
}

impl Sockets {
    pub(crate) fn new(max: u32) -> Sockets {
        Sockets {
            places: Arc::new(Semaphore::new(max as usize)),
            max,
            pages: PageRoom::of_sockets(),
            bodies: PageRoom::of_bodies(),
            reads: Semaphore::new(READ_AT_ONCE),
        }
    }

    /// A place for one more, if there is one.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// The room for pages on their way to them.
    pub(crate) fn pages(&self) -> &PageRoom {
        &self.pages
    }

    /// The room for pages in answers over HTTP.
    pub(crate) fn bodies(&self) -> &PageRoom {
        &self.bodies
    }

    /// A turn to read a page from the store, until it is dropped.
    pub(crate) async fn reading(&self) -> SemaphorePermit<'_> {
        self.reads.acquire().await.expect("nobody closes it")
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.max as usize - self.places.available_permits()
    }

    /// Resolves when all are closed, or `patience` is over.
    pub(crate) async fn closed(&self, patience: Duration) {
        if tokio::time::timeout(patience, self.places.acquire_many(self.max)).await.is_err() {
            tracing::info!(target: "sync", sockets = self.count(), "sockets that did not close were cut off");
        }
    }
}

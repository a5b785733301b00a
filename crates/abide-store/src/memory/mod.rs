//! A store in memory: the contract as a program.
//!
//! It is written to be read beside `docs/store.md`, one noun per file, and holds other stores to what it does. State
//! lives as long as some handle on it does, so an engine may end and another begin on the same store.

mod alarms;
mod attempts;
mod check;
mod claim;
mod commit;
mod events;
mod follows;
mod jobs;
mod lanes;
mod limits;
mod messages;
mod objects;
mod prune;
mod queues;
mod reads;
mod state;
mod tickets;
mod views;
mod why;

use crate::{Answer, Batch, Read, Reader, Store, StoreError, Write};
use abide_core::time::Time;
pub use check::Broken;
use state::State;
use std::sync::{Arc, Mutex, MutexGuard};

/// A handle on a store in memory. Its clones and readers share one state.
///
/// The state is behind a lock because several engines and their readers use it at once, as they would a file.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Another store with the same state as this one has now. What happens to one does not happen to the other.
    pub fn fork(&self) -> Result<MemoryStore, StoreError> {
        Ok(MemoryStore { state: Arc::new(Mutex::new(self.lock()?.clone())) })
    }

    /// Whether every counter and index equals what it counts, and nothing waits at a limit that has room.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        match self.lock() {
            Ok(state) => state.check(),
            Err(error) => Err(Broken::new(error.to_string())),
        }
    }

    fn lock(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        self.state.lock().map_err(|_| StoreError::Corrupt("a write to memory ended in a panic".into()))
    }
}

impl Store for MemoryStore {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        Ok(self.lock()?.write(now, batch))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(self.clone()))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Reader for MemoryStore {
    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError> {
        Ok(self.lock()?.read(now, read))
    }
}

//! A memory store that checks itself after every write.

use abide_core::time::Time;
use abide_store::memory::MemoryStore;
use abide_store::{Batch, Reader, Store, StoreError, Write};

#[derive(Debug, Default)]
pub(crate) struct Checked(MemoryStore);

impl Store for Checked {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        let written = self.0.write(now, batch);
        self.0.check_invariants().expect("the state holds together");
        written
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        self.0.reopen()
    }
}

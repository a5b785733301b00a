//! What Abide asks of a store, and a store in memory that says exactly what that means.
//!
//! What it is for: the contract ([`Store`], [`Reader`]) as domain verbs ([`Write`], [`Read`]), each atomic by itself;
//! the memory store, which is the contract's executable specification; the suite that every backend passes.
//! What it knows: the words and decisions of `abide-core`.
//! What it does not know: SQL, files, connections, threads, the engine.
//! Where to enter: [`write::Write`] and [`read::Read`], then [`memory::MemoryStore`].

pub mod error;
pub mod memory;
pub mod read;
#[cfg(feature = "suite")]
pub mod suite;
pub mod view;
pub mod write;

use abide_core::time::Time;
pub use error::StoreError;
pub use read::{Answer, Read};
use std::time::Duration;
pub use write::{Batch, Write, Written};

/// A place where objects, jobs and logs are durable.
///
/// `now` is the caller's wall time. A store never lets its own time run backwards: it uses the latest time it has
/// seen, across restarts, and says in [`Batch::at`] which time it used. (A database server uses its own clock.)
pub trait Store: Send {
    /// Applies every write in order, each by itself accepted or refused, and makes all of them durable together.
    ///
    /// On `Ok` everything accepted survives power loss. On an error other than [`StoreError::Ambiguous`] nothing of the
    /// batch was applied.
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError>;

    /// How long the last batch took to become durable once it was applied, if the store takes the time.
    fn last_sync(&self) -> Option<Duration> {
        None
    }

    /// A reader that works beside the writer and sees only what is durable.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Starts afresh after an ambiguous write: what is durable now is the truth.
    fn reopen(&mut self) -> Result<(), StoreError>;
}

/// Reads, each from one snapshot.
pub trait Reader: Send {
    /// Answers one question.
    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError>;
}

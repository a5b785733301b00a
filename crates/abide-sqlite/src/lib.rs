//! A store on one SQLite file.
//!
//! What it is for: [`abide_store::Store`] on `abide.db` in a data directory, with nothing else installed; and the data
//! directory itself, which one process owns.
//! What it knows: SQL, files, locks. One connection writes, in one transaction per batch; others read beside it.
//! What it does not know: engines, threads, the clock.
//! Where to enter: [`DataDir::open`], then [`SqliteStore::open`]; [`backup`] and [`restore`].

mod alarms;
mod backup;
mod commit;
mod data_dir;
mod db;
mod dead;
mod due;
mod error;
mod events;
mod follows;
mod headers;
mod held;
mod job_list;
mod job_views;
mod jobs;
mod limits;
mod load;
mod messages;
mod meta;
mod migrate;
mod objects;
mod open;
#[cfg(test)]
mod plans;
mod prune;
mod queues;
mod reader;
mod store;
mod tickets;
mod views;
mod wal;
mod why;
mod workers;
mod writer;

pub use backup::{BackupDone, BackupError, OwnRow, backup, restore};
pub use data_dir::{DataDir, OwnerInfo, has_data};
pub use error::OpenError;
pub use store::{Counts, SqliteStore};

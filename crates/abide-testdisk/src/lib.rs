//! A disk in memory that loses power and fails, for SQLite.
//!
//! What it is for: finding out whether what was called durable is. A file has what programs see and what has reached the
//! platter; what lies between them is lost in part, torn or reordered when the power goes.
//! What it knows: files, names, locks, memory shared by connections, and how each of them fails.
//! What it does not know: stores, engines. No program that people run has it: only tests and the simulator name it.
//! Where to enter: [`TestDisk::new`]; `disk` for what a disk does, `vfs` for how SQLite reaches it.

mod disk;
mod file;
mod locks;
mod shm;
mod vfs;

pub use disk::{Syncs, Trouble};
pub use vfs::TestDisk;

//! The SQLite store, by its public door.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod child;
mod counts;
mod data_dir;
mod faults;
mod kill;
mod leftovers;
mod lists;
mod open;
mod snapshot;
mod suite;
mod world;

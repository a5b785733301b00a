//! The SQLite store, by its public door.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod backup;
mod child;
mod counts;
mod data_dir;
mod faults;
mod kill;
mod leftovers;
mod lists;
mod million;
mod open;
mod power;
mod snapshot;
mod suite;
mod world;

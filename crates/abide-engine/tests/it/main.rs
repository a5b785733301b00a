//! The engine, entered by its public door: a world with virtual time, and the real threads on SQLite.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod driver;
mod fairness;
mod faults;
mod machine;
mod objects;
mod orders;
mod schema;
mod threads;
mod turns;

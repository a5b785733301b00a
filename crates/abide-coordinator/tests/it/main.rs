//! The coordinator, entered by its public door: calls in a world with virtual time, and the real engine with its worker.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod clear;
mod crashes;
mod dead;
mod guide;
mod migration;
mod modes;
mod processor;
mod rerun;
mod results;
mod tasks;
mod threads;
mod trim;
mod validation;
mod world;

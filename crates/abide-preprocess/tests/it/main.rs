//! The preprocessing service, entered by its public door: calls in a world with virtual time.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod assets;
mod batches;
mod callbacks;
mod cost;
mod crashes;
mod fly;
mod local;
mod made;
mod manifests;
mod new_phase;
mod pages;
mod tasks;
mod worker;
mod world;

//! Entities, entered by their public door: objects in a world with virtual time, and the store on a real engine.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod files;
mod local;
mod symmetry;
mod versions;
mod world;

//! The whole server over real HTTP on a store in memory.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod access;
mod calls;
mod client;
mod coordinator;
mod dead;
mod docs;
mod errors;
mod events;
mod hostile;
mod jobs;
mod limits;
mod lists;
mod metrics;
mod objects;
mod openapi;
mod queues;
mod remote;
mod server;
mod toy;

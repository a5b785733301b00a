//! The whole server over real HTTP on a store in memory.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

mod access;
mod calls;
mod client;
mod collections;
mod coordinator;
mod dead;
mod docs;
mod entities;
mod errors;
mod events;
mod hostile;
mod jobs;
mod limits;
mod links;
mod lists;
mod metrics;
mod objects;
mod openapi;
mod organizer;
mod page;
mod queues;
mod remote;
mod server;
mod site;
mod sync;
mod sync_access;
mod sync_client;
mod sync_http;
mod sync_stay;
mod toy;
mod wire;

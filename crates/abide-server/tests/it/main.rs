//! The whole server over real HTTP on a store in memory.

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

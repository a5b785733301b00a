//! The whole server over real HTTP on a store in memory.

mod calls;
mod client;
mod dead;
mod docs;
mod errors;
mod events;
mod hostile;
mod jobs;
mod limits;
mod metrics;
mod objects;
mod openapi;
mod queues;
mod remote;
mod server;
mod toy;

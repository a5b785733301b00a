//! The whole server over real HTTP on a store in memory.

mod calls;
mod client;
mod dead;
mod docs;
mod errors;
mod hostile;
mod jobs;
mod limits;
mod objects;
mod queues;
mod remote;
mod server;
mod toy;

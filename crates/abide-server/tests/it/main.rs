//! The whole server over real HTTP on a store in memory.

mod access;
mod calls;
mod client;
mod coordinator;
mod dead;
mod docs;
mod errors;
mod hostile;
mod jobs;
mod limits;
mod lists;
mod objects;
mod queues;
mod remote;
mod server;
mod toy;

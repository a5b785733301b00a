//! Event-log sync and the reactive link processor.
//!
//! What it is for: `sync/{store_id}` keeps the log of events that clients of a store push and pull; who may do so is
//! decided in [`auth`]. `links/{store_id}` follows that log, fetches and summarizes the links in it, and writes what it found
//! back as an ordinary author.
//! What it knows: the engine's objects and logs, the wire format of sync clients, tokens and keys, pages.
//! What it does not know: HTTP, sockets, stores, other services.
//! Where to enter: [`sync::SyncLog`] for the log, [`event`] for what is in it, [`auth::Authority`] for who may see it,
//! [`processor::Processor`] for the links, [`page`] for reading one.

pub mod auth;
pub mod bookmarks;
pub mod event;
mod hash;
mod html_feed;
pub mod identity;
pub mod limits;
pub mod page;
pub mod processor;
mod stamp;
pub mod sync;
mod tag;

//! The sync backend: one linear log of events for each store, and the wire format in which clients push and pull it.
//!
//! [`SyncLog`] is the object `sync/{store_id}`: its log is the store's events, one entry each. [`frame`] reads what clients
//! send and [`answer`] writes what they get; `docs/sync-protocol.md` is the whole format in words. Sockets are the server's.

pub mod answer;
mod calls;
pub mod frame;
pub mod limits;
mod log;
pub mod page;
mod refusal;

pub use calls::{Ahead, Call, Opened, OtherBackend, Push, Pushed, Reply};
pub use log::{BACKEND, SyncLog};
pub use refusal::{KEY_REUSED, No};

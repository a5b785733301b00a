//! Events of a store's log, and what its `sync` and `links` objects send each other.
//!
//! An entry of the log of `sync/{store_id}` is one [`Event`], exactly as clients push and pull it. Whoever writes from
//! inside sends `sync/{store_id}` a [`ToSync::Append`]: the object gives the events their numbers on top of its head, so
//! an author inside never has to rebase.

use abide_core::json::Json;
use abide_core::name::BadName;
use abide_core::object::ObjectKey;
use serde::{Deserialize, Serialize};

/// The kind of the objects that own a store's log.
pub const SYNC: &str = "sync";
/// The kind of the objects that process a store's links.
pub const LINKS: &str = "links";

/// One event as it is in the log and on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened, with the version of its shape: `v1.LinkCreated`.
    pub name: String,
    /// The details, unchanged.
    #[serde(default = "Json::null")]
    pub args: Json,
    /// Its number: 1, 2, 3 …
    pub seq_num: i64,
    /// The number before it.
    pub parent_seq_num: i64,
    /// Which client wrote it.
    pub client_id: String,
    /// In which of its sessions.
    pub session_id: String,
}

/// An event that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// What happened.
    pub name: String,
    /// The details.
    #[serde(default = "Json::null")]
    pub args: Json,
}

/// What `sync/{store_id}` is sent by objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToSync {
    /// Write these events behind the head.
    Append(Append),
    /// Say how far the log goes, for somebody who must have read all of it: [`ToLinks::Head`] is the answer.
    AskHead {
        /// Who asks.
        session: String,
    },
}

/// Events by an author inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Append {
    /// Which, in order.
    pub events: Vec<NewEvent>,
    /// Who writes.
    pub client_id: String,
    /// In which session.
    pub session_id: String,
    /// A second append with the same key changes nothing.
    pub key: String,
}

/// What `links/{store_id}` is sent by its `sync/{store_id}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToLinks {
    /// There may be something to do: look. Sent on a push that has one of [`POKES`], and never with data.
    Poke,
    /// By itself: begin links that wait.
    Begin,
    /// So far the log went when it was asked.
    Head {
        /// Who asked.
        session: String,
        /// The number of its last event.
        head: i64,
    },
}

/// Events for which the processor is poked.
pub const POKES: [&str; 3] = ["v1.LinkCreated", "v2.LinkCreated", "v1.LinkReprocessRequested"];

/// The object that owns the log of a store.
pub fn sync(store_id: &str) -> Result<ObjectKey, BadName> {
    ObjectKey::new(SYNC, store_id)
}

/// The object that processes the links of a store.
pub fn links(store_id: &str) -> Result<ObjectKey, BadName> {
    ObjectKey::new(LINKS, store_id)
}

//! What can be asked of `sync/{store_id}`, and what it answers.

use crate::event::Append;
use abide_core::json::Json;
use abide_core::object::Incarnation;
use serde::{Deserialize, Serialize};

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Call {
    /// Which log this is and how far it goes. The first call of all makes the store.
    Open,
    /// Append events that a client numbered.
    Push(Push),
    /// Append events of an author inside, numbered by the store.
    Append(Append),
}

/// Events that a client numbered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Push {
    /// Which, in order.
    pub batch: Vec<Pushed>,
    /// Which log the client means; any if it has not heard of one yet.
    pub backend_id: Option<String>,
}

/// An event as a client sent it: what it is in the log and what every client gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// What happened.
    pub name: String,
    /// The details, to the letter: clients recognise their own events by them. Absent stays absent.
    #[serde(default, deserialize_with = "Json::present", skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// Its number.
    pub seq_num: i64,
    /// The number before it.
    pub parent_seq_num: i64,
    /// Which client wrote it.
    pub client_id: String,
    /// In which of its sessions.
    pub session_id: String,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reply {
    /// To [`Call::Open`].
    Opened(Opened),
    /// The events are in the log, which ends here.
    Appended {
        /// The last number.
        head: i64,
    },
    /// The log has events that the client has not seen. Nothing changed.
    Ahead(Ahead),
    /// The client means another log. Nothing changed.
    OtherBackend(OtherBackend),
}

/// Which log this is and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opened {
    /// The log's id: another one after the store was wiped.
    pub backend_id: String,
    /// The number of its last event; 0 if it is empty.
    pub head: i64,
    /// The life of the object that owns it.
    pub life: Incarnation,
}

/// The log is further than the client thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ahead {
    /// What the first parent must be.
    pub minimum_expected_num: i64,
    /// What it was.
    pub provided_num: i64,
}

/// The client means another log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherBackend {
    /// The id of this one.
    pub expected: String,
    /// The id the client has.
    pub received: String,
}

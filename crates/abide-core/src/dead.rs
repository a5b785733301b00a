//! Dead letters: what used up its attempts. Kept, listed, replayable.

use crate::event::Sender;
use crate::json::Json;
use crate::name::AlarmName;
use crate::object::{Incarnation, ObjectKey};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Names a dead letter of an object. (A job's dead letter is the job itself, in state `failed`.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeadId(pub i64);

/// The error of a dead letter that was running in too many unclean exits.
pub const CRASHED: &str = "it was running each time when the engine ended without warning";

/// An event whose turns all failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Its id.
    pub id: DeadId,
    /// Whose turn failed.
    pub object: ObjectKey,
    /// The life it was bound to, if it was.
    pub incarnation: Option<Incarnation>,
    /// What the turn ran for.
    pub event: DeadEvent,
    /// The last error.
    pub error: String,
    /// Failed turns.
    pub failures: u32,
    /// Unclean exits in which it was running.
    pub crashes: u32,
    /// When it was given up.
    pub died_at: Time,
}

/// What a dead letter's turn ran for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeadEvent {
    /// A message. Replay sends it again.
    Message {
        /// Who sent it.
        from: Option<Sender>,
        /// What it says.
        body: Json,
    },
    /// A job's outcome. Replay delivers it again.
    Outcome {
        /// The outcome.
        body: Json,
    },
    /// An alarm. Replay sets it for now.
    Alarm {
        /// Which.
        name: AlarmName,
        /// When it was set for.
        at: Time,
    },
    /// The next entries of a followed log. Replay goes on where it stopped.
    Entries {
        /// Whose log.
        source: ObjectKey,
    },
}

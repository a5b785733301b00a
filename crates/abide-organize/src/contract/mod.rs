//! What goes over the wire: requests, replies, and the callback that says what came of a request.
//!
//! Two generations of clients are understood: one sends entity ids alone, the other files and tips with them. What is sent
//! back has the fields of both.
//!
//! # How a callback is delivered
//!
//! A request that came as a *message* ([`ToOrganizer::Process`]) is answered with a message to the life of the object that sent it
//! ([`FromOrganizer::OrganizerCallback`]): delivered once, by the engine. A request over HTTP is answered by a job that posts the
//! payload to `{orchestrator}/callback/organizer/{batch_id}`, as often as is allowed, and is a dead letter then. Either way the
//! object keeps its state.

mod callback;
mod request;
mod status;
mod sync;

pub use callback::{
    CallbackPayload, CallbackStatus, GroupEntity, LlmMetrics, NewPi, PiResult, PiStatus, ProcessingConfig,
    Spend, StrategizeResult, Summary, Tokens,
};
pub(crate) use request::at_most;
pub use request::{
    BadRequest, ExistingGroup, FileInput, FileMetadata, Operation, PiRequest, ProcessRequest, StrategizeInput,
};
pub use status::{OrganizerKind, Phase, ProcessReply, Progress, Standing, StatusReply};
pub use sync::{OrganizeRequest, OrganizeResponse, StrategizeRequest, StrategizeResponse};

use serde::{Deserialize, Serialize};

/// The component that says for people how a directory was reorganized.
pub const DESCRIPTION_FILE: &str = "reorganization-description.txt";
/// The same for programs, by chunk: what [`DESCRIPTION_FILE`] is written from, whatever the order in which chunks finish.
pub const DESCRIPTION_SOURCE: &str = "reorganization-description.json";
/// Components that services of ours write: they are no files of the directory, and are never grouped.
pub const OWN_COMPONENTS: [&str; 6] = [
    "pinax.json",
    "cheimarros.json",
    "description.md",
    DESCRIPTION_FILE,
    DESCRIPTION_SOURCE,
    "relationships",
];
/// With fewer files than this a directory is left as it is.
pub const MIN_FILES: usize = 3;

/// What other objects send to `organizer/{batch_id}:{chunk_id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToOrganizer {
    /// Do this, and send the callback to the sender. Contents of files do not fit a message: name the files, and they are read
    /// off the entity.
    Process(Box<ProcessRequest>),
    /// Say how far the request is, to the sender.
    HowFar {
        /// Which part of the batch.
        chunk_id: String,
    },
    /// Nothing is wanted of the request any more: what is not over is stopped, and nobody is told.
    Cancel {
        /// Why.
        reason: String,
    },
}

/// What an organizer sends to the object that asked by message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromOrganizer {
    /// What came of a request; a refused one has the status `error` and no results.
    OrganizerCallback(Box<CallbackPayload>),
    /// How far a request is, to who asked for that.
    OrganizerPhase {
        /// Which part of the batch.
        chunk_id: String,
        /// Where it is; none if there is no such request.
        phase: Option<Phase>,
    },
}

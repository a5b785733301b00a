//! A batch of files into an organized, described tree of entities.
//!
//! What it is for: a `pipeline/{batch_id}` takes the directories of a batch through phases: entities are made of them, images
//! read, files put into groups, metadata extracted, descriptions written.
//! What it knows: the engine, entities, preprocessing, what the organizer is asked.
//! What it does not know: HTTP routes, configuration, models; what does the work is behind the traits of [`work`].
//! Where to enter: [`contract`] for everything that others agree with it on; [`Pipeline`] for the object, `flow.rs` for what moves
//! a batch forward, `phases/` for what a phase does, `answers.rs` for what the organizer says; [`work`] for the jobs; [`upload`]
//! for files that come over HTTP; [`Service`] for what runs it all.
//!
//! # Rows
//!
//! | row | what |
//! |---|---|
//! | `state` | where the batch is, its directories and files counted |
//! | `message` | the message as it came |
//! | `node/{place}` | a directory |
//! | `pi/{id}` | the place of the directory with that entity |
//! | `kid/{place}/{place}` | a child of a directory |
//! | `file/{place}/{name}` | a file of a directory |
//! | `todo/{place}` | a directory that the phase has not taken in hand |
//! | `kids_done/{phase}/{place}` | how many children are through with a phase that goes from the bottom up |
//! | `made/{phase}/{place}` | what was made for a directory and is to be published |
//! | `live/{key}` | a job that is under way |
//! | `chunk/{place}/{number}`, `ready/…`, `said/…` | a part that the organizer is asked about, that it can be sent, what came of it |
//! | `sent/{chunk_id}`, `due/{time}/{chunk_id}` | a request that is awaited, and until when |
//! | `away/{chunk_id}` | a request to a service of somebody else that reads, extracts or describes |
//! | `guidance/{place}`, `groups/{place}` | what the parts of a directory go by, and groups that it had before |
//!
//! What one answer or end of a job reads and writes does not depend on how large the batch is.

mod again;
mod answers;
mod away;
mod callbacks;
pub mod calls;
pub mod chunk;
mod config;
pub mod contract;
mod flow;
pub mod ids;
pub mod limits;
mod message;
mod node;
mod options;
pub mod orders;
mod phases;
mod pipeline;
mod prompts;
mod refusal;
mod rows;
mod service;
mod show;
mod site;
mod state;
pub mod status;
pub mod tree;
pub mod upload;
pub mod work;

pub use away::{Away, ServiceCallback, ServiceRequest, ServiceResult, ServiceStatus};
pub use callbacks::CallbackError;
pub use calls::{Call, ToPipeline};
pub use config::ProcessingConfig;
pub use flow::Note;
pub use message::{BadMessage, IngestMessage, PiNode};
pub use node::{FileKind, FileRecord, Node, NodeDocument};
pub use options::{Options, Organizer};
pub use pipeline::Pipeline;
pub use prompts::{BadPrompts, CustomPrompts};
pub use refusal::No;
pub use rows::MadeRow;
pub use service::{Service, ServiceUrls, Setup};
pub use site::Site;

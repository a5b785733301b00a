//! A batch of files into an organized, described tree of entities.
//!
//! What it is for: a `pipeline/{batch_id}` takes the directories of a batch through phases: entities are made of them, images
//! read, files put into groups, metadata extracted, descriptions written.
//! What it knows: the engine, entities, preprocessing, what the organizer is asked.
//! What it does not know: HTTP routes, configuration, models; what does the work is behind the traits of [`work`].
//! Where to enter: [`contract`] for everything that others agree with it on.

mod answers;
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
pub use service::{Service, Setup};
pub use site::Site;

//! A batch of files into an organized, described tree of entities.
//!
//! What it is for: a `pipeline/{batch_id}` takes the directories of a batch through phases: entities are made of them, images
//! read, files put into groups, metadata extracted, descriptions written.
//! What it knows: the engine, entities, preprocessing, what the organizer is asked.
//! What it does not know: HTTP routes, configuration, models; what does the work is behind the traits of [`work`].
//! Where to enter: [`contract`] for everything that others agree with it on.

pub mod chunk;
mod config;
pub mod contract;
pub mod ids;
pub mod limits;
mod message;
mod node;
pub mod orders;
mod prompts;
pub mod status;
pub mod work;

pub use config::ProcessingConfig;
pub use message::{BadMessage, IngestMessage, PiNode};
pub use node::{FileKind, FileRecord, Node, NodeDocument};
pub use prompts::{BadPrompts, CustomPrompts};

//! Folders of files into named groups.
//!
//! What it is for: deciding which files of a directory belong together and saying why, by a model within a budget of
//! tokens, or without any model; and making entities of the groups. An `organizer/{batch_id}:{chunk_id}` takes a request with
//! directories and tells whoever asked what came of it.
//! What it knows: names and contents of files; how a model's answer is checked and repaired; the engine, entities, models.
//! What it does not know: HTTP routes, stores, configuration.
//! Where to enter: [`contract`] for what goes over the wire, [`Organizer`] for the object, [`Service`] for what runs its jobs and
//! what routes need; [`builtin::organize`] needs no model; [`budget`] and [`prompt`] make what a model is asked, [`check`]
//! makes what it answers safe to act on.
//!
//! # Rows
//!
//! | row | what |
//! |---|---|
//! | `state` | where the request is and who is told |
//! | `prompts` | what the owner wants |
//! | `pi/{place}` | where a directory is and what it cost |
//! | `ask/{place}` | what the request says about it |
//! | `plan/{place}` | how it is grouped, before anything is published |
//! | `result/{place}` | what came of it |
//! | `strategy` | what came of a request to strategize |
//! | `answer/{question}` | an answer that was paid for: the question is not asked again |

pub mod builtin;
pub mod check;
pub mod contract;
pub mod limits;
pub mod names;
pub mod prompt;

pub mod calls;
pub mod jobs;
pub mod spending;
pub mod work;

mod file;
mod flow;
mod group_id;
mod options;
mod organizer;
mod paid;
mod plan;
mod refusal;
mod report;
mod rows;
mod service;
mod text;

pub use abide_llm::budget;
pub use file::{FileKind, InputFile, REF_SUFFIX};
pub use group_id::group_id;
pub use options::Options;
pub use organizer::{Organizer, Sent};
pub use paid::Paid;
pub use plan::{Group, Plan};
pub use refusal::No;
pub use rows::{Asked, Prompts, Task};
pub use service::{FaultOf, Service, ServiceError, Site};
pub use spending::Spending;
pub use text::decoded;

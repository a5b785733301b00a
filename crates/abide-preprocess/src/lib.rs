//! Scans in, web images and page files out, on parallel workers.
//!
//! What it is for: a `preprocess/{batch_id}` takes the files of a manifest through phases, each file of a phase a task that
//! a machine or process does and reports by callback; in the end every input is converted, passed through or failed with
//! a reason, and the files are handed over.
//! What it knows: the engine's objects and jobs, buckets and signatures of `abide-blob`, conversions of `abide-media`.
//! What it does not know: HTTP routes, stores, configuration.
//! Where to enter: [`Batch`]; [`Call`] for what can be asked; `task.rs` for the life of a task (a pure table); [`phases`] for
//! what is done with files; [`Service`] for what runs the jobs of batches, [`launch`] for what runs workers; [`worker`] for
//! the worker itself, which knows its environment and nothing of batches.
//!
//! # Rows
//!
//! | row | what |
//! |---|---|
//! | `batch` | where the batch is, its tasks counted by phase, its inputs counted by how they ended |
//! | `message` | the queue message as it came |
//! | `file/{place}` | a file as it is now; those of inputs also say how the input fared |
//! | `task/{phase}/{place}` | a file through a phase |
//! | `todo/{phase}/{place}` | a task that nobody has begun |
//! | `live/{phase}/{place}` | a task with a launcher, and the key of its job |
//! | `parts/{phase}/{place}`, `part/{phase}/{place}/{from}` | a report that is too long for one row, until its pages are files |
//!
//! What one callback reads and writes does not depend on how many tasks there are: the task, its file, its input, the
//! state.

pub mod asset;
mod attempt;
mod batch;
mod buckets;
mod callback;
pub mod calls;
pub mod file;
mod flow;
mod handover;
mod holder;
pub mod jobs;
pub mod launch;
pub mod limits;
mod made;
pub mod manifest;
mod memory;
mod message;
mod metrics;
mod options;
mod parts;
pub mod phases;
mod places;
mod refusal;
pub mod report;
mod rows;
mod service;
mod show;
mod site;
mod state;
mod task;
mod work;
pub mod worker;

pub use batch::{Batch, ToBatch};
pub use buckets::{Buckets, Lent, Which};
pub use callback::CallbackError;
pub use calls::Call;
pub use flow::{Note, Spread};
pub use holder::Holder;
pub use memory::machine_memory_mb;
pub use message::{BadMessage, BatchId, QueueMessage};
pub use metrics::{Metrics, Numbers};
pub use options::{Options, PhaseSettings};
pub use refusal::No;
pub use report::Report;
pub use service::{Credentials, Originals, Service, Setup, Telling};
pub use site::Site;
pub use state::{Counts, Delivery, Ledger, State, Step};
pub use task::{Moved, Task, TaskEvent, TaskStatus};

use abide_core::time::Time;

/// A time as the routes of this service write it: `2026-01-15T10:30:00.000Z`.
#[must_use]
pub fn iso(time: Time) -> String {
    match jiff::Timestamp::from_millisecond(time.0) {
        Ok(timestamp) => timestamp.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        Err(_) => time.to_string(),
    }
}

//! Work items that are processed by queue or directly.
//!
//! What it is for: a `coordinator/{name}` takes work items, has each processed once and keeps what came of it;
//! `processor/{name}` beside it processes directly and counts. It is the first service and the model for the others.
//! What it knows: the engine's objects, messages, alarms and jobs.
//! What it does not know: HTTP, stores, other services. Who may do what is the server's affair.
//! Where to enter: [`register`]; [`Call`] for what can be asked; `item.rs` for the life of a work item (a pure table);
//! [`process`] for the only outside work. `docs/writing-a-service.md` teaches by this crate.
//!
//! # Routes
//!
//! A server decodes with the constructor, calls the object and sends the reply as it is: it is the answer's JSON. An
//! [`Invalid`] body is status 400 with [`InvalidAnswer`]; a [`No`] carries its class.
//!
//! | route under `/coordinator/{name}` | call | answer |
//! |---|---|---|
//! | `GET /` | [`Call::Status`] | [`StatusAnswer`] |
//! | `GET /queue?after=&limit=` | [`Call::Queue`] with a [`Page`] from the query | [`QueueAnswer`] |
//! | `GET /queue/:workId` | [`Call::item`] | [`ItemAnswer`] |
//! | `POST /queue` | [`Call::submit`] | [`ItemAnswer`] |
//! | `POST /queue/batch` | [`Call::submit_batch`] | [`BatchAnswer`] |
//! | `POST /process/:workId` | [`Call::process`] | [`ProcessAnswer`] |
//! | `POST /result/:workId` | [`Call::result`], by [`ResultBy::Operator`] or [`ResultBy::read`] | [`SuccessAnswer`] |
//! | `GET /stats` | [`Call::Stats`] | [`StatsAnswer`] |
//! | `POST /clear` | [`Call::Clear`] | [`SuccessAnswer`] |
//!
//! | route under `/processor/{name}` | call | answer |
//! |---|---|---|
//! | `GET /` | [`ProcessorCall::Status`] | [`StatusAnswer`] |
//! | `GET /stats` | [`ProcessorCall::Stats`] | [`ProcessorStats`] |
//!
//! The log of a coordinator has a [`Change`] for each change of an item's status, for whoever shows them live.
//!
//! # Rows
//!
//! | row of a coordinator | what |
//! |---|---|
//! | `item/{place}` | one work item, in the order in which they came |
//! | `id/{work id}` | its place |
//! | `done/{finished at}/{place}` | a finished one, in the order in which they finished |
//! | `tally` | how many there are in each status, and the next place |
//!
//! | row of a processor | what |
//! |---|---|
//! | `waiting/{life}/{work id}` | an item that waits out its delay; an alarm has the same name |
//! | `counted/{life}/{work id}` | an item that was counted, so that it is counted once |
//! | `processCount` | how many |

pub mod calls;
mod coordinator;
mod fields;
mod invalid;
mod item;
mod items;
pub mod limits;
mod messages;
mod millis;
mod mode;
mod options;
pub mod process;
mod processor;
mod refusal;
mod replies;
mod report;
mod stamp;
mod submit;
mod tally;
mod trim;
mod work;

pub use calls::{Call, Page, ResultBy};
pub use coordinator::Coordinator;
pub use invalid::{Invalid, InvalidAnswer, Issue, IssueCode, Step};
pub use items::{Change, Place};
pub use messages::{ToCoordinator, ToProcessor, Work};
pub use millis::Millis;
pub use mode::Mode;
pub use options::Options;
pub use processor::{Processor, ProcessorCall, ProcessorReply, ProcessorStats};
pub use refusal::No;
pub use replies::{
    BatchAnswer, ItemAnswer, ProcessAnswer, QueueAnswer, Reply, StatsAnswer, StatusAnswer, SuccessAnswer,
};
pub use report::Report;
pub use stamp::{Stamp, Tag};
pub use submit::{Batch, Submit};
pub use work::{DeadLetter, ProcessorResult, QueueMessage, Status, WorkId, WorkItem, WorkPayload};

use abide_engine::Registry;
use abide_engine::registry::RegisterError;

/// The queue that items of mode `queue` go to.
pub const QUEUE: &str = "work-queue";
/// The kind of the jobs in it.
pub const PROCESS: &str = "process";

/// Brings the coordinator, the processor and the worker of [`QUEUE`] to an engine.
pub fn register(registry: &mut Registry, options: Options) -> Result<(), RegisterError> {
    registry.object(Coordinator::new(&options))?;
    registry.object(Processor)?;
    registry.worker(QUEUE, PROCESS, options.slots, process::Process::new(options.clock))
}

//! `links/{store_id}`: looks at the links of a store and does what there is to do.
//!
//! It wakes when poked, and believes nothing but the log: it follows `sync/{store_id}`, keeps what the log says as rows,
//! and derives from them which links are to be processed.
//!
//! | row | what |
//! |---|---|
//! | `session` | the id of its session, which life of the log it follows, and how far it has read |
//! | `link/{id}` | a link with its newest snapshot and summary, its status and its tags |
//! | `url/{hash}` | the first link with exactly this URL |
//! | `same/{hash}` | the link that stands for those that lead to the same page |
//! | `new/{state}/{place}`, `old/{state}/{place}` | links of a state, newest and oldest first |
//! | `tally` | how many links there are in each state |
//! | `tag/{id}`, `named/{name}` | a tag, and which one has this name |
//! | `naming/{name}` | a tag that is on its way to the log |
//! | `suggestion/{id}` | a tag that was suggested, and what became of it |
//! | `tagging/{id}` | which link and tag an event tied together |
//! | `todo/{id}` | a link that is to be begun |
//! | `hand/{id}` | a link whose duplicates are to get what came of it |
//! | `work/{id}` | a link that is under way: which attempt, and how far |
//! | `answer/{hash}` | what a model said about a text, and the question that it answers |
//! | `answered/{id}` | about which text of this link a model was asked last |
//! | `asked/{session}` | a request that waits until the whole log has been read |
//! | `passed-over` | how many events could not be projected, and which were the last |
//! | `adding/{hash}`, `wait/{session}` | somebody waits for what they wrote to come back by the log |

mod answers;
mod args;
mod asked;
pub mod calls;
mod catch_up;
mod changes;
mod duplicates;
pub mod fetch;
mod list;
mod object;
pub mod preview;
pub mod projection;
mod refusal;
pub mod rows;
mod sort;
pub mod summarize;
mod together;
mod work;

pub use calls::{Added, Call, Changes, Done, LinkView, Listed, NewLink, Query, Reply, State};
pub use object::Processor;
pub use refusal::{LARGE_ANSWER, NOT_DONE, No};

/// The queue of pages to fetch.
pub const FETCH_QUEUE: &str = "links-fetch";
/// The kind of jobs in it.
pub const FETCH: &str = "fetch";
/// The queue of texts to summarize.
pub const SUMMARIZE_QUEUE: &str = "links-summarize";
/// The kind of jobs in it.
pub const SUMMARIZE: &str = "summarize";
/// The client id of what the processor writes.
pub const PROCESSOR_CLIENT: &str = "link-processor-do";
/// The client id of what is written for requests. Each request is a session of its own.
pub const API_CLIENT: &str = "links-api";

use crate::limits::JOBS_AHEAD;
use abide_engine::Registry;
use abide_engine::registry::RegisterError;
use abide_fetch::Fetcher;
use abide_llm::Model;
use std::sync::Arc;

/// How links are processed.
pub struct Options {
    /// Fetches pages.
    pub fetcher: Fetcher,
    /// Summarizes; the built-in summarizer does if there is none.
    pub model: Option<Arc<dyn Model>>,
    /// Pages fetched at a time.
    pub metadata_lane: usize,
    /// Summaries made at a time.
    pub ai_lane: usize,
}

/// Brings the processor and its workers to an engine.
pub fn register(registry: &mut Registry, options: Options) -> Result<(), RegisterError> {
    registry.object(Processor)?;
    let Options { fetcher, model, metadata_lane, ai_lane } = options;
    let fetch = fetch::Fetch::new(fetcher, metadata_lane);
    registry.worker(FETCH_QUEUE, FETCH, metadata_lane + JOBS_AHEAD, fetch)?;
    let summarize = summarize::Summarize::new(model, ai_lane);
    registry.worker(SUMMARIZE_QUEUE, SUMMARIZE, ai_lane + JOBS_AHEAD, summarize)
}

//! The link processor: follows the logs of the sync backend.

use std::sync::Arc;

use abide_engine::clock::SystemClock;
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use abide_links::processor::{Options, register};
use abide_server::LinksService;

use super::Hosted;
use crate::failure::Failure;

/// Pages fetched at a time.
const METADATA_LANE: usize = 8;
/// Summaries made at a time.
const AI_LANE: usize = 3;

/// Summaries are made by the built-in summarizer.
pub(super) fn add(hosted: &mut Hosted) -> Result<(), Failure> {
    let clock = Arc::new(SystemClock::new());
    let fetcher = Fetcher::new(Guard::new(Reach::Public), FetchOptions::default(), clock)
        .map_err(|error| Failure::System(std::io::Error::other(error.to_string())))?;
    let options = Options { fetcher, model: None, metadata_lane: METADATA_LANE, ai_lane: AI_LANE };
    register(&mut hosted.registry, options)?;
    hosted.services.links = Some(LinksService);
    Ok(())
}

//! The link processor: follows the logs of the sync backend.

use abide_links::processor::preview::Preview;
use abide_links::processor::{Options, Processor, register};
use abide_server::LinksService;

use super::Hosted;
use super::downloads::fetcher;
use super::model::model;
use crate::config::Config;
use crate::failure::Failure;

pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let options = Options {
        fetcher: fetcher(config, config.downloads.max_per_host)?,
        model: model(&config.llm, &hosted.limiters, config.llm.timeout_ms)?,
        metadata_lane: config.links.metadata_lane,
        ai_lane: config.links.ai_lane,
    };
    register(&mut hosted.registry, options)?;
    add_routes(config, hosted)
}

/// The links can be looked at and changed; what is to be fetched waits for a server.
pub(super) fn add_idle(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    hosted.registry.object(Processor)?;
    add_routes(config, hosted)
}

fn add_routes(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    hosted.services.links =
        Some(LinksService { preview: Preview::new(fetcher(config, config.downloads.max_per_host)?) });
    Ok(())
}

//! The link processor: follows the logs of the sync backend.

use std::sync::Arc;

use abide_engine::clock::SystemClock;
use abide_links::processor::preview::Preview;
use abide_links::processor::{Options, Processor, register};
use abide_llm::{Client, Endpoint, Limiters, LlmError, Model, Price};
use abide_server::LinksService;

use super::Hosted;
use super::downloads::fetcher;
use crate::config::{Config, Llm};
use crate::failure::Failure;

pub(super) fn add(config: &Config, hosted: &mut Hosted) -> Result<(), Failure> {
    let options = Options {
        fetcher: fetcher(&config.fetch)?,
        model: model(&config.llm)?,
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
    hosted.services.links = Some(LinksService { preview: Preview::new(fetcher(&config.fetch)?) });
    Ok(())
}

/// The configured model; none if the built-in summarizer is to do.
fn model(config: &Llm) -> Result<Option<Arc<dyn Model>>, Failure> {
    if config.base_url.is_empty() {
        return Ok(None);
    }
    if config.model.is_empty() {
        let missing = "llm.base_url is set and llm.model is not: name one of its models".to_owned();
        return Err(Failure::Model(LlmError::Setup(missing)));
    }
    let endpoint = Endpoint {
        api_key: Some(config.api_key.clone()).filter(|key| !key.is_empty()),
        timeout_ms: config.timeout_ms,
        concurrency: config.concurrency,
        price: Price { input_micros: config.input_price_micros, output_micros: config.output_price_micros },
        budget_micros: Some(config.budget_micros).filter(|budget| *budget > 0),
        ..Endpoint::new(&config.base_url, &config.model)
    };
    let client = Client::new(endpoint, &Limiters::default(), Arc::new(SystemClock::new()));
    Ok(Some(Arc::new(client.map_err(Failure::Model)?)))
}

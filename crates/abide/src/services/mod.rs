//! The services that `abide serve` runs: each registers its objects and workers and brings what its routes need.

pub(crate) mod caps;
pub(crate) mod collections;
mod coordinator;
mod defaults;
pub(crate) mod describing;
pub(crate) mod downloads;
pub(crate) mod entities;
mod links;
pub(crate) mod model;
pub(crate) mod organizer;
pub(crate) mod pipeline;
pub(crate) mod preprocess;
pub(crate) mod spending;
pub(crate) mod sync;

use std::net::SocketAddr;
use std::sync::Arc;

use abide_engine::{Engine, Registry};
use abide_entities::EntityStore;
use abide_llm::Limiters;
use abide_server::Services;

use crate::config::Config;
use crate::export::Export;
use crate::failure::Failure;
use defaults::Defaults;
use describing::Crew;
use spending::ModelSpending;

/// What a service does once the engine runs and listens.
pub(crate) type AfterStart = Box<dyn FnOnce(&Started<'_>) + Send>;

/// What a service may use once everything runs.
pub(crate) struct Started<'a> {
    /// The engine.
    pub(crate) engine: &'a Engine,
    /// Where the server listens.
    pub(crate) address: SocketAddr,
    /// What lets requests of ours to our own server in.
    pub(crate) token: &'a str,
    /// Entities, if they are hosted.
    pub(crate) entities: Option<Arc<dyn EntityStore>>,
}

/// What a process hosts.
pub(crate) struct Hosted {
    /// Objects and workers.
    pub(crate) registry: Registry,
    /// Routes beside the engine's.
    pub(crate) services: Services,
    /// What all that ask the model share, and what they may spend.
    pub(crate) limiters: Limiters,
    /// What queues and limits are to be until somebody sets them.
    pub(crate) defaults: Defaults,
    /// What is done once it runs.
    pub(crate) after_start: Vec<AfterStart>,
    /// Where traces and metrics go.
    pub(crate) export: Option<Export>,
}

impl Hosted {
    /// Only what `registry` holds.
    pub(crate) fn only(registry: Registry) -> Hosted {
        Hosted {
            registry,
            services: Services::default(),
            limiters: Limiters::default(),
            defaults: Defaults::default(),
            after_start: Vec::new(),
            export: None,
        }
    }

    /// Every service.
    pub(crate) fn every_service(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        hosted.registry.object(ModelSpending)?;
        coordinator::add(&config.coordinator, &mut hosted)?;
        sync::add(config, &mut hosted)?;
        links::add(config, &mut hosted)?;
        downloads::add(config, &mut hosted)?;
        preprocess::add(config, &mut hosted)?;
        entities::add(&mut hosted)?;
        organizer::add(config, &mut hosted)?;
        pipeline::add(config, &mut hosted)?;
        collections::add(&mut hosted)?;
        Ok(hosted)
    }

    /// What a command of collections hosts that opens the data directory itself: what is there, and nothing that runs.
    pub(crate) fn for_collections(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        preprocess::begin(&mut hosted, preprocess::setup(config)?, String::new())?;
        entities::add(&mut hosted)?;
        collections::add(&mut hosted)?;
        Ok(hosted)
    }

    /// What makes collections of folders.
    pub(crate) fn for_ingest(config: &Config, crew: &Crew, limiters: &Limiters) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::for_collections(config)?;
        hosted.registry.object(ModelSpending)?;
        hosted.limiters = limiters.clone();
        organizer::add(config, &mut hosted)?;
        pipeline::add_with(config, &mut hosted, crew)?;
        Ok(hosted)
    }

    /// What a command hosts that opens the data directory itself: nothing runs, everything can be looked at and steered.
    pub(crate) fn for_commands(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        downloads::add_defaults(config, &mut hosted)?;
        sync::add_private(&mut hosted)?;
        links::add_idle(config, &mut hosted)?;
        Ok(hosted)
    }
}

//! The services that `abide serve` runs: each registers its objects and workers and brings what its routes need.

mod coordinator;
mod defaults;
pub(crate) mod downloads;

use abide_engine::Registry;
use abide_server::Services;

use crate::config::Config;
use crate::export::Export;
use crate::failure::Failure;
use defaults::Defaults;

/// What a process hosts.
pub(crate) struct Hosted {
    /// Objects and workers.
    pub(crate) registry: Registry,
    /// Routes beside the engine's.
    pub(crate) services: Services,
    /// What queues and limits are to be until somebody sets them.
    pub(crate) defaults: Defaults,
    /// Where traces and metrics go.
    pub(crate) export: Option<Export>,
}

impl Hosted {
    /// Only what `registry` holds.
    pub(crate) fn only(registry: Registry) -> Hosted {
        Hosted { registry, services: Services::default(), defaults: Defaults::default(), export: None }
    }

    /// Every service.
    pub(crate) fn every_service(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        coordinator::add(&config.coordinator, &mut hosted)?;
        downloads::add(config, &mut hosted)?;
        Ok(hosted)
    }

    /// What a command hosts that opens the data directory itself: nothing runs, everything can be looked at and steered.
    pub(crate) fn for_commands(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        downloads::add_defaults(config, &mut hosted)?;
        Ok(hosted)
    }
}

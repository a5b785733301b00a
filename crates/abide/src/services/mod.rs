//! The services that `abide serve` runs: each registers its objects and workers and brings what its routes need.

mod coordinator;

use abide_engine::Registry;
use abide_server::Services;

use crate::config::Config;
use crate::failure::Failure;

/// What a process hosts.
pub(crate) struct Hosted {
    /// Objects and workers.
    pub(crate) registry: Registry,
    /// Routes beside the engine's.
    pub(crate) services: Services,
}

impl Hosted {
    /// Only what `registry` holds.
    pub(crate) fn only(registry: Registry) -> Hosted {
        Hosted { registry, services: Services::default() }
    }

    /// Every service.
    pub(crate) fn every_service(config: &Config) -> Result<Hosted, Failure> {
        let mut hosted = Hosted::only(Registry::new());
        abide_server::tokens::register(&mut hosted.registry)?;
        coordinator::add(&config.coordinator, &mut hosted)?;
        Ok(hosted)
    }
}

//! The coordinator: work items, processed by queue or directly.

use abide_coordinator::Options;
use abide_server::CoordinatorService;

use super::Hosted;
use crate::config::Coordinator;
use crate::failure::Failure;

pub(super) fn add(config: &Coordinator, hosted: &mut Hosted) -> Result<(), Failure> {
    let options = Options { retain_finished_for_ms: config.retain_finished_for_ms, ..Options::default() };
    abide_coordinator::register(&mut hosted.registry, options)?;
    hosted.services.coordinator = Some(CoordinatorService);
    Ok(())
}

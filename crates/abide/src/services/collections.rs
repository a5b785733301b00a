//! Collections: folders that became trees of entities.

use std::sync::Arc;

use abide_collections::{Collections, Shelf};
use abide_core::name::Kind;
use abide_engine::{Engine, Object};
use abide_server::Services;

use super::Hosted;
use crate::failure::Failure;

pub(crate) fn add(hosted: &mut Hosted) -> Result<(), Failure> {
    Ok(abide_collections::register(&mut hosted.registry)?)
}

/// What the routes need, once the engine runs; nothing if it runs no collections.
pub(crate) fn routes(engine: &Engine, services: &Services) -> Option<Shelf> {
    engine.exposure(&Kind::trusted(Collections::KIND))?;
    let (entities, preprocess) = (services.entities.as_ref()?, services.preprocess.as_ref()?);
    Some(Shelf::new(engine.clone(), Arc::clone(&entities.store), preprocess.buckets().clone()))
}

//! Entities, with their files in the data directory or on another server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use abide_blob::Bucket;
use abide_core::name::Kind;
use abide_engine::{Engine, Object};
use abide_entities::{Entity, EntityError, LocalEntities, RemoteEntities};
use abide_server::EntitiesService;

use super::Hosted;
use crate::config::Entities;
use crate::failure::Failure;

/// Where files are, in the data directory.
const BLOBS: &str = "blobs";
/// Where files are while they are uploaded.
const UPLOADS: &str = "uploads";

/// Where files of entities are that this machine keeps.
pub(crate) fn blobs_dir(data_dir: &Path) -> PathBuf {
    data_dir.join(BLOBS)
}

pub(crate) fn add(hosted: &mut Hosted) -> Result<(), Failure> {
    Ok(abide_entities::register(&mut hosted.registry)?)
}

/// What the routes need, once the data directory is ours and the engine runs; nothing if it runs no entities.
pub(crate) fn routes(
    config: &Entities,
    engine: &Engine,
    data_dir: &Path,
) -> Result<Option<EntitiesService>, Failure> {
    if engine.exposure(&Kind::trusted(Entity::KIND)).is_none() {
        return Ok(None);
    }
    let max_upload_bytes = config.max_upload_bytes;
    if !config.url.is_empty() {
        let token = Some(config.token.clone()).filter(|token| !token.is_empty());
        let store = Arc::new(RemoteEntities::new(&config.url, token)?);
        return Ok(Some(EntitiesService { store, max_upload_bytes }));
    }
    let bucket =
        Bucket::directory(&blobs_dir(data_dir)).map_err(|error| EntityError::Blobs(error.to_string()))?;
    let store = LocalEntities::new(engine.clone(), bucket, &data_dir.join(UPLOADS))?;
    Ok(Some(EntitiesService { store: Arc::new(store), max_upload_bytes }))
}

//! What a run does with a collection, written down before anything of it is done: a run that was stopped goes on with the same,
//! whatever the folder is by then.

use std::collections::{BTreeMap, BTreeSet};

use abide_blob::{BlobError, Bucket, Key};
use abide_collections::Unfinished;
use abide_collections::snapshot::Decided;
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};

use super::plan::Known;
use crate::commands::preprocess::Left;
use crate::failure::Failure;

/// Bytes of what is written down.
const INTENT_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Intent {
    /// What changes in the tree.
    pub(super) tree: Decided,
    /// Files as they are remembered from then on.
    pub(super) put: Known,
    /// Files that are forgotten.
    pub(super) gone: BTreeSet<String>,
    /// How many files are new.
    pub(super) new: usize,
    /// How many have another content.
    pub(super) edited: usize,
    /// How many of the new and edited ones could not be brought in.
    #[serde(default)]
    pub(super) left: usize,
    /// Entities that are done again although nothing of them changes.
    #[serde(default)]
    pub(super) again: BTreeMap<EntityId, Unfinished>,
    /// Files that could not be converted: they are kept as they are.
    pub(super) failed: Vec<Left>,
}

impl Intent {
    pub(super) async fn write(&self, staging: &Bucket, batch: &str) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).map_err(|error| Failure::System(error.into()))?;
        Ok(staging.put(&key(batch)?, text.into(), "application/json").await?)
    }

    /// What was written down for a batch; none if it was swept.
    pub(super) async fn find(staging: &Bucket, batch: &str) -> Result<Option<Intent>, Failure> {
        let text = match staging.get_bytes(&key(batch)?, INTENT_BYTES).await {
            Ok(text) => text,
            Err(BlobError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        serde_json::from_slice(&text).map(Some).map_err(|error| Failure::System(error.into()))
    }
}

fn key(batch: &str) -> Result<Key, BlobError> {
    Ok(Key::new(&format!("manifests/{batch}-intent.json"))?)
}

//! What is remembered of a collection beside itself: files that were brought in, and entities that are to be done again.

use std::collections::{BTreeMap, BTreeSet};

use abide_collections::limits::ITEMS_PER_CALL;
use abide_collections::{SourceFile, Unfinished};
use abide_entities::EntityId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Going;
use super::plan::Known;
use crate::failure::Failure;
use crate::reach::Path;

/// Bytes of files that one call remembers, about.
const CALL_BYTES: usize = 128 * 1024;
/// Bytes of a file that is remembered, beside names.
const FILE_BYTES: usize = 250;

/// What is to be done again with which entities.
pub(super) type Again = BTreeMap<EntityId, Unfinished>;

#[derive(Deserialize)]
struct UnfinishedPage {
    entities: Vec<(EntityId, Unfinished)>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct FilesPage {
    files: Vec<(String, SourceFile)>,
    next: Option<String>,
}

impl Going<'_> {
    /// Files that were brought in, by path.
    pub(super) async fn files(&self) -> Result<Known, Failure> {
        let (mut all, mut after) = (Known::new(), None);
        loop {
            let path = Path::of(["collections", self.order.name, "files"]).with("after", after);
            let page: FilesPage = self.client.get(&path).await?;
            all.extend(page.files);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Entities that something failed for in the last run.
    pub(super) async fn unfinished(&self) -> Result<Again, Failure> {
        let (mut all, mut after) = (Again::new(), None);
        loop {
            let path = Path::of(["collections", self.order.name, "unfinished"]).with("after", after);
            let page: UnfinishedPage = self.client.get(&path).await?;
            all.extend(page.entities);
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Remembers these, and no others.
    pub(super) async fn save_unfinished(&self, unfinished: &Again) -> Result<(), Failure> {
        let path = Path::of(["collections", self.order.name, "unfinished"]);
        let put: Vec<_> = unfinished.iter().collect();
        for part in put.chunks(ITEMS_PER_CALL) {
            let put: BTreeMap<_, _> = part.iter().copied().collect();
            self.client.post::<Value>(&path, &json!({ "put": put })).await?;
        }
        let former = self.unfinished().await?;
        let gone: Vec<_> = former.keys().filter(|id| !unfinished.contains_key(*id)).collect();
        for part in gone.chunks(ITEMS_PER_CALL) {
            self.client.post::<Value>(&path, &json!({ "gone": part })).await?;
        }
        Ok(())
    }

    pub(super) async fn save_files(&self, put: Known, gone: &BTreeSet<String>) -> Result<(), Failure> {
        let path = Path::of(["collections", self.order.name, "files"]);
        let (mut part, mut bytes) = (Known::new(), 0);
        for (name, file) in put {
            // A file with many pages became many components.
            let size = name.len() + file.made.iter().map(|made| made.len() + 4).sum::<usize>() + FILE_BYTES;
            if bytes + size > CALL_BYTES || part.len() == ITEMS_PER_CALL {
                self.client.post::<Value>(&path, &json!({ "put": std::mem::take(&mut part) })).await?;
                bytes = 0;
            }
            bytes += size;
            part.insert(name, file);
        }
        if !part.is_empty() {
            self.client.post::<Value>(&path, &json!({ "put": part })).await?;
        }
        let gone: Vec<&String> = gone.iter().collect();
        for part in gone.chunks(ITEMS_PER_CALL) {
            self.client.post::<Value>(&path, &json!({ "gone": part })).await?;
        }
        Ok(())
    }
}

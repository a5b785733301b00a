//! Deleting a collection: its batch is stopped, its entities go, and with them files and images that nothing else names.
//!
//! Each step may be repeated, so a deletion that was stopped at any moment is finished by the next one.

use crate::catalog::{Call, Reply};
use crate::collection::{Archived, Collection};
use crate::error::ShelfError;
use crate::limits::{DEPTH, ITEMS_PER_CALL, NODES, READ_AT_ONCE};
use crate::shelf::Shelf;
use crate::text::read;
use abide_blob::{BlobError, Key};
use abide_engine::CallError;
use abide_entities::answer::Shown;
use abide_entities::request::Selector;
use abide_entities::{ContentId, EntityError, EntityId, Part};
use abide_organize::REF_SUFFIX;
use abide_pipeline::Site;
use abide_preprocess::asset::Asset;
use abide_preprocess::report::RefData;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;
/// How often deleting entities is tried while somebody still makes some.
const ATTEMPTS: usize = 100;
/// Pause between two of them.
const AGAIN: Duration = Duration::from_millis(50);

/// What went.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeletedCollection {
    /// Which.
    pub name: String,
    /// Entities.
    pub entities: u64,
    /// Files that nothing names any more.
    pub files: u64,
    /// Images that nothing names any more.
    pub images: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What an entity has and had in any version.
struct Ever {
    id: EntityId,
    /// What it is in now; that of a collection's root does not matter.
    parent: Option<EntityId>,
    children: BTreeSet<EntityId>,
    refs: BTreeSet<ContentId>,
}

impl Ever {
    fn add(&mut self, version: Shown) {
        self.children.extend(version.children_pi);
        let refs = version.components.into_iter().filter(|(name, _)| name.ends_with(REF_SUFFIX));
        self.refs.extend(refs.map(|(_, cid)| cid));
    }
}

impl Shelf {
    /// Deletes a collection, or finishes a deletion.
    pub async fn delete(&self, name: &str) -> Result<DeletedCollection, ShelfError> {
        self.known(name).await?;
        let Reply::Collection(Some(marked)) = self.ask(&Call::Delete { name: name.to_owned() }).await? else {
            return Err(ShelfError::Strange);
        };
        if let Some(pending) = &marked.pending {
            self.stop(&pending.batch_id).await?;
        }
        let mut deleted = DeletedCollection { name: name.to_owned(), ..DeletedCollection::default() };
        let mut attempts = 0;
        while let Err(busy) = self.delete_entities(&marked, &mut deleted).await? {
            attempts += 1;
            if attempts == ATTEMPTS {
                return Err(busy.into());
            }
            tokio::time::sleep(AGAIN).await;
        }
        self.delete_images(name, &mut deleted).await?;
        if let Some(pending) = &marked.pending {
            sweep(&self.buckets.staging, &pending.batch_id).await?;
        }
        self.forget(name).await?;
        Ok(deleted)
    }

    /// Nothing more is converted for a batch, and nothing more is made of it.
    async fn stop(&self, batch: &str) -> Result<(), ShelfError> {
        let site = abide_preprocess::Site { engine: self.engine.clone(), url: String::new() };
        let converting = site.ask::<Value>(batch, &abide_preprocess::Call::Reset).await.map(drop);
        let site = Site { engine: self.engine.clone(), entities: Arc::clone(&self.entities) };
        let describing = site.ask::<Value>(batch, &abide_pipeline::Call::Reset).await.map(drop);
        for stopped in [converting, describing] {
            match stopped {
                // One that was never begun has nothing to stop.
                Ok(()) | Err(CallError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Every entity of a collection, level by level, those that are only in older versions too, each with the refs that any
    /// of its versions has. None if they are gone already, or there never were any.
    async fn everything(
        &self,
        root: &EntityId,
    ) -> Result<Vec<BTreeMap<EntityId, BTreeSet<ContentId>>>, EntityError> {
        let mut levels = Vec::new();
        let mut seen = BTreeSet::from([root.clone()]);
        let mut next = vec![root.clone()];
        while !next.is_empty() {
            if levels.len() > DEPTH || seen.len() > NODES {
                return Err(EntityError::TooLarge(format!(
                    "a collection has at most {NODES} entities in {DEPTH} levels"
                )));
            }
            let reads: Vec<_> = next.iter().map(|id| self.ever(id, root)).collect();
            let read: Vec<Option<Ever>> = stream::iter(reads).buffered(READ_AT_ONCE).try_collect().await?;
            let mut level = BTreeMap::new();
            next = Vec::new();
            for ever in read.into_iter().flatten() {
                // What was moved to somebody else is theirs.
                if ever.parent.as_ref().is_none_or(|parent| seen.contains(parent)) {
                    next.extend(ever.children.into_iter().filter(|child| seen.insert(child.clone())));
                    level.insert(ever.id, ever.refs);
                }
            }
            levels.push(level);
        }
        Ok(levels)
    }

    /// What an entity has and had; none if there is no such entity.
    async fn ever(&self, id: &EntityId, root: &EntityId) -> Result<Option<Ever>, EntityError> {
        let now = match self.entities.get(id).await {
            Ok(now) => now,
            Err(EntityError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let parent = now.parent_pi.clone().filter(|_| id != root);
        let mut ever = Ever { id: id.clone(), parent, children: BTreeSet::new(), refs: BTreeSet::new() };
        for ver in 1..now.ver {
            ever.add(self.entities.version(id, Selector::Ver(ver)).await?);
        }
        ever.add(now);
        Ok(Some(ever))
    }

    /// Remembers which images refs stand for: afterwards nothing says so any more.
    async fn note_images(&self, name: &str, refs: BTreeSet<ContentId>) -> Result<(), ShelfError> {
        let images: Vec<_> = refs.into_iter().map(|cid| self.image_of(cid)).collect();
        let images: Vec<(Option<String>, ContentId)> =
            stream::iter(images).buffered(READ_AT_ONCE).try_collect().await?;
        let mut assets: BTreeMap<String, Archived> = BTreeMap::new();
        for (asset, cid) in images {
            if let Some(asset) = asset.filter(|asset| Key::new(&Asset::key(asset)).is_ok()) {
                assets.entry(asset).or_insert_with(|| Archived { refs: Vec::new() }).refs.push(cid);
            }
        }
        let assets: Vec<(String, Archived)> = assets.into_iter().collect();
        for part in assets.chunks(ITEMS_PER_CALL) {
            let put = part.iter().cloned().collect();
            self.ask(&Call::SaveAssets { name: name.to_owned(), put, gone: BTreeSet::new() }).await?;
        }
        Ok(())
    }

    /// The image that a ref stands for.
    async fn image_of(&self, cid: ContentId) -> Result<(Option<String>, ContentId), EntityError> {
        let text = read(self.entities.as_ref(), cid).await?;
        let reference: Option<RefData> = serde_json::from_str(&text).ok();
        let asset = reference.and_then(|reference| Some(reference.url.rsplit('/').next()?.to_owned()));
        Ok((asset, cid))
    }

    /// Deletes all entities, each after those that are in it. If somebody who is about to stop put another into one of them
    /// meanwhile, what says so.
    async fn delete_entities(
        &self,
        collection: &Collection,
        deleted: &mut DeletedCollection,
    ) -> Result<Result<(), EntityError>, ShelfError> {
        let everything = self.everything(&collection.root_pi).await?;
        let refs = everything.iter().flat_map(|level| level.values().flatten().copied()).collect();
        self.note_images(&collection.name, refs).await?;
        for level in everything.iter().rev() {
            let deletions: Vec<_> = level.keys().map(|id| self.entities.delete(id, None)).collect();
            let mut deletions = stream::iter(deletions).buffer_unordered(READ_AT_ONCE);
            while let Some(one) = deletions.next().await {
                match one {
                    Ok(gone) => {
                        deleted.entities += 1;
                        deleted.files += gone.files_deleted;
                        deleted.bytes += gone.bytes_freed;
                    }
                    Err(EntityError::NotFound(_)) => {}
                    Err(busy @ EntityError::Conflict(_)) => return Ok(Err(busy)),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(Ok(()))
    }

    /// Deletes images for which no ref stands any more.
    async fn delete_images(&self, name: &str, deleted: &mut DeletedCollection) -> Result<(), ShelfError> {
        loop {
            let call = Call::Assets { name: name.to_owned(), after: None };
            let Reply::Assets { assets, .. } = self.ask(&call).await? else {
                return Err(ShelfError::Strange);
            };
            if assets.is_empty() {
                return Ok(());
            }
            let mut gone = BTreeSet::new();
            for (asset, archived) in assets {
                if !self.stands(&archived).await? {
                    let bytes = self.delete_image(&asset).await?;
                    deleted.images += u64::from(bytes > 0);
                    deleted.bytes += bytes;
                }
                gone.insert(asset);
            }
            self.ask(&Call::SaveAssets { name: name.to_owned(), put: BTreeMap::new(), gone }).await?;
        }
    }

    /// Whether somebody still has a ref of an image.
    async fn stands(&self, archived: &Archived) -> Result<bool, EntityError> {
        for cid in &archived.refs {
            match self.entities.cat(*cid, Some(Part::From(0, Some(0)))).await {
                Ok(_) => return Ok(true),
                Err(EntityError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    async fn delete_image(&self, asset: &str) -> Result<u64, BlobError> {
        let archive = &self.buckets.archive;
        let described = Key::new(&Asset::key(asset))?;
        let bytes = match archive.get_bytes(&described, ASSET_BYTES).await {
            Ok(bytes) => bytes,
            // It is of another archive, or gone already.
            Err(BlobError::NotFound(_)) => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut freed = bytes.len() as u64;
        if let Ok(asset) = serde_json::from_slice::<Asset>(&bytes) {
            let mut keys: BTreeMap<&str, u64> = BTreeMap::from([(asset.r2_key.as_str(), asset.size_bytes)]);
            keys.extend(asset.variants.values().map(|variant| (variant.r2_key.as_str(), variant.size_bytes)));
            for (key, size) in keys {
                archive.delete(&Key::new(key)?).await?;
                freed += size;
            }
        }
        archive.delete(&described).await?;
        Ok(freed)
    }

    /// Forgets a collection of which nothing is left.
    async fn forget(&self, name: &str) -> Result<(), ShelfError> {
        loop {
            let call = Call::Files { name: name.to_owned(), after: None };
            let Reply::Files { files, .. } = self.ask(&call).await? else { return Err(ShelfError::Strange) };
            if files.is_empty() {
                break;
            }
            let gone = files.into_iter().map(|(path, _)| path).collect();
            self.ask(&Call::SaveFiles { name: name.to_owned(), put: BTreeMap::new(), gone }).await?;
        }
        self.ask(&Call::Remove { name: name.to_owned() }).await.map(drop)
    }
}

/// Empties staging of a batch that is over.
pub async fn sweep(staging: &abide_blob::Bucket, batch: &str) -> Result<(), BlobError> {
    staging.delete_all(&Key::new(&format!("staging/{batch}"))?).await?;
    for ending in ["", "-entities", "-intent"] {
        staging.delete(&Key::new(&format!("manifests/{batch}{ending}.json"))?).await?;
    }
    Ok(())
}

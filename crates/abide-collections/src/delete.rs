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
use abide_entities::answer::{Deleted, Shown};
use abide_entities::limits::CHILDREN_AT_ONCE;
use abide_entities::request::{Append, Selector};
use abide_entities::{ContentId, EntityError, EntityId, Part, update};
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

/// Entities that were in a collection once and are in something that is not known to be of it, by what they are in: it may be
/// somebody else's, and then they are, too.
#[derive(Default)]
struct Waiting(BTreeMap<EntityId, Vec<Ever>>);

impl Waiting {
    fn add(&mut self, parent: EntityId, ever: Ever) {
        self.0.entry(parent).or_default().push(ever);
    }

    /// Those that are in an entity.
    fn take(&mut self, parent: &EntityId) -> Vec<Ever> {
        self.0.remove(parent).unwrap_or_default()
    }

    /// One of entities that are in each other, and so in nothing else.
    fn take_circle(&mut self) -> Option<Ever> {
        let above: BTreeMap<&EntityId, &EntityId> = self
            .0
            .iter()
            .flat_map(|(parent, inside)| inside.iter().map(move |ever| (&ever.id, parent)))
            .collect();
        let is_in_itself = |id: &EntityId| {
            let ups = std::iter::successors(above.get(id), |up| above.get(**up));
            ups.take(above.len()).any(|up| *up == id)
        };
        let (id, parent) = above.iter().find(|(id, _)| is_in_itself(id))?;
        let (id, parent) = ((*id).clone(), (*parent).clone());
        let inside = self.0.get_mut(&parent)?;
        let at = inside.iter().position(|ever| ever.id == id)?;
        Some(inside.swap_remove(at))
    }
}

impl Shelf {
    /// Deletes a collection, or finishes a deletion.
    pub async fn delete(&self, name: &str) -> Result<DeletedCollection, ShelfError> {
        // What is under way by hand goes as well.
        self.remembered(name).await?;
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
    /// of its versions has. Whatever something is in is in an earlier level, unless parts are in each other. None if they
    /// are gone already, or there never were any.
    async fn everything(
        &self,
        root: &EntityId,
    ) -> Result<Vec<BTreeMap<EntityId, BTreeSet<ContentId>>>, EntityError> {
        let (mut levels, mut taken) = (Vec::new(), BTreeSet::new());
        let mut seen = BTreeSet::from([root.clone()]);
        let (mut next, mut ready) = (vec![root.clone()], Vec::new());
        let mut waiting = Waiting::default();
        loop {
            if levels.len() > DEPTH || seen.len() > NODES {
                return Err(EntityError::TooLarge(format!(
                    "a collection has at most {NODES} entities in {DEPTH} levels"
                )));
            }
            let reads: Vec<_> = next.iter().map(|id| self.ever(id, root)).collect();
            let read: Vec<Option<Ever>> = stream::iter(reads).buffered(READ_AT_ONCE).try_collect().await?;
            for ever in read.into_iter().flatten() {
                match ever.parent.clone().filter(|parent| !taken.contains(parent)) {
                    Some(parent) => waiting.add(parent, ever),
                    None => ready.push(ever),
                }
            }
            if ready.is_empty() {
                ready.extend(std::iter::from_fn(|| waiting.take_circle()));
            }
            if ready.is_empty() {
                return Ok(levels);
            }
            let mut level = BTreeMap::new();
            next = Vec::new();
            for ever in std::mem::take(&mut ready) {
                next.extend(ever.children.into_iter().filter(|child| seen.insert(child.clone())));
                ready.extend(waiting.take(&ever.id));
                taken.insert(ever.id.clone());
                level.insert(ever.id, ever.refs);
            }
            levels.push(level);
        }
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
        let all: BTreeSet<&EntityId> = everything.iter().flat_map(BTreeMap::keys).collect();
        for level in everything.iter().rev() {
            let deletions: Vec<_> = level.keys().map(|id| self.delete_entity(id, &all)).collect();
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

    /// Deletes an entity. Of parts that are in each other it lets go first, if they go as well.
    async fn delete_entity(&self, id: &EntityId, all: &BTreeSet<&EntityId>) -> Result<Deleted, EntityError> {
        let store = self.entities.as_ref();
        let busy = match store.delete(id, None).await {
            Err(busy @ EntityError::Conflict(_)) => busy,
            deleted => return deleted,
        };
        let inside = store.get(id).await?.children_pi;
        let going: Vec<EntityId> = inside.into_iter().filter(|child| all.contains(child)).collect();
        if going.is_empty() {
            return Err(busy);
        }
        for part in going.chunks(CHILDREN_AT_ONCE) {
            let without =
                |shown: &Shown| Append { children_pi_remove: part.to_vec(), ..Append::onto(shown.tip) };
            update(store, id, without).await?;
        }
        store.delete(id, None).await
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
        loop {
            let call = Call::Unfinished { name: name.to_owned(), after: None };
            let Reply::Unfinished { entities, .. } = self.ask(&call).await? else {
                return Err(ShelfError::Strange);
            };
            if entities.is_empty() {
                break;
            }
            let gone = entities.iter().filter_map(|(id, _)| EntityId::parse(id).ok()).collect();
            self.ask(&Call::SaveUnfinished { name: name.to_owned(), put: BTreeMap::new(), gone }).await?;
        }
        self.ask(&Call::Remove { name: name.to_owned() }).await.map(drop)
    }
}

/// Empties staging of a batch that is over.
pub async fn sweep(staging: &abide_blob::Bucket, batch: &str) -> Result<(), BlobError> {
    staging.delete_all(&Key::new(&format!("staging/{batch}"))?).await?;
    for ending in ["", "-entities", "-intent"] {
        staging.delete_with_unfinished(&Key::new(&format!("manifests/{batch}{ending}.json"))?).await?;
    }
    Ok(())
}

//! Deleting a collection: its batch is stopped, its entities go, and with them files and images that nothing else names.
//!
//! Each step may be repeated, so a deletion that was stopped at any moment is finished by the next one.

use crate::catalog::{Call, Reply};
use crate::collection::{Archived, Collection};
use crate::error::ShelfError;
use crate::limits::{ITEMS_PER_CALL, READ_AT_ONCE};
use crate::shelf::Shelf;
use crate::text::read;
use crate::tree::{Branch, Tree};
use abide_blob::{BlobError, Key};
use abide_engine::CallError;
use abide_entities::request::Selector;
use abide_entities::{ContentId, EntityError, Part};
use abide_organize::REF_SUFFIX;
use abide_pipeline::Site;
use abide_preprocess::asset::Asset;
use abide_preprocess::report::RefData;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;

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

impl Shelf {
    /// Deletes a collection, or finishes a deletion.
    pub async fn delete(&self, name: &str) -> Result<DeletedCollection, ShelfError> {
        let collection = self.known(name).await?;
        if let Some(pending) = &collection.pending {
            self.stop(&pending.batch_id).await?;
        }
        let marked = Collection { deleting: true, ..collection };
        self.ask(&Call::Save(Box::new(marked.clone()))).await?;
        let mut deleted = DeletedCollection { name: name.to_owned(), ..DeletedCollection::default() };
        match Tree::read(self.entities.as_ref(), &marked.root_pi).await {
            Ok(tree) => {
                self.note_images(name, &tree).await?;
                self.delete_entities(&tree, &mut deleted).await?;
            }
            // They are gone already, or there never were any.
            Err(EntityError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.delete_images(name, &mut deleted).await?;
        if let Some(pending) = &marked.pending {
            sweep(&self.buckets.staging, &pending.batch_id).await?;
        }
        self.forget(name).await?;
        Ok(deleted)
    }

    /// Nothing more is made of a batch.
    async fn stop(&self, batch: &str) -> Result<(), ShelfError> {
        let site = Site { engine: self.engine.clone(), entities: Arc::clone(&self.entities) };
        match site.ask::<Value>(batch, &abide_pipeline::Call::Reset).await {
            // One that was never begun has nothing to stop.
            Ok(_) | Err(CallError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Remembers which images the tree has in any version: afterwards nothing says so any more.
    async fn note_images(&self, name: &str, tree: &Tree) -> Result<(), ShelfError> {
        let refs: Vec<_> = tree.branches().iter().map(|branch| self.refs(branch)).collect();
        let refs: BTreeSet<ContentId> = stream::iter(refs).buffered(READ_AT_ONCE).try_concat().await?;
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

    /// Refs of an entity in all its versions.
    async fn refs(&self, branch: &Branch) -> Result<BTreeSet<ContentId>, EntityError> {
        let of = |components: &BTreeMap<String, ContentId>| -> BTreeSet<ContentId> {
            components.iter().filter(|(name, _)| name.ends_with(REF_SUFFIX)).map(|(_, cid)| *cid).collect()
        };
        let mut refs = of(&branch.entity.components);
        for ver in 1..branch.entity.ver {
            let version = self.entities.version(&branch.entity.id, Selector::Ver(ver)).await?;
            refs.extend(of(&version.components));
        }
        Ok(refs)
    }

    /// Deletes entities, each after those that are in it.
    async fn delete_entities(&self, tree: &Tree, deleted: &mut DeletedCollection) -> Result<(), ShelfError> {
        let depth = tree.branches().iter().map(|branch| branch.depth).max().unwrap_or(0);
        for level in (0..=depth).rev() {
            let level = tree.branches().iter().filter(|branch| branch.depth == level);
            let deletions: Vec<_> =
                level.map(|branch| self.entities.delete(&branch.entity.id, None)).collect();
            let mut deletions = stream::iter(deletions).buffer_unordered(READ_AT_ONCE);
            while let Some(one) = deletions.next().await {
                match one {
                    Ok(gone) => {
                        deleted.entities += 1;
                        deleted.files += gone.files_deleted;
                        deleted.bytes += gone.bytes_freed;
                    }
                    Err(EntityError::NotFound(_)) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
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

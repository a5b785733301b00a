//! A collection to a folder, as it is organized: files under their names, descriptions and records beside them.

use std::fs;
use std::path::{Path, PathBuf};

use abide_blob::Key;
use abide_collections::{Branch, shown_name};
use abide_entities::ContentId;
use abide_preprocess::Service;
use abide_preprocess::asset::Asset;
use abide_preprocess::report::RefData;
use futures_util::StreamExt;
use serde::Serialize;
use tokio::io::AsyncWriteExt;

use super::Shelf;
use crate::failure::Failure;

/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;

/// What was written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub(crate) files: u64,
    pub(crate) dir: String,
}

/// Writes a collection to a folder that is not there or empty.
pub(crate) async fn to_folder(
    shelf: &Shelf,
    converting: &Service,
    name: &str,
    dir: &Path,
) -> Result<Exported, Failure> {
    let collection = shelf.known(name).await?;
    check_empty(dir, &collection.folder)?;
    let tree = shelf.tree(&collection.root_pi).await?;
    let mut exported = Exported { files: 0, dir: dir.display().to_string() };
    for branch in tree.branches() {
        let mut folder = dir.to_owned();
        folder.extend(tree.path(&branch.entity.id).split('/').filter(|part| !part.is_empty()).map(safe));
        fs::create_dir_all(&folder).map_err(|error| Failure::Input { path: folder.clone(), error })?;
        exported.files += branch_to(shelf, converting, branch, &folder).await?;
    }
    Ok(exported)
}

/// A folder with something in it is not written to, and neither is the source.
fn check_empty(dir: &Path, source: &str) -> Result<(), Failure> {
    let unusable = |error| Failure::Input { path: dir.to_owned(), error };
    let absolute = std::path::absolute(dir).map_err(unusable)?;
    if absolute.starts_with(source) {
        return Err(Failure::Unusable(format!(
            "{} is in {source}, and nothing is written to a source",
            dir.display()
        )));
    }
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                Err(Failure::Unusable(format!("{} is not empty: choose another folder", dir.display())))
            }
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unusable(error)),
    }
}

/// A label as a name of a folder: never a way out of it.
fn safe(label: &str) -> String {
    match label {
        "." | ".." => "_".to_owned(),
        label => label.replace(['/', '\\', '\0'], "_"),
    }
}

async fn branch_to(
    shelf: &Shelf,
    converting: &Service,
    branch: &Branch,
    folder: &Path,
) -> Result<u64, Failure> {
    let mut files = 0;
    for (component, cid) in &branch.entity.components {
        let to = folder.join(safe(shown_name(component)));
        if shown_name(component) == component {
            blob(shelf, *cid, &to).await?;
        } else {
            image(shelf, converting, *cid, &to).await?;
        }
        files += 1;
    }
    Ok(files)
}

/// The original that a ref stands for, and what was read off it in a text beside it.
async fn image(shelf: &Shelf, converting: &Service, cid: ContentId, to: &Path) -> Result<(), Failure> {
    let bytes = bytes(shelf, cid).await?;
    let strange = |error: serde_json::Error| Failure::Unusable(format!("{}: {error}", to.display()));
    let fields: serde_json::Value = serde_json::from_slice(&bytes).map_err(strange)?;
    if let Some(text) = fields.get("ocr").and_then(|text| text.as_str()).filter(|text| !text.is_empty()) {
        let beside = PathBuf::from(format!("{}.ocr.txt", to.display()));
        fs::write(&beside, text).map_err(|error| Failure::Input { path: beside, error })?;
    }
    let reference: RefData = serde_json::from_value(fields).map_err(strange)?;
    let id = reference.url.rsplit('/').next().unwrap_or_default();
    let archive = &converting.buckets().archive;
    let key = |text: &str| Key::new(text).map_err(abide_blob::BlobError::from);
    let described = archive.get_bytes(&key(&Asset::key(id))?, ASSET_BYTES).await?;
    let asset: Asset = serde_json::from_slice(&described).map_err(strange)?;
    archive.get_file(&key(&asset.r2_key)?, to, u64::MAX).await?;
    Ok(())
}

async fn bytes(shelf: &Shelf, cid: ContentId) -> Result<Vec<u8>, Failure> {
    let mut pieces = shelf.entities().cat(cid, None).await?.pieces;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

async fn blob(shelf: &Shelf, cid: ContentId, to: &Path) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input { path: to.to_owned(), error };
    let mut pieces = shelf.entities().cat(cid, None).await?.pieces;
    let mut file = tokio::fs::File::create(to).await.map_err(unwritten)?;
    while let Some(piece) = pieces.next().await {
        file.write_all(&piece?).await.map_err(unwritten)?;
    }
    file.flush().await.map_err(unwritten)
}

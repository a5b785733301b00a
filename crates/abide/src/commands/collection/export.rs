//! A collection to a folder, as it is organized: files under their names, descriptions and records beside them.

use std::fs;
use std::path::{Path, PathBuf};

use abide_collections::{Branch, Collection, Tree, shown_name};
use abide_entities::{ContentId, EntityStore};
use abide_preprocess::report::RefData;
use futures_util::StreamExt;
use serde::Serialize;
use tokio::io::AsyncWriteExt;

use crate::failure::Failure;
use crate::reach::{Client, Path as Request};

/// What was written.
#[derive(Debug, Serialize)]
pub(crate) struct Exported {
    pub(crate) files: u64,
    pub(crate) dir: String,
}

/// Writes a collection to a folder that is not there or empty.
pub(crate) async fn to_folder(
    client: &Client,
    entities: &dyn EntityStore,
    name: &str,
    dir: &Path,
) -> Result<Exported, Failure> {
    let collection: Collection = client.get(&Request::of(["collections", name])).await?;
    check_empty(dir, &collection.folder)?;
    let tree = Tree::read(entities, &collection.root_pi).await?;
    let mut exported = Exported { files: 0, dir: dir.display().to_string() };
    for branch in tree.branches() {
        let mut folder = dir.to_owned();
        folder.extend(tree.path(&branch.entity.id).split('/').filter(|part| !part.is_empty()).map(safe));
        fs::create_dir_all(&folder).map_err(|error| Failure::Input { path: folder.clone(), error })?;
        exported.files += branch_to(client, entities, branch, &folder).await?;
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
    client: &Client,
    entities: &dyn EntityStore,
    branch: &Branch,
    folder: &Path,
) -> Result<u64, Failure> {
    let mut files = 0;
    for (component, cid) in &branch.entity.components {
        let to = folder.join(safe(shown_name(component)));
        if shown_name(component) == component {
            blob(entities, *cid, &to).await?;
        } else {
            image(client, entities, *cid, &to).await?;
        }
        files += 1;
    }
    Ok(files)
}

/// The original that a ref stands for, and what was read off it in a text beside it.
async fn image(
    client: &Client,
    entities: &dyn EntityStore,
    cid: ContentId,
    to: &Path,
) -> Result<(), Failure> {
    let bytes = bytes(entities, cid).await?;
    let strange = |error: serde_json::Error| Failure::Unusable(format!("{}: {error}", to.display()));
    let fields: serde_json::Value = serde_json::from_slice(&bytes).map_err(strange)?;
    if let Some(text) = fields.get("ocr").and_then(|text| text.as_str()).filter(|text| !text.is_empty()) {
        let beside = PathBuf::from(format!("{}.ocr.txt", to.display()));
        fs::write(&beside, text).map_err(|error| Failure::Input { path: beside, error })?;
    }
    let reference: RefData = serde_json::from_value(fields).map_err(strange)?;
    let id = reference.url.rsplit('/').next().unwrap_or_default();
    client.download(&Request::of(["preprocess", "asset", id, "original"]), to).await
}

async fn bytes(entities: &dyn EntityStore, cid: ContentId) -> Result<Vec<u8>, Failure> {
    let mut pieces = entities.cat(cid, None).await?.pieces;
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

async fn blob(entities: &dyn EntityStore, cid: ContentId, to: &Path) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input { path: to.to_owned(), error };
    let mut pieces = entities.cat(cid, None).await?.pieces;
    let mut file = tokio::fs::File::create(to).await.map_err(unwritten)?;
    while let Some(piece) = pieces.next().await {
        file.write_all(&piece?).await.map_err(unwritten)?;
    }
    file.flush().await.map_err(unwritten)
}

//! Files of the folder on their way into the tree: converted, kept as blobs, and decided where they come.

use std::collections::{BTreeMap, BTreeSet};

use abide_blob::Key;
use abide_collections::SourceFile;
use abide_collections::snapshot::{self, Incoming};
use abide_entities::{ContentId, EntityError, Pieces};
use abide_preprocess::calls::OutputAnswer;
use abide_preprocess::file::{Place, ProcessableFile};
use futures_util::{StreamExt, TryStreamExt, stream};

use super::Going;
use super::intent::Intent;
use super::plan::{Known, Plan};
use crate::commands::preprocess::folder::Folder;
use crate::commands::preprocess::{convert, ends};
use crate::failure::Failure;
use crate::reach::Path;

/// Files that are kept at the same time.
const KEPT_AT_ONCE: usize = 8;

/// Converts what is new or edited, and decides what changes. Nothing of the collection does yet.
pub(super) async fn decide(
    going: &Going<'_>,
    plan: &Plan,
    batch: &str,
    known: &Known,
) -> Result<Intent, Failure> {
    let part = part(going.folder, plan);
    let (mut incoming, mut failed) = (Vec::new(), Vec::new());
    if !part.files.is_empty() {
        convert(going.client, &going.staging, &part, batch, going.output).await?;
        failed = ends(going.client, batch, &part).await?.1;
        incoming = kept(going, &part, batch).await?;
    }
    let (entities, gone) = (going.entities.as_ref(), plan.changes.gone.clone());
    let mut tree = snapshot::decide(entities, going.name, &incoming, &gone, known).await?;
    let mut put = Known::new();
    for (path, made) in std::mem::take(&mut tree.made) {
        let Some(found) = plan.found.get(&path) else { continue };
        let file = SourceFile {
            bytes: found.bytes,
            modified_ms: found.modified_ms,
            digest: found.digest.clone().unwrap_or_default(),
            made,
            at: None,
        };
        put.insert(path, file);
    }
    for path in &plan.changes.touched {
        if let (Some(known), Some(found)) = (known.get(path), plan.found.get(path)) {
            put.insert(path.clone(), SourceFile { modified_ms: found.modified_ms, ..known.clone() });
        }
    }
    let (new, edited) = (plan.changes.new.len(), plan.changes.edited.len());
    Ok(Intent { tree, put, gone, new, edited, again: BTreeMap::new(), failed })
}

/// The folder with the files that are brought in.
pub(super) fn part(folder: &Folder, plan: &Plan) -> Folder {
    let brought: BTreeSet<&String> = plan.changes.brought().collect();
    let files: Vec<_> = folder.files.iter().filter(|file| brought.contains(&file.path)).cloned().collect();
    let bytes = files.iter().map(|file| file.bytes).sum();
    let (root, device) = (folder.root.clone(), folder.device);
    Folder { root, files, bytes, device, skipped: Vec::new(), unusable: Vec::new(), closed: Vec::new() }
}

/// What became of each file, as blobs.
async fn kept(going: &Going<'_>, part: &Folder, batch: &str) -> Result<Vec<Incoming>, Failure> {
    let paths: BTreeMap<Place, &str> = part
        .files
        .iter()
        .enumerate()
        .map(|(at, file)| (Place::of_input(at as u64), file.path.as_str()))
        .collect();
    let mut made: BTreeMap<&str, Vec<(String, ContentId)>> = BTreeMap::new();
    let mut after: Option<Place> = None;
    loop {
        let files = Path::of(["preprocess", "batches", batch, "files"]);
        let page: OutputAnswer =
            going.client.get(&files.with("after", after.as_ref().map(Place::as_str))).await?;
        let known = page.output.iter().zip(&page.places);
        let known = known.filter_map(|(file, place)| Some((file, *paths.get(&place.input())?)));
        let keeps: Vec<_> =
            known
                .map(|(file, path)| async move {
                    Ok::<_, Failure>((path, &file.file_name, keep(going, file).await?))
                })
                .collect();
        let kept: Vec<_> = stream::iter(keeps).buffered(KEPT_AT_ONCE).try_collect().await?;
        for (path, name, cid) in kept {
            made.entry(path).or_default().push((name.clone(), cid));
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    Ok(made.into_iter().map(|(path, made)| Incoming { path: path.to_owned(), made }).collect())
}

/// Keeps a file of staging as a blob.
async fn keep(going: &Going<'_>, file: &ProcessableFile) -> Result<ContentId, Failure> {
    let key = Key::new(&file.r2_key).map_err(abide_blob::BlobError::from)?;
    let (_, stream) = going.staging.get(&key).await?;
    let pieces: Pieces = Box::pin(stream.map_err(|error| EntityError::Blobs(error.to_string())));
    Ok(going.entities.upload(file.file_name.clone(), pieces).await?.cid)
}

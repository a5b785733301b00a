//! Files of the folder into the tree: converted, kept as blobs, named by entities.

use std::collections::{BTreeMap, BTreeSet};

use abide_blob::Key;
use abide_collections::snapshot::{self, Incoming};
use abide_collections::{Pending, SourceFile};
use abide_entities::{ContentId, EntityError, Pieces};
use abide_preprocess::calls::OutputAnswer;
use abide_preprocess::file::{Place, ProcessableFile};
use futures_util::TryStreamExt;

use super::Going;
use super::plan::{Known, Plan};
use crate::commands::preprocess::folder::Folder;
use crate::commands::preprocess::{Left, convert, ends};
use crate::failure::Failure;
use crate::reach::Path;

/// What was brought in.
pub(super) struct Brought {
    pub(super) put: BTreeMap<String, SourceFile>,
    pub(super) failed: Vec<Left>,
    pub(super) pending: Pending,
}

pub(super) async fn bring(going: &Going<'_>, plan: &Plan, known: &Known) -> Result<Brought, Failure> {
    let part = part(going.folder, plan);
    let batch = &plan.batch_id;
    let (mut incoming, mut failed) = (Vec::new(), Vec::new());
    if !part.files.is_empty() {
        convert(going.client, &going.staging, &part, batch, going.output).await?;
        failed = ends(going.client, batch, &part).await?.1;
        incoming = kept(going, &part, batch).await?;
    }
    let entities = going.entities.as_ref();
    let applied = snapshot::apply(entities, going.name, &incoming, &plan.changes.gone, known).await?;
    super::batch::order(going, batch, &applied.touched, known).await?;
    let mut put = BTreeMap::new();
    for (path, made) in applied.made {
        let Some(found) = plan.found.get(&path) else { continue };
        let file = SourceFile {
            bytes: found.bytes,
            modified_ms: found.modified_ms,
            digest: found.digest.clone().unwrap_or_default(),
            made,
            at: known.get(&path).and_then(|known| known.at.clone()),
        };
        put.insert(path, file);
    }
    for path in &plan.changes.touched {
        if let (Some(known), Some(found)) = (known.get(path), plan.found.get(path)) {
            put.insert(path.clone(), SourceFile { modified_ms: found.modified_ms, ..known.clone() });
        }
    }
    Ok(Brought { put, failed, pending: Pending { batch_id: batch.clone() } })
}

/// The folder with the files that are brought in.
fn part(folder: &Folder, plan: &Plan) -> Folder {
    let brought: BTreeSet<&String> = plan.changes.brought().collect();
    let files: Vec<_> = folder.files.iter().filter(|file| brought.contains(&file.path)).cloned().collect();
    let bytes = files.iter().map(|file| file.bytes).sum();
    let (skipped, unusable) = (Vec::new(), Vec::new());
    Folder { root: folder.root.clone(), files, bytes, device: folder.device, skipped, unusable }
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
        for (file, place) in page.output.iter().zip(&page.places) {
            let Some(path) = paths.get(&place.input()) else { continue };
            let cid = keep(going, file).await?;
            made.entry(path).or_default().push((file.file_name.clone(), cid));
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

//! Files of the folder on their way into the tree: converted, kept as blobs, and decided where they come.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use abide_blob::Key;
use abide_collections::SourceFile;
use abide_collections::snapshot::{self, Incoming};
use abide_entities::{ContentId, EntityError, Pieces};
use abide_organize::REF_SUFFIX;
use abide_pipeline::limits::FILES_PER_DIRECTORY;
use abide_preprocess::calls::OutputAnswer;
use abide_preprocess::file::{Place, ProcessableFile};
use abide_preprocess::report::RefData;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use reqwest::Url;

use super::Going;
use super::intent::Intent;
use super::plan::{Known, Plan};
use crate::commands::preprocess::folder::{File, Folder};
use crate::commands::preprocess::{Left, convert, ends};
use crate::failure::Failure;
use crate::reach::Path;

/// Files that are kept at the same time.
const KEPT_AT_ONCE: usize = 8;
/// Bytes of a ref.
const REF_BYTES: u64 = 1024 * 1024;

/// Converts what is new or edited, and decides what changes. Nothing of the collection does yet.
pub(super) async fn decide(going: &Going<'_>, plan: &Plan, batch: &str) -> Result<Intent, Failure> {
    let part = part(going.order.folder, plan);
    let (mut incoming, mut failed) = (Vec::new(), Vec::new());
    if !part.files.is_empty() {
        convert(going.client, &going.staging, &part, batch, going.order.output).await?;
        failed = ends(going.client, batch, &part).await?.1;
        let Kept { files, lost } = kept(going, &part, batch).await?;
        failed.retain(|left| !lost.contains_key(&left.file));
        failed.extend(lost.into_iter().map(|(file, reason)| Left { file, reason }));
        incoming = files;
    }
    // What somebody moved or renamed meanwhile is known.
    let known = going.files().await?;
    let (entities, gone) = (going.entities.as_ref(), plan.changes.gone.clone());
    let mut tree = snapshot::decide(entities, going.order.name, &incoming, &gone, &known).await?;
    for file in std::mem::take(&mut tree.left) {
        let reason = format!(
            "a folder has room for {FILES_PER_DIRECTORY} files, pages and images: bring it elsewhere"
        );
        failed.push(Left { file, reason });
    }
    let mut put = Known::new();
    for (path, made) in std::mem::take(&mut tree.made) {
        let Some(found) = plan.found.get(&path) else { continue };
        let file = SourceFile {
            bytes: found.bytes,
            modified_ms: found.modified_ms,
            digest: found.digest.clone().unwrap_or_default(),
            made,
            at: None,
            named: BTreeMap::new(),
        };
        put.insert(path, file);
    }
    put.extend(plan.touched(&known));
    let brought = |paths: &BTreeSet<String>| paths.iter().filter(|path| put.contains_key(*path)).count();
    let (new, edited) = (brought(&plan.changes.new), brought(&plan.changes.edited));
    let left = plan.changes.brought().count() - new - edited;
    Ok(Intent { tree, put, gone, new, edited, left, again: BTreeMap::new(), failed })
}

/// The folder with the files that are brought in.
pub(super) fn part(folder: &Folder, plan: &Plan) -> Folder {
    let brought: BTreeSet<&String> = plan.changes.brought().collect();
    let files: Vec<_> = folder.files.iter().filter(|file| brought.contains(&file.path)).cloned().collect();
    let bytes = files.iter().map(|file| file.bytes).sum();
    let (root, device) = (folder.root.clone(), folder.device);
    Folder { root, files, bytes, device, skipped: Vec::new(), unusable: Vec::new(), closed: Vec::new() }
}

/// What became of files.
struct Kept {
    /// Those that are kept, as blobs.
    files: Vec<Incoming>,
    /// Those that went away or changed before they were, or were refused, with the reason: they are in what the next run does.
    lost: BTreeMap<String, String>,
}

/// Keeps what became of each file.
async fn kept(going: &Going<'_>, part: &Folder, batch: &str) -> Result<Kept, Failure> {
    let places: BTreeMap<Place, &File> =
        part.files.iter().enumerate().map(|(at, file)| (Place::of_input(at as u64), file)).collect();
    let (mut made, mut lost) = (BTreeMap::<&str, Vec<(String, ContentId)>>::new(), BTreeMap::new());
    let mut after: Option<Place> = None;
    loop {
        let files = Path::of(["preprocess", "batches", batch, "files"]);
        let page: OutputAnswer =
            going.client.get(&files.with("after", after.as_ref().map(Place::as_str))).await?;
        let known = page.output.iter().zip(&page.places);
        let known = known.filter_map(|(file, place)| Some((file, *places.get(&place.input())?)));
        let keeps: Vec<_> = known
            .map(|(made, file)| async move {
                match keep(going, made).await {
                    Ok(cid) => Ok((file, Ok((made.file_name.clone(), cid)))),
                    Err(failure) => match became(part, file).or_else(|| refused(&failure)) {
                        Some(reason) => Ok((file, Err(reason))),
                        None => Err(failure),
                    },
                }
            })
            .collect();
        let kept: Vec<_> = stream::iter(keeps).buffered(KEPT_AT_ONCE).try_collect().await?;
        for (file, kept) in kept {
            match kept {
                Ok(kept) => made.entry(&file.path).or_default().push(kept),
                Err(reason) => drop(lost.insert(file.path.clone(), reason)),
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let made = made.into_iter().filter(|(path, _)| !lost.contains_key(*path));
    let files = made.map(|(path, made)| Incoming { path: path.to_owned(), made }).collect();
    Ok(Kept { files, lost })
}

/// What became of a file since the folder was looked at; none if it is as it was.
fn became(part: &Folder, file: &File) -> Option<String> {
    match part.again(file) {
        Ok(now) if now.bytes == file.bytes && now.modified_ms == file.modified_ms => None,
        Ok(_) => Some("it changed while it was brought in: the same command brings it in".to_owned()),
        Err(error) => Some(format!("it went away while it was brought in: {error}")),
    }
}

/// Why a file was not taken, if it is the file's fault and the others may be.
fn refused(failure: &Failure) -> Option<String> {
    match failure {
        Failure::Entities(EntityError::TooLarge(why) | EntityError::Invalid(why)) => {
            Some(format!("it cannot be kept: {why}"))
        }
        _ => None,
    }
}

/// Keeps a file of staging as a blob.
async fn keep(going: &Going<'_>, file: &ProcessableFile) -> Result<ContentId, Failure> {
    let key = Key::new(&file.r2_key).map_err(abide_blob::BlobError::from)?;
    let pieces: Pieces = if file.source_file.is_some() && file.file_name.ends_with(REF_SUFFIX) {
        let text = going.staging.get_bytes(&key, REF_BYTES).await?;
        Box::pin(stream::iter([Ok(without_address(text))]))
    } else {
        let (_, stream) = going.staging.get(&key).await?;
        Box::pin(stream.map_err(|error| EntityError::Blobs(error.to_string())))
    };
    Ok(going.entities.upload(file.file_name.clone(), pieces).await?.cid)
}

/// A ref that names a server of this machine by its address of the moment names it by the path alone: it is kept for good.
fn without_address(text: Bytes) -> Bytes {
    let Ok(reference) = serde_json::from_slice::<RefData>(&text) else { return text };
    let Ok(url) = Url::parse(&reference.url) else { return text };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if !is_here {
        return text;
    }
    let url = url.path().to_owned();
    let reference = RefData { url, ..reference };
    serde_json::to_vec_pretty(&reference).map_or(text, Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_names_no_address_of_this_machine() {
        for (url, kept) in [
            ("http://127.0.0.1:8787/preprocess/asset/A1", "/preprocess/asset/A1"),
            ("http://[::1]:9/preprocess/asset/A1", "/preprocess/asset/A1"),
            ("http://localhost/preprocess/asset/A1", "/preprocess/asset/A1"),
            ("/preprocess/asset/A1", "/preprocess/asset/A1"),
            ("https://cdn.example/asset/A1", "https://cdn.example/asset/A1"),
        ] {
            let text = serde_json::json!({ "url": url, "type": "image/jpeg" }).to_string();
            let reference: RefData = serde_json::from_slice(&without_address(text.into())).unwrap();
            assert_eq!(
                (reference.url.as_str(), reference.content_type.as_deref()),
                (kept, Some("image/jpeg"))
            );
        }
        assert_eq!(without_address(Bytes::from("none")), Bytes::from("none"));
    }
}

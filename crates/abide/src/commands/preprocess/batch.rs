//! The batch of a folder: staged, started and followed to its end.

use std::time::Duration;

use abide_blob::{BlobError, Bucket, Key};
use abide_preprocess::calls::{InputsAnswer, StatusAnswer};
use abide_preprocess::file::{InputEnd, Place};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::Left;
use super::folder::Folder;
use super::progress::Progress;
use crate::failure::Failure;
use crate::output::Output;
use crate::reach::{Client, Path};

/// How often the batch is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Files that are put into staging at the same time.
const STAGED_AT_ONCE: usize = 8;

/// Where the manifest of a batch is.
pub(super) fn manifest_key(batch: &str) -> String {
    format!("manifests/{batch}.json")
}

/// Starts the batch of a folder or finds it, and waits until it is done.
pub(in crate::commands) async fn convert(
    client: &Client,
    staging: &Bucket,
    folder: &Folder,
    batch: &str,
    output: Output,
) -> Result<StatusAnswer, Failure> {
    let path = Path::of(["preprocess", "status", batch]);
    let known: Option<StatusAnswer> = client.find(&path).await?;
    let failed = match known {
        Some(known) if known.status != "ERROR" => None,
        known => {
            let message = stage(staging, folder, batch).await?;
            client.post::<Value>(&Path::of(["preprocess", "queue"]), &message).await?;
            known
        }
    };
    let mut progress = Progress::new(output);
    let status = loop {
        // One that begins anew is gone for a moment, or still what it was.
        let status =
            client.find::<StatusAnswer>(&path).await?.filter(|status| Some(status) != failed.as_ref());
        let Some(status) = status else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        progress.show(&status);
        match status.status.as_str() {
            "DONE" | "ERROR" => break status,
            _ => tokio::time::sleep(LOOK).await,
        }
    };
    progress.end();
    match status.error {
        Some(error) => Err(Failure::Batch { batch: batch.to_owned(), error }),
        None => Ok(status),
    }
}

/// Files and manifest to staging. Files are referred to, not copied: their owner does not even see it.
async fn stage(staging: &Bucket, folder: &Folder, batch: &str) -> Result<Value, Failure> {
    let puts: Vec<_> = folder
        .files
        .iter()
        .map(|file| async move {
            let key = Key::new(&folder.key(batch, file)).map_err(BlobError::from)?;
            let there = staging.head(&key).await.is_ok_and(|found| found.bytes == file.bytes);
            if there {
                return Ok(());
            }
            let source = folder.root.join(&file.path);
            match staging.put_reference(&key, &source, file.content_type).await {
                // One that went away meanwhile fails alone.
                Err(_) if std::fs::File::open(&source).is_err() => Ok(()),
                put => put.map(drop),
            }
        })
        .collect();
    stream::iter(puts).buffered(STAGED_AT_ONCE).try_collect::<()>().await?;
    let manifest = folder.manifest(batch).to_string();
    let key = manifest_key(batch);
    let manifest_key = Key::new(&key).map_err(BlobError::from)?;
    staging.put(&manifest_key, manifest.into(), "application/json").await?;
    Ok(json!({
        "batch_id": batch,
        "manifest_r2_key": key,
        "r2_prefix": format!("staging/{batch}/"),
        "uploader": "abide preprocess",
        "root_path": folder.root.display().to_string(),
        "total_files": folder.files.len(),
        "total_bytes": folder.bytes,
        "metadata": {},
        // Whoever runs this command goes on with what is made.
        "deliver": false,
        // The same folder gives the same refs, wherever it is preprocessed.
        "stable_assets": true,
    }))
}

/// Inputs that were not converted, each with its reason.
pub(in crate::commands) async fn ends(
    client: &Client,
    batch: &str,
    folder: &Folder,
) -> Result<(Vec<Left>, Vec<Left>), Failure> {
    let (mut passed_through, mut failed) = (Vec::new(), Vec::new());
    let mut after: Option<Place> = None;
    let mut files = folder.files.iter();
    loop {
        let path = Path::of(["preprocess", "batches", batch, "inputs"]);
        let page: InputsAnswer = client.get(&path.with("after", after.as_ref().map(Place::as_str))).await?;
        for input in page.inputs {
            // Inputs are in the order of the manifest, which is the folder's.
            let file = files.next().map_or(input.file_name, |file| file.path.clone());
            match input.end {
                InputEnd::PassedThrough { reason } => passed_through.push(Left { file, reason }),
                InputEnd::Failed { reason } => failed.push(Left { file, reason }),
                InputEnd::Converted | InputEnd::Open => {}
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok((passed_through, failed)),
        }
    }
}

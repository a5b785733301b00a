//! Results, from buckets to a folder: each file whole or not at all.

use std::fs;
use std::path::Path;

use abide_blob::{Bucket, Key};
use abide_engine::CallError;
use abide_preprocess::asset::Asset;
use abide_preprocess::calls::{Call, FilePage, OutputAnswer, TaskPage, TasksAnswer};
use abide_preprocess::{Service, Site, TaskStatus};

use super::folder::Folder;
use crate::failure::Failure;

/// Smaller copies of images are in this folder, by size.
const VARIANTS: &str = "variants";
/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;

/// What was written.
#[derive(Debug, Default)]
pub(super) struct Exported {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// Writes everything that was made: images at their place, smaller copies below `variants`, texts beside their pages.
pub(super) async fn export(
    service: &Service,
    site: &Site,
    folder: &Folder,
    batch: &str,
    out: &Path,
) -> Result<Exported, Failure> {
    let mut exported = Exported::default();
    let prefix = format!("staging/{batch}/");
    images(service, site, batch, &prefix, folder, out, &mut exported).await?;
    let mut after = None;
    loop {
        let call = Call::Output(FilePage { after, limit: None });
        let page: OutputAnswer = site.ask(batch, &call).await.map_err(asking)?;
        for file in page.output {
            let made = file.source_file.is_some() && !file.file_name.ends_with(".ref.json");
            if let Some(path) = file.r2_key.strip_prefix(&prefix).filter(|_| made) {
                bring(&service.buckets().staging, &file.r2_key, &out.join(path), &mut exported).await?;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(exported),
        }
    }
}

/// Images that became assets: those that were made here, and smaller copies of all.
async fn images(
    service: &Service,
    site: &Site,
    batch: &str,
    prefix: &str,
    folder: &Folder,
    out: &Path,
    exported: &mut Exported,
) -> Result<(), Failure> {
    let archive = &service.buckets().archive;
    let mut after = None;
    loop {
        let phase = Some("IMAGE_PROCESSING".to_owned());
        let call = Call::Tasks(TaskPage { phase, status: Some(TaskStatus::Completed), after, limit: None });
        let page: TasksAnswer = site.ask(batch, &call).await.map_err(asking)?;
        for task in page.tasks {
            let Some(path) = task.input_r2_key.strip_prefix(prefix) else { continue };
            let is_input = folder.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
            let url = task.outputs.ref_data.as_ref().map(|data| data.url.as_str()).unwrap_or_default();
            let asset_id = url.rsplit('/').next().unwrap_or_default();
            let key = Key::new(&Asset::key(asset_id)).map_err(abide_blob::BlobError::from)?;
            let described = archive.get_bytes(&key, ASSET_BYTES).await?;
            let asset: Asset = serde_json::from_slice(&described)
                .map_err(|error| Failure::Unusable(format!("asset {asset_id} cannot be read: {error}")))?;
            for (name, variant) in &asset.variants {
                let to = match name.as_str() {
                    // What is in the source folder is not needed again.
                    "original" if is_input => continue,
                    "original" => out.join(path),
                    name if path.ends_with(".jpg") => out.join(VARIANTS).join(name).join(path),
                    name => out.join(VARIANTS).join(name).join(format!("{path}.jpg")),
                };
                bring(archive, &variant.r2_key, &to, exported).await?;
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

async fn bring(bucket: &Bucket, key: &str, to: &Path, exported: &mut Exported) -> Result<(), Failure> {
    let unwritten = |error| Failure::Input { path: to.to_owned(), error };
    let key = Key::new(key).map_err(abide_blob::BlobError::from)?;
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(unwritten)?;
    let name = to.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let part = folder.join(format!(".{name}.part"));
    let bytes = bucket.get_file(&key, &part, u64::MAX).await?;
    fs::rename(&part, to).map_err(unwritten)?;
    exported.files += 1;
    exported.bytes += bytes;
    Ok(())
}

fn asking(error: CallError) -> Failure {
    Failure::Unusable(format!("the batch does not answer: {error}"))
}

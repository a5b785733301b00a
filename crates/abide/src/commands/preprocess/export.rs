//! Results, from buckets to a folder: each file whole or not at all.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use abide_blob::Key;
use abide_engine::CallError;
use abide_preprocess::asset::Asset;
use abide_preprocess::calls::{Call, FilePage, OutputAnswer, TaskPage, TasksAnswer};
use abide_preprocess::{Service, Site, TaskStatus, Which};
use tokio::time::Instant;

use super::folder::Folder;
use crate::failure::Failure;

/// Smaller copies of images are in this folder, by size.
const VARIANTS: &str = "variants";
/// Bytes of what describes an asset.
const ASSET_BYTES: u64 = 64 * 1024;

/// How long it waits at least before it looks again for what was made.
const PAUSE: Duration = Duration::from_secs(1);

/// Brings what was made to a folder, each file once.
pub(super) struct Exporter<'a> {
    service: &'a Service,
    site: Site,
    folder: &'a Folder,
    batch: &'a str,
    out: &'a Path,
    /// What was written, with its size.
    written: BTreeMap<PathBuf, u64>,
}

impl<'a> Exporter<'a> {
    pub(super) async fn new(
        service: &'a Service,
        folder: &'a Folder,
        batch: &'a str,
        out: &'a Path,
    ) -> Exporter<'a> {
        Exporter { service, site: service.site().await, folder, batch, out, written: BTreeMap::new() }
    }

    /// Files, and their bytes.
    pub(super) fn written(&self) -> (u64, u64) {
        (self.written.len() as u64, self.written.values().sum())
    }

    /// Brings what is made as it is made, at most a tenth of the time.
    pub(super) async fn keep_up(&mut self) -> Infallible {
        let mut pause = PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let began = Instant::now();
            // What cannot be brought now is brought in the end, or it is said then why not.
            drop(self.export().await);
            pause = PAUSE.max(9 * began.elapsed());
        }
    }

    /// Brings everything that is made: images at their place, smaller copies below `variants`, texts beside their pages.
    pub(super) async fn export(&mut self) -> Result<(), Failure> {
        let prefix = format!("staging/{}/", self.batch);
        self.images(&prefix).await?;
        let mut after = None;
        loop {
            let call = Call::Output(FilePage { after, limit: None });
            let page: OutputAnswer = self.site.ask(self.batch, &call).await.map_err(asking)?;
            for file in page.output {
                let made = file.source_file.is_some() && !file.file_name.ends_with(".ref.json");
                if let Some(path) = file.r2_key.strip_prefix(&prefix).filter(|_| made) {
                    self.bring(Which::Staging, &file.r2_key, self.out.join(path)).await?;
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Images that became assets: those that were made here, and smaller copies of all.
    async fn images(&mut self, prefix: &str) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let phase = Some("IMAGE_PROCESSING".to_owned());
            let status = Some(TaskStatus::Completed);
            let call = Call::Tasks(TaskPage { phase, status, after, limit: None });
            let page: TasksAnswer = self.site.ask(self.batch, &call).await.map_err(asking)?;
            for task in page.tasks {
                let Some(path) = task.input_r2_key.strip_prefix(prefix) else { continue };
                let url = task.outputs.ref_data.as_ref().map(|data| data.url.as_str()).unwrap_or_default();
                self.image(path, url.rsplit('/').next().unwrap_or_default()).await?;
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn image(&mut self, path: &str, asset_id: &str) -> Result<(), Failure> {
        let is_input = self.folder.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
        let key = Key::new(&Asset::key(asset_id)).map_err(abide_blob::BlobError::from)?;
        let described = self.service.buckets().archive.get_bytes(&key, ASSET_BYTES).await?;
        let asset: Asset = serde_json::from_slice(&described)
            .map_err(|error| Failure::Unusable(format!("asset {asset_id} cannot be read: {error}")))?;
        for (name, variant) in &asset.variants {
            let to = match name.as_str() {
                // What is in the source folder is not needed again.
                "original" if is_input => continue,
                "original" => self.out.join(path),
                name if path.ends_with(".jpg") => self.out.join(VARIANTS).join(name).join(path),
                name => self.out.join(VARIANTS).join(name).join(format!("{path}.jpg")),
            };
            self.bring(Which::Archive, &variant.r2_key, to).await?;
        }
        Ok(())
    }

    async fn bring(&mut self, bucket: Which, key: &str, to: PathBuf) -> Result<(), Failure> {
        if self.written.contains_key(&to) {
            return Ok(());
        }
        let unwritten = |error| Failure::Input { path: to.clone(), error };
        let key = Key::new(key).map_err(abide_blob::BlobError::from)?;
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder).map_err(unwritten)?;
        let name = to.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let part = folder.join(format!(".{name}.part"));
        let bytes = self.service.buckets().get(bucket).get_file(&key, &part, u64::MAX).await?;
        fs::rename(&part, &to).map_err(unwritten)?;
        self.written.insert(to, bytes);
        Ok(())
    }
}

fn asking(error: CallError) -> Failure {
    Failure::Unusable(format!("the batch does not answer: {error}"))
}

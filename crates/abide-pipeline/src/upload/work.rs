//! The outside work of uploads: files are put together from their parts, directories become entities, lists are written.

use super::calls::{Call, DiscoveryProgress, FileDocument, FilePage};
use super::intake::{Intake, TEXT};
use super::jobs::{CompleteOrder, Discovered, DiscoveryOrder};
use super::{manifest_key, part_key};
use crate::calls::Item;
use crate::config::ProcessingConfig;
use crate::limits::MESSAGE_BYTES;
use crate::service::Service;
use crate::site::Site;
use crate::tree::{FoundFile, Tree, parent_of};
use crate::work::{Target, WorkError, keep, run};
use abide_blob::{BlobError, Bucket, ByteStream, Key};
use abide_core::job::Finish;
use abide_engine::worker::Worker;
use abide_engine::{JobContext, Object};
use abide_entities::{ContentId, EntityId, FileHasher};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::Pin;

/// Files that are kept at a time.
const AT_A_TIME: usize = 8;
/// Directories after which a worker says how far it is.
const SAYS_EVERY: usize = 50;
/// What versions are noted with.
const NOTE: &str = "as it was uploaded";

/// Makes sure that files are there.
#[derive(Clone)]
pub(crate) struct Complete(pub(crate) Service);

impl Worker for Complete {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: CompleteOrder| async move { complete(service.staging(), &order).await }))
    }
}

/// Puts the parts of a file together where the batch finds it. If they are gone, that was done before.
async fn complete(staging: &Bucket, order: &CompleteOrder) -> Result<Value, WorkError> {
    let file = &order.file;
    let (key, said) = (blob(&file.r2_key)?, file.file.file_size);
    let parts: Result<Vec<Key>, WorkError> =
        (1..=file.parts).map(|part| blob(&part_key(&order.batch_id, &file.upload_id, part))).collect();
    let parts = parts?;
    let mut came = 0;
    for part in &parts {
        came += match staging.head(part).await {
            Ok(found) => found.bytes,
            Err(BlobError::NotFound(_)) => 0,
            Err(error) => return Err(error.into()),
        };
    }
    let is_whole = came == 0 && staging.head(&key).await.is_ok_and(|found| found.bytes == said);
    if came != said && !is_whole {
        let reason = format!("{} has {came} bytes, and {said} were announced: upload it again", file.r2_key);
        return Err(WorkError::Never(reason));
    }
    if !is_whole {
        let pieces = joined(staging.clone(), parts.clone());
        staging.put_stream(&key, pieces, &file.file.content_type, said).await?;
    }
    if let Some(announced) = &file.file.cid {
        let found = content_id(staging, &key).await?;
        if ContentId::parse(announced).ok() != Some(found) {
            staging.delete(&key).await?;
            let reason = format!("{} has the cid {found}, and {announced} was announced", file.r2_key);
            return Err(WorkError::Never(reason));
        }
    }
    for part in &parts {
        staging.delete(part).await?;
    }
    Ok(json!({ "bytes": said }))
}

async fn content_id(staging: &Bucket, key: &Key) -> Result<ContentId, WorkError> {
    let (_, mut bytes) = staging.get(key).await?;
    let mut hasher = FileHasher::default();
    while let Some(piece) = bytes.try_next().await? {
        hasher.update(&piece);
    }
    Ok(hasher.finish().id)
}

/// The bytes of blobs, one after the other.
fn joined(staging: Bucket, parts: Vec<Key>) -> ByteStream {
    let begin = (staging, parts.into_iter(), None::<ByteStream>);
    Box::pin(stream::try_unfold(begin, |(staging, mut parts, mut open)| async move {
        loop {
            if let Some(bytes) = &mut open
                && let Some(piece) = bytes.try_next().await?
            {
                return Ok(Some((piece, (staging, parts, open))));
            }
            match parts.next() {
                Some(part) => open = Some(staging.get(&part).await?.1),
                None => return Ok(None),
            }
        }
    }))
}

fn blob(key: &str) -> Result<Key, WorkError> {
    Key::new(key).map_err(|error| WorkError::Never(error.to_string()))
}

/// Makes entities of directories.
#[derive(Clone)]
pub(crate) struct Discovery(pub(crate) Service);

impl Worker for Discovery {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: DiscoveryOrder| async move { discover(&service, &order).await }))
    }
}

/// A directory with what is made of it at once.
struct Directory {
    path: String,
    pi: EntityId,
    files: Vec<crate::node::FileRecord>,
}

/// Lists the files, keeps the texts among them, and makes entities from the bottom up. Ids follow from the batch and the
/// path, so that doing it twice makes one tree.
async fn discover(service: &Service, order: &DiscoveryOrder) -> Result<Discovered, WorkError> {
    let site = service.site().await;
    let files = files(&site, &order.batch_id).await?;
    let mut tree = Tree::default();
    for file in &files {
        let config = ProcessingConfig::of_value(&file.file.processing_config);
        let (logical_path, staging_key) = (file.file.logical_path.clone(), file.r2_key.clone());
        let found = FoundFile { logical_path, staging_key, config };
        tree.add(found).map_err(|error| WorkError::Never(error.to_string()))?;
    }
    let mut directories: Vec<Directory> = Vec::new();
    for item in tree.into_items(&order.batch_id, &BTreeMap::new()) {
        match item {
            Item::Node(node) => {
                directories.push(Directory { path: node.path, pi: node.pi, files: Vec::new() })
            }
            Item::File { file, .. } => {
                let lower = file.filename.to_lowercase();
                if file.error.is_none() && TEXT.iter().any(|ending| lower.ends_with(ending)) {
                    directories.last_mut().map(|directory| directory.files.push(file)).unwrap_or_default();
                }
            }
        }
    }
    let root_pi = directories.first().map(|directory| directory.pi.clone());
    let root_pi = root_pi.ok_or_else(|| WorkError::Never("the batch has no directories".to_owned()))?;
    let node_pis = directories.iter().map(|one| (one.path.clone(), one.pi.clone())).collect();
    write_manifest(service.staging(), &order.batch_id, &files, &root_pi, &node_pis).await?;
    drop(files);
    publish(service, &site, order, directories).await?;
    if let Some(parent) = &order.parent_pi {
        Target::new(site.entities.as_ref(), &root_pi, NOTE).put_under(parent).await?;
    }
    // They are in the manifest; what comes back from here has its bounds.
    let node_pis = Some(node_pis).filter(|node_pis| json!(node_pis).to_string().len() < MESSAGE_BYTES);
    Ok(Discovered { root_pi, node_pis })
}

async fn publish(
    service: &Service,
    site: &Site,
    order: &DiscoveryOrder,
    directories: Vec<Directory>,
) -> Result<(), WorkError> {
    let total = directories.len();
    let mut kids: BTreeMap<String, Vec<EntityId>> = BTreeMap::new();
    // Parents are before children, so backwards is from the bottom up.
    for (nth, directory) in directories.into_iter().rev().enumerate() {
        let entities = site.entities.as_ref();
        let kept: Vec<_> = stream::iter(directory.files)
            .map(|file| keep(service.staging(), entities, file))
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        let components = kept.into_iter().filter_map(|file| Some((file.filename, file.cid?))).collect();
        let mut below = kids.remove(&directory.path).unwrap_or_default();
        below.reverse();
        let label = directory.path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("/");
        Target::new(entities, &directory.pi, NOTE).publish(label, components, below).await?;
        if let Some(parent) = parent_of(&directory.path) {
            kids.entry(parent.to_owned()).or_default().push(directory.pi.clone());
        }
        if nth % SAYS_EVERY == 0 {
            let progress = DiscoveryProgress {
                total: total as u64,
                published: nth as u64 + 1,
                phase: "PUBLISHING".to_owned(),
            };
            let call = Call::Progress { life: order.life, progress };
            site.call::<_, Value>(Intake::KIND, &order.batch_id, &call).await?;
        }
    }
    Ok(())
}

async fn files(site: &Site, batch: &str) -> Result<Vec<FileDocument>, WorkError> {
    let (mut files, mut after) = (Vec::new(), None);
    loop {
        let page: FilePage = site.call(Intake::KIND, batch, &Call::Files { after }).await?;
        files.extend(page.files);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(files),
        }
    }
}

async fn write_manifest(
    staging: &Bucket,
    batch: &str,
    files: &[FileDocument],
    root_pi: &EntityId,
    node_pis: &BTreeMap<String, EntityId>,
) -> Result<(), WorkError> {
    let mut directories: BTreeMap<&str, Vec<&FileDocument>> = BTreeMap::new();
    for file in files {
        directories.entry(parent_of(&file.file.logical_path).unwrap_or("/")).or_default().push(file);
    }
    let size = |files: &[&FileDocument]| files.iter().map(|file| file.file.file_size).sum::<u64>();
    let listed: Vec<Value> = directories
        .iter()
        .map(|(path, files)| {
            let config = |file: &&FileDocument| ProcessingConfig::of_value(&file.file.processing_config);
            let entries: Vec<Value> = files
                .iter()
                .map(|file| {
                    json!({"r2_key": file.r2_key, "logical_path": file.file.logical_path,
                        "file_name": file.file.file_name, "file_size": file.file.file_size,
                        "content_type": file.file.content_type, "cid": file.file.cid,
                        "processing_config": config(file)})
                })
                .collect();
            let config = files.iter().filter_map(config).reduce(ProcessingConfig::or);
            json!({"directory_path": path, "processing_config": config,
                "file_count": files.len(), "total_bytes": size(files), "files": entries})
        })
        .collect();
    let all: Vec<&FileDocument> = files.iter().collect();
    let manifest = json!({"batch_id": batch, "total_files": files.len(), "total_bytes": size(&all),
        "directories": listed, "root_pi": root_pi, "node_pis": node_pis});
    let bytes = serde_json::to_vec(&manifest).map_err(|error| WorkError::Never(error.to_string()))?;
    Ok(staging.put(&blob(&manifest_key(batch))?, bytes.into(), "application/json").await?)
}

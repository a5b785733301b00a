//! Finds the directories and files of a batch: in its message, in a manifest, or where it was preprocessed.

use super::{WorkError, known, run};
use crate::calls::{Call, HaveAnswer, Item, NewNode};
use crate::config::ProcessingConfig;
use crate::limits::{CALL_BYTES, ITEMS_PER_CALL, MANIFEST_BYTES, NEW_PER_CALL};
use crate::message::{IngestMessage, PiNode};
use crate::orders::DiscoverOrder;
use crate::service::Service;
use crate::site::Site;
use crate::tree::{self, FoundFile, KnownDirectory, Tree};
use abide_blob::Key;
use abide_core::job::Finish;
use abide_engine::worker::Worker;
use abide_engine::{JobContext, Object};
use abide_entities::EntityId;
use abide_organize::contract::ExistingGroup;
use abide_preprocess::calls::{FilePage, OutputAnswer};
use abide_preprocess::{Batch, Call as PreprocessCall};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

/// Finds directories and files.
#[derive(Clone)]
pub(crate) struct Discover(pub(crate) Service);

impl Worker for Discover {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |order: DiscoverOrder| async move {
            let site = service.site().await;
            let items = find(&service, &site, &order.message).await?;
            match order.round {
                0 => bring(&site, &order, &items, ITEMS_PER_CALL).await,
                _ => {
                    let new = known::without(&site, order.batch.batch_id.as_str(), items).await?;
                    bring(&site, &order, &new, NEW_PER_CALL).await
                }
            }
        }))
    }
}

/// A manifest as it is in the bucket.
#[derive(Debug, Deserialize)]
struct Manifest {
    directories: Vec<ManifestDirectory>,
}

#[derive(Debug, Deserialize)]
struct ManifestDirectory {
    directory_path: String,
    #[serde(default)]
    processing_config: Value,
    #[serde(default)]
    files: Vec<ManifestFile>,
    existing_pi: Option<EntityId>,
    existing_parent_path: Option<String>,
    #[serde(default)]
    existing_groups: Vec<ExistingGroup>,
    #[serde(default)]
    fixed_files: BTreeSet<String>,
    #[serde(default)]
    former_files: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct ManifestFile {
    r2_key: String,
    logical_path: String,
    #[serde(default)]
    processing_config: Value,
}

async fn find(service: &Service, site: &Site, message: &IngestMessage) -> Result<Vec<Item>, WorkError> {
    if !message.pis.is_empty() {
        return of_entities(site, &message.pis).await;
    }
    match &message.manifest_r2_key {
        Some(key) => {
            let key = Key::new(key).map_err(|error| WorkError::Never(error.to_string()))?;
            let bytes = service.staging().get_bytes(&key, MANIFEST_BYTES).await?;
            let manifest: Manifest = serde_json::from_slice(&bytes)
                .map_err(|error| WorkError::Never(format!("the manifest {key} cannot be read: {error}")))?;
            if message.reprocessing_mode {
                return of_entities(site, &existing(manifest)?).await;
            }
            of_manifest(message, manifest)
        }
        None => of_preprocessed(service, site, message).await,
    }
}

fn bad(error: tree::BadTree) -> WorkError {
    WorkError::Never(error.to_string())
}

fn of_manifest(message: &IngestMessage, manifest: Manifest) -> Result<Vec<Item>, WorkError> {
    let mut tree = Tree::default();
    for directory in manifest.directories {
        let config = ProcessingConfig::of_value(&directory.processing_config);
        let known =
            KnownDirectory { config, pi: directory.existing_pi, existing_groups: directory.existing_groups };
        tree.know(&directory.directory_path, known).map_err(bad)?;
        for file in directory.files {
            let config = ProcessingConfig::of_value(&file.processing_config).or(config);
            let found = FoundFile { logical_path: file.logical_path, staging_key: file.r2_key, config };
            tree.add(found).map_err(bad)?;
        }
    }
    Ok(tree.into_items(message.id_space(), &message.node_pis))
}

/// Entities of directories by path: those of the message, and those that it has no room for.
async fn node_pis(
    service: &Service,
    message: &IngestMessage,
) -> Result<BTreeMap<String, EntityId>, WorkError> {
    let mut node_pis = message.node_pis.clone();
    if let Some(key) = &message.tree_r2_key {
        let never = |error: &dyn std::fmt::Display| WorkError::Never(format!("{key}: {error}"));
        let key = Key::new(key).map_err(|error| never(&error))?;
        let bytes = service.staging().get_bytes(&key, MANIFEST_BYTES).await?;
        let mut tree = abide_preprocess::manifest::tree(&bytes).map_err(|error| never(&error))?;
        if let Some(further) = tree.remove("node_pis") {
            let further =
                BTreeMap::<String, EntityId>::deserialize(further).map_err(|error| never(&error))?;
            for (path, pi) in further {
                node_pis.entry(path).or_insert(pi);
            }
        }
    }
    Ok(node_pis)
}

async fn of_preprocessed(
    service: &Service,
    site: &Site,
    message: &IngestMessage,
) -> Result<Vec<Item>, WorkError> {
    let node_pis = node_pis(service, message).await?;
    let mut tree = Tree::default();
    let mut after = None;
    loop {
        let call = PreprocessCall::Output(FilePage { after, limit: None });
        let page: OutputAnswer = site.call(Batch::KIND, message.batch_id.as_str(), &call).await?;
        for file in page.output {
            let config = ProcessingConfig::of_value(&file.processing_config);
            let found = FoundFile { logical_path: file.logical_path, staging_key: file.r2_key, config };
            tree.add(found).map_err(bad)?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(tree.into_items(message.id_space(), &node_pis)),
        }
    }
}

/// A manifest of entities that exist, as a message would name them.
fn existing(manifest: Manifest) -> Result<Vec<PiNode>, WorkError> {
    let mut by_path = BTreeMap::new();
    for directory in &manifest.directories {
        let pi = directory.existing_pi.clone().ok_or_else(|| {
            WorkError::Never(format!("{}: existing_pi is missing", directory.directory_path))
        })?;
        by_path.insert(directory.directory_path.clone(), pi);
    }
    let nodes = manifest.directories.into_iter().map(|directory| PiNode {
        pi: by_path[&directory.directory_path].clone(),
        parent_pi: directory.existing_parent_path.and_then(|path| by_path.get(&path).cloned()),
        children_pi: Vec::new(),
        processing_config: ProcessingConfig::of_value(&directory.processing_config).unwrap_or_default(),
        existing_groups: directory.existing_groups,
        fixed_files: directory.fixed_files,
        former_files: directory.former_files,
    });
    Ok(nodes.collect())
}

/// Entities that are there, parents before children.
async fn of_entities(site: &Site, nodes: &[PiNode]) -> Result<Vec<Item>, WorkError> {
    let named: BTreeSet<&EntityId> = nodes.iter().map(|node| &node.pi).collect();
    let mut parents: BTreeMap<&EntityId, &EntityId> = BTreeMap::new();
    for node in nodes {
        for child in &node.children_pi {
            parents.insert(child, &node.pi);
        }
        if let Some(parent) = &node.parent_pi {
            parents.insert(&node.pi, parent);
        }
    }
    let mut items = Vec::new();
    let mut places: BTreeMap<&EntityId, (u32, String)> = BTreeMap::new();
    let mut left: Vec<&PiNode> = nodes.iter().collect();
    while !left.is_empty() {
        let is_next = |node: &&PiNode| {
            let parent = parents.get(&node.pi).filter(|parent| named.contains(**parent));
            parent.is_none_or(|parent| places.contains_key(*parent))
        };
        let (next, later): (Vec<&PiNode>, Vec<&PiNode>) = left.into_iter().partition(is_next);
        if next.is_empty() {
            let first = later.first().map_or_else(String::new, |node| node.pi.to_string());
            return Err(WorkError::Never(format!("{first} is its own ancestor in pis")));
        }
        for node in next {
            let shown = site.entities.get(&node.pi).await?;
            let above = parents.get(&node.pi).and_then(|parent| places.get(*parent));
            let end = node.pi.as_str().len() - 8;
            let label = shown.label.clone().filter(|label| !label.is_empty() && label != "/");
            let name = label.unwrap_or_else(|| node.pi.as_str()[end..].to_owned()).replace('/', "-");
            let path = match above {
                Some((_, path)) => format!("{}/{name}", path.trim_end_matches('/')),
                None => format!("/{name}"),
            };
            let new = NewNode {
                parent: above.map(|(place, _)| *place),
                path: path.clone(),
                pi: node.pi.clone(),
                config: node.processing_config,
                published: Some((shown.tip, shown.ver)),
                existing_groups: node.existing_groups.clone(),
            };
            let place = u32::try_from(places.len()).unwrap_or(u32::MAX);
            places.insert(&node.pi, (place, path));
            items.extend(tree::of_entity(place, new, &shown.components, node));
        }
        left = later;
    }
    Ok(items)
}

/// Brings everything to the batch, a part at a time.
async fn bring(site: &Site, order: &DiscoverOrder, items: &[Item], most: usize) -> Result<Value, WorkError> {
    let batch = order.batch.batch_id.as_str();
    let mut from = 0_usize;
    loop {
        let part = part(&items[from..], most);
        let last = from + part.len() == items.len();
        let call = Call::Items { life: order.batch.life, from: from as u64, items: part.to_vec(), last };
        let answer: HaveAnswer = site.ask(batch, &call).await?;
        match answer.have.and_then(|have| usize::try_from(have).ok()) {
            None => return Ok(json!({ "items": items.len() })),
            Some(have) if have > items.len() => {
                let reason = "the batch has become smaller while it was read".to_owned();
                return Err(WorkError::Never(reason));
            }
            Some(have) => from = have,
        }
    }
}

/// As many of the first items as one call brings.
fn part(items: &[Item], most: usize) -> &[Item] {
    let mut bytes = 0;
    let fits = items.iter().take(most).take_while(|item| {
        bytes += serde_json::to_string(item).map_or(CALL_BYTES, |text| text.len());
        bytes <= CALL_BYTES
    });
    let count = fits.count().max(1).min(items.len());
    &items[..count]
}

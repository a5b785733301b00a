//! The batch that reads, groups and describes what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_blob::{BlobError, Key};
use abide_collections::snapshot::{directories, directory_id, directory_of};
use abide_collections::{Branch, Tree, Unfinished};
use abide_entities::EntityId;
use abide_organize::REF_SUFFIX;
use abide_organize::contract::ExistingGroup;
use abide_pipeline::contract::{NO_OCR, NodeDocument, NodesAnswer, ProcessingConfig, Status, StatusAnswer};
use serde_json::{Value, json};

use super::Going;
use super::intent::Intent;
use super::plan::Known;
use super::progress::Progress;
use super::trouble::Trouble;
use crate::commands::preprocess::Left;
use crate::failure::Failure;
use crate::reach::Path;

/// How often the batch is looked at.
const LOOK: Duration = Duration::from_millis(150);
/// Characters of what is said about a group that is there.
const ABOUT_CHARS: usize = 300;

/// What a batch took, and what people should know of it.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) cost_usd: f64,
    pub(super) tokens: u64,
    pub(super) notes: Vec<String>,
    /// Entities that something failed for.
    pub(super) unfinished: BTreeMap<EntityId, Unfinished>,
    /// Images that were not read, by the entity that has them.
    pub(super) unread: Vec<(EntityId, Left)>,
    /// How many more there are.
    pub(super) unread_more: u64,
}

impl Spent {
    pub(super) fn add(&mut self, other: Spent) {
        self.cost_usd += other.cost_usd;
        self.tokens += other.tokens;
        self.notes.extend(other.notes);
        // It did again what failed before.
        self.unfinished = other.unfinished;
        self.unread.extend(other.unread);
        self.unread_more += other.unread_more;
    }

    /// Images that were not read, each where it is in the tree.
    pub(super) fn unread(&self, tree: &Tree) -> impl Iterator<Item = Left> {
        let place = |(id, left): &(EntityId, Left)| {
            let path = format!("{}/{}", tree.path(id), left.file);
            Left { file: path.trim_start_matches('/').to_owned(), reason: left.reason.clone() }
        };
        let more = (self.unread_more > 0).then(|| Left {
            file: format!("{} more images", self.unread_more),
            reason: "they were not read".to_owned(),
        });
        self.unread.iter().map(place).chain(more)
    }
}

/// Writes down what is to be done with which entities: those that changed, and those that they are in. Before files are
/// remembered, it is the same each time.
pub(super) async fn order(going: &Going<'_>, batch: &str, intent: &Intent) -> Result<(), Failure> {
    let tree = Tree::read(going.entities.as_ref(), &directory_id(going.order.name, "")).await?;
    let known = going.files().await?;
    let paths = intent.put.keys().chain(known.keys()).map(String::as_str);
    let folders: BTreeSet<EntityId> =
        directories(paths).iter().map(|dir| directory_id(going.order.name, dir)).collect();
    let mut fixed: BTreeMap<&EntityId, Vec<&String>> = BTreeMap::new();
    for (at, file) in known.values().filter_map(|file| Some((file.at.as_ref()?, file))) {
        fixed.entry(at).or_default().extend(&file.made);
    }
    let fresh = fresh(going.order.name, intent, &known);
    let unread = groups_of(&tree, &folders, &intent.again);
    let mut entries: BTreeMap<EntityId, Value> = BTreeMap::new();
    let changed = intent.tree.edits.keys().chain(intent.tree.emptied.keys());
    for id in changed.chain(intent.again.keys()).chain(&unread) {
        for branch in tree.up(id) {
            if !entries.contains_key(&branch.entity.id) {
                let id = &branch.entity.id;
                let is_again = intent.again.get(id) == Some(&Unfinished::All);
                let is_new = |name: &String| is_again || fresh.get(id).is_some_and(|new| new.contains(name));
                let touch = if folders.contains(id) && branch.files().any(is_new) {
                    Touch::Offered
                } else if is_again || intent.tree.edits.contains_key(id) || unread.contains(id) {
                    Touch::Edited
                } else {
                    Touch::Described
                };
                let mut entry = entry(going, &tree, branch, touch, &folders).await?;
                // What was moved by hand stays, and what was left in no group stays so unless something new belongs to it.
                entry["fixed_files"] = json!(fixed.get(id).cloned().unwrap_or_default());
                entry["former_files"] =
                    json!(branch.files().filter(|name| !is_new(name)).collect::<Vec<_>>());
                entries.insert(id.clone(), entry);
            }
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    let directories: Vec<&Value> = entries.values().collect();
    let manifest = json!({ "batch_id": batch, "directories": directories });
    Ok(going.staging.put(&key(batch)?, manifest.to_string().into(), "application/json").await?)
}

/// Whether there is anything to be done.
pub(super) async fn is_ordered(going: &Going<'_>, batch: &str) -> Result<bool, Failure> {
    match going.staging.head(&key(batch)?).await {
        Ok(_) => Ok(true),
        Err(BlobError::NotFound(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn name(batch: &str) -> String {
    format!("manifests/{batch}-entities.json")
}

fn key(batch: &str) -> Result<Key, BlobError> {
    Ok(Key::new(&name(batch))?)
}

/// Why something is done with an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touch {
    /// It is a folder with new files, which are offered to its groups.
    Offered,
    /// Files of it have another content, or are gone.
    Edited,
    /// Something below it changed.
    Described,
}

/// Groups of folders that are done again: images that were not read before may be in them by now.
fn groups_of(
    tree: &Tree,
    folders: &BTreeSet<EntityId>,
    again: &BTreeMap<EntityId, Unfinished>,
) -> BTreeSet<EntityId> {
    let again = again.iter().filter(|(_, what)| **what == Unfinished::All);
    let parts = again.filter_map(|(id, _)| tree.get(id)).flat_map(|branch| tree.children(branch));
    let groups = parts.map(|part| part.entity.id.clone()).filter(|id| !folders.contains(id));
    groups.collect()
}

/// Components that a run brings into folders and that were not there: of new files, and further ones of edited files.
fn fresh<'a>(
    collection: &str,
    intent: &'a Intent,
    known: &Known,
) -> BTreeMap<EntityId, BTreeSet<&'a String>> {
    let mut fresh: BTreeMap<EntityId, BTreeSet<&String>> = BTreeMap::new();
    for (path, file) in &intent.put {
        let before = known.get(path);
        let is_new = |name: &&String| before.is_none_or(|before| !before.made.contains(name));
        let new = file.made.iter().filter(is_new);
        fresh.entry(directory_id(collection, directory_of(path))).or_default().extend(new);
    }
    fresh
}

/// What is to be done with one entity: one that did not change is only described anew, a group is not grouped again.
async fn entry(
    going: &Going<'_>,
    tree: &Tree,
    branch: &Branch,
    touch: Touch,
    folders: &BTreeSet<EntityId>,
) -> Result<Value, Failure> {
    let id = &branch.entity.id;
    let mut groups = Vec::new();
    for child in tree.children(branch).into_iter().filter(|child| !folders.contains(&child.entity.id)) {
        let about = Tree::description(going.entities.as_ref(), &child.entity).await?.unwrap_or_default();
        groups.push(ExistingGroup {
            group_name: child.label().to_owned(),
            pi: child.entity.id.clone(),
            description: about.chars().take(ABOUT_CHARS).collect(),
        });
    }
    let reorganize = match (touch, groups.is_empty()) {
        (Touch::Edited | Touch::Described, _) => Some(false),
        (Touch::Offered, true) => None,
        // New files may belong to groups that are there, however few they are.
        (Touch::Offered, false) => Some(true),
    };
    let ocr = touch != Touch::Described;
    let config = ProcessingConfig { ocr, reorganize, cheimarros: false, ..ProcessingConfig::default() };
    Ok(json!({
        "directory_path": format!("/{id}"),
        "existing_pi": id,
        "existing_parent_path": branch.parent.as_ref().map(|parent| format!("/{parent}")),
        "processing_config": config,
        "existing_groups": groups,
    }))
}

/// Starts the batch or finds it, and waits until it is done.
pub(super) async fn run(going: &Going<'_>, batch: &str) -> Result<Spent, Failure> {
    let message = json!({
        "batch_id": batch,
        "manifest_r2_key": name(batch),
        "reprocessing_mode": true,
        "uploader": "abide ingest",
        "collection": going.order.name,
    });
    let path = Path::of(["orchestrator", "status", batch]);
    let known: Option<StatusAnswer> = going.client.find(&path).await?;
    let failed = match known {
        Some(known) if known.status != Status::Error => None,
        known => {
            going.client.post::<Value>(&Path::of(["orchestrator", "queue"]), &message).await?;
            known
        }
    };
    let mut progress = Progress::new(going.order.output, going.reads_images);
    let mut trouble = Trouble::default();
    let last = loop {
        // One that begins anew is gone for a moment, or still what it was.
        let status = going.client.find::<StatusAnswer>(&path).await?;
        if let Some(status) = status.filter(|status| Some(status) != failed.as_ref()) {
            progress.show(&status);
            if matches!(status.status, Status::Done | Status::Error) {
                break status;
            }
            if let Some(why) = trouble.look(going.client, batch, &status).await {
                progress.waits(&why);
            }
        }
        tokio::time::sleep(LOOK).await;
    };
    progress.end();
    match last.error {
        Some(error) => Err(Failure::Batch { batch: batch.to_owned(), error }),
        None => {
            let unfinished =
                if last.directories_failed > 0 { unfinished(going, batch).await? } else { BTreeMap::new() };
            let (unread, unread_more) = unread(going, batch, last.files.ocr_failed).await?;
            let (cost_usd, tokens) = (last.cost.cost_usd, last.cost.tokens);
            Ok(Spent { cost_usd, tokens, notes: last.notes, unfinished, unread, unread_more })
        }
    }
}

/// Entities of a batch that something failed for.
async fn unfinished(going: &Going<'_>, batch: &str) -> Result<BTreeMap<EntityId, Unfinished>, Failure> {
    let (mut found, mut after) = (BTreeMap::new(), None);
    loop {
        let path = Path::of(["orchestrator", "batches", batch, "nodes"]).with("after", after);
        let page: NodesAnswer = going.client.get(&path).await?;
        for node in page.nodes.into_iter().filter(|node| !node.phase_errors.is_empty()) {
            let has = |phase: &str| node.phase_errors.contains_key(phase);
            let again = if has("ocr") || has("reorganization") { Unfinished::All } else { Unfinished::Words };
            found.extend(node.pi.map(|pi| (pi, again)));
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(found),
        }
    }
}

/// Images of a batch that were not read, and how many more there are. If nobody reads images, that was said before.
async fn unread(going: &Going<'_>, batch: &str, count: u64) -> Result<(Vec<(EntityId, Left)>, u64), Failure> {
    let (mut found, mut after) = (Vec::new(), None);
    if count == 0 {
        return Ok((found, 0));
    }
    loop {
        let nodes = Path::of(["orchestrator", "batches", batch, "nodes"]).with("after", after);
        let page: NodesAnswer = going.client.get(&nodes).await?;
        for node in page.nodes.into_iter().filter(|node| node.ref_count > 0) {
            let Some(pi) = node.pi else { continue };
            let node = Path::of(["orchestrator", "batches", batch, "nodes", &node.place.to_string()]);
            let node: NodeDocument = going.client.get(&node).await?;
            for (file, reason) in node.refs.into_iter().filter_map(|file| Some((file.filename, file.error?)))
            {
                if reason == NO_OCR {
                    return Ok((Vec::new(), 0));
                }
                let file = file.strip_suffix(REF_SUFFIX).unwrap_or(&file).to_owned();
                found.push((pi.clone(), Left { file, reason }));
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let more = count.saturating_sub(found.len() as u64);
    Ok((found, more))
}

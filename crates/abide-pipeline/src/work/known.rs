//! What a batch has already: of what is found again, only the rest is brought.

use super::WorkError;
use super::context::own;
use crate::calls::{Call, FilesAnswer, Item, NewNode, NodesAnswer};
use crate::node::{FileRecord, Node};
use crate::site::Site;
use abide_entities::{EntityError, EntityId};
use abide_organize::contract::ExistingGroup;
use abide_organize::limits::EXISTING_GROUPS;
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a group's description that the organizer is told.
const ABOUT_CHARS: usize = 500;

/// A directory as it is found, with its files.
struct Found {
    node: NewNode,
    files: Vec<FileRecord>,
}

/// What the batch has.
struct Known {
    by_pi: BTreeMap<EntityId, Node>,
    /// Groups by the directory that they are of.
    groups: BTreeMap<u32, Vec<Node>>,
}

/// Of directories and files in the order in which a batch takes them, those that it does not have, and directories with such
/// files.
pub(super) async fn without(site: &Site, batch: &str, items: Vec<Item>) -> Result<Vec<Item>, WorkError> {
    let known = known(site, batch).await?;
    let total = known.by_pi.len() + known.groups.values().map(Vec::len).sum::<usize>();
    let mut next = u32::try_from(total).unwrap_or(u32::MAX);
    // Places in the batch by those among what is found.
    let mut places: Vec<u32> = Vec::new();
    let mut new = Vec::new();
    for Found { node, files } in directories(items) {
        let parent = node.parent.and_then(|parent| places.get(parent as usize).copied());
        let node = NewNode { parent, ..node };
        let (place, files, node) = match known.by_pi.get(&node.pi) {
            Some(there) => {
                let files = known.lacking(site, batch, there, files).await?;
                let node = if files.is_empty() {
                    None
                } else {
                    Some(NewNode { existing_groups: known.groups(site, there.place).await?, ..node })
                };
                (there.place, files, node)
            }
            None => {
                next += 1;
                (next - 1, files, Some(node))
            }
        };
        places.push(place);
        new.extend(node.map(|node| Item::Node(Box::new(node))));
        new.extend(files.into_iter().map(|file| Item::File { place, file }));
    }
    Ok(new)
}

fn directories(items: Vec<Item>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for item in items {
        match item {
            Item::Node(node) => found.push(Found { node: *node, files: Vec::new() }),
            Item::File { file, .. } => {
                found.last_mut().map(|last| last.files.push(file)).unwrap_or_default();
            }
        }
    }
    found
}

async fn known(site: &Site, batch: &str) -> Result<Known, WorkError> {
    let mut known = Known { by_pi: BTreeMap::new(), groups: BTreeMap::new() };
    let mut after = None;
    loop {
        let page: NodesAnswer = site.ask(batch, &Call::Nodes { after, limit: None }).await?;
        for node in page.nodes {
            match (node.parent.filter(|_| node.existed), node.pi.clone()) {
                (Some(parent), _) => known.groups.entry(parent).or_default().push(node),
                (None, Some(pi)) => drop(known.by_pi.insert(pi, node)),
                (None, None) => {}
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(known),
        }
    }
}

impl Known {
    /// Files that a directory has neither itself nor in a group, each under a name that is free.
    async fn lacking(
        &self,
        site: &Site,
        batch: &str,
        node: &Node,
        files: Vec<FileRecord>,
    ) -> Result<Vec<FileRecord>, WorkError> {
        let (mut keys, mut names) = (BTreeSet::new(), BTreeSet::new());
        let groups = self.groups.get(&node.place).into_iter().flatten().map(|group| group.place);
        for place in std::iter::once(node.place).chain(groups) {
            let mut after = None;
            loop {
                let page: FilesAnswer = site.ask(batch, &Call::Files { place, after }).await?;
                for file in page.files {
                    keys.extend(file.staging_key);
                    names.insert(file.filename);
                }
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
        }
        let is_new = |file: &FileRecord| file.staging_key.as_ref().is_none_or(|key| !keys.contains(key));
        let mut lacking: Vec<FileRecord> = files.into_iter().filter(is_new).collect();
        for file in &mut lacking {
            file.filename = crate::tree::free_name(&file.filename, &names);
            names.insert(file.filename.clone());
        }
        Ok(lacking)
    }

    /// The groups of a directory, as the organizer is told of them.
    async fn groups(&self, site: &Site, place: u32) -> Result<Vec<ExistingGroup>, WorkError> {
        let mut groups = Vec::new();
        let nodes = self.groups.get(&place).into_iter().flatten().take(EXISTING_GROUPS);
        for (pi, node) in nodes.filter_map(|node| Some((node.pi.clone()?, node))) {
            let entities = site.entities.as_ref();
            let shown = match entities.get(&pi).await {
                // Somebody took it away.
                Err(EntityError::NotFound(_)) => continue,
                shown => shown?,
            };
            let about = own(entities, &shown, "description.md").await?.unwrap_or_default();
            let description = String::from_utf8_lossy(&about).chars().take(ABOUT_CHARS).collect();
            let group_name = shown.label.clone().unwrap_or_else(|| node.name().to_owned());
            groups.push(ExistingGroup { group_name, pi, description });
        }
        Ok(groups)
    }
}

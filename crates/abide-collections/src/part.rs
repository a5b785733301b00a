//! A part of a collection: an entity of its tree, found by a path of labels or by its id, and what is in it.

use crate::limits::{DEPTH, READ_AT_ONCE, SHOWN_CHILDREN, SHOWN_FILES, SHOWN_VERSIONS};
use crate::text::{is_file, read, shown_name};
use crate::tree::{FileDocument, Tree, label};
use abide_entities::answer::{Shown, VersionItem};
use abide_entities::request::Selector;
use abide_entities::{EntityError, EntityId, EntityStore};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An entity of a collection's tree.
#[derive(Debug, Clone)]
pub struct Part {
    /// It.
    pub entity: Shown,
    /// Those that it is in, the topmost first.
    pub above: Vec<Shown>,
}

impl Part {
    /// Finds the part of the tree below `root` at a path of labels, or with an id.
    pub async fn find(
        store: &dyn EntityStore,
        root: &EntityId,
        path: &str,
    ) -> Result<Option<Part>, EntityError> {
        if let Ok(id) = EntityId::parse(path)
            && let Some(part) = Part::with_id(store, root, &id, Parents::Now).await?
        {
            return Ok(Some(part));
        }
        let mut part = Part { entity: store.get(root).await?, above: Vec::new() };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if part.above.len() >= DEPTH {
                return Ok(None);
            }
            let children = children(store, &part.entity.children_pi).await?;
            let Some(child) = children.into_iter().find(|child| label(child) == name) else {
                return Ok(None);
            };
            part.above.push(std::mem::replace(&mut part.entity, child));
        }
        Ok(Some(part))
    }

    /// A part by its id that is in no part any more, and was in one of the tree below `root`.
    pub async fn former(
        store: &dyn EntityStore,
        root: &EntityId,
        id: &str,
    ) -> Result<Option<Part>, EntityError> {
        match EntityId::parse(id) {
            Ok(id) => Part::with_id(store, root, &id, Parents::Ever).await,
            Err(_) => Ok(None),
        }
    }

    async fn with_id(
        store: &dyn EntityStore,
        root: &EntityId,
        id: &EntityId,
        parents: Parents,
    ) -> Result<Option<Part>, EntityError> {
        let Some(entity) = there(store, id).await? else { return Ok(None) };
        let mut above: Vec<Shown> = Vec::new();
        loop {
            let top = above.last().unwrap_or(&entity);
            if top.id == *root {
                above.reverse();
                return Ok(Some(Part { entity, above }));
            }
            let parent = match parents {
                Parents::Now => top.parent_pi.clone(),
                Parents::Ever => ever_in(store, top).await?,
            };
            let Some(parent) = parent.filter(|_| above.len() < DEPTH) else { return Ok(None) };
            let Some(parent) = there(store, &parent).await? else { return Ok(None) };
            above.push(parent);
        }
    }

    /// Finds a file at a path of labels and a name, or of an id and a name: whose it is, and the component.
    pub async fn find_file(
        store: &dyn EntityStore,
        root: &EntityId,
        path: &str,
    ) -> Result<Option<(Part, String)>, EntityError> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some(part) = Part::find(store, root, folder).await? else { return Ok(None) };
        let mut files = part.entity.components.keys().filter(|component| is_file(component));
        let found = files.find(|component| *component == name || shown_name(component) == name);
        let found = found.cloned();
        Ok(found.map(|component| (part, component)))
    }

    /// Labels from the topmost to this one, without the topmost: `letters/Hartmann`.
    #[must_use]
    pub fn path(&self) -> String {
        let labels: Vec<&str> = self.above.iter().chain([&self.entity]).skip(1).map(label).collect();
        labels.join("/")
    }
}

/// What counts as that which an entity is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parents {
    /// What it is in.
    Now,
    /// What it was in last, if it is in nothing.
    Ever,
}

/// An entity, if there is one.
async fn there(store: &dyn EntityStore, id: &EntityId) -> Result<Option<Shown>, EntityError> {
    match store.get(id).await {
        Ok(entity) => Ok(Some(entity)),
        Err(EntityError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What an entity is in, or was the last time that it was in anything, as far as its newest versions say.
pub(crate) async fn ever_in(
    store: &dyn EntityStore,
    entity: &Shown,
) -> Result<Option<EntityId>, EntityError> {
    let mut parent = entity.parent_pi.clone();
    for ver in (1..entity.ver).rev().take(SHOWN_VERSIONS) {
        if parent.is_some() {
            break;
        }
        parent = store.version(&entity.id, Selector::Ver(ver)).await?.parent_pi;
    }
    Ok(parent)
}

/// Entities by label.
pub(crate) async fn children(store: &dyn EntityStore, ids: &[EntityId]) -> Result<Vec<Shown>, EntityError> {
    let reads: Vec<_> = ids.iter().map(|id| store.get(id)).collect();
    let mut children: Vec<Shown> = stream::iter(reads).buffered(READ_AT_ONCE).try_collect().await?;
    children.sort_by(|one, other| label(one).cmp(label(other)).then(one.id.cmp(&other.id)));
    Ok(children)
}

/// A part as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartDocument {
    /// Labels from the topmost to it, with `/` between them.
    pub path: String,
    /// Those that it is in, the topmost first.
    pub above: Vec<Named>,
    /// Its entity, in the version that was asked for.
    pub entity: Shown,
    /// What people call it.
    pub label: String,
    /// What it is about.
    pub description: Option<String>,
    /// Its record of metadata.
    pub record: Option<Value>,
    /// How many files it has.
    pub files_count: usize,
    /// The first of them.
    pub files: Vec<FileDocument>,
    /// How many parts it has.
    pub children_count: usize,
    /// The first of them, by label.
    pub children: Vec<ChildDocument>,
    /// Its newest versions.
    pub versions: Vec<VersionItem>,
}

/// An entity and what people call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Which.
    pub id: EntityId,
    /// What people call it.
    pub label: String,
}

/// A part of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildDocument {
    /// Which.
    pub id: EntityId,
    /// What people call it.
    pub label: String,
    /// How many files it has.
    pub files_count: usize,
    /// How many parts it has.
    pub children_count: usize,
}

impl PartDocument {
    /// A part in its newest version, or in version `ver`.
    pub async fn of(
        store: &dyn EntityStore,
        part: Part,
        ver: Option<u32>,
    ) -> Result<PartDocument, EntityError> {
        let path = part.path();
        let above =
            part.above.iter().map(|entity| Named { id: entity.id.clone(), label: label(entity).to_owned() });
        let above = above.collect();
        let entity = match ver {
            None => part.entity,
            Some(ver) => store.version(&part.entity.id, Selector::Ver(ver)).await?,
        };
        let record = match entity.components.get("pinax.json") {
            Some(cid) => serde_json::from_str(&read(store, *cid).await?).ok(),
            None => None,
        };
        let shown = &entity.children_pi[..entity.children_pi.len().min(SHOWN_CHILDREN)];
        // A part of an older version may be gone by now.
        let reads: Vec<_> = shown.iter().map(|id| store.get(id)).collect();
        let read: Vec<Result<Shown, EntityError>> =
            stream::iter(reads).buffered(READ_AT_ONCE).collect().await;
        let there = read.into_iter().filter(|read| !matches!(read, Err(EntityError::NotFound(_))));
        let mut children: Vec<Shown> = there.collect::<Result<_, _>>()?;
        children.sort_by(|one, other| label(one).cmp(label(other)).then(one.id.cmp(&other.id)));
        Ok(PartDocument {
            path,
            above,
            label: label(&entity).to_owned(),
            description: Tree::description(store, &entity).await?,
            record,
            files_count: files_count(&entity),
            files: FileDocument::of(&entity).take(SHOWN_FILES).collect(),
            children_count: entity.children_pi.len(),
            children: children.iter().map(ChildDocument::of).collect(),
            versions: store.versions(&entity.id, SHOWN_VERSIONS, None).await?.items,
            entity,
        })
    }
}

impl ChildDocument {
    fn of(entity: &Shown) -> ChildDocument {
        ChildDocument {
            id: entity.id.clone(),
            label: label(entity).to_owned(),
            files_count: files_count(entity),
            children_count: entity.children_pi.len(),
        }
    }
}

fn files_count(entity: &Shown) -> usize {
    entity.components.keys().filter(|component| is_file(component)).count()
}

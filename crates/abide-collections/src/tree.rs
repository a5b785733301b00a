//! A collection as a tree.

use crate::limits::{DEPTH, NODES, READ_AT_ONCE};
use crate::text::{is_file, read, shown_name};
use abide_entities::answer::Shown;
use abide_entities::{EntityError, EntityId, EntityStore};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The entities of a collection, each before its children.
#[derive(Debug, Clone)]
pub struct Tree {
    branches: Vec<Branch>,
    by_id: BTreeMap<EntityId, usize>,
}

/// One entity.
#[derive(Debug, Clone)]
pub struct Branch {
    /// It.
    pub entity: Shown,
    /// How deep; 0 for the root.
    pub depth: usize,
    /// The one it is in.
    pub parent: Option<EntityId>,
    children: Vec<usize>,
}

/// A tree as it goes over the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeDocument {
    /// Which entity.
    pub id: EntityId,
    /// What people call it.
    pub label: String,
    /// Its version.
    pub ver: u32,
    /// What it is about, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its files.
    pub files: Vec<FileDocument>,
    /// What is in it.
    pub children: Vec<TreeDocument>,
}

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDocument {
    /// Its name.
    pub name: String,
    /// The component that it is, or that stands for it.
    pub component: String,
    /// What that has.
    pub cid: String,
}

impl Branch {
    /// What people call it.
    #[must_use]
    pub fn label(&self) -> &str {
        label(&self.entity)
    }

    /// Components that are files.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        self.entity.components.keys().filter(|name| is_file(name))
    }
}

/// What people call an entity.
pub(crate) fn label(entity: &Shown) -> &str {
    entity.label.as_deref().unwrap_or_else(|| entity.id.as_str())
}

impl FileDocument {
    /// The files of an entity.
    pub(crate) fn of(entity: &Shown) -> impl Iterator<Item = FileDocument> {
        let files = entity.components.iter().filter(|(component, _)| is_file(component));
        files.map(|(component, cid)| FileDocument {
            name: shown_name(component).to_owned(),
            component: component.clone(),
            cid: cid.to_string(),
        })
    }
}

impl Tree {
    /// Nothing at all.
    pub(crate) const fn empty() -> Tree {
        Tree { branches: Vec::new(), by_id: BTreeMap::new() }
    }

    /// Reads everything below `root`.
    pub async fn read(store: &dyn EntityStore, root: &EntityId) -> Result<Tree, EntityError> {
        let mut tree = Tree::empty();
        let mut seen = BTreeSet::from([root.clone()]);
        let mut level: Vec<(EntityId, Option<usize>)> = vec![(root.clone(), None)];
        for depth in 0.. {
            if level.is_empty() {
                break;
            }
            if depth > DEPTH || tree.branches.len() + level.len() > NODES {
                return Err(EntityError::TooLarge(format!(
                    "a tree has at most {NODES} entities in {DEPTH} levels"
                )));
            }
            let reads: Vec<_> = level
                .into_iter()
                .map(|(id, parent)| async move { Ok::<_, EntityError>((store.get(&id).await?, parent)) })
                .collect();
            let read: Vec<(Shown, Option<usize>)> =
                stream::iter(reads).buffered(READ_AT_ONCE).try_collect().await?;
            level = Vec::new();
            for (entity, parent) in read {
                let at = tree.branches.len();
                let children = entity.children_pi.iter().filter(|child| seen.insert((*child).clone()));
                level.extend(children.map(|child| (child.clone(), Some(at))));
                if let Some(parent) = parent {
                    tree.branches[parent].children.push(at);
                }
                tree.by_id.insert(entity.id.clone(), at);
                let parent = parent.map(|parent| tree.branches[parent].entity.id.clone());
                tree.branches.push(Branch { entity, depth, parent, children: Vec::new() });
            }
        }
        Ok(tree)
    }

    /// The topmost entity.
    #[must_use]
    pub fn root(&self) -> &Branch {
        &self.branches[0]
    }

    /// All entities, each before its children.
    #[must_use]
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, id: &EntityId) -> Option<&Branch> {
        self.by_id.get(id).map(|at| &self.branches[*at])
    }

    /// What is in an entity, by label.
    #[must_use]
    pub fn children(&self, branch: &Branch) -> Vec<&Branch> {
        let mut children: Vec<&Branch> = branch.children.iter().map(|at| &self.branches[*at]).collect();
        children
            .sort_by(|one, other| one.label().cmp(other.label()).then(one.entity.id.cmp(&other.entity.id)));
        children
    }

    /// An entity and those that it is in, the topmost last.
    pub fn up<'a>(&'a self, id: &EntityId) -> impl Iterator<Item = &'a Branch> {
        std::iter::successors(self.get(id), |branch| self.get(branch.parent.as_ref()?))
    }

    /// Labels from the topmost to an entity, without the topmost: `letters/Hartmann`.
    #[must_use]
    pub fn path(&self, id: &EntityId) -> String {
        let mut labels: Vec<&str> = self.up(id).map(Branch::label).collect();
        labels.pop();
        labels.reverse();
        labels.join("/")
    }

    /// The description of an entity, if it has one.
    pub async fn description(store: &dyn EntityStore, entity: &Shown) -> Result<Option<String>, EntityError> {
        match entity.components.get("description.md") {
            Some(cid) => read(store, *cid).await.map(Some),
            None => Ok(None),
        }
    }

    /// The whole tree for the wire, with descriptions.
    pub async fn document(&self, store: &dyn EntityStore) -> Result<TreeDocument, EntityError> {
        let texts: Vec<_> =
            self.branches.iter().map(|branch| Tree::description(store, &branch.entity)).collect();
        let texts: Vec<Option<String>> = stream::iter(texts).buffered(READ_AT_ONCE).try_collect().await?;
        Ok(self.part(0, &texts))
    }

    fn part(&self, at: usize, texts: &[Option<String>]) -> TreeDocument {
        let branch = &self.branches[at];
        let mut children: Vec<TreeDocument> =
            branch.children.iter().map(|child| self.part(*child, texts)).collect();
        children.sort_by(|one, other| one.label.cmp(&other.label).then(one.id.cmp(&other.id)));
        TreeDocument {
            id: branch.entity.id.clone(),
            label: branch.label().to_owned(),
            ver: branch.entity.ver,
            description: texts[at].clone(),
            files: FileDocument::of(&branch.entity).collect(),
            children,
        }
    }
}

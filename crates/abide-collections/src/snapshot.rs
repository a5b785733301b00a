//! Bringing files into a tree: a directory becomes an entity, a file becomes components of it.

use crate::by_hand::move_file;
use crate::collection::SourceFile;
use crate::limits::CHANGES_AT_ONCE;
use crate::text::component_name;
use crate::tree::{Branch, Tree};
use abide_entities::request::{Append, Create};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore, update};
use abide_pipeline::FileKind;
use abide_pipeline::ids::of_directory;
use std::collections::{BTreeMap, BTreeSet};

/// A file that is brought in: what became of it, as blobs that are kept already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Its path in the folder.
    pub path: String,
    /// Names and contents.
    pub made: Vec<(String, ContentId)>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Applied {
    /// Entities that changed.
    pub touched: BTreeSet<EntityId>,
    /// Components that each file became, by its path.
    pub made: BTreeMap<String, Vec<String>>,
}

/// The entity of a directory: that of a collection's root has the path `/`.
#[must_use]
pub fn directory_id(collection: &str, dir: &str) -> EntityId {
    of_directory(collection, &format!("/{dir}"))
}

/// The directory of a file, without a slash at its end; empty for the root.
#[must_use]
pub fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(dir, _)| dir)
}

/// Makes the tree of a collection as its folder is now. Repeating it changes nothing.
pub async fn apply(
    store: &dyn EntityStore,
    collection: &str,
    incoming: &[Incoming],
    gone: &BTreeSet<String>,
    known: &BTreeMap<String, SourceFile>,
) -> Result<Applied, EntityError> {
    let mut applied = Applied::default();
    for dir in directories(incoming.iter().map(|file| file.path.as_str())) {
        if ensure(store, collection, &dir).await? {
            applied.touched.insert(directory_id(collection, &dir));
        }
    }
    let tree = Tree::read(store, &directory_id(collection, "")).await?;
    let places = Places::of(collection, &tree, known);
    let mut edits: BTreeMap<EntityId, Edit> = BTreeMap::new();
    for file in incoming {
        let before = known.get(&file.path);
        let mut names = Vec::new();
        let named = distinct(&places, &file.path, &file.made);
        for (name, cid) in named {
            let home = directory_id(collection, directory_of(&file.path));
            let at = before.and_then(|before| places.find(&file.path, &name, before)).unwrap_or(home);
            edits.entry(at).or_default().put.insert(name.clone(), cid);
            names.push(name);
        }
        for name in before.iter().flat_map(|before| &before.made).filter(|name| !names.contains(name)) {
            if let Some(at) = before.and_then(|before| places.find(&file.path, name, before)) {
                edits.entry(at).or_default().remove.insert(name.clone());
            }
        }
        applied.made.insert(file.path.clone(), names);
    }
    for (path, before) in gone.iter().filter_map(|path| Some((path, known.get(path)?))) {
        for name in &before.made {
            if let Some(at) = places.find(path, name, before) {
                edits.entry(at).or_default().remove.insert(name.clone());
            }
        }
    }
    for (id, edit) in edits {
        if edit.make(store, &id, tree.get(&id)).await? {
            applied.touched.insert(id);
        }
    }
    Ok(applied)
}

/// Originals follow what was made of them: where a text or ref of a file went into a group, the rest of that file goes too.
pub async fn gather(
    store: &dyn EntityStore,
    collection: &str,
    known: &BTreeMap<String, SourceFile>,
) -> Result<(), EntityError> {
    let tree = Tree::read(store, &directory_id(collection, "")).await?;
    let places = Places::of(collection, &tree, known);
    for (path, file) in known.iter().filter(|(_, file)| file.made.len() > 1) {
        let grouped = file.made.iter().filter(|name| FileKind::of(name) != FileKind::Other);
        let at: BTreeSet<EntityId> = grouped.filter_map(|name| places.find(path, name, file)).collect();
        let (Some(home), 1) = (at.first(), at.len()) else { continue };
        for name in &file.made {
            if let Some(from) = places.find(path, name, file).filter(|from| from != home) {
                move_file(store, &from, name, home).await?;
            }
        }
    }
    Ok(())
}

/// Every directory of these files, each after the one it is in.
#[must_use]
pub fn directories<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut all = BTreeSet::from([String::new()]);
    for path in paths {
        let mut dir = directory_of(path);
        while !dir.is_empty() && all.insert(dir.to_owned()) {
            dir = directory_of(dir);
        }
    }
    all
}

/// Whether the entity of a directory had to be made.
async fn ensure(store: &dyn EntityStore, collection: &str, dir: &str) -> Result<bool, EntityError> {
    let id = directory_id(collection, dir);
    match store.resolve(&id).await {
        Ok(_) => return Ok(false),
        Err(EntityError::NotFound(_)) => {}
        Err(error) => return Err(error),
    }
    let label = dir.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(collection);
    let create = Create {
        id: Some(id),
        label: Some(label.to_owned()),
        parent_pi: (!dir.is_empty()).then(|| directory_id(collection, directory_of(dir))),
        note: Some(format!("folder {}", if dir.is_empty() { "/" } else { dir })),
        ..Create::default()
    };
    store.create(create).await.map(|_| true)
}

/// What a file became, under names that no other file of its directory has.
fn distinct(places: &Places<'_>, path: &str, made: &[(String, ContentId)]) -> Vec<(String, ContentId)> {
    let taken = |name: &String| {
        let of = places.owner.get(&(directory_of(path).to_owned(), name.clone()));
        of.is_some_and(|owner| *owner != path)
    };
    let named = made.iter().map(|(name, cid)| {
        let name = component_name(name);
        let name =
            if taken(&name) { format!("{} - {name}", path.rsplit('/').next().unwrap_or(path)) } else { name };
        (name, *cid)
    });
    named.collect()
}

/// Where components are.
struct Places<'a> {
    collection: &'a str,
    tree: &'a Tree,
    /// Entities that have a component of a name.
    having: BTreeMap<&'a str, Vec<&'a Branch>>,
    /// Entities of directories.
    directories: BTreeSet<EntityId>,
    /// Which file became a component, by directory and name.
    owner: BTreeMap<(String, String), &'a str>,
}

impl<'a> Places<'a> {
    fn of(collection: &'a str, tree: &'a Tree, known: &'a BTreeMap<String, SourceFile>) -> Places<'a> {
        let mut having: BTreeMap<&str, Vec<&Branch>> = BTreeMap::new();
        for branch in tree.branches() {
            branch.files().for_each(|name| having.entry(name.as_str()).or_default().push(branch));
        }
        let dirs = directories(known.keys().map(String::as_str));
        let directories = dirs.iter().map(|dir| directory_id(collection, dir)).collect();
        let owners = known.iter().flat_map(|(path, file)| {
            file.made.iter().map(|name| ((directory_of(path).to_owned(), name.clone()), path.as_str()))
        });
        Places { collection, tree, having, directories, owner: owners.collect() }
    }

    /// Where a component of a file is: where somebody moved it, in its directory, in a group of that, or else in the only
    /// group that has it.
    fn find(&self, path: &str, name: &str, file: &SourceFile) -> Option<EntityId> {
        let having = self.having.get(name)?;
        let has = |id: &EntityId| having.iter().any(|branch| branch.entity.id == *id);
        if let Some(at) = file.at.as_ref().filter(|at| has(at)) {
            return Some(at.clone());
        }
        let home = directory_id(self.collection, directory_of(path));
        if has(&home) {
            return Some(home);
        }
        let mut groups = having.iter().filter(|branch| !self.directories.contains(&branch.entity.id));
        let nearest = |branch: &&&Branch| {
            let directory =
                self.tree.up(&branch.entity.id).find(|up| self.directories.contains(&up.entity.id));
            directory.is_some_and(|directory| directory.entity.id == home)
        };
        if let Some(group) = groups.clone().find(nearest) {
            return Some(group.entity.id.clone());
        }
        match (groups.next(), groups.next()) {
            (Some(only), None) => Some(only.entity.id.clone()),
            _ => None,
        }
    }
}

/// What changes in one entity.
#[derive(Default)]
struct Edit {
    put: BTreeMap<String, ContentId>,
    remove: BTreeSet<String>,
}

impl Edit {
    /// Whether a version was needed.
    async fn make(
        mut self,
        store: &dyn EntityStore,
        id: &EntityId,
        now: Option<&Branch>,
    ) -> Result<bool, EntityError> {
        if let Some(branch) = now {
            let has = &branch.entity.components;
            self.put.retain(|name, cid| has.get(name) != Some(cid));
            self.remove.retain(|name| has.contains_key(name));
        }
        let changed = !self.put.is_empty() || !self.remove.is_empty();
        while !self.put.is_empty() || !self.remove.is_empty() {
            let put: BTreeMap<_, _> = take(&mut self.put, CHANGES_AT_ONCE);
            let remove: BTreeSet<String> =
                self.remove.iter().take(CHANGES_AT_ONCE - put.len()).cloned().collect();
            self.remove.retain(|name| !remove.contains(name));
            let note = format!("{} files brought in, {} removed", put.len(), remove.len());
            update(store, id, |shown| Append {
                components: put.clone(),
                components_remove: remove.clone(),
                note: Some(note.clone()),
                ..Append::onto(shown.tip)
            })
            .await?;
        }
        Ok(changed)
    }
}

fn take(from: &mut BTreeMap<String, ContentId>, count: usize) -> BTreeMap<String, ContentId> {
    match from.keys().nth(count).cloned() {
        None => std::mem::take(from),
        Some(past) => {
            let rest = from.split_off(&past);
            std::mem::replace(from, rest)
        }
    }
}

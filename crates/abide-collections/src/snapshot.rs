//! Bringing files into a tree: a directory becomes an entity, a file becomes components of it.
//!
//! What changes is decided as a whole before anything of it is done ([`decide`]), so that a run that is stopped while it is done
//! ([`apply`]) goes on with the same, and what changed is known however often it is repeated.

use crate::by_hand::move_file;
use crate::collection::SourceFile;
use crate::limits::CHANGES_AT_ONCE;
use crate::part::{Part, ever_in};
use crate::text::component_name;
use crate::tree::{Branch, Tree};
use abide_entities::answer::Shown;
use abide_entities::limits::CHILDREN_AT_ONCE;
use abide_entities::request::{Append, Create};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore, update};
use abide_organize::REF_SUFFIX;
use abide_pipeline::FileKind;
use abide_pipeline::ids::of_directory;
use abide_pipeline::limits::FILES_PER_DIRECTORY;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A file that is brought in: what became of it, as blobs that are kept already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Its path in the folder.
    pub path: String,
    /// Names and contents.
    pub made: Vec<(String, ContentId)>,
}

/// What is to be done with a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decided {
    /// Directories that are to be there, each after the one it is in.
    pub directories: BTreeSet<String>,
    /// What directories are called if something beside them has their name already.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Parts that go, as nothing is left in them, by what they are in.
    #[serde(default)]
    pub emptied: BTreeMap<EntityId, BTreeSet<EntityId>>,
    /// Entities that change, and how.
    pub edits: BTreeMap<EntityId, Edit>,
    /// Components that each file becomes, by its path.
    pub made: BTreeMap<String, Vec<String>>,
    /// Files for which there is no room where they belong.
    #[serde(default)]
    pub left: BTreeSet<String>,
}

/// What changes in one entity.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Edit {
    /// Components that it is to have.
    pub put: BTreeMap<String, ContentId>,
    /// Components that it is to have no longer.
    pub remove: BTreeSet<String>,
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

/// Decides how the tree of a collection becomes as its folder is now. Nothing is changed.
pub async fn decide(
    store: &dyn EntityStore,
    collection: &str,
    incoming: &[Incoming],
    gone: &BTreeSet<String>,
    known: &BTreeMap<String, SourceFile>,
) -> Result<Decided, EntityError> {
    let root = directory_id(collection, "");
    let tree = match store.resolve(&root).await {
        Ok(_) => Tree::read(store, &root).await?,
        // It is to be made.
        Err(EntityError::NotFound(_)) => Tree::empty(),
        Err(error) => return Err(error),
    };
    let mut places = Places::of(collection, &tree, known);
    let paths = incoming.iter().map(|file| file.path.as_str());
    let mut decided = Decided { directories: directories(paths), ..Decided::default() };
    let edits = &mut decided.edits;
    let mut rooms = Rooms { tree: &tree, has: BTreeMap::new() };
    for file in incoming {
        let before = known.get(&file.path);
        let (mut names, mut placed) = (Vec::new(), Vec::new());
        for (name, cid) in places.distinct(&file.path, &file.made, before) {
            let mut at = before.map(|before| places.all(&file.path, &name, before)).unwrap_or_default();
            if at.is_empty() {
                at.insert(directory_id(collection, directory_of(&file.path)));
            }
            placed.extend(at.into_iter().map(|id| (id, name.clone(), cid)));
            names.push(name);
        }
        if !rooms.take(&placed) {
            decided.left.insert(file.path.clone());
            continue;
        }
        for (id, name, cid) in placed {
            edits.entry(id).or_default().put.insert(name, cid);
        }
        let former = before.into_iter().flat_map(|before| before.made.iter().map(move |name| (name, before)));
        for (name, before) in former.filter(|(name, _)| !names.contains(name)) {
            for id in places.all(&file.path, name, before) {
                edits.entry(id).or_default().remove.insert(name.clone());
            }
        }
        decided.made.insert(file.path.clone(), names);
    }
    for (path, before) in gone.iter().filter_map(|path| Some((path, known.get(path)?))) {
        for name in &before.made {
            for id in places.all(path, name, before) {
                edits.entry(id).or_default().remove.insert(name.clone());
            }
        }
    }
    // A name that one file gives up and another takes is there.
    edits.values_mut().for_each(|Edit { put, remove }| remove.retain(|name| !put.contains_key(name)));
    decided.labels = labels(collection, &tree, &decided.directories);
    let left = known.keys().filter(|path| !gone.contains(*path)).map(String::as_str);
    let left = directories(left.chain(incoming.iter().map(|file| file.path.as_str())));
    decided.emptied = emptied(collection, &tree, &places.directories, &left, &decided.edits);
    Ok(decided)
}

/// How many components entities have, with those that come.
struct Rooms<'a> {
    tree: &'a Tree,
    has: BTreeMap<EntityId, usize>,
}

impl Rooms<'_> {
    /// Counts what a file becomes; nothing of it if there is no room for all of it.
    fn take(&mut self, placed: &[(EntityId, String, ContentId)]) -> bool {
        let mut more: BTreeMap<&EntityId, usize> = BTreeMap::new();
        for (id, name, _) in placed {
            let there = self.tree.get(id).is_some_and(|branch| branch.entity.components.contains_key(name));
            *more.entry(id).or_default() += usize::from(!there);
        }
        let has = |id: &EntityId| match self.has.get(id) {
            Some(has) => *has,
            None => self.tree.get(id).map_or(0, |branch| branch.entity.components.len()),
        };
        let now: Vec<(EntityId, usize)> =
            more.into_iter().map(|(id, more)| (id.clone(), has(id) + more)).collect();
        let fits = now.iter().all(|(id, now)| *now <= FILES_PER_DIRECTORY as usize || *now == has(id));
        if fits {
            self.has.extend(now);
        }
        fits
    }
}

/// What new directories are called where something beside them has their name already: people know parts by their names.
fn labels(collection: &str, tree: &Tree, directories: &BTreeSet<String>) -> BTreeMap<String, String> {
    let named = tree.branches().iter().filter_map(|branch| Some((branch.parent.as_ref()?, branch.label())));
    let taken: BTreeSet<(&EntityId, String)> = named.map(|(id, label)| (id, label.to_lowercase())).collect();
    let mut labels = BTreeMap::new();
    for dir in directories.iter().filter(|dir| !dir.is_empty()) {
        let (id, above) = (directory_id(collection, dir), directory_id(collection, directory_of(dir)));
        let name = dir.rsplit('/').next().unwrap_or(dir);
        let is_taken = |name: &str| taken.contains(&(&above, name.to_lowercase()));
        if tree.get(&id).is_none() && is_taken(name) {
            let mut others = (2..).map(|number| format!("{name} ({number})"));
            let free = others.find(|other| !is_taken(other));
            labels.insert(dir.clone(), free.unwrap_or_else(|| name.to_owned()));
        }
    }
    labels
}

/// Parts in which nothing is left: directories that the folder has no longer (`left` are those that it has), and groups whose
/// last file goes now. What somebody emptied by hand stays.
fn emptied(
    collection: &str,
    tree: &Tree,
    known: &BTreeSet<EntityId>,
    left: &BTreeSet<String>,
    edits: &BTreeMap<EntityId, Edit>,
) -> BTreeMap<EntityId, BTreeSet<EntityId>> {
    let left: BTreeSet<EntityId> = left.iter().map(|dir| directory_id(collection, dir)).collect();
    let nothing = Edit::default();
    let mut emptied: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
    // What is in a part comes before it.
    for branch in tree.branches().iter().rev() {
        let (id, Some(parent)) = (&branch.entity.id, &branch.parent) else { continue };
        let edit = edits.get(id).unwrap_or(&nothing);
        let is_changed = known.contains(id) || !edit.remove.is_empty() || emptied.contains_key(id);
        let goes = is_changed && !left.contains(id);
        let has_files = !edit.put.is_empty() || branch.files().any(|name| !edit.remove.contains(name));
        let lost = emptied.get(id).map_or(0, BTreeSet::len);
        if goes && !has_files && tree.children(branch).len() == lost {
            emptied.entry(parent.clone()).or_default().insert(id.clone());
        }
    }
    emptied
}

/// Makes the tree of a collection as it was decided. Repeating it changes nothing.
pub async fn apply(store: &dyn EntityStore, collection: &str, decided: &Decided) -> Result<(), EntityError> {
    for dir in &decided.directories {
        ensure(store, collection, dir, decided.labels.get(dir)).await?;
    }
    for (id, edit) in &decided.edits {
        edit.make(store, id).await?;
    }
    for (id, children) in &decided.emptied {
        let has = store.get(id).await?.children_pi;
        let gone: Vec<EntityId> = has.into_iter().filter(|child| children.contains(child)).collect();
        for part in gone.chunks(CHILDREN_AT_ONCE) {
            update(store, id, |shown| Append {
                children_pi_remove: part.to_vec(),
                note: Some(match part {
                    [_] => "an empty part removed".to_owned(),
                    part => format!("{} empty parts removed", part.len()),
                }),
                ..Append::onto(shown.tip)
            })
            .await?;
        }
    }
    Ok(())
}

/// Originals follow what was made of them: where a text or ref of a file went into a group, the rest of that file goes too.
pub async fn gather(
    store: &dyn EntityStore,
    collection: &str,
    known: &BTreeMap<String, SourceFile>,
) -> Result<(), EntityError> {
    let tree = Tree::read(store, &directory_id(collection, "")).await?;
    let places = Places::of(collection, &tree, known);
    // What is new of a file that somebody moved came to its folder.
    for (path, file) in known {
        let Some(at) = file.at.as_ref().filter(|at| tree.get(at).is_some()) else { continue };
        let home = directory_id(collection, directory_of(path));
        for name in file.made.iter().filter(|_| home != *at) {
            let (there, here) = (places.content(at, name), places.content(&home, name));
            let is_own = places.owner.get(&(home.clone(), name.clone())) == Some(&path.as_str());
            if here.is_some() && is_own && (there.is_none() || there == here) {
                move_file(store, &home, name, at).await?;
            }
        }
    }
    for (path, file) in known.iter().filter(|(_, file)| file.made.len() > 1 && file.at.is_none()) {
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

/// Makes the entity of a directory if it is not there, or brings back one that was removed when it was empty.
async fn ensure(
    store: &dyn EntityStore,
    collection: &str,
    dir: &str,
    other_label: Option<&String>,
) -> Result<(), EntityError> {
    let id = directory_id(collection, dir);
    let parent = (!dir.is_empty()).then(|| directory_id(collection, directory_of(dir)));
    let there = match store.get(&id).await {
        Ok(there) => there,
        Err(EntityError::NotFound(_)) => {
            let name = dir.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(collection);
            let create = Create {
                id: Some(id),
                label: Some(other_label.map_or(name, String::as_str).to_owned()),
                parent_pi: parent,
                note: Some(format!("folder {}", if dir.is_empty() { "/" } else { dir })),
                ..Create::default()
            };
            return store.create(create).await.map(drop);
        }
        Err(error) => return Err(error),
    };
    let (Some(mut parent), None) = (parent, &there.parent_pi) else { return Ok(()) };
    // Where somebody had moved it, if that is there.
    if let Some(last) = ever_in(store, &there).await?
        && Part::find(store, &directory_id(collection, ""), last.as_str()).await?.is_some()
    {
        parent = last;
    }
    if other_label.is_some() && there.label.as_ref() != other_label {
        let other = |shown: &Shown| Append { label: other_label.cloned(), ..Append::onto(shown.tip) };
        update(store, &id, other).await?;
    }
    update(store, &parent, |shown| Append {
        children_pi_add: vec![id.clone()],
        note: Some(format!("folder {dir} is there again")),
        ..Append::onto(shown.tip)
    })
    .await
    .map(drop)
}

/// Files of groups that are in a part, and where: once it is moved, they are not near their folder any more.
pub(crate) fn pinned(
    collection: &str,
    tree: &Tree,
    known: &BTreeMap<String, SourceFile>,
    part: &EntityId,
) -> BTreeMap<String, EntityId> {
    let places = Places::of(collection, tree, known);
    let is_inside = |id: &EntityId| tree.up(id).any(|up| up.entity.id == *part);
    let mut pinned = BTreeMap::new();
    for (path, file) in known.iter().filter(|(_, file)| file.at.is_none()) {
        let mut at = file.made.iter().filter_map(|name| places.find(path, name, file));
        if let Some(at) = at.find(|at| !places.directories.contains(at) && is_inside(at)) {
            pinned.insert(path.clone(), at);
        }
    }
    pinned
}

/// Files that a component of an entity is of, each with where its components are that are in that entity.
pub(crate) fn sources<'a>(
    collection: &str,
    tree: &Tree,
    known: &'a BTreeMap<String, SourceFile>,
    id: &EntityId,
    component: &str,
) -> Vec<(&'a String, &'a SourceFile, BTreeSet<String>)> {
    let places = Places::of(collection, tree, known);
    let is_of = |path: &str, file: &SourceFile, name: &str| places.all(path, name, file).contains(id);
    let has = |file: &SourceFile| file.made.iter().any(|made| made == component);
    let owners = known.iter().filter(|(path, file)| has(file) && is_of(path, file, component));
    let mut sources = Vec::new();
    for (path, file) in owners {
        let here = file.made.iter().filter(|name| is_of(path, file, name)).cloned().collect();
        sources.push((path, file, here));
    }
    sources
}

/// Where components are.
struct Places<'a> {
    collection: &'a str,
    tree: &'a Tree,
    /// Entities that have a component of a name.
    having: BTreeMap<&'a str, Vec<&'a Branch>>,
    /// Entities of directories.
    directories: BTreeSet<EntityId>,
    /// Which file became a component, or becomes it now, by where it is brought or was moved to, and by name.
    owner: BTreeMap<(EntityId, String), &'a str>,
}

impl<'a> Places<'a> {
    fn of(collection: &'a str, tree: &'a Tree, known: &'a BTreeMap<String, SourceFile>) -> Places<'a> {
        let mut having: BTreeMap<&str, Vec<&Branch>> = BTreeMap::new();
        for branch in tree.branches() {
            branch.files().for_each(|name| having.entry(name.as_str()).or_default().push(branch));
        }
        let dirs = directories(known.keys().map(String::as_str));
        let directories = dirs.iter().map(|dir| directory_id(collection, dir)).collect();
        let mut owner = BTreeMap::new();
        for (path, file) in known {
            let homes = file.at.iter().cloned().chain([directory_id(collection, directory_of(path))]);
            for home in homes {
                owner.extend(file.made.iter().map(|name| ((home.clone(), name.clone()), path.as_str())));
            }
        }
        Places { collection, tree, having, directories, owner }
    }

    /// What a file became, under names that no other file has where it is brought: as somebody named them, or their own.
    fn distinct(
        &mut self,
        path: &'a str,
        made: &[(String, ContentId)],
        before: Option<&SourceFile>,
    ) -> Vec<(String, ContentId)> {
        let (home, file) =
            (directory_id(self.collection, directory_of(path)), path.rsplit('/').next().unwrap_or(path));
        let by_hand = |name: &str| before.and_then(|before| before.named.get(name));
        let mut named = Vec::with_capacity(made.len());
        for (name, cid) in made {
            // A ref is what stands for an image here; a file that merely ends so is not one.
            let is_named_so = name == file && name.ends_with(REF_SUFFIX);
            let own = if is_named_so { format!("{name}.txt") } else { component_name(name) };
            let beside = format!("{file} - {own}");
            let more = (2..).map(|number| format!("{file} ({number}) - {own}"));
            let names = by_hand(&own).or_else(|| by_hand(&beside)).cloned();
            let mut names = names.into_iter().chain([own.clone(), beside.clone()]).chain(more);
            let is_free = |name: &String| {
                self.owner.get(&(home.clone(), name.clone())).is_none_or(|owner| *owner == path)
            };
            let name = names.find(is_free).unwrap_or(own);
            self.owner.insert((home.clone(), name.clone()), path);
            named.push((name, *cid));
        }
        named
    }

    /// Everywhere that a component of a file is: a group may share it with others of the same directory.
    fn all(&self, path: &str, name: &str, file: &SourceFile) -> BTreeSet<EntityId> {
        let Some(first) = self.find(path, name, file) else { return BTreeSet::new() };
        let home = directory_id(self.collection, directory_of(path));
        let content = self.content(&first, name);
        let shares = |branch: &&&Branch| {
            self.content(&branch.entity.id, name) == content && self.is_group_of(branch, &home)
        };
        let others = self.having.get(name).into_iter().flatten().filter(shares);
        others.map(|branch| branch.entity.id.clone()).chain([first.clone()]).collect()
    }

    fn content(&self, id: &EntityId, name: &str) -> Option<ContentId> {
        self.tree.get(id)?.entity.components.get(name).copied()
    }

    /// Whether the nearest directory above is `home`.
    fn is_group_of(&self, branch: &Branch, home: &EntityId) -> bool {
        let is_directory = |up: &&Branch| self.directories.contains(&up.entity.id);
        let nearest = self.tree.up(&branch.entity.id).find(is_directory);
        nearest.is_some_and(|directory| directory.entity.id == *home && branch.entity.id != *home)
    }

    /// Where a component of a file is: where somebody moved it, in its directory, in a group of that, or else in the only
    /// group that has it.
    fn find(&self, path: &str, name: &str, file: &SourceFile) -> Option<EntityId> {
        let having = self.having.get(name)?;
        let has = |id: &EntityId| self.content(id, name).is_some();
        if let Some(at) = file.at.as_ref().filter(|at| has(at)) {
            return Some(at.clone());
        }
        let home = directory_id(self.collection, directory_of(path));
        if has(&home) {
            return Some(home);
        }
        let mut groups = having.iter().filter(|branch| !self.directories.contains(&branch.entity.id));
        if let Some(group) = groups.clone().find(|branch| self.is_group_of(branch, &home)) {
            return Some(group.entity.id.clone());
        }
        match (groups.next(), groups.next()) {
            (Some(only), None) => Some(only.entity.id.clone()),
            _ => None,
        }
    }
}

impl Edit {
    /// Gives an entity what it lacks and takes what it has too much, a part at a time.
    async fn make(&self, store: &dyn EntityStore, id: &EntityId) -> Result<(), EntityError> {
        let has = store.get(id).await?.components;
        let lacks = self.put.iter().filter(|(name, cid)| has.get(*name) != Some(*cid));
        let mut puts: BTreeMap<String, ContentId> = lacks.map(|(name, cid)| (name.clone(), *cid)).collect();
        let mut removes: BTreeSet<String> =
            self.remove.iter().filter(|name| has.contains_key(*name)).cloned().collect();
        while !puts.is_empty() || !removes.is_empty() {
            let put = take(&mut puts, CHANGES_AT_ONCE);
            let remove: BTreeSet<String> =
                removes.iter().take(CHANGES_AT_ONCE - put.len()).cloned().collect();
            removes.retain(|name| !remove.contains(name));
            let files = if put.len() == 1 { "file" } else { "files" };
            let note = format!("{} {files} brought in, {} removed", put.len(), remove.len());
            update(store, id, |shown| Append {
                components: put.clone(),
                components_remove: remove.clone(),
                note: Some(note.clone()),
                ..Append::onto(shown.tip)
            })
            .await?;
        }
        Ok(())
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

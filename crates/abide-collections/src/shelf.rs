//! Collections and their trees, for whoever runs the engine.

use crate::by_hand::{ByHand, check_file_name, check_label, check_move};
use crate::catalog::{Call, Collections, NAME, Reply};
use crate::collection::{Collection, SourceFile};
use crate::error::ShelfError;
use crate::file::ShownFile;
use crate::part::{Part, PartDocument};
use crate::refusal::No;
use crate::search::{Hit, search};
use crate::snapshot::sources;
use crate::text::shown_name;
use crate::tree::{Tree, TreeDocument, label};
use abide_engine::{Answer, Engine};
use abide_entities::answer::{Shown, Versions};
use abide_entities::{ContentId, EntityError, EntityId, EntityStore};
use abide_organize::REF_SUFFIX;
use abide_preprocess::Buckets;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// What is remembered, and what it is made of. Cheap to clone.
#[derive(Clone)]
pub struct Shelf {
    pub(crate) engine: Engine,
    pub(crate) entities: Arc<dyn EntityStore>,
    pub(crate) buckets: Buckets,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").field("buckets", &self.buckets).finish_non_exhaustive()
    }
}

/// Something that was moved by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Files, or the label of a part.
    pub moved: Vec<String>,
    /// Where they are now.
    pub into: EntityId,
}

/// Something that was renamed by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renamed {
    /// Which.
    pub id: EntityId,
    /// What it is called now.
    pub label: String,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The first of it.
    pub hits: Vec<Hit>,
    /// Whether there is more.
    pub more: bool,
}

impl Shelf {
    /// Collections that `engine` remembers, of these entities, with images in these buckets.
    #[must_use]
    pub fn new(engine: Engine, entities: Arc<dyn EntityStore>, buckets: Buckets) -> Shelf {
        Shelf { engine, entities, buckets }
    }

    /// Asks the object that remembers collections.
    pub async fn ask(&self, call: &Call) -> Result<Reply, ShelfError> {
        match self.engine.ask::<Collections>(NAME, call).await? {
            Answer::Now(reply) => Ok(reply),
            Answer::Later(_) => Err(ShelfError::Strange),
        }
    }

    /// Files of a collection, by path.
    pub async fn files(&self, name: &str) -> Result<BTreeMap<String, SourceFile>, ShelfError> {
        let (mut all, mut after) = (BTreeMap::new(), None);
        loop {
            let call = Call::Files { name: name.to_owned(), after };
            let Reply::Files { files, next } = self.ask(&call).await? else {
                return Err(ShelfError::Strange);
            };
            all.extend(files);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Everything of a collection, with descriptions.
    pub async fn tree(&self, name: &str) -> Result<TreeDocument, ShelfError> {
        let tree = self.whole(&self.known(name).await?).await?;
        Ok(tree.document(self.entities.as_ref()).await?)
    }

    /// One part of it, in its newest version or in version `ver`; by its id also one that is in no part any more.
    pub async fn show(&self, name: &str, path: &str, ver: Option<u32>) -> Result<PartDocument, ShelfError> {
        let collection = self.known(name).await?;
        let (store, root) = (self.entities.as_ref(), &collection.root_pi);
        let part = match self.part(&collection, path).await {
            Err(none @ ShelfError::NoPart { .. }) => Part::former(store, root, path).await?.ok_or(none)?,
            part => part?,
        };
        Ok(PartDocument::of(store, part, ver).await?)
    }

    /// A file of it, as it is now or in version `ver` of the part that it is in.
    pub async fn show_file(&self, name: &str, path: &str, ver: Option<u32>) -> Result<ShownFile, ShelfError> {
        let collection = self.known(name).await?;
        let found = ShownFile::find(self.entities.as_ref(), &collection.root_pi, path, ver).await?;
        found.ok_or_else(|| ShelfError::NoPart { name: name.to_owned(), path: path.to_owned() })
    }

    /// Versions of a part past one, newest first.
    pub async fn versions(
        &self,
        name: &str,
        path: &str,
        limit: usize,
        cursor: Option<ContentId>,
    ) -> Result<Versions, ShelfError> {
        let part = self.part(&self.known(name).await?, path).await?;
        Ok(self.entities.versions(&part.entity.id, limit, cursor).await?)
    }

    /// Everything that has all words of `query`.
    pub async fn search(&self, name: &str, query: &str) -> Result<Found, ShelfError> {
        let tree = self.whole(&self.known(name).await?).await?;
        let known = self.files(name).await?;
        let (hits, more) = search(self.entities.as_ref(), &tree, &known, query).await?;
        Ok(Found { hits, more })
    }

    /// Calls a part or a file something else.
    pub async fn rename(&self, name: &str, what: &str, to: &str) -> Result<Renamed, ShelfError> {
        loop {
            let collection = self.known(name).await?;
            let (change, renamed) = match self.part(&collection, what).await {
                Err(none @ ShelfError::NoPart { .. }) => {
                    let found = Part::find_file(self.entities.as_ref(), &collection.root_pi, what).await?;
                    let (part, component) = found.ok_or(none)?;
                    self.decide_name(&collection, part, component, to).await?
                }
                part => {
                    let part = part?.entity;
                    let label = check_label(self.entities.as_ref(), &part, to).await?;
                    let renamed = Renamed { id: part.id.clone(), label: label.clone() };
                    (ByHand::RenamePart { part: part.id, label }, renamed)
                }
            };
            if self.change(&collection, &change).await? {
                return Ok(renamed);
            }
        }
    }

    async fn decide_name(
        &self,
        collection: &Collection,
        part: Part,
        component: String,
        to: &str,
    ) -> Result<(ByHand, Renamed), ShelfError> {
        let ending = if component.ends_with(REF_SUFFIX) { REF_SUFFIX } else { "" };
        let (label, to) = (to.trim().to_owned(), format!("{}{ending}", to.trim()));
        check_file_name(&component, &to)?;
        if part.entity.components.contains_key(&to) {
            return Err(EntityError::Conflict(format!("there is another file {label:?} already")).into());
        }
        let (tree, known) = (self.whole(collection).await?, self.files(&collection.name).await?);
        let part = part.entity.id;
        let sources = sources(&collection.name, &tree, &known, &part, &component);
        let sources = sources.into_iter().map(|(path, ..)| path.clone()).collect();
        let renamed = Renamed { id: part.clone(), label };
        Ok((ByHand::RenameFile { part, component, to, sources }, renamed))
    }

    /// Moves a part, or a file and what else became of the same source.
    pub async fn relocate(&self, name: &str, what: &str, into: &str) -> Result<Moved, ShelfError> {
        loop {
            let collection = self.known(name).await?;
            let store = self.entities.as_ref();
            let into = self.part(&collection, into).await?;
            let file = Part::find_file(store, &collection.root_pi, what).await?;
            let (change, moved) = match file {
                Some((from, component)) => {
                    self.decide_place(&collection, &from.entity, component, &into.entity).await?
                }
                None => {
                    let part = self.part(&collection, what).await?.entity;
                    check_move(store, &part, &into.entity.id).await?;
                    let moved = vec![label(&part).to_owned()];
                    let (part, from, into) = (part.id, part.parent_pi, into.entity.id.clone());
                    (ByHand::MovePart { part, from, into }, moved)
                }
            };
            if self.change(&collection, &change).await? {
                return Ok(Moved { moved, into: into.entity.id });
            }
        }
    }

    async fn decide_place(
        &self,
        collection: &Collection,
        from: &Shown,
        component: String,
        into: &Shown,
    ) -> Result<(ByHand, Vec<String>), ShelfError> {
        let (tree, known) = (self.whole(collection).await?, self.files(&collection.name).await?);
        let of = |part: &Shown, name: &str| sources(&collection.name, &tree, &known, &part.id, name);
        let own = of(from, &component);
        let mut components = BTreeSet::from([component]);
        components.extend(own.iter().flat_map(|(_, _, here)| here.clone()));
        for name in components.iter().filter(|name| into.components.contains_key(*name)) {
            // One file may be in several groups; another of the same content is another.
            let paths = |part: &Shown| of(part, name).into_iter().map(|(path, ..)| path.clone()).collect();
            let (here, there): (Vec<String>, Vec<String>) = (paths(from), paths(into));
            if here != there || from.components.get(name) != into.components.get(name) {
                let message = format!("there is another file {:?} already", shown_name(name));
                return Err(EntityError::Conflict(message).into());
            }
        }
        let moved = components.iter().cloned().collect();
        let sources = own.into_iter().map(|(path, ..)| path.clone()).collect();
        let (from, into) = (from.id.clone(), into.id.clone());
        Ok((ByHand::MoveFiles { from, into, components, sources }, moved))
    }

    /// The tree of a collection. One whose first run was stopped early has none yet.
    pub(crate) async fn whole(&self, collection: &Collection) -> Result<Tree, ShelfError> {
        match Tree::read(self.entities.as_ref(), &collection.root_pi).await {
            Ok(tree) => Ok(tree),
            Err(error) => Err(self.missing(collection, error).await),
        }
    }

    /// What is wrong if something of a collection is not found.
    async fn missing(&self, collection: &Collection, error: EntityError) -> ShelfError {
        let is_missing = matches!(error, EntityError::NotFound(_));
        let root = self.entities.resolve(&collection.root_pi).await;
        match root {
            Err(EntityError::NotFound(_)) if is_missing => No::Nothing(collection.name.clone()).into(),
            _ => error.into(),
        }
    }

    async fn part(&self, collection: &Collection, path: &str) -> Result<Part, ShelfError> {
        let found = match Part::find(self.entities.as_ref(), &collection.root_pi, path).await {
            Ok(found) => found,
            Err(error) => return Err(self.missing(collection, error).await),
        };
        found.ok_or_else(|| ShelfError::NoPart { name: collection.name.clone(), path: path.to_owned() })
    }
}

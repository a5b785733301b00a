//! Collections and their trees, for whoever runs the engine.

use crate::by_hand::{move_file, move_node, rename};
use crate::catalog::{Call, Collections, NAME, Reply};
use crate::collection::{Collection, SourceFile};
use crate::error::ShelfError;
use crate::limits::ITEMS_PER_CALL;
use crate::part::{Part, PartDocument};
use crate::refusal::No;
use crate::search::{Hit, search};
use crate::tree::{Tree, TreeDocument};
use abide_engine::{Answer, Engine};
use abide_entities::answer::{Shown, Versions};
use abide_entities::{ContentId, EntityId, EntityStore};
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

    /// A collection that must be there.
    pub async fn known(&self, name: &str) -> Result<Collection, ShelfError> {
        match self.ask(&Call::Get { name: name.to_owned() }).await? {
            Reply::Collection(Some(collection)) => Ok(*collection),
            Reply::Collection(None) => Err(No::Unknown(name.to_owned()).into()),
            _ => Err(ShelfError::Strange),
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

    pub(crate) async fn save_files(
        &self,
        name: &str,
        put: BTreeMap<String, SourceFile>,
    ) -> Result<(), ShelfError> {
        let puts: Vec<(String, SourceFile)> = put.into_iter().collect();
        for part in puts.chunks(ITEMS_PER_CALL) {
            let put = part.iter().cloned().collect();
            self.ask(&Call::SaveFiles { name: name.to_owned(), put, gone: BTreeSet::new() }).await?;
        }
        Ok(())
    }

    /// Everything of a collection, with descriptions.
    pub async fn tree(&self, name: &str) -> Result<TreeDocument, ShelfError> {
        let collection = self.known(name).await?;
        let tree = Tree::read(self.entities.as_ref(), &collection.root_pi).await?;
        Ok(tree.document(self.entities.as_ref()).await?)
    }

    /// One part of it, in its newest version or in version `ver`.
    pub async fn show(&self, name: &str, path: &str, ver: Option<u32>) -> Result<PartDocument, ShelfError> {
        let part = self.part(&self.known(name).await?, path).await?;
        Ok(PartDocument::of(self.entities.as_ref(), part, ver).await?)
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
        let collection = self.known(name).await?;
        let tree = Tree::read(self.entities.as_ref(), &collection.root_pi).await?;
        let (hits, more) = search(self.entities.as_ref(), &tree, query).await?;
        Ok(Found { hits, more })
    }

    /// Calls a part something else.
    pub async fn rename(&self, name: &str, what: &str, to: &str) -> Result<Renamed, ShelfError> {
        let part = self.part(&self.known(name).await?, what).await?;
        rename(self.entities.as_ref(), &part.entity.id, to).await?;
        Ok(Renamed { id: part.entity.id, label: to.trim().to_owned() })
    }

    /// Moves a part, or a file and what else became of the same source.
    pub async fn relocate(&self, name: &str, what: &str, into: &str) -> Result<Moved, ShelfError> {
        let collection = self.known(name).await?;
        let store = self.entities.as_ref();
        let into = self.part(&collection, into).await?.entity.id;
        if let Some((part, component)) = Part::find_file(store, &collection.root_pi, what).await? {
            // Where it was decided to bring it, it would come all the same.
            if collection.pending.is_some_and(|pending| pending.stage.places_files()) {
                return Err(No::Bringing(collection.name).into());
            }
            let (moved, sources) = self.together(name, &part.entity, &component).await?;
            for component in &moved {
                move_file(store, &part.entity.id, component, &into).await?;
            }
            let at = |(path, file)| (path, SourceFile { at: Some(into.clone()), ..file });
            self.save_files(name, sources.into_iter().map(at).collect()).await?;
            return Ok(Moved { moved, into });
        }
        let part = self.part(&collection, what).await?;
        move_node(store, &part.entity.id, &into).await?;
        let label = part.entity.label.unwrap_or_else(|| part.entity.id.to_string());
        Ok(Moved { moved: vec![label], into })
    }

    async fn part(&self, collection: &Collection, path: &str) -> Result<Part, ShelfError> {
        let found = Part::find(self.entities.as_ref(), &collection.root_pi, path).await?;
        found.ok_or_else(|| ShelfError::NoPart { name: collection.name.clone(), path: path.to_owned() })
    }

    /// Components of an entity that are of the same source file as one of them, and those files.
    async fn together(
        &self,
        name: &str,
        entity: &Shown,
        component: &str,
    ) -> Result<(Vec<String>, BTreeMap<String, SourceFile>), ShelfError> {
        let has = |name: &String| entity.components.contains_key(name);
        let is_of =
            |file: &SourceFile| file.made.iter().any(|made| made == component) && file.made.iter().all(has);
        let sources: BTreeMap<String, SourceFile> =
            self.files(name).await?.into_iter().filter(|(_, file)| is_of(file)).collect();
        let mut moved: BTreeSet<String> = sources.values().flat_map(|file| file.made.clone()).collect();
        if moved.is_empty() {
            moved.insert(component.to_owned());
        }
        Ok((moved.into_iter().collect(), sources))
    }
}

//! Collections and their trees, for whoever runs the engine.

use crate::by_hand::{check_file_name, move_files, move_node, rename, rename_file};
use crate::catalog::{Call, Collections, NAME, Reply};
use crate::collection::{Collection, SourceFile};
use crate::error::ShelfError;
use crate::file::ShownFile;
use crate::limits::ITEMS_PER_CALL;
use crate::part::{Part, PartDocument};
use crate::refusal::No;
use crate::search::{Hit, search};
use crate::snapshot::{directory_id, directory_of, pinned, sources};
use crate::text::shown_name;
use crate::tree::{Tree, TreeDocument};
use abide_engine::{Answer, Engine};
use abide_entities::answer::Versions;
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
    /// Held by a change by hand from its first look to its last write: two at a time would each find the place free.
    by_hand: Arc<tokio::sync::Mutex<()>>,
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
        Shelf { engine, entities, buckets, by_hand: Arc::default() }
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
        let _alone = self.by_hand.lock().await;
        let collection = self.known(name).await?;
        let part = match self.part(&collection, what).await {
            Err(none @ ShelfError::NoPart { .. }) => {
                let store = self.entities.as_ref();
                return match Part::find_file(store, &collection.root_pi, what).await? {
                    Some((part, component)) => self.rename_file(collection, part, &component, to).await,
                    None => Err(none),
                };
            }
            part => part?,
        };
        rename(self.entities.as_ref(), &part.entity.id, to).await?;
        Ok(Renamed { id: part.entity.id, label: to.trim().to_owned() })
    }

    async fn rename_file(
        &self,
        collection: Collection,
        part: Part,
        component: &str,
        to: &str,
    ) -> Result<Renamed, ShelfError> {
        let (store, id) = (self.entities.as_ref(), part.entity.id);
        let ending = if component.ends_with(REF_SUFFIX) { REF_SUFFIX } else { "" };
        let (label, to) = (to.trim().to_owned(), format!("{}{ending}", to.trim()));
        check_file_name(component, &to)?;
        if part.entity.components.contains_key(&to) {
            return Err(EntityError::Conflict(format!("there is another file {label:?} already")).into());
        }
        if collection.pending.as_ref().is_some_and(|pending| pending.stage.places_files()) {
            return Err(No::Bringing(collection.name).into());
        }
        let (tree, known) = (self.whole(&collection).await?, self.files(&collection.name).await?);
        let mut put = BTreeMap::new();
        for (path, file, _) in sources(&collection.name, &tree, &known, &id, component) {
            let mut file = file.clone();
            file.made.iter_mut().filter(|made| *made == component).for_each(|made| made.clone_from(&to));
            let own = file.named.iter().find(|(_, named)| *named == component).map(|(own, _)| own.clone());
            file.named.insert(own.unwrap_or_else(|| component.to_owned()), to.clone());
            put.insert(path.clone(), file);
        }
        // Remembered first: repeated, what was stopped in between is the same.
        self.save_files(&collection.name, put).await?;
        rename_file(store, &id, component, &to).await?;
        Ok(Renamed { id, label })
    }

    /// Moves a part, or a file and what else became of the same source.
    pub async fn relocate(&self, name: &str, what: &str, into: &str) -> Result<Moved, ShelfError> {
        let _alone = self.by_hand.lock().await;
        let collection = self.known(name).await?;
        let store = self.entities.as_ref();
        let into = self.part(&collection, into).await?.entity.id;
        if let Some((part, component)) = Part::find_file(store, &collection.root_pi, what).await? {
            // Where it was decided to bring it, it would come all the same.
            if collection.pending.as_ref().is_some_and(|pending| pending.stage.places_files()) {
                return Err(No::Bringing(collection.name).into());
            }
            return self.relocate_file(&collection, &part, component, into).await;
        }
        let part = self.part(&collection, what).await?;
        // Files of groups are looked for near their folder: from now on they are known to be where they are.
        let (tree, known) = (self.whole(&collection).await?, self.files(name).await?);
        self.save_files(name, pinned(name, &tree, &known, &part.entity.id)).await?;
        move_node(store, &part.entity.id, &into).await?;
        let label = part.entity.label.unwrap_or_else(|| part.entity.id.to_string());
        Ok(Moved { moved: vec![label], into })
    }

    async fn relocate_file(
        &self,
        collection: &Collection,
        part: &Part,
        component: String,
        into: EntityId,
    ) -> Result<Moved, ShelfError> {
        let (store, name, from) = (self.entities.as_ref(), collection.name.as_str(), &part.entity.id);
        let (tree, known) = (self.whole(collection).await?, self.files(name).await?);
        let own = sources(name, &tree, &known, from, &component);
        let mut moved = BTreeSet::from([component]);
        moved.extend(own.iter().flat_map(|(_, _, here)| here.clone()));
        // One that was stopped half way is here and there, and is moved again.
        let is_own = |path: &String, file: &SourceFile| {
            let is_half_way =
                file.at.as_ref() == Some(&into) && directory_id(name, directory_of(path)) == *from;
            is_half_way || own.iter().any(|(own, ..)| *own == path)
        };
        for component in moved.iter().filter(|_| into != *from) {
            let there = sources(name, &tree, &known, &into, component);
            if there.iter().any(|(path, file, _)| !is_own(path, file)) {
                let message = format!("there is another file {:?} already", shown_name(component));
                return Err(EntityError::Conflict(message).into());
            }
        }
        let at = |file: &SourceFile| SourceFile { at: Some(into.clone()), ..file.clone() };
        let put = own.iter().map(|(path, file, _)| ((*path).clone(), at(file)));
        // Remembered first: a move that was stopped in between is finished by the next run that does anything.
        self.save_files(name, put.collect()).await?;
        move_files(store, from, &moved, &into).await?;
        Ok(Moved { moved: moved.into_iter().collect(), into })
    }

    /// The tree of a collection. One whose first run was stopped early has none yet.
    async fn whole(&self, collection: &Collection) -> Result<Tree, ShelfError> {
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

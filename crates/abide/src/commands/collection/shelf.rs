//! Collections and their trees, within a process that runs the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use abide_collections::limits::ITEMS_PER_CALL;
use abide_collections::{Call, Collection, Collections, NAME, Reply, SourceFile, Tree};
use abide_engine::{Answer, CallError, Engine};
use abide_entities::{EntityId, EntityStore};

use crate::failure::Failure;

/// What is remembered, and what it is made of.
pub(crate) struct Shelf {
    engine: Engine,
    entities: Arc<dyn EntityStore>,
}

impl Shelf {
    pub(crate) fn new(engine: Engine, entities: Arc<dyn EntityStore>) -> Shelf {
        Shelf { engine, entities }
    }

    pub(crate) fn entities(&self) -> &dyn EntityStore {
        self.entities.as_ref()
    }

    async fn ask(&self, call: &Call) -> Result<Reply, Failure> {
        match self.engine.ask::<Collections>(NAME, call).await {
            Ok(Answer::Now(reply)) => Ok(reply),
            Ok(Answer::Later(_)) => Err(Failure::Unusable("the collections answer later".to_owned())),
            Err(CallError::Refused(refused)) => Err(Failure::Unusable(refused.message)),
            Err(error) => Err(Failure::Unusable(format!("the collections do not answer: {error}"))),
        }
    }

    /// Every collection, by name.
    pub(crate) async fn list(&self) -> Result<Vec<Collection>, Failure> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let Reply::Collections { collections, next } = self.ask(&Call::List { after }).await? else {
                return Err(strange());
            };
            all.extend(collections);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// A collection, if there is one of that name.
    pub(crate) async fn get(&self, name: &str) -> Result<Option<Collection>, Failure> {
        match self.ask(&Call::Get { name: name.to_owned() }).await? {
            Reply::Collection(collection) => Ok(collection.map(|collection| *collection)),
            _ => Err(strange()),
        }
    }

    /// A collection that must be there.
    pub(crate) async fn known(&self, name: &str) -> Result<Collection, Failure> {
        let found = self.get(name).await?;
        found.ok_or_else(|| {
            Failure::Unusable(format!(
                "there is no collection {name:?}: abide collection list shows those that are"
            ))
        })
    }

    pub(crate) async fn save(&self, collection: &Collection) -> Result<(), Failure> {
        self.ask(&Call::Save(Box::new(collection.clone()))).await.map(drop)
    }

    /// Files of a collection, by path.
    pub(crate) async fn files(&self, name: &str) -> Result<BTreeMap<String, SourceFile>, Failure> {
        let (mut all, mut after) = (BTreeMap::new(), None);
        loop {
            let call = Call::Files { name: name.to_owned(), after };
            let Reply::Files { files, next } = self.ask(&call).await? else { return Err(strange()) };
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
        gone: BTreeSet<String>,
    ) -> Result<(), Failure> {
        let puts: Vec<(String, SourceFile)> = put.into_iter().collect();
        for part in puts.chunks(ITEMS_PER_CALL) {
            let put = part.iter().cloned().collect();
            self.ask(&Call::SaveFiles { name: name.to_owned(), put, gone: BTreeSet::new() }).await?;
        }
        let gone: Vec<String> = gone.into_iter().collect();
        for part in gone.chunks(ITEMS_PER_CALL) {
            let gone = part.iter().cloned().collect();
            self.ask(&Call::SaveFiles { name: name.to_owned(), put: BTreeMap::new(), gone }).await?;
        }
        Ok(())
    }

    /// Forgets a collection and its files.
    pub(crate) async fn remove(&self, name: &str) -> Result<(), Failure> {
        let gone = self.files(name).await?.into_keys().collect();
        self.save_files(name, BTreeMap::new(), gone).await?;
        self.ask(&Call::Remove { name: name.to_owned() }).await.map(drop)
    }

    pub(crate) async fn tree(&self, root: &EntityId) -> Result<Tree, Failure> {
        Ok(Tree::read(self.entities(), root).await?)
    }
}

fn strange() -> Failure {
    Failure::Unusable("the collections answer in another way than asked".to_owned())
}

//! Entities and collections on an engine in memory.

use crate::stops::Stops;
use abide_blob::{Bucket, Signer};
use abide_collections::snapshot::{self, Decided, Incoming};
use abide_collections::{Call, Collection, Shelf, SourceFile, Tree, shown_name};
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::{ContentId, EntityId, EntityStore, LocalEntities, Pieces};
use abide_preprocess::Buckets;
use abide_store::memory::MemoryStore;
use bytes::Bytes;
use futures_util::stream;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tempfile::TempDir;

/// The collection of these tests.
pub(crate) const PAPERS: &str = "papers";

pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) store: LocalEntities,
    pub(crate) directory: TempDir,
}

pub(crate) fn rig() -> Rig {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    abide_entities::register(&mut registry).unwrap();
    abide_collections::register(&mut registry).unwrap();
    let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default()).unwrap();
    let bucket = Bucket::directory(&directory.path().join("blobs")).unwrap();
    let store = LocalEntities::new(engine.clone(), bucket, &directory.path().join("spool")).unwrap();
    Rig { engine, store, directory }
}

/// What is remembered of a file that became `made`.
pub(crate) fn known(made: &[&str]) -> SourceFile {
    let made = made.iter().map(|name| (*name).to_owned()).collect();
    SourceFile { bytes: 1, modified_ms: 1, digest: "d".to_owned(), made, at: None, named: BTreeMap::new() }
}

/// What is remembered of files that each became one component with their own name.
pub(crate) fn each(files: &[(&str, &str)]) -> BTreeMap<String, SourceFile> {
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    files.iter().map(|(path, _)| ((*path).to_owned(), known(&[&name(path)]))).collect()
}

impl Rig {
    /// What people do with the collection of these tests, which remembers these files.
    pub(crate) async fn shelved(&self, put: BTreeMap<String, SourceFile>) -> Shelf {
        let shelf = self.shelf();
        let collection = Collection::new(PAPERS, snapshot::directory_id(PAPERS, ""), "/papers".to_owned());
        shelf.ask(&Call::Save(Box::new(collection))).await.unwrap();
        let call = Call::SaveFiles { name: PAPERS.to_owned(), put, gone: BTreeSet::new() };
        shelf.ask(&call).await.unwrap();
        shelf
    }

    /// The same, for a process that is stopped.
    pub(crate) fn stopping(&self, stops: &Arc<Stops>) -> Shelf {
        self.shelf_of(Arc::clone(stops) as Arc<dyn EntityStore>)
    }

    /// What people do with collections of it.
    pub(crate) fn shelf(&self) -> Shelf {
        self.shelf_of(Arc::new(self.store.clone()))
    }

    fn shelf_of(&self, store: Arc<dyn EntityStore>) -> Shelf {
        let bucket = |name: &str| Bucket::directory(&self.directory.path().join(name)).unwrap();
        let (staging, archive) = (bucket("staging"), bucket("archive"));
        let buckets = Buckets { staging, archive, signer: Signer::new([7; 32]) };
        Shelf::new(self.engine.clone(), store, buckets)
    }

    pub(crate) async fn upload(&self, text: &str) -> ContentId {
        let pieces: Pieces = Box::pin(stream::iter([Ok(Bytes::copy_from_slice(text.as_bytes()))]));
        self.store.upload("f".to_owned(), pieces).await.unwrap().cid
    }

    /// Files that each became one component with their own name.
    pub(crate) async fn incoming(&self, files: &[(&str, &str)]) -> Vec<Incoming> {
        let mut incoming = Vec::new();
        for (path, text) in files {
            let name = path.rsplit('/').next().unwrap().to_owned();
            incoming.push(Incoming { path: (*path).to_owned(), made: vec![(name, self.upload(text).await)] });
        }
        incoming
    }

    /// Brings files in, and gives the entities that this changed.
    pub(crate) async fn apply(
        &self,
        files: &[(&str, &str)],
        gone: &[&str],
        known: &BTreeMap<String, SourceFile>,
    ) -> BTreeSet<EntityId> {
        let incoming = self.incoming(files).await;
        self.bring(&incoming, gone, known).await.edits.into_keys().collect()
    }

    pub(crate) async fn bring(
        &self,
        incoming: &[Incoming],
        gone: &[&str],
        known: &BTreeMap<String, SourceFile>,
    ) -> Decided {
        let gone: BTreeSet<String> = gone.iter().map(|path| (*path).to_owned()).collect();
        let decided = snapshot::decide(&self.store, PAPERS, incoming, &gone, known).await.unwrap();
        snapshot::apply(&self.store, PAPERS, &decided).await.unwrap();
        decided
    }

    pub(crate) async fn tree(&self) -> Tree {
        Tree::read(&self.store, &snapshot::directory_id(PAPERS, "")).await.unwrap()
    }

    /// `path: files`, one line for each entity.
    pub(crate) async fn lines(&self) -> Vec<String> {
        let tree = self.tree().await;
        let mut lines: Vec<String> = Vec::new();
        for branch in tree.branches() {
            let files: Vec<&str> = branch.files().map(|name| shown_name(name)).collect();
            lines.push(format!("/{}: {}", tree.path(&branch.entity.id), files.join(" ")));
        }
        lines.sort();
        lines
    }

    pub(crate) async fn ver(&self, id: &EntityId) -> u32 {
        self.store.get(id).await.unwrap().ver
    }
}

//! The store on a real engine, with files in a bucket.

use abide_blob::Bucket;
use abide_core::time::{Clock, Time};
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::request::{Append, Create};
use abide_entities::{
    Collecting, ContentId, Detail, EntityError, EntityStore, LocalEntities, Part, Pieces, limits, register,
};
use abide_store::memory::MemoryStore;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tempfile::TempDir;

/// A clock that a test moves.
#[derive(Default)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> Time {
        Time(1_767_225_600_000 + self.0.load(Ordering::SeqCst))
    }

    fn elapsed_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Rig {
    store: LocalEntities,
    hands: Arc<Hands>,
    directory: TempDir,
}

fn rig() -> Rig {
    let directory = tempfile::tempdir().unwrap();
    let hands = Arc::new(Hands::default());
    let mut registry = Registry::new();
    register(&mut registry).unwrap();
    let options = EngineOptions { clock: Arc::clone(&hands) as Arc<dyn Clock>, ..EngineOptions::default() };
    let engine = Engine::start(Box::new(MemoryStore::new()), registry, options).unwrap();
    let bucket = Bucket::directory(&directory.path().join("blobs")).unwrap();
    let store = LocalEntities::new(engine, bucket, &directory.path().join("spool")).unwrap();
    Rig { store, hands, directory }
}

impl Rig {
    async fn upload(&self, bytes: &[u8]) -> ContentId {
        let pieces: Vec<_> = bytes.chunks(70_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let pieces: Pieces = Box::pin(stream::iter(pieces));
        self.store.upload("f".to_owned(), pieces).await.unwrap().cid
    }

    async fn read(&self, cid: ContentId, part: Option<Part>) -> Result<Vec<u8>, EntityError> {
        let mut contents = self.store.cat(cid, part).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = contents.pieces.next().await {
            bytes.extend_from_slice(&piece?);
        }
        Ok(bytes)
    }

    fn files(&self) -> usize {
        let folders = std::fs::read_dir(self.directory.path().join("blobs")).unwrap();
        folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
    }
}

fn naming(cid: ContentId) -> Create {
    Create { components: BTreeMap::from([("file".to_owned(), cid)]), ..Create::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_kept_once_and_read_whole_or_in_part() {
    let rig = rig();
    for size in [0, 11, limits::CHUNK_BYTES, 3 * limits::CHUNK_BYTES + 17] {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let cid = rig.upload(&bytes).await;
        let files = rig.files();
        assert_eq!(rig.upload(&bytes).await, cid);
        assert_eq!(rig.files(), files);
        assert_eq!(rig.read(cid, None).await.unwrap(), bytes);
        if size > 10 {
            assert_eq!(rig.read(cid, Some(Part::From(3, Some(6)))).await.unwrap(), bytes[3..7]);
            assert_eq!(rig.read(cid, Some(Part::Last(4))).await.unwrap(), bytes[size - 4..]);
        }
        let node = rig.store.dag(cid).await.unwrap();
        assert_eq!(node["Links"].as_array().map(Vec::len), (size > limits::CHUNK_BYTES).then_some(4));
    }
    assert_eq!(std::fs::read_dir(rig.directory.path().join("spool")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_blobs_that_no_version_names_are_collected_and_only_old_ones() {
    let rig = rig();
    let (named, formerly, orphan) =
        (rig.upload(b"named").await, rig.upload(b"then").await, rig.upload(b"no").await);
    rig.store.create(naming(named)).await.unwrap();
    let made = rig.store.create(naming(formerly)).await.unwrap();
    let without = Append { components_remove: ["file".to_owned()].into(), ..Append::onto(made.tip) };
    rig.store.append(&made.id, without).await.unwrap();
    let day = 24 * 60 * 60 * 1_000;
    assert_eq!(rig.store.collect(Collecting::ForGood, day).await.unwrap().blobs, 0, "all are young");
    rig.hands.0.store(2 * day, Ordering::SeqCst);
    let young = rig.upload(b"just now").await;
    assert_eq!(rig.store.collect(Collecting::DryRun, day).await.unwrap().blobs, 1);
    assert_eq!(rig.store.collect(Collecting::ForGood, day).await.unwrap().blobs, 1);
    for kept in [named, formerly, young] {
        assert!(rig.read(kept, None).await.is_ok());
    }
    assert!(matches!(rig.read(orphan, None).await, Err(EntityError::NotFound(_))));
    assert_eq!(rig.upload(b"no").await, orphan);
    assert_eq!(rig.read(orphan, None).await.unwrap(), b"no");
}

/// A file that is there is uploaded again and then named: a collection in between leaves it alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_uploaded_again_is_young_again() {
    let rig = rig();
    let day = 24 * 60 * 60 * 1_000;
    let cid = rig.upload(b"twice").await;
    rig.hands.0.store(2 * day, Ordering::SeqCst);
    rig.upload(b"twice").await;
    assert_eq!(rig.store.collect(Collecting::ForGood, day).await.unwrap().blobs, 0);
    rig.store.create(naming(cid)).await.unwrap();
    rig.hands.0.store(9 * day, Ordering::SeqCst);
    assert_eq!(rig.store.collect(Collecting::ForGood, day).await.unwrap().blobs, 0);
    assert_eq!(rig.read(cid, None).await.unwrap(), b"twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn entities_are_listed_by_their_last_change() {
    let rig = rig();
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(rig.store.create(Create::default()).await.unwrap());
    }
    rig.store.append(&made[0].id, Append::onto(made[0].tip)).await.unwrap();
    let page = rig.store.list(2, None, Detail::Metadata).await.unwrap();
    let listed: Vec<_> = page.entities.iter().map(|entity| &entity.id).collect();
    assert_eq!(listed, [&made[0].id, &made[2].id]);
    assert_eq!(page.entities[0].metadata.as_ref().unwrap().ver, 2);
    let rest = rig.store.list(2, page.next_cursor, Detail::Tips).await.unwrap();
    assert_eq!(rest.entities.len(), 1);
    assert_eq!(rest.next_cursor, None);
    let wrong = rig.store.list(2, Some("x".to_owned()), Detail::Tips).await;
    assert!(matches!(wrong, Err(EntityError::InvalidCursor(_))));
}

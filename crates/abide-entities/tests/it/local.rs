//! The store on a real engine, with files in a bucket.

use abide_blob::Bucket;
use abide_core::time::{Clock, Time};
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::answer::Shown;
use abide_entities::request::{Append, Create};
use abide_entities::{
    Collecting, ContentId, Detail, EntityError, EntityId, EntityStore, LocalEntities, Part, Pieces, limits,
    register, update,
};
use abide_store::memory::MemoryStore;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::Instant;

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

    /// Where the bytes of a file are.
    fn path_of(&self, cid: ContentId) -> PathBuf {
        let folders = std::fs::read_dir(self.directory.path().join("blobs")).unwrap();
        let mut files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
        let is_it = |path: &PathBuf| path.to_string_lossy().contains(&cid.to_string());
        files.find_map(|file| Some(file.unwrap().path()).filter(is_it)).expect("a blob")
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

/// A store that was restored knows files whose bytes were not.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_were_lost_come_back_with_the_next_upload() {
    let rig = rig();
    let large = vec![7; 2 * limits::CHUNK_BYTES];
    for bytes in [b"small".as_slice(), &large] {
        let cid = rig.upload(bytes).await;
        rig.store.create(naming(cid)).await.unwrap();
        let lost = rig.path_of(cid);
        for damage in [|path: &Path| std::fs::remove_file(path), |path: &Path| std::fs::write(path, "cut")] {
            damage(&lost).unwrap();
            assert_ne!(rig.read(cid, None).await.ok().as_deref(), Some(bytes));
            assert_eq!(rig.upload(bytes).await, cid);
            assert_eq!(rig.read(cid, None).await.unwrap(), bytes);
        }
    }
    assert_eq!(rig.files(), 2);
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

/// By bytes on disk: what only the deleted entity named is gone, in whatever version it was named; the rest is there.
#[tokio::test(flavor = "multi_thread")]
async fn files_go_with_the_last_entity_that_named_them() {
    let rig = rig();
    let (shared, formerly, own) =
        (rig.upload(b"shared").await, rig.upload(b"then").await, rig.upload(b"own").await);
    let keeps = rig.store.create(naming(shared)).await.unwrap();
    let parent = rig.store.create(Create::default()).await.unwrap();
    let components = [("a", shared), ("b", formerly), ("c", own), ("d", own)];
    let create = Create {
        components: components.map(|(name, cid)| (name.to_owned(), cid)).into(),
        parent_pi: Some(parent.id.clone()),
        ..Create::default()
    };
    let made = rig.store.create(create).await.unwrap();
    let without = Append { components_remove: ["b".to_owned()].into(), ..Append::onto(made.tip) };
    let second = rig.store.append(&made.id, without).await.unwrap();
    assert_eq!(rig.files(), 3);

    let has_children = rig.store.delete(&parent.id, None).await;
    assert!(matches!(has_children, Err(EntityError::Conflict(_))), "{has_children:?}");
    let moved = rig.store.delete(&made.id, Some(made.tip)).await;
    assert!(matches!(moved, Err(EntityError::Cas(_))), "{moved:?}");
    let gone = rig.store.delete(&made.id, Some(second.tip)).await.unwrap();
    assert_eq!((gone.files_deleted, gone.bytes_freed), (2, 7));
    assert_eq!(rig.files(), 1);
    assert_eq!(rig.read(shared, None).await.unwrap(), b"shared");
    assert!(matches!(rig.store.get(&made.id).await, Err(EntityError::NotFound(_))));
    assert!(matches!(rig.store.dag(second.tip).await, Err(EntityError::NotFound(_))));
    assert!(rig.store.get(&parent.id).await.unwrap().children_pi.is_empty());
    let listed = rig.store.list(10, None, Detail::Tips).await.unwrap().entities;
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(matches!(rig.store.delete(&made.id, None).await, Err(EntityError::NotFound(_))));

    // Who had uploaded the same file and names it now is not left with a name of nothing.
    let refused = rig.store.create(naming(own)).await;
    assert!(matches!(refused, Err(EntityError::Invalid(_))), "{refused:?}");
    rig.upload(b"own").await;
    let again = Create { id: Some(made.id.clone()), ..naming(own) };
    rig.store.create(again).await.unwrap();
    assert_eq!(rig.read(own, None).await.unwrap(), b"own");
    rig.store.delete(&keeps.id, None).await.unwrap();
    rig.store.delete(&made.id, None).await.unwrap();
    assert_eq!(rig.files(), 0);
}

/// Whoever brought a file again that went with its last entity hears of it, and brings it once more.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_uploaded_again_is_asked_for_when_it_was_deleted_meanwhile() {
    let rig = rig();
    let cid = rig.upload(b"twice").await;
    let made = rig.store.create(naming(cid)).await.unwrap();
    // The same component again is no other name.
    let again = Append { components: naming(cid).components, ..Append::onto(made.tip) };
    rig.store.append(&made.id, again).await.unwrap();
    rig.hands.0.store(1_000, Ordering::SeqCst);
    rig.upload(b"twice").await;
    assert_eq!(rig.store.delete(&made.id, None).await.unwrap().files_deleted, 1);
    let refused = rig.store.create(naming(cid)).await;
    let asks = |error: &EntityError| error.to_string().contains("upload it again");
    assert!(refused.as_ref().is_err_and(asks), "{refused:?}");
    rig.upload(b"twice").await;
    rig.store.create(naming(cid)).await.unwrap();
    assert_eq!(rig.read(cid, None).await.unwrap(), b"twice");
    // A day later nobody remembers.
    let other = rig.upload(b"other").await;
    let gone = rig.store.create(naming(other)).await.unwrap();
    rig.store.delete(&gone.id, None).await.unwrap();
    rig.hands.0.store(25 * 60 * 60 * 1_000, Ordering::SeqCst);
    let next = rig.store.create(Create::default()).await.unwrap();
    rig.store.delete(&next.id, None).await.unwrap();
    rig.store.create(naming(other)).await.unwrap();
}

/// More rows than one commit holds.
#[tokio::test(flavor = "multi_thread")]
async fn an_entity_of_any_size_is_deleted() {
    let rig = rig();
    let cid = rig.upload(b"many").await;
    let components = |count: usize, prefix: &str| -> BTreeMap<String, ContentId> {
        (0..count).map(|number| (format!("{prefix}{number}"), cid)).collect()
    };
    let create = Create { components: components(1_500, "a"), ..Create::default() };
    let made = rig.store.create(create).await.unwrap();
    let more = Append {
        components: components(300, "b"),
        components_remove: (0..300).map(|number| format!("a{number}")).collect(),
        ..Append::onto(made.tip)
    };
    rig.store.append(&made.id, more).await.unwrap();
    let gone = rig.store.delete(&made.id, None).await.unwrap();
    assert_eq!((gone.files_deleted, rig.files()), (1, 0));
}

/// Everybody adds a file of their own to one entity, and repeats what somebody else was faster with. In a release build that
/// takes less than a second: `cargo test --release -p abide-entities fifty_writers`.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_writers_on_one_entity_all_succeed() {
    const WRITERS: usize = 50;
    let rig = rig();
    let (cid, made) = (rig.upload(b"x").await, rig.store.create(Create::default()).await.unwrap());
    let begun = Instant::now();
    let writers = (0..WRITERS).map(|writer| {
        let (store, id) = (rig.store.clone(), made.id.clone());
        tokio::spawn(async move {
            let name = format!("by {writer}");
            let add = |shown: &Shown| Append {
                components: BTreeMap::from([(name.clone(), cid)]),
                ..Append::onto(shown.tip)
            };
            update(&store, &id, add).await
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap().unwrap();
    }
    let took = begun.elapsed();
    assert!(cfg!(debug_assertions) || took < Duration::from_secs(1), "{took:?}");
    let shown = rig.store.get(&made.id).await.unwrap();
    assert_eq!((shown.components.len(), shown.ver as usize), (WRITERS, WRITERS + 1));
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

#[tokio::test(flavor = "multi_thread")]
async fn nobody_becomes_a_child_of_somebody_below_it() {
    let rig = rig();
    let top = rig.store.create(Create::default()).await.unwrap();
    let below = |parent: &EntityId| Create { parent_pi: Some(parent.clone()), ..Create::default() };
    let middle = rig.store.create(below(&top.id)).await.unwrap();
    let bottom = rig.store.create(below(&middle.id)).await.unwrap();
    let adopts = Append { children_pi_add: vec![top.id.clone()], ..Append::onto(bottom.tip) };
    let refused = rig.store.append(&bottom.id, adopts).await.unwrap_err();
    let expected = format!("{} is above {}, and cannot be its child as well", top.id, bottom.id);
    assert!(matches!(&refused, EntityError::Invalid(message) if *message == expected), "{refused:?}");
    let between = Create { children_pi: vec![top.id.clone()], ..below(&bottom.id) };
    assert!(matches!(rig.store.create(between).await, Err(EntityError::Invalid(_))));
    let aside = rig.store.create(Create::default()).await.unwrap();
    let adopts = Append { children_pi_add: vec![top.id.clone()], ..Append::onto(aside.tip) };
    rig.store.append(&aside.id, adopts).await.unwrap();
    assert_eq!(rig.store.get(&top.id).await.unwrap().parent_pi, Some(aside.id));
    // Two at once cannot close a circle together either.
    let (one, other) = (rig.store.create(Create::default()).await, rig.store.create(Create::default()).await);
    let (one, other) = (one.unwrap(), other.unwrap());
    let adopts = |child: &EntityId, tip| Append { children_pi_add: vec![child.clone()], ..Append::onto(tip) };
    let (down, up) = tokio::join!(
        rig.store.append(&one.id, adopts(&other.id, one.tip)),
        rig.store.append(&other.id, adopts(&one.id, other.tip)),
    );
    assert!(down.is_ok() != up.is_ok(), "{down:?} {up:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_may_come_under_both_of_its_names() {
    let rig = rig();
    let (id, other) = ("01JZZZZZZZZZZZZZZZZZZZZZZA", "01JZZZZZZZZZZZZZZZZZZZZZZB");
    let create = |id: &str, pi: &str| -> Create {
        serde_json::from_value(serde_json::json!({"id": id, "pi": pi})).unwrap()
    };
    assert_eq!(rig.store.create(create(id, id)).await.unwrap().id.as_str(), id);
    assert!(matches!(rig.store.create(create(id, other)).await, Err(EntityError::Invalid(_))));
}

//! Deleting collections: what only they had goes, in any version; what others have stays.

use crate::rig::{PAPERS, Rig, rig};
use abide_blob::{Bucket, Key};
use abide_collections::snapshot::directory_id;
use abide_collections::{Call, Collection, Shelf, ShelfError};
use abide_engine::Answer;
use abide_entities::request::{Append, Create};
use abide_entities::{EntityError, EntityId, EntityStore};
use abide_preprocess::asset::Asset;
use bytes::Bytes;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// Files below a folder.
fn count(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| if path.is_dir() { count(&path) } else { 1 }).sum()
}

/// An image in the archive, and the name and text of what stands for it.
async fn image(rig: &Rig, id: &str) -> String {
    let archive = Bucket::directory(&rig.directory.path().join("archive")).unwrap();
    let asset = Asset::new("b", format!("archive/b/{id}/original.jpg"), "image/jpeg", 3, 1, 1);
    for (key, bytes) in [(asset.r2_key.clone(), "jpg".to_owned()), (Asset::key(id), asset.text())] {
        archive.put(&Key::new(&key).unwrap(), Bytes::from(bytes), "x").await.unwrap();
    }
    json!({ "url": format!("http://127.0.0.1:1/preprocess/asset/{id}"), "type": "image/jpeg", "filename": "a.jpg" })
        .to_string()
}

/// A collection with a folder that has an image, read in its second version, and an image that is gone in it.
async fn papers(rig: &Rig, shelf: &Shelf, name: &str) -> [EntityId; 2] {
    let (root, letters) = (directory_id(name, ""), directory_id(name, "letters"));
    let create = |id: &EntityId| Create { id: Some(id.clone()), ..Create::default() };
    rig.store.create(create(&root)).await.unwrap();
    let first = rig.upload(&image(rig, &format!("{name}1")).await).await;
    let gone = rig.upload(&image(rig, &format!("{name}2")).await).await;
    let components = [("a.jpg.ref.json", first), ("b.jpg.ref.json", gone)];
    let made = Create {
        components: components.map(|(name, cid)| (name.to_owned(), cid)).into(),
        parent_pi: Some(root.clone()),
        ..create(&letters)
    };
    let made = rig.store.create(made).await.unwrap();
    let read =
        rig.upload(&format!("{{\"ocr\": \"read\", {}", &image(rig, &format!("{name}1")).await[1..])).await;
    let second = Append {
        components: [("a.jpg.ref.json".to_owned(), read)].into(),
        components_remove: ["b.jpg.ref.json".to_owned()].into(),
        ..Append::onto(made.tip)
    };
    rig.store.append(&letters, second).await.unwrap();
    let collection = Collection::new(name, root.clone(), "/scans".to_owned());
    shelf.ask(&Call::Save(Box::new(collection))).await.unwrap();
    [root, letters]
}

#[tokio::test(flavor = "multi_thread")]
async fn images_go_with_the_last_file_that_stands_for_them() {
    let rig = rig();
    let shelf = rig.shelf();
    let [root, letters] = papers(&rig, &shelf, PAPERS).await;
    let other = rig.store.get(&letters).await.unwrap();
    // Somebody else has the first image, too.
    let keeps = Create { components: other.components.clone(), ..Create::default() };
    let keeps = rig.store.create(keeps).await.unwrap();
    let archive = rig.directory.path().join("archive");
    assert_eq!(count(&archive), 4);
    let deleted = shelf.delete(PAPERS).await.unwrap();
    assert_eq!((deleted.entities, deleted.files, deleted.images), (2, 2, 1));
    assert_eq!(count(&archive), 2, "the image that somebody else has is there");
    for id in [root, letters] {
        assert!(matches!(rig.store.get(&id).await, Err(EntityError::NotFound(_))));
    }
    assert!(rig.store.get(&keeps.id).await.is_ok());
    assert!(matches!(shelf.delete(PAPERS).await, Err(ShelfError::No(_))));
}

/// What is only in older versions goes, too, and what somebody else has by now stays.
#[tokio::test(flavor = "multi_thread")]
async fn parts_of_older_versions_go_as_well() {
    let rig = rig();
    let shelf = rig.shelf();
    let [root, letters] = papers(&rig, &shelf, PAPERS).await;
    let inner = Create { parent_pi: Some(letters.clone()), ..Create::default() };
    let inner = rig.store.create(inner).await.unwrap().id;
    let given = Create { parent_pi: Some(root.clone()), ..Create::default() };
    let given = rig.store.create(given).await.unwrap().id;
    let other = rig.store.create(Create::default()).await.unwrap();
    let adopt = Append { children_pi_add: vec![given.clone()], ..Append::onto(other.tip) };
    rig.store.append(&other.id, adopt).await.unwrap();
    for (parent, child) in [(&letters, &inner), (&root, &letters)] {
        let tip = rig.store.get(parent).await.unwrap().tip;
        let removal = Append { children_pi_remove: vec![child.clone()], ..Append::onto(tip) };
        rig.store.append(parent, removal).await.unwrap();
    }
    let shown = shelf.show(PAPERS, inner.as_str(), None).await.unwrap();
    assert_eq!(shown.above.len(), 2, "what was removed can be looked at by its id");
    assert!(shelf.rename(PAPERS, inner.as_str(), "x").await.is_err());
    let deleted = shelf.delete(PAPERS).await.unwrap();
    assert_eq!((deleted.entities, deleted.images), (3, 2));
    for id in [&root, &letters, &inner] {
        assert!(matches!(rig.store.get(id).await, Err(EntityError::NotFound(_))));
    }
    assert!(rig.store.get(&given).await.is_ok() && rig.store.get(&other.id).await.is_ok());
}

/// Makes one entity the child of another as an older program did that did not look whether that closes a circle.
async fn adopt(rig: &Rig, parent: &EntityId, child: &EntityId) {
    let tip = rig.store.get(parent).await.unwrap().tip;
    let adopt = Append { children_pi_add: vec![child.clone()], ..Append::onto(tip) };
    let call = abide_entities::Call::Append(Box::new(adopt));
    let answer = rig.engine.ask::<abide_entities::Entity>(parent.as_str(), &call).await.unwrap();
    let Answer::Later(ticket) = answer else { panic!("{answer:?}") };
    rig.engine.ticket(&ticket, Duration::from_secs(60)).await.unwrap();
    assert_eq!(rig.store.get(child).await.unwrap().parent_pi.as_ref(), Some(parent));
}

/// Whatever was moved into what, and be it into each other, goes.
#[tokio::test(flavor = "multi_thread")]
async fn parts_that_were_moved_about_go_as_well() {
    let rig = rig();
    let shelf = rig.shelf();
    let [root, letters] = papers(&rig, &shelf, PAPERS).await;
    let mut made = Vec::new();
    for parent in [&letters, &root, &root, &root, &root] {
        let create = Create { parent_pi: Some(parent.clone()), ..Create::default() };
        made.push(rig.store.create(create).await.unwrap().id);
    }
    let [inner, deeper, one, other, given] = made.as_slice() else { panic!("five were made") };
    adopt(&rig, inner, deeper).await;
    adopt(&rig, one, other).await;
    adopt(&rig, other, one).await;
    // What is in something that is somebody else's by now is theirs.
    let theirs = rig.store.create(Create::default()).await.unwrap().id;
    let below =
        rig.store.create(Create { parent_pi: Some(root.clone()), ..Create::default() }).await.unwrap().id;
    adopt(&rig, &theirs, given).await;
    adopt(&rig, given, &below).await;
    assert_eq!(shelf.delete(PAPERS).await.unwrap().entities, 6);
    for id in [&root, &letters, inner, deeper, one, other] {
        assert!(matches!(rig.store.get(id).await, Err(EntityError::NotFound(_))), "{id}");
    }
    for id in [&theirs, given, &below] {
        assert!(rig.store.get(id).await.is_ok(), "{id}");
    }
}

/// Stopped when entities were gone and images were not: the next deletion finishes it.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_stopped_is_finished_by_the_next() {
    let rig = rig();
    let shelf = rig.shelf();
    let [root, letters] = papers(&rig, &shelf, PAPERS).await;
    let known = shelf.known(PAPERS).await.unwrap();
    shelf.ask(&Call::Save(Box::new(Collection { deleting: true, ..known.clone() }))).await.unwrap();
    let again = shelf.ask(&Call::Save(Box::new(known))).await;
    assert!(again.is_err(), "what is being deleted is not begun again");
    let refs = rig.store.get(&letters).await.unwrap().components.into_values().collect();
    let put = [(format!("{PAPERS}1"), abide_collections::Archived { refs })].into();
    shelf.ask(&Call::SaveAssets { name: PAPERS.to_owned(), put, gone: [].into() }).await.unwrap();
    for id in [letters, root] {
        rig.store.delete(&id, None).await.unwrap();
    }
    let deleted = shelf.delete(PAPERS).await.unwrap();
    assert_eq!((deleted.entities, deleted.images), (0, 1));
    let begun = Collection::new(PAPERS, directory_id(PAPERS, ""), "/scans".to_owned());
    shelf.ask(&Call::Save(Box::new(begun))).await.unwrap();
    let second = shelf.known(PAPERS).await.unwrap();
    assert_eq!(second.life, 1);
    // A run that was under way when it was deleted does not bring it back.
    shelf.delete(PAPERS).await.unwrap();
    assert!(shelf.ask(&Call::Save(Box::new(second))).await.is_err());
    assert!(shelf.known(PAPERS).await.is_err());
}

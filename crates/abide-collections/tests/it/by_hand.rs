//! Changes by hand: what is moved stays known, whatever has the same name, and whenever it was stopped.

use crate::rig::{PAPERS, Rig, known, rig};
use abide_collections::snapshot::{Incoming, decide, directory_id, gather};
use abide_collections::{Call, Collection, Shelf, ShelfError, move_file};
use abide_entities::request::Create;
use abide_entities::{EntityError, EntityId, EntityStore};
use abide_pipeline::limits::FILES_PER_DIRECTORY;
use std::collections::{BTreeMap, BTreeSet};

/// A collection of these files, each a component with its own name.
async fn shelved(rig: &Rig, files: &[(&str, &str)]) -> Shelf {
    let shelf = rig.shelf();
    rig.apply(files, &[], &BTreeMap::new()).await;
    let collection = Collection::new(PAPERS, directory_id(PAPERS, ""), "/scans".to_owned());
    shelf.ask(&Call::Save(Box::new(collection))).await.unwrap();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let put = files.iter().map(|(path, _)| ((*path).to_owned(), known(&[&name(path)])));
    let put = put.collect();
    shelf.ask(&Call::SaveFiles { name: PAPERS.to_owned(), put, gone: [].into() }).await.unwrap();
    shelf
}

fn is_conflict<T: std::fmt::Debug>(result: Result<T, ShelfError>) -> bool {
    matches!(result, Err(ShelfError::Entities(EntityError::Conflict(_))))
}

/// A group of a folder, with one of its files.
async fn group(rig: &Rig, folder: &str, file: &str) -> EntityId {
    let parent = directory_id(PAPERS, folder);
    let create =
        Create { label: Some("diary".to_owned()), parent_pi: Some(parent.clone()), ..Create::default() };
    let group = rig.store.create(create).await.unwrap().id;
    move_file(&rig.store, &parent, file, &group).await.unwrap();
    group
}

#[tokio::test(flavor = "multi_thread")]
async fn two_files_of_one_name_do_not_become_one() {
    let rig = rig();
    let shelf = shelved(&rig, &[("A/x.txt", "same"), ("B/x.txt", "same"), ("C/c.txt", "c")]).await;
    shelf.relocate(PAPERS, "A/x.txt", "C").await.unwrap();
    assert!(is_conflict(shelf.relocate(PAPERS, "B/x.txt", "C").await));
    assert_eq!(rig.lines().await, ["/: ", "/A: ", "/B: x.txt", "/C: c.txt x.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_group_are_found_wherever_it_is_moved() {
    let rig = rig();
    let files = [("A/d_1.txt", "one"), ("A/d_2.txt", "two"), ("B/d_1.txt", "three"), ("C/c.txt", "c")];
    let shelf = shelved(&rig, &files).await;
    let moved = group(&rig, "A", "d_1.txt").await;
    move_file(&rig.store, &directory_id(PAPERS, "A"), "d_2.txt", &moved).await.unwrap();
    group(&rig, "B", "d_1.txt").await;
    shelf.relocate(PAPERS, "A/diary", "C").await.unwrap();
    let known = shelf.files(PAPERS).await.unwrap();
    rig.apply(&[("A/d_1.txt", "edited")], &["A/d_2.txt"], &known).await;
    let expected = ["/: ", "/A: ", "/B/diary: d_1.txt", "/B: ", "/C/diary: d_1.txt", "/C: c.txt"];
    assert_eq!(rig.lines().await, expected);
    let edited = rig.upload("edited").await;
    assert_eq!(rig.store.get(&moved).await.unwrap().components["d_1.txt"], edited);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_was_stopped_half_way_is_finished() {
    let rig = rig();
    let shelf = shelved(&rig, &[("A/x.txt", "one"), ("A/y.txt", "two"), ("B/b.txt", "b")]).await;
    let (from, into) = (directory_id(PAPERS, "A"), directory_id(PAPERS, "B"));
    let mut known = shelf.files(PAPERS).await.unwrap();
    for path in ["A/x.txt", "A/y.txt"] {
        known.get_mut(path).unwrap().at = Some(into.clone());
    }
    // One is in both, the other is not moved.
    move_file(&rig.store, &from, "x.txt", &into).await.unwrap();
    rig.apply(&[("A/x.txt", "one")], &[], &BTreeMap::new()).await;
    assert_eq!(rig.lines().await, ["/: ", "/A: x.txt y.txt", "/B: b.txt x.txt"]);
    gather(&rig.store, PAPERS, &known).await.unwrap();
    assert_eq!(rig.lines().await, ["/: ", "/A: ", "/B: b.txt x.txt y.txt"]);
    // A folder that goes and comes again is where somebody had moved it.
    shelf.relocate(PAPERS, "A", "B").await.unwrap();
    known.remove("A/x.txt");
    known.remove("A/y.txt");
    rig.apply(&[("A/z.txt", "z")], &[], &known).await;
    known.insert("A/z.txt".to_owned(), crate::rig::known(&["z.txt"]));
    rig.apply(&[], &["A/z.txt"], &known).await;
    assert_eq!(rig.lines().await, ["/: ", "/B: b.txt x.txt y.txt"]);
    known.remove("A/z.txt");
    rig.apply(&[("A/z.txt", "again")], &[], &known).await;
    assert_eq!(rig.lines().await, ["/: ", "/B/A: z.txt", "/B: b.txt x.txt y.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_at_once_one_comes_after_the_other() {
    let rig = rig();
    let shelf = shelved(&rig, &[("A/x.txt", "one"), ("B/b.txt", "b"), ("C/c.txt", "c")]).await;
    let (to_b, to_c) =
        tokio::join!(shelf.relocate(PAPERS, "A/x.txt", "B"), shelf.relocate(PAPERS, "A/x.txt", "C"));
    assert!(to_b.is_ok() != to_c.is_ok(), "{to_b:?} {to_c:?}");
    let (one, other) = tokio::join!(shelf.rename(PAPERS, "B", "Same"), shelf.rename(PAPERS, "C", "same"));
    assert!(is_conflict(one) != is_conflict(other));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_for_which_a_folder_has_no_room_are_named() {
    let rig = rig();
    let cid = rig.upload("page").await;
    let name = |number: u32| format!("p{number:05}.txt");
    let file =
        |number: u32| Incoming { path: format!("one/{}", name(number)), made: vec![(name(number), cid)] };
    let incoming: Vec<Incoming> = (0..=FILES_PER_DIRECTORY).map(file).collect();
    let decided = decide(&rig.store, PAPERS, &incoming, &BTreeSet::new(), &BTreeMap::new()).await.unwrap();
    assert_eq!(decided.left, BTreeSet::from([format!("one/{}", name(FILES_PER_DIRECTORY))]));
    assert_eq!(decided.made.len(), FILES_PER_DIRECTORY as usize);
    assert_eq!(decided.edits[&directory_id(PAPERS, "one")].put.len(), FILES_PER_DIRECTORY as usize);
}

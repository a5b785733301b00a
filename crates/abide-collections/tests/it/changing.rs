//! Changes by hand: one after the other, and whole.

use crate::rig::{PAPERS, Rig, each, known, rig};
use crate::stops::Stops;
use abide_collections::snapshot::{Incoming, directory_id};
use abide_collections::{ByHand, Call, Collection, Pending, Reply, Shelf, ShelfError, Stage};
use abide_entities::request::Append;
use abide_entities::{EntityError, EntityId, EntityStore, update};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A collection of a file that became several components, and of one that became one.
async fn book(rig: &Rig) -> Shelf {
    let names = ["book.pdf", "book_1.txt", "book_2.txt"];
    let mut made = Vec::new();
    for name in names {
        made.push((name.to_owned(), rig.upload(name).await));
    }
    let mut incoming = rig.incoming(&[("in/i.txt", "in"), ("out/o.txt", "out")]).await;
    incoming.push(Incoming { path: "in/book.pdf".to_owned(), made });
    rig.bring(&incoming, &[], &BTreeMap::new()).await;
    let mut remembered = each(&[("in/i.txt", "in"), ("out/o.txt", "out")]);
    remembered.insert("in/book.pdf".to_owned(), known(&names));
    rig.shelved(remembered).await
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Move(&'static str, &'static str),
    Rename(&'static str, &'static str),
}

async fn make(shelf: &Shelf, change: Change) -> Result<(), ShelfError> {
    match change {
        Change::Move(what, into) => shelf.relocate(PAPERS, what, into).await.map(drop),
        Change::Rename(what, to) => shelf.rename(PAPERS, what, to).await.map(drop),
    }
}

/// A tree, and what is remembered of its files.
type State = (Vec<String>, String);

async fn state(rig: &Rig, shelf: &Shelf) -> State {
    // Whoever looks finishes what was begun.
    shelf.tree(PAPERS).await.unwrap();
    (rig.lines().await, format!("{:?}", shelf.files(PAPERS).await.unwrap()))
}

/// Stopped at each request to the store, a change is made as a whole by whoever comes next, or not at all.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_was_stopped_anywhere_is_whole() {
    for change in [
        Change::Move("in/book.pdf", "out"),
        Change::Rename("in/book.pdf", "album.pdf"),
        Change::Move("in", "out"),
        Change::Rename("in", "inside"),
    ] {
        let (before, after, steps) = {
            let rig = rig();
            let shelf = book(&rig).await;
            let before = state(&rig, &shelf).await;
            let stops = Arc::new(Stops::new(&rig.store, usize::MAX));
            make(&rig.stopping(&stops), change).await.unwrap();
            (before, state(&rig, &shelf).await, stops.asked())
        };
        assert_ne!(before, after);
        let mut finished = 0;
        for nth in 0..steps {
            let rig = rig();
            let shelf = book(&rig).await;
            let stops = Arc::new(Stops::new(&rig.store, nth));
            let stopping = rig.stopping(&stops);
            assert!(stops.until(make(&stopping, change)).await.is_none(), "{change:?}: {nth} of {steps}");
            let now = state(&rig, &shelf).await;
            assert!(now == before || now == after, "{change:?}: {nth} of {steps}: {now:?}");
            finished += usize::from(now == after);
        }
        assert!(finished > 0, "{change:?} in {steps} steps");
    }
}

/// Stopped at each request, and then somebody gives the name away: nothing is said to be done that was not.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_name_was_given_away_meanwhile_is_given_up() {
    for (change, place, name) in [
        (Change::Rename("in/i.txt", "other.txt"), "in", "other.txt"),
        (Change::Move("in/i.txt", "out"), "out", "i.txt"),
    ] {
        let mut given_up = 0;
        for nth in 0.. {
            let rig = rig();
            let shelf = book(&rig).await;
            let before = shelf.files(PAPERS).await.unwrap();
            let stops = Arc::new(Stops::new(&rig.store, nth));
            if stops.until(make(&rig.stopping(&stops), change)).await.is_some() {
                break;
            }
            let into = directory_id(PAPERS, place);
            let other = rig.upload("another").await;
            let is_free = !rig.store.get(&into).await.unwrap().components.contains_key(name);
            if is_free {
                let given = update(&rig.store, &into, |shown| Append {
                    components: [(name.to_owned(), other)].into(),
                    ..Append::onto(shown.tip)
                });
                given.await.unwrap();
            }
            let after = state(&rig, &shelf).await;
            let from = rig.store.get(&directory_id(PAPERS, "in")).await.unwrap();
            if from.components.contains_key("i.txt") {
                assert_eq!(shelf.files(PAPERS).await.unwrap(), before, "{change:?}: {nth}: {after:?}");
                given_up += usize::from(is_free);
            }
        }
        assert!(given_up > 0, "{change:?}");
    }
}

/// What a file became goes with one version of each part.
#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_file_is_moved_at_once() {
    let rig = rig();
    let shelf = book(&rig).await;
    let (from, into) = (directory_id(PAPERS, "in"), directory_id(PAPERS, "out"));
    let before = (rig.ver(&from).await, rig.ver(&into).await);
    shelf.relocate(PAPERS, "in/book_1.txt", "out").await.unwrap();
    assert_eq!((rig.ver(&from).await, rig.ver(&into).await), (before.0 + 1, before.1 + 1));
    assert_eq!(rig.lines().await[1..], ["/in: i.txt", "/out: book.pdf book_1.txt book_2.txt o.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_changes_that_exclude_each_other_one_is_made() {
    for (one, other) in [
        (Change::Move("in/i.txt", "out"), Change::Move("in/i.txt", "")),
        (Change::Rename("in/i.txt", "p.txt"), Change::Rename("in/i.txt", "q.txt")),
        (Change::Rename("in", "same"), Change::Rename("out", "Same")),
        (Change::Move("in", "out"), Change::Move("out", "in")),
    ] {
        let rig = rig();
        let shelf = book(&rig).await;
        let files =
            |lines: &[String]| lines.iter().map(|line| line.split_whitespace().count()).sum::<usize>();
        let before = rig.lines().await;
        let (first, second) = tokio::join!(make(&shelf, one), make(&shelf, other));
        assert!(first.is_ok() != second.is_ok(), "{one:?}: {first:?}, {other:?}: {second:?}");
        let after = rig.lines().await;
        assert_eq!((before.len(), files(&before)), (after.len(), files(&after)), "{after:?}");
    }
}

/// Many at a time who each finish what others began, and move the same on: it is never in two places.
#[tokio::test(flavor = "multi_thread")]
async fn what_many_move_about_is_in_one_place() {
    const MOVES: usize = 12;
    let rig = rig();
    let shelf = book(&rig).await;
    let mut movers = Vec::new();
    for (from, into) in [("in", "out"), ("out", "in"), ("in", ""), ("", "out"), ("out", ""), ("", "in")] {
        let shelf = shelf.clone();
        movers.push(tokio::spawn(async move {
            for _ in 0..MOVES {
                // It may just be somewhere else.
                shelf.relocate(PAPERS, &format!("{from}/i.txt"), into).await.ok();
            }
        }));
    }
    for mover in movers {
        mover.await.unwrap();
    }
    let at = shelf.files(PAPERS).await.unwrap()["in/i.txt"].at.clone().unwrap();
    let tree = rig.tree().await;
    let having = tree.branches().iter().filter(|branch| branch.files().any(|name| name == "i.txt"));
    assert_eq!(having.map(|branch| branch.entity.id.clone()).collect::<Vec<EntityId>>(), [at]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_equal_files_do_not_become_one() {
    let rig = rig();
    let files = [("a/x.txt", "the same"), ("b/x.txt", "the same"), ("c/y.txt", "other")];
    rig.apply(&files, &[], &BTreeMap::new()).await;
    let shelf = rig.shelved(each(&files)).await;
    shelf.relocate(PAPERS, "a/x.txt", "c").await.unwrap();
    let refused = shelf.relocate(PAPERS, "b/x.txt", "c").await;
    assert!(matches!(refused, Err(ShelfError::Entities(EntityError::Conflict(_)))), "{refused:?}");
    let known = shelf.files(PAPERS).await.unwrap();
    rig.apply(&[], &["a/x.txt"], &known).await;
    assert_eq!(rig.lines().await, ["/: ", "/b: x.txt", "/c: y.txt"]);
}

async fn saved(shelf: &Shelf, collection: Collection) -> bool {
    shelf.ask(&Call::Save(Box::new(collection))).await.is_ok()
}

/// A run does not bring files to where they were before somebody moved them.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_knows_of_the_last_change_by_hand() {
    let rig = rig();
    let shelf = book(&rig).await;
    let bringing = |collection: Collection| {
        let pending = Pending { batch_id: "b".to_owned(), stage: Stage::Bringing };
        Collection { pending: Some(pending), ..collection }
    };
    let looked = shelf.known(PAPERS).await.unwrap();
    shelf.relocate(PAPERS, "in/i.txt", "out").await.unwrap();
    assert!(saved(&shelf, looked.clone()).await, "while nothing is decided, nothing is lost");
    assert!(!saved(&shelf, bringing(looked)).await);
    assert!(saved(&shelf, bringing(shelf.known(PAPERS).await.unwrap())).await);
    assert!(shelf.relocate(PAPERS, "out/i.txt", "in").await.is_err(), "it would be brought all the same");
    assert!(shelf.rename(PAPERS, "out", "elsewhere").await.is_ok());
}

/// What cannot be done any more is given up, and stands in nobody's way.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_cannot_be_made_is_given_up() {
    let rig = rig();
    let shelf = book(&rig).await;
    let before = state(&rig, &shelf).await;
    let nowhere = directory_id(PAPERS, "nowhere");
    let from = directory_id(PAPERS, "in");
    let files = ByHand::MoveFiles {
        from: from.clone(),
        into: nowhere.clone(),
        components: BTreeSet::from(["i.txt".to_owned()]),
        sources: BTreeSet::from(["in/i.txt".to_owned()]),
    };
    for change in [files, ByHand::MovePart { part: from, from: None, into: nowhere }] {
        let after = shelf.known(PAPERS).await.unwrap().by_hand;
        let begin = Call::Begin { name: PAPERS.to_owned(), after, change: Box::new(change) };
        assert!(matches!(shelf.ask(&begin).await.unwrap(), Reply::Collection(Some(_))));
        assert!(matches!(shelf.ask(&begin).await.unwrap(), Reply::Collection(None)), "one at a time");
        assert_eq!(state(&rig, &shelf).await, before);
        assert_eq!(shelf.known(PAPERS).await.unwrap().changing, None);
    }
}

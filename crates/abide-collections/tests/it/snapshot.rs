//! Folders into trees: what is new, edited, gone, grouped and moved by hand.

use crate::rig::{PAPERS, known, rig};
use crate::stops::Stops;
use abide_collections::snapshot::{Incoming, apply, decide, directory_id, gather};
use abide_collections::{Part, ShelfError, move_file, search};
use abide_entities::request::Create;
use abide_entities::{EntityError, EntityId, EntityStore};
use std::collections::{BTreeMap, BTreeSet};

const FILES: [(&str, &str); 3] =
    [("a.txt", "one"), ("letters/b.txt", "two"), ("letters/1887/c.txt", "three")];

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_becomes_the_same_tree_each_time() {
    let rig = rig();
    let nothing = BTreeMap::new();
    let first = rig.apply(&FILES, &[], &nothing).await;
    assert_eq!(first.len(), 3);
    let expected = ["/: a.txt", "/letters/1887: c.txt", "/letters: b.txt"];
    assert_eq!(rig.lines().await, expected);
    let root = directory_id(PAPERS, "");
    let ver = rig.ver(&root).await;
    assert_eq!(rig.apply(&FILES, &[], &nothing).await, first);
    assert_eq!((rig.ver(&root).await, rig.lines().await), (ver, expected.map(str::to_owned).to_vec()));
    assert_eq!(rig.tree().await.root().label(), PAPERS);
}

#[tokio::test(flavor = "multi_thread")]
async fn edited_files_are_new_versions_and_gone_ones_are_kept_in_old_ones() {
    let rig = rig();
    rig.apply(&FILES, &[], &BTreeMap::new()).await;
    let before: BTreeMap<String, _> = FILES
        .iter()
        .map(|(path, _)| ((*path).to_owned(), known(&[path.rsplit('/').next().unwrap()])))
        .collect();
    let letters = directory_id(PAPERS, "letters");
    let old = rig.store.get(&letters).await.unwrap();
    let applied = rig.apply(&[("letters/b.txt", "other")], &["a.txt"], &before).await;
    assert_eq!(applied, [letters.clone(), directory_id(PAPERS, "")].into());
    assert_eq!(rig.lines().await, ["/: ", "/letters/1887: c.txt", "/letters: b.txt"]);
    let new = rig.store.get(&letters).await.unwrap();
    assert_eq!(new.ver, old.ver + 1);
    assert_ne!(new.components["b.txt"], old.components["b.txt"]);
    let selector = abide_entities::request::Selector::Ver(old.ver);
    assert_eq!(rig.store.version(&letters, selector).await.unwrap().components, old.components);
}

/// A group of `letters` with `b.txt` in it, as the organizer makes one.
async fn grouped(rig: &crate::rig::Rig) -> (EntityId, BTreeMap<String, abide_collections::SourceFile>) {
    rig.apply(&FILES, &[], &BTreeMap::new()).await;
    let letters = directory_id(PAPERS, "letters");
    let create =
        Create { label: Some("Klein".to_owned()), parent_pi: Some(letters.clone()), ..Create::default() };
    let group = rig.store.create(create).await.unwrap().id;
    move_file(&rig.store, &letters, "b.txt", &group).await.unwrap();
    let known = FILES.map(|(path, _)| (path.to_owned(), known(&[path.rsplit('/').next().unwrap()])));
    (group, known.into_iter().collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_a_group_is_edited_there_and_new_ones_come_to_the_directory() {
    let rig = rig();
    let (group, known) = grouped(&rig).await;
    let applied = rig.apply(&[("letters/b.txt", "other"), ("letters/d.txt", "new")], &[], &known).await;
    assert_eq!(applied, [group.clone(), directory_id(PAPERS, "letters")].into());
    let expected = ["/: a.txt", "/letters/1887: c.txt", "/letters/Klein: b.txt", "/letters: d.txt"];
    assert_eq!(rig.lines().await, expected);
    rig.apply(&[], &["letters/b.txt"], &known).await;
    assert_eq!(rig.lines().await, ["/: a.txt", "/letters/1887: c.txt", "/letters: d.txt"]);
}

/// A folder that is gone from the source goes from the collection, and comes back as it was; so does the last file of a group
/// take the group with it. What is emptied by hand stays.
#[tokio::test(flavor = "multi_thread")]
async fn parts_that_are_empty_go_in_a_new_version() {
    let rig = rig();
    let (group, mut known) = grouped(&rig).await;
    let (root, year) = (directory_id(PAPERS, ""), directory_id(PAPERS, "letters/1887"));
    let ver = rig.ver(&directory_id(PAPERS, "letters")).await;
    let gone = ["letters/b.txt", "letters/1887/c.txt"];
    for _ in 0..2 {
        rig.apply(&[], &gone, &known).await;
        assert_eq!(rig.lines().await, ["/: a.txt"], "letters has nothing in it any more");
    }
    let letters = directory_id(PAPERS, "letters");
    let older = rig.store.version(&letters, abide_entities::request::Selector::Ver(ver)).await.unwrap();
    assert_eq!(older.children_pi, [year.clone(), group.clone()], "older versions have everything");
    known.retain(|path, _| !gone.contains(&path.as_str()));
    rig.apply(&[("letters/1887/c.txt", "again")], &[], &known).await;
    assert_eq!(rig.lines().await, ["/: a.txt", "/letters/1887: c.txt", "/letters: "]);
    assert_eq!(rig.store.get(&year).await.unwrap().parent_pi, Some(letters.clone()));
    // By hand.
    known.insert("letters/1887/c.txt".to_owned(), crate::rig::known(&["c.txt"]));
    move_file(&rig.store, &year, "c.txt", &root).await.unwrap();
    known.get_mut("letters/1887/c.txt").unwrap().at = Some(root);
    rig.apply(&[], &["a.txt"], &known).await;
    assert_eq!(rig.lines().await, ["/: c.txt", "/letters/1887: ", "/letters: "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_folders_go_at_once() {
    let rig = rig();
    let paths: Vec<String> =
        (0..=abide_entities::limits::CHILDREN_AT_ONCE).map(|nth| format!("a/{nth}/x.txt")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "text")).collect();
    rig.apply(&files, &[], &BTreeMap::new()).await;
    rig.apply(&[("b/y.txt", "stays")], &[], &BTreeMap::new()).await;
    let gone: Vec<&str> = paths.iter().map(String::as_str).collect();
    rig.apply(&[], &gone, &crate::rig::each(&files)).await;
    assert_eq!(rig.lines().await, ["/: ", "/b: y.txt"]);
}

/// People know parts by their names: a new folder is told apart from a group that has its name.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_the_name_of_a_group_is_told_apart() {
    let rig = rig();
    let (_, known) = grouped(&rig).await;
    for _ in 0..2 {
        rig.apply(&[("letters/Klein/d.txt", "new")], &[], &known).await;
        assert_eq!(rig.lines().await[2..4], ["/letters/Klein (2): d.txt", "/letters/Klein: b.txt"]);
    }
}

/// A file that somebody moved is not taken for another of its name, by whoever comes where it is now.
#[tokio::test(flavor = "multi_thread")]
async fn a_moved_file_is_not_replaced_by_one_of_its_name() {
    let rig = rig();
    let files = [("a/x.txt", "of a"), ("b/y.txt", "of b"), ("c/x.txt", "of c")];
    rig.apply(&files, &[], &BTreeMap::new()).await;
    let shelf = rig.shelved(crate::rig::each(&files)).await;
    shelf.relocate(PAPERS, "a/x.txt", "b").await.unwrap();
    let known = shelf.files(PAPERS).await.unwrap();
    assert_eq!(known["c/x.txt"].at, None, "another of its name was not moved");
    rig.apply(&[("b/x.txt", "new in b"), ("c/x.txt", "edited in c")], &[], &known).await;
    assert_eq!(rig.lines().await, ["/: ", "/a: ", "/b: x.txt x.txt - x.txt y.txt", "/c: x.txt"]);
    let text = |path: &'static str| {
        let shelf = shelf.clone();
        async move { shelf.show_file(PAPERS, path, None).await.unwrap().text.unwrap() }
    };
    assert_eq!(text("b/x.txt").await, "of a");
    assert_eq!(text("c/x.txt").await, "edited in c");
    // Renamed, it is edited under the name that somebody gave it.
    for (what, to, why) in [
        ("b/x.txt", "y.txt", "there is another file"),
        ("c/x.txt", "x.jpg", "would make something else of it"),
        ("c/x.txt", "pinax.json", "what is written about files has that name"),
        ("c/x.txt", "d/x.txt", "a / or a control character"),
    ] {
        let refused = shelf.rename(PAPERS, what, to).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{what} to {to}: {refused}");
    }
    shelf.rename(PAPERS, "c/x.txt", "first.txt").await.unwrap();
    shelf.rename(PAPERS, "c/first.txt", "second.txt").await.unwrap();
    let known = shelf.files(PAPERS).await.unwrap();
    let ver = shelf.show(PAPERS, "c", None).await.unwrap().entity.ver;
    rig.apply(&[("c/x.txt", "edited again")], &[], &known).await;
    assert_eq!(rig.lines().await[3], "/c: second.txt");
    assert_eq!(text("c/second.txt").await, "edited again");
    let older = shelf.show_file(PAPERS, "c/second.txt", Some(ver)).await.unwrap();
    assert_eq!((older.text.as_deref(), older.versions.len()), (Some("edited in c"), 2));
}

/// A file in two groups is edited in both, and goes from both.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_two_groups_is_the_same_in_both() {
    let rig = rig();
    let (group, known) = grouped(&rig).await;
    let shared = rig.store.get(&group).await.unwrap().components;
    let create = |components| Create {
        label: Some("Weber".to_owned()),
        parent_pi: Some(directory_id(PAPERS, "letters")),
        components,
        ..Create::default()
    };
    let other = rig.store.create(create(shared)).await.unwrap().id;
    let elsewhere = BTreeMap::from([("b.txt".to_owned(), rig.upload("not the same").await)]);
    let stranger = rig.store.create(create(elsewhere.clone())).await.unwrap().id;
    let touched = rig.apply(&[("letters/b.txt", "other")], &[], &known).await;
    assert_eq!(touched, [group.clone(), other.clone()].into());
    let now = |id: EntityId| {
        let store = rig.store.clone();
        async move { store.get(&id).await.unwrap().components }
    };
    assert_eq!(now(group.clone()).await, now(other.clone()).await);
    assert_eq!(now(stranger.clone()).await, elsewhere, "a file that has but the name is another");
    assert_eq!(rig.apply(&[], &["letters/b.txt"], &known).await, touched);
    assert!(now(group).await.is_empty() && now(other).await.is_empty() && !now(stranger).await.is_empty());
}

/// Brings in as was decided until it is stopped, and then to the end.
async fn stopped(
    rig: &crate::rig::Rig,
    stops: &Stops,
    known: &BTreeMap<String, abide_collections::SourceFile>,
) -> Option<()> {
    let files = [("letters/b.txt", "other"), ("letters/d.txt", "new"), ("maps/1890/e.txt", "new, too")];
    let gone = ["a.txt", "letters/1887/c.txt"].map(str::to_owned).into();
    let incoming = rig.incoming(&files).await;
    let decided = decide(&rig.store, PAPERS, &incoming, &gone, known).await.unwrap();
    let first = stops.until(apply(stops, PAPERS, &decided)).await;
    apply(&rig.store, PAPERS, &decided).await.unwrap();
    first.map(Result::unwrap)
}

/// Stopped at each request to the store and run again, it gives one tree.
#[tokio::test(flavor = "multi_thread")]
async fn bringing_in_that_was_stopped_anywhere_goes_on() {
    let steps = {
        let rig = rig();
        let (_, known) = grouped(&rig).await;
        let stops = Stops::new(&rig.store, usize::MAX);
        stopped(&rig, &stops, &known).await.unwrap();
        stops.asked()
    };
    assert!(steps > 8, "{steps}");
    let mut trees = BTreeSet::new();
    for nth in 0..steps {
        let rig = rig();
        let (_, known) = grouped(&rig).await;
        let stops = Stops::new(&rig.store, nth);
        assert!(stopped(&rig, &stops, &known).await.is_none(), "{nth} of {steps}");
        trees.insert(rig.lines().await);
        assert_eq!(trees.len(), 1, "{nth} of {steps}: {trees:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_by_hand_stays() {
    let rig = rig();
    let (_, known) = grouped(&rig).await;
    let shelf = rig.shelved(known).await;
    shelf.rename(PAPERS, "letters/Klein", "Familie Klein").await.unwrap();
    shelf.relocate(PAPERS, "letters/Familie Klein", "").await.unwrap();
    shelf.relocate(PAPERS, "a.txt", "letters/1887").await.unwrap();
    let expected = ["/: ", "/Familie Klein: b.txt", "/letters/1887: a.txt c.txt", "/letters: "];
    assert_eq!(rig.lines().await, expected);
    let known = shelf.files(PAPERS).await.unwrap();
    rig.apply(&[("letters/b.txt", "other"), ("a.txt", "edited")], &[], &known).await;
    assert_eq!(rig.lines().await, expected);
    let hits = shelf.search(PAPERS, "edited").await.unwrap().hits;
    assert_eq!(hits.len(), 1);
    assert_eq!((hits[0].path.as_str(), hits[0].file.as_deref()), ("letters/1887", Some("a.txt")));
    // A part is known by its name.
    let taken = shelf.rename(PAPERS, "letters", "familie klein").await;
    assert!(matches!(taken, Err(ShelfError::Entities(EntityError::Conflict(_)))), "{taken:?}");
    let letters = directory_id(PAPERS, "letters");
    let twin =
        Create { label: Some("Familie Klein".to_owned()), parent_pi: Some(letters), ..Create::default() };
    rig.store.create(twin).await.unwrap();
    let taken = shelf.relocate(PAPERS, "letters/Familie Klein", "").await;
    assert!(matches!(taken, Err(ShelfError::Entities(EntityError::Conflict(_)))), "{taken:?}");
    let into_itself = shelf.relocate(PAPERS, "letters", "letters/1887").await;
    assert!(matches!(into_itself, Err(ShelfError::Entities(EntityError::Invalid(_)))), "{into_itself:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_the_same_name_do_not_replace_each_other() {
    let rig = rig();
    let cid = rig.upload("made of a TIFF").await;
    let known = BTreeMap::from([("scan.jpg".to_owned(), known(&["scan.jpg.ref.json"]))]);
    let incoming = Incoming {
        path: "scan.tif".to_owned(),
        made: vec![("scan.jpg.ref.json".to_owned(), cid), ("description.md".to_owned(), cid)],
    };
    // Two of one run do not either.
    let other = Incoming {
        path: "text.pdf".to_owned(),
        made: vec![("description (file).md".to_owned(), rig.upload("another").await)],
    };
    let decided = rig.bring(&[incoming, other], &[], &known).await;
    assert_eq!(decided.made["scan.tif"], ["scan.tif - scan.jpg.ref.json", "description (file).md"]);
    assert_eq!(decided.made["text.pdf"], ["text.pdf - description (file).md"]);
    assert_eq!(decided.edits[&directory_id(PAPERS, "")].put.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_are_found_by_path_and_searched() {
    let rig = rig();
    let (group, known) = grouped(&rig).await;
    let tree = rig.tree().await;
    let (store, root) = (&rig.store, &tree.root().entity.id);
    let found = |path: &'static str| async move { Part::find(store, root, path).await.unwrap() };
    let found_file = |path: &'static str| async move { Part::find_file(store, root, path).await.unwrap() };
    assert_eq!(found("letters/Klein").await.unwrap().entity.id, group);
    let by_id = Part::find(store, root, group.as_str()).await.unwrap().unwrap();
    assert_eq!((by_id.path().as_str(), by_id.above.len()), ("letters/Klein", 2));
    assert_eq!(found_file("letters/Klein/b.txt").await.unwrap().1, "b.txt");
    assert!(found("letters/Weber").await.is_none() && found_file("letters/b.txt").await.is_none());
    let (hits, more) = search(&rig.store, &tree, &known, "TWO").await.unwrap();
    assert_eq!((hits.len(), hits[0].excerpt.as_str(), more), (1, "two", false));
    let names = search(&rig.store, &tree, &known, "klein").await.unwrap().0;
    assert_eq!((names.len(), names[0].path.as_str(), names[0].file.as_deref()), (1, "letters/Klein", None));
    assert!(search(&rig.store, &tree, &known, "  ").await.is_err());
    let document = tree.document(&rig.store).await.unwrap();
    assert_eq!((document.children[0].label.as_str(), document.files[0].name.as_str()), ("letters", "a.txt"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_original_follows_what_was_made_of_it() {
    let rig = rig();
    let text = rig.upload("read").await;
    let scan = rig.upload("scan").await;
    let made = vec![("s.tif".to_owned(), scan), ("s.jpg.ref.json".to_owned(), text)];
    let incoming = Incoming { path: "letters/s.tif".to_owned(), made };
    rig.bring(&[incoming], &[], &BTreeMap::new()).await;
    let letters = directory_id(PAPERS, "letters");
    let create =
        Create { label: Some("Klein".to_owned()), parent_pi: Some(letters.clone()), ..Create::default() };
    let group = rig.store.create(create).await.unwrap().id;
    move_file(&rig.store, &letters, "s.jpg.ref.json", &group).await.unwrap();
    let known = BTreeMap::from([("letters/s.tif".to_owned(), known(&["s.tif", "s.jpg.ref.json"]))]);
    for _ in 0..2 {
        gather(&rig.store, PAPERS, &known).await.unwrap();
        assert_eq!(rig.lines().await, ["/: ", "/letters/Klein: s.jpg s.tif", "/letters: "]);
    }
    assert_eq!(rig.ver(&group).await, 3);
}

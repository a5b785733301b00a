//! What needs no engine: how a directory is split, what a tree is made of, which words a phase gets.

use crate::rig::names;
use abide_pipeline::calls::Item;
use abide_pipeline::chunk::{Chunk, ChunkState, Missed, sample, split};
use abide_pipeline::contract::*;
use abide_pipeline::ids;
use abide_pipeline::tree::{BadTree, FoundFile, Tree};
use std::collections::BTreeMap;

#[test]
fn a_directory_is_split_between_series() {
    let lengths = |names: &[String], most| split(names, most).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(&[names("a", 30), names("b", 30), names("c", 30)].concat(), 50), [30, 30, 30]);
    assert_eq!(lengths(&[names("a", 20), names("b", 30), names("c", 10)].concat(), 50), [50, 10]);
    assert_eq!(lengths(&names("a", 120), 50), [50, 50, 20]);
    // A series that must be split begins a part of its own, and what follows fills up the last.
    assert_eq!(lengths(&[names("a", 10), names("b", 60), names("c", 40)].concat(), 50), [10, 50, 50]);
    assert_eq!(lengths(&[], 50), [0; 0]);
    // What was made of a page stays with it.
    let page =
        |title: &str, n: u32| [".jpg.ref.json", ".mp4", ".tif"].map(|end| format!("{title} {n:03}{end}"));
    let book = |title: &str| (1..=14).flat_map(|n| page(title, n)).collect::<Vec<_>>();
    assert_eq!(lengths(&[book("A"), book("B")].concat(), 50), [42, 42]);
    assert_eq!(lengths(&(1..=20).flat_map(|n| page("A", n)).collect::<Vec<_>>(), 50), [48, 12]);
    // So do a note beside an image, and the other side of a leaf.
    let shots = |who: &str| {
        let shot = move |n: u32| [".jpg.ref.json", ".jpg.txt"].map(|end| format!("{who}_{n:03}{end}"));
        (1..=15).flat_map(shot).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&[shots("fair"), shots("wedding")].concat(), 50), [30, 30]);
    let leaf = |n: u32| ["recto", "verso"].map(|side| format!("Ledger {n:02} {side}.txt"));
    let leaves = (1..=20).flat_map(leaf).collect::<Vec<_>>();
    assert_eq!(lengths(&[leaves, names("minutes ", 30)].concat(), 50), [40, 30]);
    let all = [names("a", 33), names("bä-", 21), vec!["plain".to_owned(), "plain.txt".to_owned()]].concat();
    assert_eq!(split(&all, 7).concat(), all);
}

#[test]
fn a_sample_is_from_across_the_directory() {
    let all = names("a", 500);
    let taken = sample(&all, 50);
    assert_eq!(taken.len(), 50);
    assert_eq!((taken[0].as_str(), taken[49].as_str()), ("a000.txt", "a490.txt"));
    assert_eq!(sample(&names("a", 3), 50), names("a", 3));
}

/// Every state of a chunk after every event.
#[test]
fn what_becomes_of_a_request_that_comes_to_nothing() {
    let chunk = |timeouts, errors| Chunk { timeouts, errors, ..Chunk::new(Default::default(), Vec::new()) };
    for (before, missed, settled) in [
        (chunk(0, 0), Missed::TimedOut, false),
        (chunk(1, 0), Missed::TimedOut, true),
        (chunk(0, 2), Missed::TimedOut, false),
        (chunk(0, 0), Missed::Failed, false),
        (chunk(0, 1), Missed::Failed, false),
        (chunk(0, 2), Missed::Failed, true),
        (chunk(1, 1), Missed::Failed, false),
    ] {
        let after = before.clone().after(missed, 3, "why");
        assert_eq!(after.state.is_settled(), settled, "{before:?} {missed:?}");
        let reason = ChunkState::Skipped { reason: "why".to_owned() };
        assert_eq!(after.state, if settled { reason } else { ChunkState::Waiting });
    }
}

fn found(path: &str) -> FoundFile {
    FoundFile { logical_path: path.to_owned(), staging_key: format!("staging/b{path}"), config: None }
}

#[test]
fn a_tree_has_every_directory_above_a_file() {
    let mut tree = Tree::default();
    for path in ["/a/b/x.txt", "/a-c/y.txt", "/a/b/x.txt", "/a/pinax.json", "/z.jpg.ref.json"] {
        tree.add(found(path)).unwrap();
    }
    let items = tree.into_items("b", &BTreeMap::from([("/a".to_owned(), ids::of_directory("other", "/"))]));
    let shown: Vec<String> = items
        .iter()
        .map(|item| match item {
            Item::Node(node) => format!("{} below {:?}", node.path, node.parent),
            Item::File { place, file } => format!("{place}: {} {:?}", file.filename, file.kind),
        })
        .collect();
    let expected = [
        "/ below None",
        "0: z.jpg.ref.json Ref",
        "/a below Some(0)",
        "1: pinax (2).json Text",
        "/a-c below Some(0)",
        "2: y.txt Text",
        "/a/b below Some(1)",
        "3: x (2).txt Text",
        "3: x.txt Text",
    ];
    assert_eq!(shown, expected);
    let Item::Node(node) = &items[2] else { panic!() };
    assert_eq!(node.pi, ids::of_directory("other", "/"));
}

#[test]
fn paths_that_are_none() {
    for path in ["x.txt", "/a/../x.txt", "/a//x.txt", "/a/", "/./x"] {
        assert!(matches!(Tree::default().add(found(path)), Err(BadTree::Path(_))), "{path}");
    }
    let deep = "/d".repeat(101) + "/x.txt";
    assert!(matches!(Tree::default().add(found(&deep)), Err(BadTree::Depth(_))));
}

#[test]
fn a_directory_does_what_any_of_its_files_asks_for() {
    let config = |ocr, reorganize| ProcessingConfig { ocr, reorganize, ..ProcessingConfig::NOTHING };
    assert_eq!(config(false, None).or(config(true, None)), config(true, None));
    assert_eq!(config(false, Some(true)).or(config(false, None)), config(false, Some(true)));
    assert_eq!(config(false, Some(true)).or(config(false, Some(false))), config(false, Some(false)));
}

#[test]
fn a_phase_gets_the_general_words_and_its_own() {
    let prompts = CustomPrompts {
        general: Some("Be brief.".to_owned()),
        pinax: Some("German.".to_owned()),
        ..CustomPrompts::default()
    };
    assert_eq!(prompts.of(PhaseName::Pinax).as_deref(), Some("Be brief.\n\nGerman."));
    assert_eq!(prompts.of(PhaseName::Description).as_deref(), Some("Be brief."));
    assert_eq!(CustomPrompts::default().of(PhaseName::Pinax), None);
}

#[test]
fn ids_follow_from_what_they_are_for() {
    let id = ids::of_directory("b", "/a");
    assert_eq!(id, ids::of_directory("b", "/a"));
    assert_ne!(id, ids::of_directory("b/", "a"));
    assert_ne!(id, ids::of_directory("c", "/a"));
}

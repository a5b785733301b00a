//! Files that come for a batch after the first time: only they go through the phases, and what they are in is described again.

use crate::rig::{BATCH, Organizing, Rig, items, message, names, pi_of, rig};
use abide_core::event::Sender;
use abide_engine::object::NoRefusal;
use abide_engine::testing::minute;
use abide_engine::{Answer, Halt, Object, Turn};
use abide_organize::contract::ExistingGroup;
use abide_pipeline::Options;
use abide_pipeline::calls::{Item, NewNode};
use abide_pipeline::contract::*;
use abide_pipeline::orders::DISCOVER;
use abide_preprocess::ToBatch;

/// A later list of the batch's files.
fn list_anew(rig: &mut Rig) {
    rig.world.send(BATCH, &serde_json::json!({ "listed": message() }));
    rig.world.settle();
}

/// A directory that the batch has, and files that it has not, as the worker that finds them brings them.
fn further(rig: &mut Rig, path: &str, files: &[&str]) -> Vec<Item> {
    let nodes = rig.nodes();
    let node = nodes.iter().find(|node| node.path == path).unwrap();
    let groups = nodes.iter().filter(|kid| kid.parent == Some(node.place) && kid.existed);
    let existing_groups = groups.map(|group| ExistingGroup {
        group_name: group.name().to_owned(),
        pi: group.pi.clone().unwrap(),
        description: String::new(),
    });
    let known = NewNode {
        parent: node.parent,
        path: path.to_owned(),
        pi: pi_of(path),
        config: ProcessingConfig::default(),
        published: None,
        existing_groups: existing_groups.collect(),
    };
    let names: Vec<String> = files.iter().map(|name| (*name).to_owned()).collect();
    let found = items(&[(path, names)], ProcessingConfig::default());
    let files = found.into_iter().filter_map(|item| match item {
        Item::File { file, .. } => Some(Item::File { place: node.place, file }),
        Item::Node(_) => None,
    });
    std::iter::once(Item::Node(Box::new(known))).chain(files).collect()
}

/// Jobs of a kind since the first `before`, by the entities that they are about.
fn ran_for(rig: &Rig, before: usize, kind: &str, path: &str) -> usize {
    let pi = pi_of(path).to_string();
    rig.ran.borrow()[before..].iter().filter(|job| job.starts_with(kind) && job.contains(&pi)).count()
}

#[test]
fn only_what_is_new_goes_through_the_phases() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let letters = [names("a", 2), names("b", 2), names("u", 1)].concat();
    rig.begin(&[("/letters", letters), ("/other/deep", names("x", 1))]);
    assert_eq!(rig.status().status, Status::Done);
    let (tree, total) = (rig.tree(), rig.status().progress.directories_total);
    let before = rig.ran.borrow().len();

    list_anew(&mut rig);
    assert_eq!((rig.status().status, rig.status().completed_at), (Status::Queued, None));
    let further = further(&mut rig, "/letters", &["a9.txt", "s1.jpg.ref.json"]);
    rig.bring(&further);
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0));
    assert_eq!((status.files.total, status.files.published, status.files.open), (8, 8, 0));
    assert_eq!((status.files.ocr_total, status.files.ocr_read), (1, 1));
    rig.check_counters();
    assert_eq!(status.progress.directories_total, total + 1, "a group for what fits none");
    let has = |rig: &mut Rig, path: &str| -> Vec<String> {
        let node = rig.node(path);
        let texts = node.text_files.into_iter().map(|file| file.filename);
        texts.chain(node.refs.into_iter().map(|file| file.filename)).collect()
    };
    assert_eq!(has(&mut rig, "/letters/A"), ["a000.txt", "a001.txt", "a9.txt"]);
    assert_eq!(has(&mut rig, "/letters/S"), ["s1.jpg.ref.json"]);
    assert_eq!(has(&mut rig, "/letters"), ["u000.txt"]);
    assert_eq!(rig.tree()["/other/deep"], tree["/other/deep"]);
    for (path, snapshots, words) in [("/letters", 2, 1), ("/", 0, 1), ("/other", 0, 0), ("/other/deep", 0, 0)]
    {
        // One with what is new, and one with what was read.
        assert_eq!(ran_for(&rig, before, SNAPSHOT, path), snapshots, "{path}");
        assert_eq!(ran_for(&rig, before, DESCRIBE, path), words, "{path}");
    }
    let described = rig.ran.borrow()[before..].iter().filter(|job| job.starts_with(DESCRIBE)).count();
    assert_eq!(described, 4, "/, /letters, the group with a new file, and the new group");
}

#[test]
fn what_comes_while_it_goes_on_is_taken_after_it_and_once() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.begin(&[("/d", names("a", 4))]);
    assert_eq!(rig.status().status, Status::Reorganization);
    list_anew(&mut rig);
    list_anew(&mut rig);
    assert_eq!(rig.status().status, Status::Reorganization);
    for request in rig.held() {
        rig.answer(crate::rig::answer(&request));
    }
    assert_eq!(rig.status().status, Status::Queued);
    let asked = |rig: &Rig| rig.ran.borrow().iter().filter(|job| job.starts_with(DISCOVER)).count();
    assert_eq!(asked(&rig), 2);
    // There is nothing new.
    let ran = rig.ran.borrow().len();
    rig.bring(&[]);
    rig.world.pass(minute(1));
    assert_eq!((rig.status().status, rig.ran.borrow().len()), (Status::Done, ran));
    rig.check_counters();
}

#[test]
fn a_directory_that_failed_is_tried_again_with_what_is_new() {
    let mut rig = rig(Options::default(), Organizing::AtOnce);
    let scans = vec!["s1.jpg.ref.json".to_owned(), "tired.jpg.ref.json".to_owned()];
    rig.begin(&[("/scans", scans)]);
    rig.world.pass(minute(60 * 24));
    assert_eq!((rig.status().status, rig.status().directories_failed), (Status::Done, 1));
    list_anew(&mut rig);
    let further = further(&mut rig, "/scans", &["s2.jpg.ref.json"]);
    rig.bring(&further);
    let status = rig.status();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0));
    assert_eq!((status.files.ocr_read, status.files.ocr_failed), (2, 1), "that it was not read is known");
    rig.check_counters();
}

/// Preprocessing that delivered to this server asks whether it may empty its staging.
#[test]
fn staging_is_read_to_the_end() {
    let mut rig = rig(Options::default(), Organizing::Held);
    rig.world.object(Staged);
    let emptied = |rig: &mut Rig| rig.world.call::<Vec<u32>>("preprocess/b1", &()).unwrap();
    rig.world.send("ingest/b1", &serde_json::json!({ "may_empty": 1 }));
    rig.world.settle();
    assert_eq!(emptied(&mut rig), [1], "it was delivered elsewhere");
    rig.begin(&[("/d", names("a", 4))]);
    let may_empty = |finishes: u32| serde_json::json!({ "may_empty": { "finishes": finishes } });
    rig.world.send(BATCH, &may_empty(2));
    rig.world.pass(minute(60 * 24 * 30));
    assert_eq!((rig.status().status, emptied(&mut rig)), (Status::Reorganization, vec![1]));
    list_anew(&mut rig);
    for request in rig.held() {
        rig.answer(crate::rig::answer(&request));
    }
    assert_eq!((rig.status().status, emptied(&mut rig)), (Status::Queued, vec![1]), "another list is read");
    rig.bring(&[]);
    rig.world.settle();
    assert_eq!((rig.status().status, emptied(&mut rig)), (Status::Done, vec![1, 2]));
    rig.world.send(BATCH, &may_empty(3));
    rig.world.settle();
    assert_eq!(emptied(&mut rig), [1, 2, 3]);
}

/// Preprocessing that notes when it may empty its staging.
struct Staged;

impl Object for Staged {
    const KIND: &'static str = "preprocess";
    type Call = ();
    type Reply = Vec<u32>;
    type Message = ToBatch;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, (): ()) -> Result<Answer<Vec<u32>>, Halt<NoRefusal>> {
        let told = turn.scan::<u32>("emptied/", None, 10)?;
        Ok(told.into_iter().map(|(_, finishes)| finishes).collect::<Vec<_>>().into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: ToBatch,
    ) -> Result<(), Halt<NoRefusal>> {
        match message {
            ToBatch::Empty { finishes } => Ok(turn.put(&format!("emptied/{finishes}"), &finishes)?),
            _ => Ok(()),
        }
    }
}

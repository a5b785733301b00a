//! The engine dies at each commit of a batch: it ends as it would have.

use crate::rig::{BATCH, Organizing, Rig, items, message, names, pi_of, rig};
use abide_core::row::RowWrite;
use abide_engine::testing::{Moment, minute};
use abide_pipeline::calls::{HaveAnswer, Item, NewNode};
use abide_pipeline::contract::*;
use abide_pipeline::status::Ledger;
use abide_pipeline::{Call, Options};
use serde::Deserialize;
use std::collections::BTreeMap;

fn run(crash: Option<(usize, Moment)>) -> Rig {
    let options = Options { max_files: 6, ..Options::default() };
    let mut rig = rig(options, Organizing::AtOnce);
    if let Some((nth, moment)) = crash {
        rig.world.crash_at_commit(nth, moment);
    }
    let files = [names("a", 5), names("b", 5), vec!["s.jpg.ref.json".to_owned()]].concat();
    let dirs = [("/d", files), ("/e/f", names("x", 3)), ("/g", names("y", 1))];
    rig.start();
    // The first message is lost with its sender if it dies: whoever sends it sends it again.
    while rig.world.call::<StatusAnswer>(BATCH, &Call::Status).is_err() {
        rig.start();
    }
    rig.world.pass(minute(1));
    rig.bring(&items(&dirs, ProcessingConfig::default()));
    rig.world.pass(minute(10));
    // More comes later. Whoever says so says it again if nobody heard it.
    while !rig.ran.borrow().iter().any(|job| job.contains("\"round\":1")) {
        rig.world.send(BATCH, &serde_json::json!({ "listed": message() }));
        rig.world.pass(minute(1));
    }
    bring_more(&mut rig);
    rig.world.pass(minute(10));
    check_at_all_times(&rig);
    rig
}

/// A file for a directory that the batch has, and a directory that it has not, as far as they are lacking.
fn bring_more(rig: &mut Rig) {
    loop {
        let nodes = rig.nodes();
        let place = |path: &str| nodes.iter().find(|node| node.path == path).map(|node| node.place);
        let node = |path: &str, parent: u32| {
            let (config, pi) = (ProcessingConfig::default(), pi_of(path));
            let (path, parent) = (path.to_owned(), Some(parent));
            let new = NewNode { parent, path, pi, config, published: None, existing_groups: Vec::new() };
            Item::Node(Box::new(new))
        };
        let file = |place: u32, name: &str| {
            let found = items(&[("/", vec![name.to_owned()])], ProcessingConfig::default());
            let mut files = found.into_iter().filter_map(|item| match item {
                Item::File { file, .. } => Some(Item::File { place, file }),
                Item::Node(_) => None,
            });
            files.next().unwrap()
        };
        let (g, total) = (place("/g").unwrap(), u32::try_from(nodes.len()).unwrap());
        let h = place("/h").unwrap_or(total);
        let more = vec![node("/g", 0), file(g, "y9.txt"), node("/h", 0), file(h, "z.txt")];
        let call = Call::Items { life: rig.life(), from: 0, items: more, last: true };
        if rig.world.call::<HaveAnswer>(BATCH, &call).is_ok() {
            return;
        }
    }
}

/// The part of a batch's row that counts.
#[derive(Deserialize)]
struct Counting {
    step: Step,
    progress: Progress,
    files: Ledger,
    failed: u64,
}

#[derive(Deserialize)]
struct Step {
    phase: Option<PhaseName>,
    sweep: Option<u32>,
}

/// After each commit the counters are those of the nodes, nothing is counted twice, and a phase ends with its last node.
fn check_at_all_times(rig: &Rig) {
    let (mut nodes, mut state) = (BTreeMap::<String, Node>::new(), None::<Counting>);
    for (nth, commit) in rig.world.commits().iter().enumerate() {
        if commit.object.to_string() != BATCH {
            continue;
        }
        for write in &commit.rows {
            match write {
                RowWrite::Put { key, row } if key.starts_with("node/") => {
                    nodes.insert(key.clone(), row.value.decode().unwrap());
                }
                RowWrite::Put { key, row } if key == "state" => state = Some(row.value.decode().unwrap()),
                RowWrite::Put { .. } => {}
                RowWrite::Delete { key } => drop(nodes.remove(key)),
            }
        }
        let Some(Counting { step, progress, files, failed }) = &state else { continue };
        let total = nodes.len() as u64;
        assert_eq!(progress.directories_total, total, "commit {nth}");
        for phase in PhaseName::ALL {
            let complete = *progress.clone().complete(phase);
            let counted = nodes.values().filter(|node| phase.is_complete(node)).count() as u64;
            assert_eq!(complete, counted, "commit {nth}, {phase:?}");
            match step.phase {
                Some(now) if phase < now => assert_eq!(complete, total, "commit {nth}, {phase:?}"),
                Some(now) if phase == now && step.sweep.is_none() => {
                    assert!(complete < total, "commit {nth}: {phase:?} goes on without a node");
                }
                Some(_) | None => {}
            }
        }
        assert!(*failed <= total, "commit {nth}");
        assert_eq!(files.open + files.published + files.failed, files.total, "commit {nth}");
        assert!(files.ocr_read + files.ocr_failed <= files.ocr_total, "commit {nth}");
    }
}

#[test]
fn at_every_commit() {
    let mut undisturbed = run(None);
    assert_eq!(undisturbed.status().status, Status::Done);
    let (tree, progress) = (undisturbed.tree(), undisturbed.status().progress);
    let files = undisturbed.status().files;
    let commits = undisturbed.world.commits().len();
    assert!(commits > 20);
    let mut runs = 0;
    for nth in 1..=commits {
        for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
            let mut rig = run(Some((nth, moment)));
            assert_eq!(rig.status().status, Status::Done, "{nth} {moment:?}");
            assert_eq!(rig.tree(), tree, "{nth} {moment:?}");
            assert_eq!(rig.status().progress, progress, "{nth} {moment:?}");
            assert_eq!(rig.status().files, files, "{nth} {moment:?}");
            rig.check_counters();
            assert_eq!(rig.world.dead_letters(), []);
            runs += 1;
        }
    }
    assert_eq!(runs, 2 * commits);
}

/// No job about a directory is enqueued twice in one life of a batch.
#[test]
fn work_is_asked_for_once() {
    let rig = run(None);
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for commit in rig.world.commits() {
        for job in &commit.jobs {
            let key = job.unique_key.as_ref().unwrap().as_str().to_owned();
            *asked.entry(key).or_default() += 1;
        }
    }
    assert!(asked.values().all(|times| *times == 1), "{asked:?}");
}

//! Crashes at every commit: the batch finishes, each task once, counters exact.

use crate::world::{
    B, begin, callback, counts, file, life, message, options, orders, output, start, status, success, work,
    world,
};
use abide_core::commit::Ending;
use abide_core::json::Json;
use abide_core::row::RowWrite;
use abide_engine::testing::{Moment, World, minute};
use abide_preprocess::calls::{HaveAnswer, OkAnswer};
use abide_preprocess::file::{FileRow, InputEnd};
use abide_preprocess::{Call, Counts, Ledger, Report, State, Task, TaskStatus};
use std::collections::{BTreeMap, BTreeSet};

/// Asks until it is answered, as a worker does that lost its connection.
fn drive(world: &mut World) {
    let started = Call::Start(Box::new(message()));
    while world.call::<serde_json::Value>(B, &started).is_err() {}
    let files = vec![file("a.tif", "image/tiff"), file("b.tif", "image/tiff"), file("c.png", "image/png")];
    let life = life(world);
    loop {
        let call = Call::Files { life, from: 0, files: files.clone(), last: true };
        if let Ok(HaveAnswer { have: None }) = world.call::<HaveAnswer>(B, &call) {
            break;
        }
    }
    let mut fail_first = BTreeSet::new();
    for _ in 0..20 {
        world.pass(minute(1));
        for tag in ["tiff", "image"] {
            for order in orders(world, tag) {
                let first = fail_first.insert(order.attempt.task_id.clone());
                let report = if first { Report::error("out of memory") } else { success(&order) };
                while callback(world, &order.attempt, report.clone()).is_err() {}
            }
        }
        if matches!(world.call::<abide_preprocess::calls::StatusAnswer>(B, &Call::Status), Ok(status) if status.status == "DONE")
        {
            return;
        }
    }
}

/// What the rows of a batch count to: by phase, and inputs by how they ended.
fn recount(rows: &BTreeMap<String, Json>, phases: usize) -> (Vec<Counts>, Ledger) {
    let mut counts = vec![Counts::default(); phases];
    let mut ledger = Ledger::default();
    for (key, value) in rows {
        if key.starts_with("task/") {
            let task: Task = value.decode().unwrap();
            let live = rows.contains_key(&key.replacen("task/", "live/", 1));
            let counts = &mut counts[task.phase];
            counts.total += 1;
            counts.completed += u64::from(task.status == TaskStatus::Completed);
            counts.failed += u64::from(task.status == TaskStatus::Failed);
            counts.begun += u64::from(task.status == TaskStatus::Processing);
            counts.live += u64::from(live);
        }
        if let Some(fared) = key.starts_with("file/").then(|| value.decode::<FileRow>().unwrap().fared) {
            let Some(fared) = fared else { continue };
            ledger.total += 1;
            match fared.end() {
                InputEnd::Open => ledger.open += 1,
                InputEnd::Converted => ledger.converted += 1,
                InputEnd::PassedThrough { .. } => ledger.passed_through += 1,
                InputEnd::Failed { .. } => ledger.failed += 1,
            }
        }
    }
    (counts, ledger)
}

/// After each commit of a batch the counters are what the rows count to.
fn check_every_commit(world: &World) -> usize {
    let mut rows: BTreeMap<String, Json> = BTreeMap::new();
    let mut checked = 0;
    for commit in world.commits().iter().filter(|commit| commit.object.to_string() == B) {
        for write in &commit.rows {
            match write {
                RowWrite::Put { key, row } => drop(rows.insert(key.clone(), row.value.clone())),
                RowWrite::Delete { key } => drop(rows.remove(key)),
            }
        }
        if commit.ending == Ending::Deleted {
            rows.clear();
        }
        let Some(state) = rows.get("batch").map(|state| state.decode::<State>().unwrap()) else { continue };
        let (counts, ledger) = recount(&rows, state.counts.len());
        assert_eq!((state.counts, state.ledger), (counts, ledger), "{:?}", state.step);
        checked += 1;
    }
    checked
}

/// With tasks that fail, are tried again by policy and by hand, a reset half way and another life.
#[test]
fn counters_are_what_the_rows_count_to_at_every_commit() {
    let mut world = world(options());
    drive(&mut world);
    let of_one_history = check_every_commit(&world);
    let mut world = crate::world::world(options());
    let files =
        || vec![file("a.tif", "image/tiff"), file("b.tif", "image/tiff"), file("c.txt", "text/plain")];
    start(&mut world, files());
    let torn = Report { retryable: Some(false), ..Report::error("it is damaged") };
    let order = orders(&mut world, "tiff").remove(0);
    begin(&mut world, &order.attempt);
    callback(&mut world, &order.attempt, torn).unwrap();
    work(&mut world);
    let again = Call::Retry { task_id: order.attempt.task_id };
    let _: OkAnswer = world.call(B, &again).unwrap();
    let order = orders(&mut world, "tiff").pop().unwrap();
    begin(&mut world, &order.attempt);
    callback(&mut world, &order.attempt, Report::error("out of memory")).unwrap();
    world.pass(minute(1));
    let order = orders(&mut world, "tiff").pop().unwrap();
    begin(&mut world, &order.attempt);
    let _: OkAnswer = world.call(B, &Call::Reset).unwrap();
    start(&mut world, files());
    work(&mut world);
    assert_eq!(status(&mut world).status, "DONE");
    assert!(of_one_history > 5 && check_every_commit(&world) > 20);
}

#[test]
fn a_crash_at_any_commit_loses_nothing() {
    let mut points = 0;
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        for nth in 1.. {
            let mut world = world(options());
            world.crash_at_commit(nth, moment);
            drive(&mut world);
            assert_eq!(status(&mut world).status, "DONE", "{moment:?} {nth}");
            assert_eq!(counts(&mut world), [[2, 2, 0, 0], [0, 0, 0, 0], [3, 3, 0, 0]], "{moment:?} {nth}");
            let ledger = status(&mut world).inputs;
            assert_eq!((ledger.total, ledger.converted, ledger.open), (3, 3, 0));
            let keys: Vec<_> = output(&mut world).into_iter().map(|file| file.r2_key).collect();
            assert_eq!(keys.len(), 5);
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), 5);
            assert_eq!(world.dead_letters(), []);
            let lives: BTreeSet<_> = world.commits().iter().map(|commit| commit.by).collect();
            if nth > 1 && lives.len() == 1 {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 20, "there were only {points} points to die at");
}

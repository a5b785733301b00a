//! The engine dies at every commit, in both modes: nothing is lost, and nothing happens twice.

use crate::world::{MAIN, counts, process_count, queue, world};
use abide_coordinator::{BatchAnswer, Call, Change, ProcessorResult, Status, WorkId};
use abide_engine::testing::{Moment, World, second};
use serde_json::json;
use std::collections::BTreeSet;

/// Submits 100 items in batches of several sizes and lets time pass; gives the ids in order.
fn submit_all(world: &mut World, mode: &str) -> Vec<WorkId> {
    let mut ids = Vec::new();
    for (index, size) in [1, 9, 30, 60].into_iter().enumerate() {
        let batch = json!({"messages": vec!["m"; size], "delay": 700 * index, "mode": mode});
        let batch = Call::submit_batch(&batch).unwrap();
        let key = format!("batch {index}");
        let taken: BatchAnswer = match world.call_once(MAIN, &batch, &key) {
            Ok(taken) => taken,
            Err(_) => world.call_once(MAIN, &batch, &key).unwrap(),
        };
        ids.extend(taken.work_items.into_iter().map(|item| item.id));
        world.pass(300);
    }
    world.pass(second(10));
    ids
}

fn check(world: &mut World, ids: &[WorkId]) {
    let items = queue(world);
    assert_eq!(items.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), ids);
    let count = |result: &abide_core::json::Json| result.decode::<ProcessorResult>().unwrap().process_count;
    let counted: BTreeSet<i64> = items.iter().map(|item| count(item.result.as_ref().unwrap())).collect();
    assert_eq!(counted, (1..=100).collect(), "each was counted once, and has its own count");
    assert_eq!(process_count(world), 100);
    assert_eq!(counts(world), [0, 0, 100, 0, 100]);
    let log: Vec<Change> = world.log(MAIN);
    let completed: Vec<_> = log.iter().filter(|change| change.status == Status::Completed).collect();
    let distinct: BTreeSet<_> = completed.iter().map(|change| &change.work_id).collect();
    assert_eq!((completed.len(), distinct.len()), (100, 100), "no result was taken twice");
    assert_eq!(world.dead_letters(), []);
}

/// Whether another engine went on with the work.
fn died(world: &World) -> bool {
    let lives: BTreeSet<_> = world.commits().iter().map(|commit| commit.by).collect();
    lives.len() > 1
}

fn at_every_commit(mode: &str) {
    for moment in [Moment::BeforeItIsDurable, Moment::BeforeItIsAnswered] {
        let mut nth = 0;
        loop {
            nth += 1;
            let mut world = world();
            world.crash_at_commit(nth, moment);
            let ids = submit_all(&mut world, mode);
            check(&mut world, &ids);
            if nth > 1 && !died(&world) {
                break;
            }
        }
        assert!(nth > 15, "there were only {nth} points to die at in mode {mode}");
    }
}

#[test]
fn a_crash_at_any_commit_loses_nothing_in_mode_queue() {
    at_every_commit("queue");
}

#[test]
fn a_crash_at_any_commit_loses_nothing_in_mode_direct() {
    at_every_commit("direct");
}

#[test]
fn an_engine_that_dies_again_and_again_loses_nothing() {
    for mode in ["queue", "direct"] {
        let mut world = world();
        let batch =
            Call::submit_batch(&json!({"messages": vec!["m"; 100], "delay": 500, "mode": mode})).unwrap();
        world.crash_at_commit(2, Moment::BeforeItIsDurable);
        let taken: BatchAnswer = world.call(MAIN, &batch).unwrap();
        for step in 0..20 {
            let moment = if step % 2 == 0 { Moment::BeforeItIsDurable } else { Moment::BeforeItIsAnswered };
            world.crash_at_commit(1 + step % 3, moment);
            world.pass(100);
        }
        world.pass(second(10));
        let ids: Vec<WorkId> = taken.work_items.into_iter().map(|item| item.id).collect();
        check(&mut world, &ids);
    }
}

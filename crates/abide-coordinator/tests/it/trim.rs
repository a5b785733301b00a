//! Trimming: by age and number, never of unfinished work.

use crate::world::{
    counts, idle_world, process_count, queue, report, rerun, row_keys, status, submit, submit_batch, world,
};
use abide_coordinator::{ResultBy, Status};
use abide_engine::testing::{hour, minute};
use serde_json::{Value, json};

fn batch(count: usize, mode: &str) -> Value {
    json!({"messages": vec!["m"; count], "delay": 0, "mode": mode})
}

#[test]
fn a_finished_item_goes_when_it_is_beyond_the_newest_fifty_and_an_hour_old() {
    let mut world = world();
    let taken = submit_batch(&mut world, &batch(100, "queue"));
    world.pass(hour(1) - 1);
    assert_eq!(queue(&mut world).len(), 100);
    world.crash();
    world.pass(1);
    let left: Vec<_> = queue(&mut world).into_iter().map(|item| item.id).collect();
    assert_eq!(left, taken[50..].iter().map(|item| item.id.clone()).collect::<Vec<_>>());
    assert_eq!(counts(&mut world), [0, 0, 50, 0, 50]);
    world.pass(hour(100));
    assert_eq!(queue(&mut world).len(), 50, "the newest stay however old");
    assert_eq!(row_keys(&mut world, "coordinator/main").len(), 50 * 3 + 1);
    assert_eq!(row_keys(&mut world, "processor/main").len(), 50 + 1, "the processor forgets them, too");
    assert_eq!(process_count(&mut world), 100);
}

#[test]
fn old_items_go_when_newer_ones_push_them_out() {
    let mut world = world();
    submit_batch(&mut world, &batch(50, "direct"));
    world.pass(hour(2));
    assert_eq!(queue(&mut world).len(), 50);
    for _ in 0..10 {
        submit(&mut world, &json!({"message": "new", "delay": 0}));
    }
    assert_eq!(counts(&mut world), [0, 0, 50, 0, 50]);
    assert_eq!(queue(&mut world)[49].payload.message, "new");
}

#[test]
fn unfinished_work_is_never_trimmed() {
    let mut world = idle_world();
    let waiting = submit_batch(&mut world, &batch(100, "queue"));
    submit_batch(&mut world, &batch(100, "direct"));
    world.pass(hour(48));
    submit_batch(&mut world, &batch(100, "direct"));
    world.pass(minute(30));
    let left = queue(&mut world);
    assert_eq!(counts(&mut world), [0, 100, 100, 0, 200]);
    let unfinished: Vec<_> =
        left.iter().filter(|item| item.status == Status::Processing).map(|item| item.id.clone()).collect();
    assert_eq!(unfinished, waiting.iter().map(|item| item.id.clone()).collect::<Vec<_>>());
}

#[test]
fn an_item_that_failed_and_was_begun_again_is_unfinished() {
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    report(&mut world, &id.0, ResultBy::Operator, &json!({"error": "by hand"})).unwrap();
    assert!(rerun(&mut world, &id, None));
    submit_batch(&mut world, &batch(100, "direct"));
    world.pass(hour(48));
    assert_eq!(status(&mut world, &id), Status::Processing);
    assert_eq!(counts(&mut world), [0, 1, 50, 0, 51]);
}

#[test]
fn a_long_queue_is_trimmed_a_part_at_a_time() {
    let mut world = world();
    for _ in 0..12 {
        submit_batch(&mut world, &batch(100, "queue"));
    }
    world.pass(hour(1));
    assert_eq!(counts(&mut world), [0, 0, 50, 0, 50]);
    let largest = world.commits().iter().map(|commit| commit.items()).max();
    assert!(largest.is_some_and(|items| items < 1_000), "{largest:?}");
}

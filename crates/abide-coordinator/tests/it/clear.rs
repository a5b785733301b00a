//! Clearing: everything is forgotten, and what was under way is cancelled.

use crate::world::{
    clear, counts, idle_world, process_count, queue, row_keys, submit, submit_batch, succeed, world,
};
use abide_coordinator::{PROCESS, QUEUE};
use abide_core::job::JobState;
use abide_engine::testing::{World, minute, second};
use abide_store::view::{JobFilter, ObjectView};
use abide_store::{Answer, Read};
use serde_json::json;

fn jobs(world: &mut World) -> Vec<JobState> {
    match world.read(Read::Jobs(JobFilter { limit: 1_000, ..JobFilter::default() })) {
        Answer::Jobs(page) => page.jobs.iter().map(|job| job.state).collect(),
        other => panic!("{other:?}"),
    }
}

fn processor(world: &mut World) -> ObjectView {
    match world.read(Read::Object("processor/main".parse().unwrap())) {
        Answer::Object(Some(view)) => view,
        other => panic!("{other:?}"),
    }
}

#[test]
fn clearing_forgets_everything_and_cancels_what_waits() {
    let mut world = idle_world();
    submit_batch(&mut world, &json!({"messages": vec!["m"; 50], "delay": 0}));
    submit_batch(&mut world, &json!({"messages": vec!["m"; 50], "delay": 5000, "mode": "direct"}));
    clear(&mut world);
    assert_eq!(queue(&mut world), []);
    assert_eq!(counts(&mut world), [0; 5]);
    assert_eq!(jobs(&mut world), [JobState::Cancelled; 50]);
    world.worker(QUEUE, PROCESS, |_| panic!("a cancelled job does not run"));
    world.crash();
    world.pass(minute(1));
    assert_eq!(process_count(&mut world), 0);
    assert_eq!(processor(&mut world).alarms, []);
    assert_eq!(queue(&mut world), []);
}

#[test]
fn what_was_under_way_does_not_reach_the_items_that_come_after() {
    let mut world = idle_world();
    submit(&mut world, &json!({"message": "old", "delay": 3000, "mode": "direct"}));
    submit(&mut world, &json!({"message": "old", "delay": 0}));
    world.pass(second(1));
    clear(&mut world);
    submit(&mut world, &json!({"message": "new", "delay": 3000, "mode": "direct"}));
    submit(&mut world, &json!({"message": "new", "delay": 0}));
    world.worker(QUEUE, PROCESS, succeed);
    world.crash();
    world.pass(second(10));
    let shown: Vec<_> =
        queue(&mut world).into_iter().map(|item| (item.payload.message, item.status)).collect();
    assert_eq!(json!(shown), json!([["new", "completed"], ["new", "completed"]]));
    assert_eq!(process_count(&mut world), 2);
    assert_eq!(counts(&mut world), [0, 0, 2, 0, 2]);
}

#[test]
fn a_processor_forgets_a_long_queue_a_part_at_a_time() {
    let mut world = world();
    for _ in 0..12 {
        submit_batch(&mut world, &json!({"messages": vec!["m"; 100], "delay": 0, "mode": "direct"}));
    }
    assert_eq!(process_count(&mut world), 1_200);
    clear(&mut world);
    assert_eq!(row_keys(&mut world, "processor/main"), ["processCount"]);
    assert_eq!(process_count(&mut world), 1_200);
}

#[test]
fn clearing_what_is_empty_changes_nothing() {
    let mut world = idle_world();
    clear(&mut world);
    assert_eq!(world.commits(), []);
}

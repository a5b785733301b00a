//! Beginning an item again.

use crate::world::{MAIN, idle_world, item, process_count, rerun, status, submit, succeed, tags, world};
use abide_coordinator::{Call, PROCESS, QUEUE, Status};
use abide_engine::CallError;
use abide_engine::testing::{minute, second};
use abide_engine::worker::failed_for_good;
use serde_json::{Value, json};

#[test]
fn a_failed_item_is_begun_again_as_a_new_attempt() {
    let mut world = idle_world();
    let mut times = 0;
    world.worker(QUEUE, PROCESS, move |lease| {
        times += 1;
        if times == 1 { failed_for_good("no good") } else { succeed(lease) }
    });
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    assert_eq!(status(&mut world, &id), Status::Failed);
    assert!(rerun(&mut world, &id, None));
    let item = item(&mut world, &id);
    assert_eq!((item.status, item.attempt, item.error.as_deref()), (Status::Completed, 2, None));
    assert_eq!(tags(&item)[..4], ["1-serverReceived", "2-queueEnqueued", "3-reachedDLQ", "4-queueEnqueued"]);
    assert_eq!(process_count(&mut world), 1);
}

#[test]
fn an_item_that_is_under_way_or_completed_is_not() {
    let mut idle = idle_world();
    let waiting = submit(&mut idle, &json!({"message": "m", "delay": 0})).id;
    assert!(!rerun(&mut idle, &waiting, None));
    assert!(!rerun(&mut idle, &waiting, Some(&json!({"mode": "queue"}))));
    assert_eq!(item(&mut idle, &waiting).attempt, 1);
    let mut world = world();
    let done = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    assert!(!rerun(&mut world, &done, Some(&json!({"mode": "direct"}))));
    assert_eq!(process_count(&mut world), 1);
}

#[test]
fn an_item_that_waits_in_one_mode_can_go_on_in_the_other() {
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 1000})).id;
    assert!(rerun(&mut world, &id, Some(&json!({"mode": "direct"}))));
    world.pass(500);
    assert!(rerun(&mut world, &id, Some(&json!({"mode": "queue"}))));
    world.pass(second(10));
    assert_eq!(status(&mut world, &id), Status::Processing, "nobody works on the queue");
    assert!(rerun(&mut world, &id, Some(&json!({"mode": "direct"}))));
    world.pass(second(10));
    let done = item(&mut world, &id);
    assert_eq!((done.status, done.attempt), (Status::Completed, 4));
    assert_eq!(process_count(&mut world), 1);
    world.worker(QUEUE, PROCESS, |_| panic!("the jobs of former attempts are cancelled"));
    world.crash();
    world.pass(minute(1));
    assert_eq!(item(&mut world, &id), done);
}

#[test]
fn an_unknown_item_and_too_many_attempts_are_refused() {
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, |_| failed_for_good("never"));
    let refused = |result: Result<Value, CallError>| match result {
        Err(CallError::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    };
    let unknown = world.call(MAIN, &Call::process("nobody", None).unwrap());
    assert_eq!(refused(unknown), "unknown_work");
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    for _ in 1..20 {
        assert!(rerun(&mut world, &id, None));
    }
    assert_eq!(refused(world.call(MAIN, &Call::process(&id.0, None).unwrap())), "too_many_attempts");
    assert_eq!(item(&mut world, &id).attempt, 20);
}

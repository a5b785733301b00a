//! Dead letters of jobs, shown on their items and replayed.

use crate::world::{counts, idle_world, item, process_count, submit, succeed, tags};
use abide_coordinator::{PROCESS, QUEUE, Status};
use abide_engine::testing::{minute, second};
use abide_engine::worker::{failed, skipped};
use abide_store::Write;
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn an_item_whose_job_used_up_its_attempts_shows_it() {
    let mut world = idle_world();
    let tries = Rc::new(Cell::new(0));
    let counting = tries.clone();
    world.worker(QUEUE, PROCESS, move |_| {
        counting.set(counting.get() + 1);
        failed("the page is blank")
    });
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    world.pass(minute(10));
    let item = item(&mut world, &id);
    assert_eq!(tries.get(), 4, "once, and 3 retries");
    assert_eq!(item.status, Status::Failed);
    assert_eq!(item.error.as_deref(), Some("Message failed after all retry attempts"));
    assert_eq!(json!(item.dead_letter), json!({"job": 1, "attempt": 4, "reason": "the page is blank"}));
    assert_eq!(tags(&item), ["1-serverReceived", "2-queueEnqueued", "3-reachedDLQ"]);
    assert!(item.time_taken.is_some_and(|taken| taken.whole() >= second(6)));
    assert_eq!(counts(&mut world), [0, 0, 0, 1, 1]);
    assert_eq!(process_count(&mut world), 0);
}

#[test]
fn a_replayed_dead_letter_completes_its_item_once() {
    let mut world = idle_world();
    let broken = Rc::new(Cell::new(true));
    let is_broken = broken.clone();
    world.worker(
        QUEUE,
        PROCESS,
        move |lease| if is_broken.get() { failed("broken") } else { succeed(lease) },
    );
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    world.pass(minute(10));
    let job = item(&mut world, &id).dead_letter.unwrap().job;
    world.write(Write::Retry { job }).unwrap();
    world.pass(minute(10));
    assert_eq!(item(&mut world, &id).dead_letter.unwrap().attempt, 8, "it died again");
    broken.set(false);
    world.write(Write::Retry { job }).unwrap();
    world.settle();
    let done = item(&mut world, &id);
    assert_eq!((done.status, done.dead_letter, done.error), (Status::Completed, None, None));
    assert_eq!(process_count(&mut world), 1);
    assert_eq!(counts(&mut world), [0, 0, 1, 0, 1]);
}

#[test]
fn a_job_that_is_skipped_or_cancelled_says_so_on_its_item() {
    let mut world = idle_world();
    world.worker(QUEUE, PROCESS, |_| skipped("nothing to do"));
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    assert_eq!(item(&mut world, &id).error.as_deref(), Some("the worker skipped it: nothing to do"));
    let mut world = idle_world();
    let id = submit(&mut world, &json!({"message": "m", "delay": 0})).id;
    world.write(Write::Cancel { job: abide_core::job::JobId(1) }).unwrap();
    world.settle();
    assert_eq!(item(&mut world, &id).error.as_deref(), Some("its job was cancelled"));
}

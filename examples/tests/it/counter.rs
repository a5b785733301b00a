//! The counter, without a disk.

use abide_engine::CallError;
use abide_engine::testing::{Moment, World, day};
use abide_examples::counter::{Ask, Counter};

fn world() -> World {
    let mut world = World::new();
    world.object(Counter);
    world
}

fn count(world: &mut World) -> i64 {
    world.call("counter/a", &Ask::Count).unwrap()
}

#[test]
fn it_counts_across_crashes_and_months() {
    let mut world = world();
    assert_eq!(world.call::<i64>("counter/a", &Ask::Add(2)).unwrap(), 2);
    world.crash();
    world.pass(day(30));
    assert_eq!(world.call::<i64>("counter/a", &Ask::Add(3)).unwrap(), 5);
    assert_eq!(world.row::<i64>("counter/a", "count"), Some(5));
}

#[test]
fn each_has_a_count_of_its_own() {
    let mut world = world();
    world.call::<i64>("counter/b", &Ask::Add(7)).unwrap();
    assert_eq!(count(&mut world), 0);
}

#[test]
fn asking_writes_nothing() {
    let mut world = world();
    count(&mut world);
    assert_eq!(world.commits(), []);
}

#[test]
fn it_refuses_to_go_below_zero_and_changes_nothing() {
    let mut world = world();
    world.call::<i64>("counter/a", &Ask::Add(2)).unwrap();
    let refused = world.call::<i64>("counter/a", &Ask::Add(-3)).unwrap_err();
    assert_eq!(refused.to_string(), "below_zero: the count is 2, and -3 would take it below zero");
    assert_eq!(count(&mut world), 2);
}

#[test]
fn a_crash_before_the_disk_loses_a_call_and_says_so() {
    let mut world = world();
    world.crash_at_next_commit(Moment::BeforeItIsDurable);
    assert_eq!(world.call::<i64>("counter/a", &Ask::Add(1)), Err(CallError::OutcomeUnknown));
    assert_eq!(count(&mut world), 0);
}

#[test]
fn with_a_key_a_call_can_be_repeated_until_it_is_answered() {
    let mut world = world();
    world.crash_at_next_commit(Moment::BeforeItIsAnswered);
    assert_eq!(world.call_once::<i64>("counter/a", &Ask::Add(1), "visit 1"), Err(CallError::OutcomeUnknown));
    assert_eq!(world.call_once::<i64>("counter/a", &Ask::Add(1), "visit 1"), Ok(1));
    assert_eq!(world.call_once::<i64>("counter/a", &Ask::Add(1), "visit 1"), Ok(1));
    assert_eq!(count(&mut world), 1);
}

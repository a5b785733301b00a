//! A store that fails, in a world with virtual time.

use crate::objects::{Do, Puppet};
use abide_engine::CallError;
use abide_engine::testing::{Fault, World, minute, second};
use abide_store::StoreError;
use serde_json::{Value, json};

fn world() -> World {
    let mut world = World::new();
    world.object(Puppet);
    world.call::<Value>("puppet/a", &add(1)).unwrap();
    world
}

fn add(by: i64) -> Do {
    Do::Add("n".into(), by)
}

fn n(world: &mut World, object: &str) -> Option<i64> {
    world.row(object, "n")
}

fn full() -> StoreError {
    StoreError::Full("no space".into())
}

#[test]
fn a_full_disk_fails_the_call_and_the_next_one_works() {
    let mut world = world();
    world.fail_next_commit(Fault::Refuses(full()));
    assert_eq!(world.call::<Value>("puppet/a", &add(1)), Err(CallError::Store(full())));
    assert_eq!(n(&mut world, "puppet/a"), Some(1));
    world.pass(second(1));
    assert_eq!(world.call::<Value>("puppet/a", &add(1)), Ok(json!(2)));
}

#[test]
fn a_full_disk_fails_all_calls_of_the_batch_and_runs_none_of_them_later() {
    let mut world = world();
    world.fail_next_commit(Fault::Refuses(full()));
    let calls: Vec<_> = (0..10).map(|_| world.begin_call("puppet/a", &add(1), None)).collect();
    world.settle();
    world.pass(minute(1));
    for call in calls {
        assert_eq!(world.reply(call), Some(Err(CallError::Store(full()))));
    }
    assert_eq!(n(&mut world, "puppet/a"), Some(1));
}

#[test]
fn messages_and_alarms_outlast_a_failing_store() {
    for fault in [Fault::Refuses(full()), Fault::LosesTheAnswer, Fault::LosesTheWrite] {
        let mut world = world();
        world.call::<Value>("puppet/a", &Do::SetAlarm("x".into(), 10)).unwrap();
        world.fail_next_commit(fault.clone());
        world.send("puppet/a", &add(1));
        world.pass(minute(1));
        assert_eq!(n(&mut world, "puppet/a"), Some(2), "{fault:?}");
        world.call::<Value>("puppet/a", &Do::SetAlarm("y".into(), 10)).unwrap();
        world.fail_next_commit(fault.clone());
        world.pass(minute(1));
        let seen: Vec<String> = world.row("puppet/a", "seen").unwrap();
        assert_eq!(seen.len(), 2, "{fault:?}: {seen:?}");
    }
}

#[test]
fn an_ambiguous_call_says_so_and_one_with_a_key_finds_out() {
    for (fault, after) in [(Fault::LosesTheAnswer, 2), (Fault::LosesTheWrite, 1)] {
        let mut world = world();
        world.fail_next_commit(fault);
        assert_eq!(world.call::<Value>("puppet/a", &add(1)), Err(CallError::OutcomeUnknown));
        assert_eq!(n(&mut world, "puppet/a"), Some(after));
    }
    for fault in [Fault::LosesTheAnswer, Fault::LosesTheWrite] {
        let mut world = world();
        world.fail_next_commit(fault);
        assert_eq!(world.call_once::<Value>("puppet/a", &add(1), "k"), Ok(json!(2)));
        assert_eq!(n(&mut world, "puppet/a"), Some(2));
    }
}

#[test]
fn reads_that_waited_behind_an_ambiguous_commit_show_only_what_is_durable() {
    for (fault, after) in [(Fault::LosesTheAnswer, 2), (Fault::LosesTheWrite, 1)] {
        let mut world = world();
        world.fail_next_commit(fault);
        let write = world.begin_call("puppet/a", &add(1), None);
        let read = world.begin_call("puppet/a", &Do::Get("n".into()), None);
        world.settle();
        assert_eq!(world.reply(write), Some(Err(CallError::OutcomeUnknown)));
        let reply = world.reply(read).unwrap().unwrap();
        assert_eq!(reply, abide_core::commit::Reply::Now(json!(after).into()));
    }
}

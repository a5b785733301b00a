//! Turns in a world with virtual time.

use crate::objects::{Do, Puppet};
use abide_engine::testing::{Moment, World, day, hour, minute, second};
use abide_engine::worker::{done, failed};
use abide_engine::{CallError, TurnError};
use serde_json::{Value, json};

fn world() -> World {
    let mut world = World::new();
    world.object(Puppet);
    world
}

fn call(world: &mut World, object: &str, what: Do) -> Value {
    world.call(object, &what).unwrap()
}

fn seen(world: &mut World, object: &str) -> Vec<String> {
    world.row(object, "seen").unwrap_or_default()
}

fn add(by: i64) -> Do {
    Do::Add("n".into(), by)
}

#[test]
fn rows_are_kept_across_crashes() {
    let mut world = world();
    assert_eq!(call(&mut world, "puppet/a", add(2)), json!(2));
    world.crash();
    assert_eq!(call(&mut world, "puppet/a", add(3)), json!(5));
    assert_eq!(call(&mut world, "puppet/b", Do::Get("n".into())), Value::Null);
}

#[test]
fn a_commit_that_was_lost_did_not_happen_and_one_that_was_not_answered_did() {
    let mut world = world();
    call(&mut world, "puppet/a", add(1));
    world.crash_at_next_commit(Moment::BeforeItIsDurable);
    assert_eq!(world.call::<Value>("puppet/a", &add(10)), Err(CallError::OutcomeUnknown));
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), json!(1));
    world.crash_at_next_commit(Moment::BeforeItIsAnswered);
    assert_eq!(world.call::<Value>("puppet/a", &add(10)), Err(CallError::OutcomeUnknown));
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), json!(11));
}

#[test]
fn a_call_with_a_key_takes_effect_once() {
    let mut world = world();
    world.crash_at_next_commit(Moment::BeforeItIsAnswered);
    assert!(world.call_once::<Value>("puppet/a", &add(1), "k1").is_err());
    assert_eq!(world.call_once::<Value>("puppet/a", &add(1), "k1").unwrap(), json!(1));
    assert_eq!(world.call_once::<Value>("puppet/a", &add(1), "k1").unwrap(), json!(1));
    let other = world.call_once::<Value>("puppet/a", &add(2), "k1");
    assert!(matches!(other, Err(CallError::KeyReused(_))), "{other:?}");
    world.pass(hour(25));
    assert_eq!(world.call_once::<Value>("puppet/a", &add(1), "k1").unwrap(), json!(2));
}

#[test]
fn two_calls_with_one_key_at_once_take_effect_once() {
    let mut world = world();
    let key = || Some("k".parse().unwrap());
    let first = world.begin_call("puppet/a", &add(1), key());
    let second = world.begin_call("puppet/a", &add(1), key());
    world.settle();
    assert_eq!(world.reply(first), world.reply(second));
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), json!(1));
}

#[test]
fn refusals_and_failures_of_calls_change_nothing() {
    let mut world = world();
    call(&mut world, "puppet/a", add(1));
    let many = |last| Do::Many(vec![add(5), last]);
    let refused = world.call::<Value>("puppet/a", &many(Do::Refuse));
    assert!(matches!(&refused, Err(CallError::Refused(r)) if r.code == "unwilling"), "{refused:?}");
    let failed = world.call::<Value>("puppet/a", &many(Do::Panic));
    assert_eq!(failed, Err(CallError::Failed(TurnError::Panicked("told to panic".into()))));
    let bad = world.call::<Value>("puppet/a", &json!({"fly": 1}));
    assert!(matches!(&bad, Err(CallError::Refused(r)) if r.code == "bad_request"), "{bad:?}");
    let unknown = world.call::<Value>("nobody/a", &json!(1));
    assert!(matches!(unknown, Err(CallError::UnknownKind(_))));
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), json!(1));
}

#[test]
fn a_burst_of_calls_runs_ahead_of_its_commits_in_order() {
    let mut world = world();
    let calls: Vec<_> = (0..100).map(|_| world.begin_call("puppet/a", &add(1), None)).collect();
    world.settle();
    let replies: Vec<Value> = calls
        .into_iter()
        .map(|call| match world.reply(call).unwrap().unwrap() {
            abide_core::commit::Reply::Now(json) => json.decode().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(replies, (1..=100).map(|n| json!(n)).collect::<Vec<_>>());
}

#[test]
fn too_many_calls_are_refused_and_say_when_to_come_back() {
    let mut world = world();
    let calls: Vec<_> = (0..1_010).map(|_| world.begin_call("puppet/a", &add(1), None)).collect();
    world.settle();
    let refused = calls.into_iter().filter(|call| {
        matches!(world.reply(*call), Some(Err(CallError::Overloaded { retry_after_ms, .. })) if retry_after_ms > 0)
    });
    assert_eq!(refused.count(), 10);
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), json!(1_000));
}

#[test]
fn scans_see_stored_rows_and_the_turns_own() {
    let mut world = world();
    for key in ["a/1", "a/2", "a/3", "b/1"] {
        call(&mut world, "puppet/a", Do::Put(key.into(), json!(1)));
    }
    world.crash();
    let scan =
        |after: Option<&str>, limit| Do::Scan { prefix: "a/".into(), after: after.map(str::to_owned), limit };
    assert_eq!(call(&mut world, "puppet/a", scan(None, 2)), json!(["a/1", "a/2"]));
    assert_eq!(call(&mut world, "puppet/a", scan(Some("a/2"), 9)), json!(["a/3"]));
    let mixed = Do::Many(vec![
        Do::Delete("a/2".into()),
        Do::Put("a/25".into(), json!(1)),
        Do::Put("a/0".into(), json!(1)),
        scan(None, 3),
    ]);
    assert_eq!(call(&mut world, "puppet/a", mixed)[3], json!(["a/0", "a/1", "a/25"]));
    assert_eq!(call(&mut world, "puppet/a", scan(None, 9)), json!(["a/0", "a/1", "a/25", "a/3"]));
    world.crash();
    assert_eq!(call(&mut world, "puppet/a", scan(None, 9)), json!(["a/0", "a/1", "a/25", "a/3"]));
}

#[test]
fn alarms_fire_on_time_also_after_a_crash_and_can_be_moved_and_cleared() {
    let mut world = world();
    call(&mut world, "puppet/a", Do::SetAlarm("x".into(), day(30)));
    call(&mut world, "puppet/a", Do::SetAlarm("y".into(), day(1)));
    call(&mut world, "puppet/a", Do::SetAlarm("z".into(), day(2)));
    assert_eq!(call(&mut world, "puppet/a", Do::Alarm("x".into())), json!(world.now().plus_ms(day(30))));
    call(&mut world, "puppet/a", Do::ClearAlarm("y".into()));
    call(&mut world, "puppet/a", Do::SetAlarm("z".into(), day(3)));
    world.pass(day(2));
    assert_eq!(seen(&mut world, "puppet/a"), Vec::<String>::new());
    world.crash();
    world.pass(day(40));
    assert_eq!(seen(&mut world, "puppet/a"), ["alarm z late 0", "alarm x late 0"]);
    assert_eq!(call(&mut world, "puppet/a", Do::Alarm("x".into())), Value::Null);
}

#[test]
fn messages_arrive_once_and_in_order() {
    let mut world = world();
    let append = |n: i64| Do::Append(json!(n));
    let sends = (1..=50).map(|n| Do::Send("puppet/b".into(), Box::new(append(n)))).collect();
    call(&mut world, "puppet/a", Do::Many(sends));
    world.crash();
    call(&mut world, "puppet/c", Do::Follow("puppet/b".into(), 0));
    world.settle();
    let expected: Vec<String> = (1..=50).map(|n| format!("entry {n} {n}")).collect();
    assert_eq!(seen(&mut world, "puppet/c"), expected);
}

#[test]
fn a_backlog_larger_than_memory_holds_is_worked_off() {
    let mut world = world();
    for _ in 0..2 {
        let sends = (0..1_000).map(|_| Do::Send("puppet/b".into(), Box::new(add(1)))).collect();
        call(&mut world, "puppet/a", Do::Many(sends));
    }
    assert_eq!(world.row::<i64>("puppet/b", "n"), Some(2_000));
}

#[test]
fn a_failing_message_steps_aside_is_retried_and_becomes_a_dead_letter_that_can_be_replayed() {
    let mut world = world();
    world.send("puppet/b", &Do::Many(vec![Do::Get("x".into()), Do::Fail]));
    world.send("puppet/b", &add(1));
    assert_eq!(world.row::<i64>("puppet/b", "n"), Some(1));
    world.pass(minute(10));
    let dead = world.dead_letters();
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].failures, dead[0].error.as_str()), (6, "told to fail"));
    assert!(world.replay_dead(dead[0].id));
    world.pass(second(1));
    assert_eq!(world.dead_letters().len(), 0);
    world.pass(minute(10));
    assert_eq!(world.dead_letters().len(), 1);
}

#[test]
fn a_failing_alarm_is_retried_until_it_works() {
    let mut world = world();
    call(
        &mut world,
        "puppet/a",
        Do::Many(vec![Do::Put("fail_alarms".into(), json!(true)), Do::SetAlarm("x".into(), second(1))]),
    );
    world.pass(second(5));
    call(&mut world, "puppet/a", Do::Delete("fail_alarms".into()));
    world.pass(second(30));
    assert_eq!(seen(&mut world, "puppet/a").len(), 1);
}

#[test]
fn a_later_answer_comes_by_ticket() {
    let mut world = world();
    let ticket: abide_core::ticket::Ticket = world.call("puppet/a", &Do::Later).unwrap();
    assert_eq!(world.ticket(&ticket), Some(abide_store::view::TicketView::Open));
    call(&mut world, "puppet/a", Do::Resolve(json!("here")));
    let resolved = world.ticket(&ticket);
    assert_eq!(format!("{resolved:?}"), "Some(Resolved(Reply(\"here\")))");
}

#[test]
fn jobs_report_to_their_owner_once() {
    let mut world = world();
    let mut tries = 0;
    world.worker("q", "work", move |lease| {
        tries += 1;
        if lease.unique_key.as_ref().is_some_and(|key| key.as_str() == "bad") {
            failed("no good")
        } else if tries == 1 {
            failed("not yet")
        } else {
            done(&tries)
        }
    });
    let enqueue = |key: &str| Do::Enqueue { queue: "q".into(), kind: "work".into(), key: Some(key.into()) };
    call(&mut world, "puppet/a", enqueue("one"));
    call(&mut world, "puppet/a", enqueue("one"));
    call(&mut world, "puppet/a", enqueue("bad"));
    world.pass(minute(1));
    assert_eq!(seen(&mut world, "puppet/a"), ["outcome one done", "outcome bad failed"]);
}

#[test]
fn a_cancelled_job_does_not_run_and_says_so() {
    let mut world = world();
    let enqueue = Do::Enqueue { queue: "nobody".into(), kind: "work".into(), key: Some("k".into()) };
    call(&mut world, "puppet/a", enqueue);
    call(&mut world, "puppet/a", Do::Cancel("k".into()));
    assert_eq!(seen(&mut world, "puppet/a"), ["outcome k cancelled"]);
}

#[test]
fn deletion_ends_a_life_and_the_next_call_begins_another() {
    let mut world = world();
    call(
        &mut world,
        "puppet/a",
        Do::Many(vec![add(7), Do::SetAlarm("x".into(), second(5)), Do::Append(json!(1))]),
    );
    call(&mut world, "puppet/a", Do::DeleteSelf);
    assert_eq!(call(&mut world, "puppet/a", Do::Get("n".into())), Value::Null);
    assert_eq!(call(&mut world, "puppet/a", Do::Append(json!(1))), json!(1));
    world.pass(day(1));
    assert_eq!(seen(&mut world, "puppet/a"), Vec::<String>::new());
}

#[test]
fn now_and_seed_are_the_same_when_a_turn_is_run_again() {
    let mut world = world();
    call(&mut world, "puppet/a", Do::Put("k".into(), json!(1)));
    world.crash();
    let uuid = call(&mut world, "puppet/a", Do::Many(vec![Do::Uuid, Do::Get("k".into())]));
    assert_eq!(uuid[0].as_str().unwrap().len(), 36);
}

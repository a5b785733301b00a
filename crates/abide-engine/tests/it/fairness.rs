//! A busy object does not hold up the others, memory stays bounded, and a large object costs no more than a small one.

use crate::objects::{Do, Puppet};
use abide_core::commit::Reply;
use abide_core::event::Event;
use abide_engine::object::NoRefusal;
use abide_engine::testing::{World, minute};
use abide_engine::{Answer, Halt, Nothing, Object, Turn};
use serde_json::Value;

#[test]
fn a_busy_object_does_not_hold_up_a_quiet_one() {
    let mut world = World::new();
    world.object(Puppet);
    for _ in 0..900 {
        world.begin_call("puppet/busy", &Do::Add("n".into(), 1), None);
    }
    world.begin_call("puppet/quiet", &Do::Add("n".into(), 1), None);
    world.settle();
    let quiet = world.commits().iter().position(|commit| commit.object.name.as_str() == "quiet");
    assert!(quiet.is_some_and(|at| at < 64), "the quiet object's turn was number {quiet:?}");
    assert_eq!(world.commits().len(), 901);
}

#[test]
fn idle_objects_leave_memory() {
    let mut world = World::new();
    world.object(Puppet);
    for n in 0..500 {
        world.call::<Value>(&format!("puppet/{n}"), &Do::Add("n".into(), 1)).unwrap();
    }
    assert_eq!(world.memory().0, 500);
    world.pass(minute(2));
    assert_eq!(world.memory(), (0, 0));
    assert_eq!(world.call::<Value>("puppet/3", &Do::Add("n".into(), 1)).unwrap(), Value::from(2));
}

#[test]
fn an_idle_engine_asks_the_store_for_nothing() {
    let mut world = World::new();
    world.object(Puppet);
    world.call::<Value>("puppet/a", &Do::Add("n".into(), 1)).unwrap();
    world.pass(minute(2));
    let before = world.store_verbs();
    world.pass(minute(60));
    assert_eq!(world.store_verbs(), before);
}

/// An object with so many rows that an engine has just started with, which keeps about so many bytes.
fn cold(rows: usize, cache_bytes: usize) -> World {
    let mut world = World::new().with_memory_of(cache_bytes);
    world.object(Puppet);
    for from in (0..rows).step_by(1_000) {
        let puts = (from..rows.min(from + 1_000)).map(|n| Do::Put(format!("row/{n:06}"), Value::from(0)));
        world.call::<Value>("puppet/a", &Do::Many(puts.collect())).unwrap();
    }
    world.crash();
    world
}

#[test]
fn rows_that_a_turn_says_it_will_read_come_together() {
    let keys = || (0..500).map(|n| format!("row/{:06}", 7 * n));
    let read = |announce: Vec<Do>| {
        let mut world = cold(4_000, usize::MAX);
        let verbs = world.store_verbs();
        let all = announce.into_iter().chain(keys().map(Do::Get)).collect();
        world.call::<Value>("puppet/a", &Do::Many(all)).unwrap();
        world.store_verbs() - verbs
    };
    // The header, then the rows.
    assert_eq!(read(vec![Do::Prefetch(keys().chain(keys()).collect())]), 2);
    assert_eq!(read(Vec::new()), 501);
    // A thousand at a time.
    let many: Vec<String> = (0..3_500).map(|n| format!("row/{n:06}")).collect();
    assert_eq!(read(vec![Do::Prefetch(many)]), 5);
}

/// An object whose calls name the rows that they read.
struct Shelf;

/// A row that it panics over before its turn.
const UNSPEAKABLE: &str = "row/unspeakable";

impl Object for Shelf {
    const KIND: &'static str = "shelf";
    type Call = Vec<String>;
    type Reply = usize;
    type Message = Nothing;
    type Refusal = NoRefusal;

    /// Puts rows that are not there, and counts those that are.
    fn call(&self, turn: &mut Turn<'_>, keys: Vec<String>) -> Result<Answer<usize>, Halt<NoRefusal>> {
        let mut found = 0;
        for key in &keys {
            match turn.get::<String>(key)? {
                Some(_) => found += 1,
                None => turn.put(key, &"x".repeat(100))?,
            }
        }
        Ok(found.into())
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Call { body } => {
                let keys: Vec<String> = body.decode().unwrap_or_default();
                assert!(!keys.iter().any(|key| key == UNSPEAKABLE), "told to panic");
                keys
            }
            Event::Message { .. } | Event::Alarm { .. } | Event::Outcome(_) | Event::Entries { .. } => {
                Vec::new()
            }
        }
    }
}

#[test]
fn what_an_event_names_comes_by_one_load_whatever_is_in_memory() {
    for memory in [usize::MAX, 50_000] {
        let mut world = World::new().with_memory_of(memory);
        world.object(Shelf);
        let keys = |n: usize| (0..50).map(|row| format!("row/{:06}", 50 * n + row)).collect::<Vec<_>>();
        for n in 0..40 {
            assert_eq!(world.call::<usize>("shelf/a", &keys(n)).unwrap(), 0);
        }
        world.crash();
        for n in 0..40 {
            let before = world.store_verbs();
            assert_eq!(world.call::<usize>("shelf/a", &keys(n)).unwrap(), 50);
            assert_eq!(world.store_verbs() - before, 1, "loads for the turn number {n} with {memory} bytes");
        }
    }
}

#[test]
fn a_panic_over_what_will_be_read_ends_neither_the_turn_nor_the_engine() {
    let mut world = World::new();
    world.object(Shelf);
    let keys = |key: &str| vec!["row/a".to_owned(), key.to_owned()];
    // Of an object that nothing is known of, and of one whose first row is missed.
    assert_eq!(world.call::<usize>("shelf/a", &keys(UNSPEAKABLE)).unwrap(), 0);
    world.crash();
    assert_eq!(world.call::<usize>("shelf/a", &keys(UNSPEAKABLE)).unwrap(), 2);
    assert_eq!(world.call::<usize>("shelf/a", &keys("row/b")).unwrap(), 1);
}

#[test]
fn rows_of_an_object_that_is_never_idle_leave_memory() {
    const KEPT: usize = 100_000;
    let mut world = cold(4_000, KEPT);
    let mut most = 0;
    for round in 0..20 {
        for n in 0..200 {
            let row = format!("row/{:06}", (round * 200 + n) % 4_000);
            world.begin_call("puppet/a", &Do::Add(row, 1), None);
        }
        world.settle();
        most = most.max(world.memory().1);
    }
    assert!(most <= 2 * KEPT, "{most} bytes");
    let sum = world.commits().iter().filter(|commit| commit.rows.len() == 1).count();
    assert_eq!(sum, 4_000);
    assert_eq!(world.call::<Value>("puppet/a", &Do::Add("row/000005".into(), 1)).unwrap(), Value::from(2));
}

/// Its rows were too many to be kept, and then there are none: what is known of an object that does not exist stays.
#[test]
fn an_object_that_ends_while_it_is_to_leave_memory_can_be_read() {
    let mut world = cold(100, 1_000);
    let all = Do::Scan { prefix: String::new(), after: None, limit: 1_000 };
    let calls = [
        Do::Many(vec![all, Do::DeleteSelf]),
        Do::Get("row/000005".into()),
        Do::Add("row/000005".into(), 1),
        Do::Get("row/000006".into()),
    ]
    .map(|what| world.begin_call("puppet/a", &what, None));
    world.settle();
    let replies = calls.map(|call| world.reply(call).unwrap().unwrap());
    let expected = [Value::Null, Value::from(1), Value::Null].map(|value| Reply::Now(value.into()));
    assert_eq!(replies[1..], expected);
}

#[test]
fn memory_is_looked_at_when_it_grows_however_few_turns_that_takes() {
    const KEPT: usize = 1_000_000;
    const ROW: usize = 200_000;
    let mut world = World::new().with_memory_of(KEPT);
    world.object(Puppet);
    let key = |n: usize| format!("row/{n:02}");
    for n in 0..40 {
        world.call::<Value>("puppet/a", &Do::Put(key(n), Value::from("x".repeat(ROW)))).unwrap();
        assert!(world.memory().1 <= 2 * KEPT, "{} bytes when {n} are written", world.memory().1);
    }
    world.crash();
    for n in 0..40 {
        world.call::<Value>("puppet/a", &Do::Get(key(n))).unwrap();
        assert!(world.memory().1 <= 2 * KEPT, "{} bytes when {n} are read", world.memory().1);
    }
}

/// Verbs asked of the store, rows read and rows written by one turn on one row of a cold object with this many rows.
fn cold_turn(rows: usize) -> (u64, u64, usize) {
    let mut world = cold(rows, usize::MAX);
    let (verbs, read) = (world.store_verbs(), world.rows_read());
    assert_eq!(world.call::<Value>("puppet/a", &Do::Add("row/000005".into(), 1)).unwrap(), Value::from(1));
    let written = world.commits().last().unwrap().rows.len();
    (world.store_verbs() - verbs, world.rows_read() - read, written)
}

#[test]
fn a_turn_on_one_row_costs_the_same_in_an_object_of_100_000_rows_as_in_one_of_10() {
    let small = cold_turn(10);
    assert_eq!((small.1, small.2), (1, 1));
    assert_eq!(cold_turn(100_000), small);
}

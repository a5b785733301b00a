//! `sync/{store_id}`: what is acknowledged is in the log, once and in order.

use abide_core::event::Sender;
use abide_engine::testing::{Moment, World, day, hour};
use abide_engine::{Answer, CallError, Halt, NoRefusal, Nothing, Object, Turn};
use abide_links::auth::ApiKey;
use abide_links::auth::keys::{self, ApiKeys};
use abide_links::event::{Append, Event, NewEvent, ToLinks, ToSync};
use abide_links::sync::{Ahead, Call, Opened, OtherBackend, Push, Pushed, Reply, SyncLog};
use serde_json::json;

const STORE: &str = "sync/acme";

/// Stands where the processor of links will be: counts its pokes.
struct Poked;

impl Object for Poked {
    const KIND: &'static str = "links";
    type Call = Nothing;
    type Reply = ();
    type Message = ToLinks;
    type Refusal = NoRefusal;

    fn call(&self, _: &mut Turn<'_>, call: Nothing) -> Result<Answer<()>, Halt<NoRefusal>> {
        match call {}
    }

    fn message(&self, turn: &mut Turn<'_>, _: Option<&Sender>, poke: ToLinks) -> Result<(), Halt<NoRefusal>> {
        assert_eq!(poke, ToLinks::Poke);
        let pokes = turn.get::<u64>("pokes")?.unwrap_or(0);
        Ok(turn.put("pokes", &(pokes + 1))?)
    }
}

fn world() -> World {
    let mut world = World::new();
    world.object(SyncLog::with_processor());
    world.object(Poked);
    world
}

fn event(seq_num: i64, name: &str) -> Pushed {
    Pushed {
        name: name.to_owned(),
        args: Some(json!({"n": seq_num}).into()),
        seq_num,
        parent_seq_num: seq_num - 1,
        client_id: "c".to_owned(),
        session_id: "s".to_owned(),
    }
}

fn push(world: &mut World, batch: &[Pushed]) -> Result<Reply, CallError> {
    world.call(STORE, &Call::Push(Push { batch: batch.to_vec(), backend_id: None }))
}

fn numbers(world: &mut World) -> Vec<i64> {
    world.log::<Event>(STORE).iter().map(|event| event.seq_num).collect()
}

#[test]
fn a_push_is_one_commit_on_the_head_or_nothing() {
    let mut world = world();
    assert_eq!(push(&mut world, &[event(1, "a"), event(2, "b")]).unwrap(), Reply::Appended { head: 2 });
    assert_eq!(world.commits().len(), 1);
    let ahead = Ahead { minimum_expected_num: 2, provided_num: 0 };
    assert_eq!(push(&mut world, &[event(1, "a")]).unwrap(), Reply::Ahead(ahead));
    assert!(matches!(push(&mut world, &[event(3, "a"), event(5, "b")]), Err(CallError::Refused(_))));
    assert!(matches!(
        push(&mut world, &[Pushed { seq_num: 9, ..event(3, "a") }]),
        Err(CallError::Refused(_))
    ));
    assert_eq!(numbers(&mut world), [1, 2]);
}

#[test]
fn the_id_of_a_log_is_drawn_once_and_another_is_refused() {
    let mut world = world();
    let Reply::Opened(Opened { backend_id, head: 0, .. }) = world.call(STORE, &Call::Open).unwrap() else {
        panic!("it is opened")
    };
    world.crash();
    let wrong = Push { batch: vec![event(1, "a")], backend_id: Some("old".to_owned()) };
    let refused = OtherBackend { expected: backend_id, received: "old".to_owned() };
    assert_eq!(world.call::<Reply>(STORE, &Call::Push(wrong)).unwrap(), Reply::OtherBackend(refused));
    assert_eq!(numbers(&mut world), [0_i64; 0]);
}

#[test]
fn a_crash_between_the_commit_and_its_answer_loses_nothing_and_doubles_nothing() {
    for (moment, kept) in [(Moment::BeforeItIsDurable, 1), (Moment::BeforeItIsAnswered, 2)] {
        let mut world = world();
        push(&mut world, &[event(1, "a")]).unwrap();
        world.crash_at_next_commit(moment);
        assert_eq!(push(&mut world, &[event(2, "b")]), Err(CallError::OutcomeUnknown));
        assert_eq!(numbers(&mut world).len(), kept);
        let again = push(&mut world, &[event(2, "b")]).unwrap();
        assert_eq!(matches!(again, Reply::Ahead(_)), kept == 2);
        assert_eq!(numbers(&mut world), [1, 2]);
    }
}

#[test]
fn the_processor_is_poked_without_data_and_only_for_work() {
    let mut world = world();
    push(&mut world, &[event(1, "v1.LinkCompleted")]).unwrap();
    assert_eq!(world.row::<u64>("links/acme", "pokes"), None);
    push(&mut world, &[event(2, "v1.LinkCreated"), event(3, "v2.LinkCreated")]).unwrap();
    push(&mut world, &[event(4, "v1.LinkReprocessRequested")]).unwrap();
    assert_eq!(world.row::<u64>("links/acme", "pokes"), Some(2));
}

fn append(key: &str) -> ToSync {
    let events = ["x", "y"].map(|name| NewEvent { name: name.to_owned(), args: json!({}).into() });
    ToSync::Append(Append {
        events: events.to_vec(),
        client_id: "inside".to_owned(),
        session_id: "s".to_owned(),
        key: key.to_owned(),
    })
}

#[test]
fn an_author_inside_is_numbered_behind_the_head_once_for_each_key() {
    let mut world = world();
    push(&mut world, &[event(1, "a")]).unwrap();
    for key in ["k", "k", "l"] {
        world.send(STORE, &append(key));
        world.settle();
    }
    assert_eq!(numbers(&mut world), [1, 2, 3, 4, 5]);
}

#[test]
fn a_key_that_a_program_uses_for_other_events_is_refused_and_an_author_insides_is_not_looked_at() {
    let mut world = world();
    let ToSync::Append(first) = append("k") else { panic!("an append") };
    let other = Append { events: first.events[..1].to_vec(), ..first.clone() };
    let write =
        |world: &mut World, append: &Append| world.call::<Reply>(STORE, &Call::Append(append.clone()));
    for _ in 0..2 {
        assert_eq!(write(&mut world, &first), Ok(Reply::Appended { head: 2 }));
    }
    let Err(CallError::Refused(refused)) = write(&mut world, &other) else { panic!("it is refused") };
    assert_eq!(refused.code, "key_reused");
    world.send(STORE, &ToSync::Append(other));
    world.settle();
    assert_eq!(numbers(&mut world), [1, 2]);
}

#[test]
fn the_key_of_an_append_is_known_for_a_day_and_then_forgotten() {
    let mut world = world();
    for key in 0..600 {
        world.send(STORE, &append(&key.to_string()));
    }
    world.pass(hour(24));
    for key in ["0", "599"] {
        world.send(STORE, &append(key));
    }
    world.settle();
    assert_eq!(numbers(&mut world).len(), 1_200, "a repeated append changes nothing");
    world.pass(day(4));
    let commits = world.commits().len();
    world.pass(day(30));
    assert_eq!(world.commits().len(), commits, "a log that knows no keys does not wake");
    world.send(STORE, &append("0"));
    world.settle();
    assert_eq!(numbers(&mut world).len(), 1_202);
}

#[test]
fn a_key_opens_what_it_is_bound_to_until_it_is_revoked() {
    let mut world = World::new();
    world.object(ApiKeys);
    let key = ApiKey::draw().unwrap();
    assert_eq!(ApiKey::parse(&key.reveal()).as_ref().map(ApiKey::id), Some(key.id()));
    let object = format!("apikey/{}", key.id());
    let make = keys::Call::Make { digest: key.digest(), org: "acme".to_owned(), source: "api".to_owned() };
    world.call::<keys::Reply>(&object, &make).unwrap();
    assert!(world.call::<keys::Reply>(&object, &make).is_err(), "a key is bound for good");
    let check =
        |world: &mut World, digest: String| world.call::<keys::Reply>(&object, &keys::Call::Check { digest });
    assert!(matches!(check(&mut world, key.digest()), Ok(keys::Reply::Bound(bound)) if bound.org == "acme"));
    assert!(check(&mut world, "0".repeat(64)).is_err());
    world.call::<keys::Reply>(&object, &keys::Call::Revoke).unwrap();
    assert!(check(&mut world, key.digest()).is_err());
}

/// The log as it was before keys of appends had days.
struct OldLog;

impl Object for OldLog {
    const KIND: &'static str = "sync";
    type Call = usize;
    type Reply = usize;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, keys: usize) -> Result<Answer<usize>, Halt<NoRefusal>> {
        for key in 0..keys {
            turn.put(&format!("append/{key}"), &7_i64)?;
        }
        Ok(keys.into())
    }
}

#[test]
fn keys_that_were_kept_before_they_had_days_are_forgotten_too() {
    let mut world = World::new();
    world.object(OldLog);
    world.call::<usize>(STORE, &700_usize).unwrap();
    world.deploy(SyncLog::alone());
    world.send(STORE, &append("k"));
    world.settle();
    assert_eq!(world.row::<i64>(STORE, "append/699"), Some(7));
    world.pass(day(4));
    for key in ["append/0", "append/699"] {
        assert_eq!(world.row::<i64>(STORE, key), None, "{key}");
    }
}

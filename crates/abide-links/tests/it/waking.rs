//! What wakes the processor: its log, what waits for it in the store, and an alarm if nothing else does.

use crate::world::{HardOfHearing, LINKS, WHOLE, assert_idle, created, fetch_well, story, world_with, write};
use abide_engine::testing::{World, minute, second};
use abide_engine::{Answer, Halt, NoRefusal, Nothing, Object, Turn};
use abide_links::event::{Event, ToLinks, ToSync};
use abide_links::processor::Processor;
use abide_links::processor::rows::Link;
use abide_links::sync::SyncLog;
use serde_json::{Value, json};

/// A processor that does not run: whatever comes for it waits in the store.
struct Down;

impl Object for Down {
    const KIND: &'static str = Processor::KIND;
    type Call = Nothing;
    type Reply = ();
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, _: &mut Turn<'_>, call: Nothing) -> Result<Answer<()>, Halt<NoRefusal>> {
        match call {}
    }
}

#[test]
fn missed_trigger_a_processor_that_follows_its_log_needs_no_poke() {
    let (mut world, fetched) = world_with(SyncLog::alone(), fetch_well);
    write(&mut world, &[created("a"), created("b")]);
    world.pass(minute(60));
    assert!(fetched.borrow().is_empty(), "nobody told it that there is a log");
    world.send(LINKS, &ToLinks::Poke);
    write(&mut world, &[created("c")]);
    for id in ["a", "b", "c"] {
        assert_eq!(story(&mut world, id), WHOLE);
    }
}

#[test]
fn twenty_links_that_are_pending_at_start_after_ten_minutes_down_are_processed_unasked() {
    let (first, old) = (created("first"), json!({ "linkId": "n3", "updatedAt": "2026-01-01T00:00:01.000Z" }));
    // It had never run when it went down, or had followed the log for a while.
    for before in [vec![], vec![first]] {
        let (mut world, fetched) = world_with(SyncLog::with_processor(), fetch_well);
        write(&mut world, &before);
        world.deploy(Down);
        let ids: Vec<String> = (0..20).map(|n| format!("n{n}")).collect();
        let mut events: Vec<(&str, Value)> = ids.iter().map(|id| created(id)).collect();
        events.push(("v1.LinkProcessingStarted", old.clone()));
        write(&mut world, &events);
        world.down_for(minute(10));
        assert_eq!(fetched.borrow().len(), before.len());
        world.deploy(Processor);
        world.pass(second(50));
        assert_eq!(fetched.borrow().len(), before.len() + 20);
        for id in &ids {
            assert_eq!(story(&mut world, id), WHOLE, "{id}");
            assert_idle(&mut world, &[id]);
        }
    }
}

#[test]
fn what_waits_to_be_begun_is_begun_by_the_alarm_if_nothing_else_wakes_it() {
    // Behind a full page the processor asks how far the log goes, and waits for what it never hears.
    let misses = |message: &ToSync| matches!(message, ToSync::AskHead { .. });
    let (mut world, fetched) =
        world_with(HardOfHearing { log: SyncLog::with_processor(), misses }, fetch_well);
    let ids: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    write(&mut world, &ids.iter().map(|id| created(id)).collect::<Vec<_>>());
    world.pass(second(59));
    assert!(fetched.borrow().is_empty());
    world.pass(second(2));
    assert_eq!(fetched.borrow().len(), 100);
    for id in &ids {
        assert_eq!(story(&mut world, id), WHOLE, "{id}");
        assert_idle(&mut world, &[id]);
    }
}

#[test]
fn stores_beside_each_other_are_each_processed_from_their_own_log() {
    let (mut world, fetched) = world_with(SyncLog::with_processor(), fetch_well);
    let other = |id: &str| {
        let args = json!({ "id": id, "url": format!("https://example.net/{id}"), "domain": "example.net",
            "createdAt": "2026-01-01T00:00:00.000Z" });
        json!({ "append": { "events": [{ "name": "v1.LinkCreated", "args": args }], "clientId": "c", "sessionId": "s",
            "key": id } })
    };
    // The same id in both, and each woken while the other has work.
    write(&mut world, &[created("a")]);
    world.send("sync/other", &other("a"));
    write(&mut world, &[created("b")]);
    world.send("sync/other", &other("c"));
    for id in ["a", "b"] {
        assert_eq!(story(&mut world, id), WHOLE, "{id}");
    }
    let url = |world: &mut World, store: &str, id: &str| {
        world.row::<Link>(&format!("links/{store}"), &format!("link/{id}")).map(|link| link.url)
    };
    assert_eq!(url(&mut world, "org", "a").as_deref(), Some("https://example.com/a"));
    assert_eq!(url(&mut world, "other", "a").as_deref(), Some("https://example.net/a"));
    assert_eq!((url(&mut world, "org", "c"), url(&mut world, "other", "b")), (None, None));
    let events: Vec<Event> = world.log("sync/other");
    assert_eq!(events.len(), 2 * WHOLE.len());
    assert_eq!(fetched.borrow().len(), 4);
}

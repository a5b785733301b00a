//! What stops a link, and what has it begun again: deleted, restored, cancelled by a request or by a client.

use crate::world::{
    HardOfHearing, LINKS, assert_idle, created, fetch_well, status, story, summarize_well, world_of,
    world_with, write,
};
use abide_core::job::{Finish, Lease};
use abide_core::ticket::Ticket;
use abide_engine::testing::{minute, second};
use abide_engine::worker::failed;
use abide_links::event::ToSync;
use abide_links::processor::rows::{Link, Stage, Status, Work};
use abide_links::processor::{API_CLIENT, Call};
use abide_links::sync::SyncLog;
use serde_json::{Value, json};

fn deleted(id: &str) -> (&'static str, Value) {
    ("v1.LinkDeleted", json!({ "id": id, "deletedAt": "2026-01-01T00:00:03.000Z" }))
}

fn restored(id: &str) -> (&'static str, Value) {
    ("v1.LinkRestored", json!({ "id": id }))
}

fn cancelled(id: &str) -> (&'static str, Value) {
    ("v1.LinkProcessingCancelled", json!({ "linkId": id, "updatedAt": "2026-01-01T00:00:03.000Z" }))
}

/// The first attempt at a link hangs.
fn hangs_at_first(lease: &Lease) -> Finish {
    let is_first = lease.payload.to_string().contains("\"attempt\":1,");
    if is_first { failed("fetch:timeout: hangs") } else { fetch_well(lease) }
}

/// Every job hangs for a while, and would then come to something.
fn comes_late(lease: &Lease, end: fn(&Lease) -> Finish) -> Finish {
    if lease.failures == 0 { failed("not yet") } else { end(lease) }
}

#[test]
fn a_link_that_is_deleted_meanwhile_is_cancelled_and_one_that_was_before_is_not_touched() {
    let (mut world, _) = world_with(SyncLog::with_processor(), |_| failed("fetch:timeout: hangs"));
    write(&mut world, &[created("a")]);
    let deleted = |id: &str| ("v1.LinkDeleted", json!({ "id": id, "deletedAt": "2026-01-01T00:00:03.000Z" }));
    write(&mut world, &[deleted("a")]);
    world.pass(minute(10));
    assert_eq!(
        story(&mut world, "a"),
        ["LinkCreated", "LinkProcessingStarted", "LinkDeleted", "LinkProcessingCancelled"]
    );
    write(&mut world, &[created("b"), deleted("b")]);
    world.pass(minute(10));
    assert_eq!(story(&mut world, "b"), ["LinkCreated", "LinkDeleted"]);
    assert_idle(&mut world, &["a", "b"]);
}

#[test]
fn a_link_that_is_restored_is_processed_however_soon_after_it_was_deleted() {
    let [d, r] = [deleted("a"), restored("a")];
    for batches in [
        vec![vec![d.clone()], vec![r.clone()]],
        vec![vec![d.clone(), r.clone()]],
        vec![vec![d.clone(), r.clone(), d.clone(), r.clone()]],
        vec![vec![d.clone(), r.clone(), d.clone()], vec![r.clone()]],
    ] {
        let (mut world, _) = world_with(SyncLog::with_processor(), hangs_at_first);
        write(&mut world, &[created("a")]);
        for batch in &batches {
            write(&mut world, batch);
        }
        world.pass(minute(10));
        let story = story(&mut world, "a");
        assert_eq!(status(&mut world, "a"), Some(Status::Completed), "{batches:?}: {story:?}");
        assert_eq!(story.iter().filter(|name| *name == "LinkProcessingCompleted").count(), 1, "{story:?}");
        assert_idle(&mut world, &["a"]);
    }
}

#[test]
fn a_client_that_cancels_stops_what_is_fetched_or_summarized() {
    for stage in [Stage::Fetching, Stage::Summarizing] {
        let fetch = move |lease: &Lease| match stage {
            Stage::Fetching => comes_late(lease, fetch_well),
            _ => fetch_well(lease),
        };
        let (mut world, fetched) =
            world_of(SyncLog::with_processor(), fetch, |lease| comes_late(lease, summarize_well));
        write(&mut world, &[created("a")]);
        assert_eq!(world.row::<Work>(LINKS, "work/a").map(|work| work.stage), Some(stage));
        write(&mut world, &[cancelled("a")]);
        world.pass(minute(10));
        assert_eq!(status(&mut world, "a"), Some(Status::Cancelled));
        assert_eq!((world.row::<Link>(LINKS, "link/a").unwrap().summary, fetched.borrow().len()), (None, 1));
        let story = story(&mut world, "a");
        assert!(!story.contains(&"LinkProcessingCompleted".to_owned()), "{story:?}");
        assert_idle(&mut world, &["a"]);
        let again = json!({ "linkId": "a", "requestedAt": "2026-01-01T02:00:00.000Z" });
        write(&mut world, &[("v1.LinkReprocessRequested", again)]);
        world.pass(minute(10));
        assert_eq!(status(&mut world, "a"), Some(Status::Completed));
    }
}

#[test]
fn a_link_that_is_cancelled_before_it_is_begun_is_not_begun() {
    // The log says how far it goes only if it hears that it is asked: until then links wait. And what requests write takes
    // a while to come back.
    let misses = |message: &ToSync| match message {
        ToSync::AskHead { .. } => true,
        ToSync::Append(append) => append.client_id == API_CLIENT,
    };
    let (mut world, fetched) =
        world_with(HardOfHearing { log: SyncLog::with_processor(), misses }, fetch_well);
    let ids: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    write(&mut world, &ids.iter().map(|id| created(id)).collect::<Vec<_>>());
    assert_eq!(world.row::<bool>(LINKS, "todo/n5"), Some(true));
    world.call::<Ticket>(LINKS, &Call::Cancel { id: "n5".to_owned() }).unwrap();
    world.pass(second(90));
    let fetched = fetched.borrow();
    assert_eq!((fetched.len(), fetched.contains(&"https://example.com/n5".to_owned())), (99, false));
}

//! A world with a store's log, its processor and scripted workers.

use abide_core::job::{Finish, Lease};
use abide_engine::testing::World;
use abide_engine::worker::done;
use abide_links::event::{Append, Event, NewEvent};
use abide_links::limits::TAGS_TOLD_BYTES;
use abide_links::page::{Metadata, Outcome, Page};
use abide_links::processor::fetch::FetchPayload;
use abide_links::processor::rows::Answered;
use abide_links::processor::summarize::{SummarizePayload, Summarized};
use abide_links::processor::{FETCH, FETCH_QUEUE, Processor, SUMMARIZE, SUMMARIZE_QUEUE};
use abide_links::sync::{Call, Reply, SyncLog};
use abide_llm::{Spent, Usage};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) const SYNC: &str = "sync/org";
pub(crate) const LINKS: &str = "links/org";

/// URLs that were fetched, in order.
pub(crate) type Fetched = Rc<RefCell<Vec<String>>>;

/// A world whose log pokes its processor and whose workers succeed.
pub(crate) fn world() -> (World, Fetched) {
    world_with(SyncLog::with_processor(), fetch_well)
}

/// A world with this log and this way to fetch.
pub(crate) fn world_with(
    log: SyncLog,
    mut fetch: impl FnMut(&Lease) -> Finish + 'static,
) -> (World, Fetched) {
    let mut world = World::new();
    world.object(log);
    world.object(Processor);
    let fetched = Fetched::default();
    let seen = fetched.clone();
    world.worker(FETCH_QUEUE, FETCH, move |lease| {
        seen.borrow_mut().push(lease.payload.decode::<FetchPayload>().unwrap().url);
        fetch(lease)
    });
    world.worker(SUMMARIZE_QUEUE, SUMMARIZE, |lease| {
        let payload: SummarizePayload = lease.payload.decode().unwrap();
        assert!(payload.tags.iter().map(String::len).sum::<usize>() <= TAGS_TOLD_BYTES);
        let summary = Some(format!("About {}.", payload.page.url));
        let tags = vec!["Rust".to_owned()];
        let usage = Usage { input_tokens: 10, output_tokens: 5 };
        let spent = Some(Spent { requests: 1, usage, cost_micros: 7 });
        let (key, model) = ("k".to_owned(), "script".to_owned());
        done(&Summarized::Made(Answered { key, summary, model, tags, spent }))
    });
    (world, fetched)
}

/// A page for any URL.
pub(crate) fn fetch_well(lease: &Lease) -> Finish {
    let FetchPayload { url, .. } = lease.payload.decode().unwrap();
    let metadata = Metadata { title: Some(format!("Title of {url}")), ..Metadata::default() };
    done(&Outcome::Ok(Page { url, metadata, text: "Some text.".to_owned() }))
}

/// A client writes events.
pub(crate) fn write(world: &mut World, events: &[(&str, Value)]) {
    let key = format!("k{}", world.commits().len());
    let event = |(name, args): &(&str, Value)| NewEvent {
        name: (*name).to_owned(),
        args: abide_core::json::Json::encode(args).unwrap(),
    };
    let (client_id, session_id) = ("browser".to_owned(), "s".to_owned());
    for (at, page) in events.chunks(500).enumerate() {
        let events = page.iter().map(event).collect();
        let key = format!("{key}/{at}");
        let (client_id, session_id) = (client_id.clone(), session_id.clone());
        world.call::<Reply>(SYNC, &Call::Append(Append { events, client_id, session_id, key })).unwrap();
    }
}

pub(crate) fn created(id: &str) -> (&'static str, Value) {
    let args = json!({
        "id": id, "url": format!("https://example.com/{id}"), "domain": "example.com",
        "createdAt": "2026-01-01T00:00:00.000Z",
    });
    ("v1.LinkCreated", args)
}

pub(crate) fn created_at(id: &str, url: &str) -> (&'static str, Value) {
    let args = json!({
        "id": id, "url": url, "domain": "example.com", "createdAt": "2026-01-01T00:00:00.000Z",
        "source": "app", "sourceMeta": null,
    });
    ("v2.LinkCreated", args)
}

/// The log: names of events about `id`, without their version.
pub(crate) fn story(world: &mut World, id: &str) -> Vec<String> {
    let events: Vec<Event> = world.log(SYNC);
    let about = events.into_iter().filter(|event| {
        let args: Value = event.args.decode().unwrap();
        args["linkId"] == id || args["id"] == id
    });
    about.map(|event| event.name.split_once('.').unwrap().1.to_owned()).collect()
}

/// What is written about a link that is processed once.
pub(crate) const WHOLE: [&str; 6] = [
    "LinkCreated",
    "LinkProcessingStarted",
    "LinkMetadataFetched",
    "LinkSummarized",
    "TagSuggested",
    "LinkProcessingCompleted",
];

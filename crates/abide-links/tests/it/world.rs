//! A world with a store's log, its processor and scripted workers.

use abide_core::event::Sender;
use abide_core::job::{Finish, Lease};
use abide_core::time::Time;
use abide_engine::testing::World;
use abide_engine::worker::done;
use abide_engine::{Answer, Halt, Object, Turn};
use abide_links::event::{Append, Event, NewEvent, ToSync};
use abide_links::limits::TAGS_TOLD_BYTES;
use abide_links::page::{Metadata, Outcome, Page};
use abide_links::processor::fetch::FetchPayload;
use abide_links::processor::rows::{Answered, Link, Status, Work};
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
    log: impl Object,
    fetch: impl FnMut(&Lease) -> Finish + 'static,
) -> (World, Fetched) {
    world_of(log, fetch, summarize_well)
}

/// A world with this log and these ways to fetch and to summarize.
pub(crate) fn world_of(
    log: impl Object,
    mut fetch: impl FnMut(&Lease) -> Finish + 'static,
    summarize: impl FnMut(&Lease) -> Finish + 'static,
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
    world.worker(SUMMARIZE_QUEUE, SUMMARIZE, summarize);
    (world, fetched)
}

/// A log that does not hear some of what the processor tells it.
pub(crate) struct HardOfHearing {
    pub(crate) log: SyncLog,
    pub(crate) misses: fn(&ToSync) -> bool,
}

impl Object for HardOfHearing {
    const KIND: &'static str = SyncLog::KIND;
    type Call = Call;
    type Reply = Reply;
    type Message = ToSync;
    type Refusal = <SyncLog as Object>::Refusal;

    fn call(&self, turn: &mut Turn<'_>, call: Call) -> Result<Answer<Reply>, Halt<Self::Refusal>> {
        self.log.call(turn, call)
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        from: Option<&Sender>,
        message: ToSync,
    ) -> Result<(), Halt<Self::Refusal>> {
        if (self.misses)(&message) { Ok(()) } else { self.log.message(turn, from, message) }
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, at: Time) -> Result<(), Halt<Self::Refusal>> {
        self.log.alarm(turn, name, at)
    }
}

/// A summary for any page.
pub(crate) fn summarize_well(lease: &Lease) -> Finish {
    let payload: SummarizePayload = lease.payload.decode().unwrap();
    assert!(payload.tags.iter().map(String::len).sum::<usize>() <= TAGS_TOLD_BYTES);
    let summary = Some(format!("About {}.", payload.page.url));
    let tags = vec!["Rust".to_owned()];
    let usage = Usage { input_tokens: 10, output_tokens: 5 };
    let spent = Some(Spent { requests: 1, usage, cost_micros: 7 });
    let (key, model) = ("k".to_owned(), "script".to_owned());
    let about = Some(payload.about());
    done(&Summarized::Made(Answered { key, about, summary, model, tags, spent }))
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

pub(crate) fn status(world: &mut World, id: &str) -> Option<Status> {
    world.row::<Link>(LINKS, &format!("link/{id}"))?.processing.map(|processing| processing.status)
}

/// Nothing is left under way.
pub(crate) fn assert_idle(world: &mut World, ids: &[&str]) {
    for id in ids {
        assert_eq!(world.row::<Work>(LINKS, &format!("work/{id}")), None, "{id}");
        assert_eq!(world.row::<bool>(LINKS, &format!("todo/{id}")), None, "{id}");
    }
    assert_eq!(world.dead_letters(), []);
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

//! `/v1/events`: what changes, live, as server-sent events.

use crate::access::Credentials;
use crate::app::App;
use crate::code::ErrorCode;
use crate::error::ApiError;
use crate::feed::{Cursor, Entry, Filter, Page};
use crate::hidden::is_owned;
use crate::params::{self, Params};
use crate::role::Role;
use crate::route::Routes;
use abide_core::job::{AttemptWord, JobId, JobState};
use abide_core::name::{JobKind, Kind, QueueName};
use abide_core::object::{ObjectKey, Version};
use abide_core::time::Time;
use abide_engine::Change;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// How often a quiet stream says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Its routes.
pub(crate) fn routes() -> Routes {
    Routes::new().get("/v1/events", Role::Read, "what changes, live, as server-sent events", follow)
}

/// Which changes to send.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventParams {
    queue: Option<QueueName>,
    kind: Option<Kind>,
    object: Option<String>,
    last_event_id: Option<String>,
}

/// A change as it goes over the wire.
#[derive(Serialize)]
#[serde(untagged)]
enum ChangeDocument<'a> {
    Start {
        at: Time,
    },
    Job {
        job: JobId,
        queue: &'a QueueName,
        kind: &'a JobKind,
        from: Option<JobState>,
        to: JobState,
        attempt: u32,
        ended: Option<AttemptWord>,
        at: Time,
    },
    Object {
        #[serde(flatten)]
        object: &'a ObjectKey,
        version: Option<Version>,
        at: Time,
    },
    Queue {
        queue: &'a QueueName,
        paused: bool,
        at: Time,
    },
    Dead {
        #[serde(flatten)]
        object: &'a ObjectKey,
        error: &'a str,
        at: Time,
    },
    DeadGone {
        id: i64,
        at: Time,
    },
}

/// A reader of the feed.
struct Reader {
    app: App,
    credentials: Credentials,
    cursor: Cursor,
    filter: Filter,
    /// Events that are to be sent before more are asked for.
    ready: VecDeque<Event>,
    _place: OwnedSemaphorePermit,
}

async fn follow(
    State(app): State<App>,
    headers: HeaderMap,
    credentials: Credentials,
    Params(params): Params<EventParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let object = params.object.map(|object| params::object("object", &object)).transpose()?;
    let filter = Filter { queue: params.queue, kind: params.kind, object };
    let feed = app.feed();
    let place = Arc::clone(feed.places()).try_acquire_owned().map_err(|_| {
        ApiError::new(ErrorCode::Overloaded, "as many follow the events as may: close one and ask again")
    })?;
    // A browser repeats the header by itself; a program that begins anew may give the parameter.
    let header = headers.get("last-event-id");
    let header = header.map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
    let (cursor, first) = match header.or(params.last_event_id) {
        None => (feed.head(), Some("begin")),
        Some(id) => match feed.cursor(&id) {
            Some(cursor) => (cursor, None),
            None => (feed.head(), Some("reset")),
        },
    };
    let ready = first.map(|word| start(&app, word, cursor)).into_iter().collect();
    let reader = Reader { cursor, filter, ready, _place: place, app, credentials };
    let events = stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

impl Reader {
    /// The next event; none when the server stops, or when the reader's token is void.
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.ready.pop_front() {
            return Some(event);
        }
        let app = self.app.clone();
        let page = loop {
            let page = tokio::select! {
                page = app.feed().next(self.cursor, &self.filter) => Some(page),
                () = tokio::time::sleep(KEEP_ALIVE) => None,
                () = app.drain().begun() => return None,
            };
            if self.credentials.still_allow(&app, Role::Read).await.is_err() {
                return None;
            }
            if let Some(page) = page {
                break page;
            }
        };
        match page {
            Page::Entries(found, after) => {
                self.cursor = after;
                let event = |(cursor, entry): (Cursor, Entry)| event(&entry).id(app.feed().id(cursor));
                self.ready = found.into_iter().map(event).collect();
            }
            Page::Lost(head) => {
                self.cursor = head;
                self.ready.push_back(start(&app, "reset", head));
            }
        }
        self.ready.pop_front()
    }
}

/// Says that what follows comes after `cursor`, whatever the reader had before.
fn start(app: &App, word: &str, cursor: Cursor) -> Event {
    let document = ChangeDocument::Start { at: app.engine().now() };
    let text = serde_json::to_string(&document).expect("a time can be written as JSON");
    Event::default().event(word).id(app.feed().id(cursor)).data(text)
}

fn event(entry: &Entry) -> Event {
    let at = entry.at;
    let (word, document) = match entry.change() {
        Change::Job(moved) => (
            "job",
            ChangeDocument::Job {
                job: moved.job,
                queue: &moved.queue,
                kind: &moved.kind,
                from: moved.from,
                to: moved.to,
                attempt: moved.attempt,
                ended: moved.ended,
                at,
            },
        ),
        Change::Object { object, version } => {
            ("object", ChangeDocument::Object { object, version: *version, at })
        }
        Change::Queue { queue, paused } => ("queue", ChangeDocument::Queue { queue, paused: *paused, at }),
        Change::Dead { object, error } => {
            // Why something of an organization failed is nobody else's, and everybody may follow.
            let error = if is_owned(object) { "" } else { error };
            ("dead", ChangeDocument::Dead { object, error, at })
        }
        Change::DeadGone { id } => ("dead_gone", ChangeDocument::DeadGone { id: id.0, at }),
    };
    let text = serde_json::to_string(&document).expect("names and numbers can be written as JSON");
    Event::default().event(word).data(text)
}

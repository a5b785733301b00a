//! A store's log for programs that are no sync clients: the whole of it as lines, and its end as it grows.

use super::feed::{Feed, Tail};
use super::live_pull::PAGE_BYTES_MAX;
use super::pass::Pass;
use crate::app::App;
use crate::error::ApiError;
use abide_core::log::{LogEntry, Seq};
use abide_core::name::Name;
use abide_engine::driver::LogFollower;
use abide_links::auth::Denied;
use abide_links::event;
use axum::body::{Body, Bytes};
use futures_util::stream;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

/// Entries that are read at a time.
const ENTRIES: usize = 256;
/// How often a tail that has nothing to say shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const STILL_THERE: &[u8] = b": still there\n\n";

/// Every event after `after`, one line each. Breaks off if `pass` is not good any more.
pub(crate) fn export(app: App, feed: Arc<Feed>, pass: Pass, after: i64) -> Body {
    let from = (app, feed, pass, after);
    Body::from_stream(stream::unfold(from, |(app, feed, mut pass, after)| async move {
        let part = match pass.check_body(&app).await {
            Ok(()) => part(&app, &feed, after, line).await.transpose()?,
            Err(error) => Err(error),
        };
        Some(match part {
            Ok((bytes, last)) => (Ok(bytes), (app, feed, pass, last)),
            Err(error) => (Err(error), (app, feed, pass, after)),
        })
    }))
}

/// The entries after `after` as `write` writes them, and the number of the last; none if there are none. They count as on their
/// way for as long as somebody holds the bytes.
async fn part(
    app: &App,
    feed: &Feed,
    after: i64,
    write: fn(&mut String, &LogEntry),
) -> io::Result<Option<(Bytes, i64)>> {
    let room = app.sockets().bodies().take(feed.body_share(), PAGE_BYTES_MAX).await?;
    let (entries, _) = feed.entries(app, after, ENTRIES).await?;
    let Some(last) = entries.last().map(|entry| entry.seq.0) else { return Ok(None) };
    let mut text = String::with_capacity(entries.iter().map(|entry| entry.value.len() + 32).sum());
    entries.iter().for_each(|entry| write(&mut text, entry));
    Ok(Some((room.until_sent(text), last)))
}

fn line(text: &mut String, entry: &LogEntry) {
    text.push_str(&on_one_line(entry));
    text.push('\n');
}

fn server_sent(text: &mut String, entry: &LogEntry) {
    write!(text, "id: {}\ndata: {}\n\n", entry.seq.0, on_one_line(entry))
        .expect("writing to a string does not fail");
}

/// JSON has no line breaks but between its parts, where they mean nothing.
fn on_one_line(entry: &LogEntry) -> String {
    entry.value.as_str().replace(['\n', '\r'], " ")
}

/// Where a tail has its events from.
pub(crate) enum Source {
    /// A store that there is.
    Feed(Arc<Feed>, watch::Receiver<Tail>),
    /// One that is there when it has an event.
    Awaited(Box<LogFollower>),
}

impl Source {
    /// That of `store`, and where its log ends.
    pub(crate) async fn of(app: &App, store: &Name) -> Result<(Source, i64), ApiError> {
        match app.feeds().existing(app, store.as_str()).await? {
            Some(feed) => {
                let head = app.engine().log_head(feed.object().clone()).await?.0;
                let tail = feed.tail();
                Ok((Source::Feed(feed, tail), head))
            }
            None => {
                let follower = app.engine().follow(event::sync(store.as_str())?, Seq(0));
                Ok((Source::Awaited(Box::new(follower)), 0))
            }
        }
    }

    /// Resolves when there may be more; to none if there will not be.
    async fn grown(&mut self) -> Option<()> {
        match self {
            Source::Feed(_, tail) => tail.changed().await.ok(),
            Source::Awaited(follower) => follower.next().await.ok().map(drop),
        }
    }
}

/// Somebody who follows a log.
struct Following {
    app: App,
    store: Name,
    source: Source,
    /// The number of the last event that was sent.
    sent: i64,
    pass: Pass,
    /// A tail is as much as a socket, and one of those who wait.
    _places: [OwnedSemaphorePermit; 2],
}

/// Events after `after` as they come, as server-sent events whose ids are their numbers. Ends when the server stops, the
/// store is wiped, or `pass` is not good any more. It keeps its places, among sockets and among those who wait, for so long.
/// A store that is not there yet is waited for.
pub(crate) fn tail(
    app: App,
    store: Name,
    source: Source,
    pass: Pass,
    places: [OwnedSemaphorePermit; 2],
    after: i64,
) -> Body {
    let from = Some(Following { app, store, source, sent: after, pass, _places: places });
    Body::from_stream(stream::unfold(from, |following| async move {
        let mut following = following?;
        match following.next().await? {
            Ok(bytes) => Some((Ok::<Bytes, io::Error>(bytes), Some(following))),
            Err(reason) => Some((Ok(format!("event: denied\ndata: {reason}\n\n").into()), None)),
        }
    }))
}

impl Following {
    /// What is sent next; the reason if they may not read any more.
    async fn next(&mut self) -> Option<Result<Bytes, Denied>> {
        let silent_until = Instant::now() + KEEP_ALIVE;
        loop {
            if let Err(reason) = self.pass.check(&self.app).await {
                return Some(Err(reason));
            }
            if let Source::Feed(feed, tail) = &mut self.source {
                let Tail { head, is_over } = *tail.borrow_and_update();
                if is_over {
                    return None;
                }
                if self.sent < head {
                    let (bytes, last) = part(&self.app, feed, self.sent, server_sent).await.ok()??;
                    self.sent = last;
                    return Some(Ok(bytes));
                }
            }
            let good_for = self.pass.good_for(&self.app);
            tokio::select! {
                biased;
                () = self.app.drain().begun() => return None,
                () = tokio::time::sleep(good_for) => {}
                grown = self.source.grown() => {
                    grown?;
                    self.begin().await?;
                }
                () = tokio::time::sleep_until(silent_until) => return Some(Ok(Bytes::from_static(STILL_THERE))),
            }
        }
    }

    /// A store that was waited for is there; none if it is gone again.
    async fn begin(&mut self) -> Option<()> {
        if matches!(self.source, Source::Awaited(_)) {
            let feed = self.app.feeds().existing(&self.app, self.store.as_str()).await.ok()??;
            let tail = feed.tail();
            self.source = Source::Feed(feed, tail);
        }
        Some(())
    }
}

//! A store's log for programs that are no sync clients: the whole of it as lines, and its end as it grows.

use super::feed::Feed;
use crate::app::App;
use abide_core::log::{LogEntry, Seq};
use abide_engine::driver::LogFollower;
use abide_store::{Answer, Read};
use axum::body::Body;
use futures_util::stream;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Entries that are read at a time.
const ENTRIES: usize = 256;
/// How often a tail that has nothing to say shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Every event after `after`, one line each.
pub(crate) fn export(app: App, feed: Arc<Feed>, after: i64) -> Body {
    let from = (app, feed, Seq(after));
    Body::from_stream(stream::unfold(from, |(app, feed, after)| async move {
        let read = Read::Log { object: feed.object().clone(), after, limit: ENTRIES };
        let entries = match app.read(read).await {
            Ok(Answer::Log(Some(page))) if page.incarnation == feed.life() => page.entries,
            Ok(_) | Err(_) => {
                return Some((Err(io::Error::other("the log cannot be read now")), (app, feed, after)));
            }
        };
        let last = entries.last()?.seq;
        let lines = entries.iter().fold(String::new(), |mut lines, entry| {
            lines.push_str(&on_one_line(entry));
            lines.push('\n');
            lines
        });
        Some((Ok(lines), (app, feed, last)))
    }))
}

/// Events after `after` as they come, as server-sent events whose ids are their numbers. Ends when the server stops or the
/// store is wiped. It keeps its place among those who wait for so long.
pub(crate) fn tail(app: App, feed: Arc<Feed>, after: i64, place: OwnedSemaphorePermit) -> Body {
    let follower = app.engine().follow(feed.object().clone(), Seq(after));
    let from = (app, feed, follower, place);
    Body::from_stream(stream::unfold(from, |(app, feed, mut follower, place)| async move {
        let text = next_events(&app, &feed, &mut follower).await?;
        Some((Ok::<String, io::Error>(text), (app, feed, follower, place)))
    }))
}

async fn next_events(app: &App, feed: &Feed, follower: &mut LogFollower) -> Option<String> {
    let entries = tokio::select! {
        entries = follower.next() => entries.ok()?,
        () = tokio::time::sleep(KEEP_ALIVE) => return Some(": still there\n\n".to_owned()),
        () = app.drain().begun() => return None,
    };
    if follower.life() != Some(feed.life()) {
        return None;
    }
    Some(entries.iter().fold(String::new(), |mut text, entry| {
        write!(text, "id: {}\ndata: {}\n\n", entry.seq.0, on_one_line(entry))
            .expect("writing to a string does not fail");
        text
    }))
}

/// JSON has no line breaks but between its parts, where they mean nothing.
fn on_one_line(entry: &LogEntry) -> String {
    entry.value.as_str().replace(['\n', '\r'], " ")
}

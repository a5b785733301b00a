//! A store's log for programs that are no sync clients: the whole of it as lines, and its end as it grows.

use super::feed::Feed;
use super::pass::Pass;
use crate::app::App;
use abide_core::log::{LogEntry, Seq};
use abide_core::object::{Incarnation, ObjectKey};
use abide_engine::driver::LogFollower;
use abide_links::auth::Denied;
use abide_store::{Answer, Read};
use axum::body::Body;
use futures_util::stream;
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// Entries that are read at a time.
const ENTRIES: usize = 256;
/// How often a tail that has nothing to say shows that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Every event after `after`, one line each. Breaks off if `pass` is not good any more.
pub(crate) fn export(app: App, feed: Arc<Feed>, pass: Pass, after: i64) -> Body {
    let from = (app, feed, pass, Seq(after));
    Body::from_stream(stream::unfold(from, |(app, feed, mut pass, after)| async move {
        if let Err(error) = pass.check_body(&app).await {
            return Some((Err(error), (app, feed, pass, after)));
        }
        let read = Read::Log { object: feed.object().clone(), after, limit: ENTRIES };
        let entries = match app.read(read).await {
            Ok(Answer::Log(Some(page))) if page.incarnation == feed.life() => page.entries,
            Ok(_) | Err(_) => {
                return Some((Err(io::Error::other("the log cannot be read now")), (app, feed, pass, after)));
            }
        };
        let last = entries.last()?.seq;
        let lines = entries.iter().fold(String::new(), |mut lines, entry| {
            lines.push_str(&on_one_line(entry));
            lines.push('\n');
            lines
        });
        Some((Ok(lines), (app, feed, pass, last)))
    }))
}

/// Somebody who follows a log.
struct Following {
    app: App,
    /// The life of the store, once there is one.
    life: Option<Incarnation>,
    pass: Pass,
    follower: LogFollower,
    /// A tail is as much as a socket, and one of those who wait.
    _places: [OwnedSemaphorePermit; 2],
}

/// Events after `after` as they come, as server-sent events whose ids are their numbers. Ends when the server stops, the
/// store is wiped, or `pass` is not good any more. It keeps its places, among sockets and among those who wait, for so long.
/// A store that has no `life` yet is waited for.
pub(crate) fn tail(
    app: App,
    store: ObjectKey,
    life: Option<Incarnation>,
    pass: Pass,
    places: [OwnedSemaphorePermit; 2],
    after: i64,
) -> Body {
    let follower = app.engine().follow(store, Seq(after));
    let from = Some(Following { app, life, pass, follower, _places: places });
    Body::from_stream(stream::unfold(from, |following| async move {
        let mut following = following?;
        match following.next().await? {
            Ok(text) => Some((Ok::<String, io::Error>(text), Some(following))),
            Err(reason) => Some((Ok(format!("event: denied\ndata: {reason}\n\n")), None)),
        }
    }))
}

impl Following {
    /// What is sent next; the reason if they may not read any more.
    async fn next(&mut self) -> Option<Result<String, Denied>> {
        let silent_until = Instant::now() + KEEP_ALIVE;
        let entries = loop {
            let good_for = self.pass.good_for(&self.app);
            tokio::select! {
                biased;
                () = self.app.drain().begun() => return None,
                () = tokio::time::sleep(good_for) => {}
                entries = self.follower.next() => break entries.ok()?,
                () = tokio::time::sleep_until(silent_until) => return Some(Ok(": still there\n\n".to_owned())),
            }
            if let Err(reason) = self.pass.check(&self.app).await {
                return Some(Err(reason));
            }
        };
        let life = self.follower.life();
        if self.life.is_some() && self.life != life {
            return None;
        }
        self.life = life;
        Some(Ok(entries.iter().fold(String::new(), |mut text, entry| {
            write!(text, "id: {}\ndata: {}\n\n", entry.seq.0, on_one_line(entry))
                .expect("writing to a string does not fail");
            text
        })))
    }
}

/// JSON has no line breaks but between its parts, where they mean nothing.
fn on_one_line(entry: &LogEntry) -> String {
    entry.value.as_str().replace(['\n', '\r'], " ")
}

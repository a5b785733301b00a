//! The protocol over HTTP: one request, answered with an array.

use super::feed::Feed;
use super::live_pull::{NotBegun, PAGE_BYTES_MAX, begins_after};
use super::page_room::Taken;
use super::pass::Pass;
use super::push_end::{PushEnd, push_to};
use crate::app::App;
use crate::error::stopping;
use abide_links::sync::answer::{self, Failure};
use abide_links::sync::frame::{Ask, Cursor, Pull, RequestId};
use abide_links::sync::page::Page;
use axum::body::{Body, Bytes};
use futures_util::stream;
use std::io;
use std::sync::Arc;

/// The answer's body: always frames. A client that gets anything else takes it for a defect of itself and ends, while one that is
/// told what failed asks again.
pub(crate) async fn answer(app: &App, store_id: &str, pass: Pass, id: RequestId, ask: Ask) -> Body {
    let own = |asked: &str| {
        let message = format!("the request is for the store {asked:?}, and its address for {store_id:?}");
        if asked == store_id { Ok(()) } else { Err(Failure::Unknown(message)) }
    };
    let done = match ask {
        Ask::Ping => Ok(answer::pinged(&id)),
        Ask::Push { store_id: asked, push } => match own(&asked) {
            Err(failure) => Err(failure),
            Ok(()) => match push_to(app.engine(), store_id, push).await {
                PushEnd::Durable => Ok(answer::pushed(&id)),
                PushEnd::Failed(failure) => Err(failure),
                PushEnd::Stopping => Err(Failure::Unknown(stopping().message().to_owned())),
            },
        },
        Ask::Pull(Pull { store_id: asked, cursor, .. }) => match own(&asked) {
            Err(failure) => Err(failure),
            Ok(()) => match begun(app, store_id, cursor.as_ref()).await {
                Ok((feed, after)) => return pages(app.clone(), feed, pass, id, after),
                Err(failure) => Err(failure),
            },
        },
    };
    match done {
        Ok(exit) => Body::from(format!("[{exit}]")),
        Err(failure) => refused(&id, &failure),
    }
}

/// The body that says why a request failed.
pub(crate) fn refused(id: &RequestId, failure: &Failure) -> Body {
    Body::from(format!("[{}]", answer::failed(id, failure)))
}

/// The log of a pull, and where it begins.
async fn begun(app: &App, store_id: &str, cursor: Option<&Cursor>) -> Result<(Arc<Feed>, i64), Failure> {
    let opened = app.feeds().open(app, store_id).await;
    let feed = opened.map_err(|error| Failure::Unknown(error.message().to_owned()))?;
    match begins_after(app, &feed, cursor).await {
        Ok(after) => Ok((feed, after)),
        Err(NotBegun::Failed(failure)) => Err(failure),
        Err(NotBegun::Away(over)) => Err(Failure::Unknown(io::Error::from(over).to_string())),
    }
}

/// A pull that is under way: its pages are written as the client takes them.
struct Pages {
    app: App,
    feed: Arc<Feed>,
    pass: Pass,
    id: RequestId,
    after: i64,
    /// Where the log ended when the pull began: it goes no further.
    until: i64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Next,
    Ended,
}

fn pages(app: App, feed: Arc<Feed>, pass: Pass, id: RequestId, after: i64) -> Body {
    let until = feed.tail().borrow().head;
    let pages = Pages { app, feed, pass, id, after, until, state: State::First };
    Body::from_stream(stream::unfold(pages, |mut pages| async move {
        let part = pages.next().await?;
        Some((Ok::<Bytes, io::Error>(part), pages))
    }))
}

impl Pages {
    /// The next part of the body. If the log cannot or may not be read any more, the pull ends with that.
    async fn next(&mut self) -> Option<Bytes> {
        let before = match self.state {
            State::First => "[",
            State::Next => ",",
            State::Ended => return None,
        };
        let (page, room) = match self.page().await {
            Ok(found) => found,
            Err(error) => {
                self.state = State::Ended;
                let exit = answer::failed(&self.id, &Failure::Unknown(error.to_string()));
                return Some(format!("{before}{exit}]").into());
            }
        };
        self.after = page.last;
        self.state = State::Next;
        let mut part = format!("{before}{}", answer::chunk(&self.id, &page));
        if page.remaining == 0 || page.last >= self.until {
            if page.remaining > 0 {
                let end = Page::fill(self.feed.backend_id(), page.last, page.last, []);
                part.push(',');
                part.push_str(&answer::chunk(&self.id, &end));
            }
            part.push(',');
            part.push_str(&answer::pulled(&self.id));
            part.push(']');
            self.state = State::Ended;
        }
        Some(room.until_sent(part))
    }

    async fn page(&mut self) -> io::Result<(Page, Taken)> {
        self.pass.check_body(&self.app).await?;
        let room = self.app.sockets().bodies().take(self.feed.body_share(), PAGE_BYTES_MAX).await?;
        let page = self.feed.page(&self.app, self.after).await?;
        Ok((page, room))
    }
}

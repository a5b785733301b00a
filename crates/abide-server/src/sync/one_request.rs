//! The protocol over HTTP: one request, answered with an array.

use super::feed::{Feed, Over};
use super::live_pull::{NotBegun, PAGE_BYTES_MAX, begins_after};
use super::page_room::Taken;
use super::pass::Pass;
use super::push_end::{PushEnd, push_to};
use crate::app::App;
use crate::code::ErrorCode;
use crate::error::{ApiError, stopping};
use abide_links::sync::answer::{self, Failure};
use abide_links::sync::frame::{Ask, Pull, RequestId};
use abide_links::sync::page::Page;
use axum::body::{Body, Bytes};
use futures_util::stream;
use std::io;
use std::sync::Arc;

/// The answer's body.
pub(crate) async fn answer(
    app: &App,
    store_id: &str,
    pass: Pass,
    id: RequestId,
    ask: Ask,
) -> Result<Body, ApiError> {
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
                PushEnd::Stopping => return Err(stopping()),
            },
        },
        Ask::Pull(Pull { store_id: asked, cursor, .. }) => match own(&asked) {
            Err(failure) => Err(failure),
            Ok(()) => {
                let feed = app.feeds().open(app, store_id).await?;
                match begins_after(app, &feed, cursor.as_ref()).await {
                    Ok(after) => return Ok(pages(app.clone(), feed, pass, id, after)),
                    Err(NotBegun::Failed(failure)) => Err(failure),
                    Err(NotBegun::Away(Over)) => {
                        return Err(ApiError::new(ErrorCode::StoreUnavailable, "the log cannot be read now"));
                    }
                }
            }
        },
    };
    let exit = done.unwrap_or_else(|failure| answer::failed(&id, &failure));
    Ok(Body::from(format!("[{exit}]")))
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
        Some((part, pages))
    }))
}

impl Pages {
    /// The next part of the body. If the log cannot or may not be read any more the body breaks off, and
    /// the client asks again.
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let before = match self.state {
            State::First => "[",
            State::Next => ",",
            State::Ended => return None,
        };
        let (page, room) = match self.page().await {
            Ok(found) => found,
            Err(error) => {
                self.state = State::Ended;
                return Some(Err(error));
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
        Some(Ok(room.until_sent(part)))
    }

    async fn page(&mut self) -> io::Result<(Page, Taken)> {
        self.pass.check_body(&self.app).await?;
        let room = self.app.sockets().bodies().take(self.feed.body_share(), PAGE_BYTES_MAX).await?;
        let page = self.feed.page(&self.app, self.after).await?;
        Ok((page, room))
    }
}

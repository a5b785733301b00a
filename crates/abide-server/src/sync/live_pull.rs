//! One pull of a socket: what it was sent last, and what it gets next.

use super::feed::{Feed, Over};
use super::page_room::{NoRoom, Taken};
use crate::app::App;
use abide_core::limits::LOG_ENTRY_BYTES;
use abide_links::sync::OtherBackend;
use abide_links::sync::answer::Failure;
use abide_links::sync::frame::{Cursor, Pull, RequestId};
use abide_links::sync::page::Page;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Bytes of the largest page: of one event that is as large as may be.
pub(super) const PAGE_BYTES_MAX: usize = LOG_ENTRY_BYTES + 1024;

/// A pull that is not over.
pub(super) struct LivePull {
    pub(super) id: RequestId,
    /// Goes on for ever; otherwise it ends when it has everything.
    pub(super) is_live: bool,
    /// The number of the last event it was sent.
    sent: Arc<AtomicI64>,
    /// Whether it was told where the log ends: also an empty log is answered with a page.
    is_answered: bool,
}

/// Why a pull does not begin.
#[derive(Debug)]
pub(super) enum NotBegun {
    /// The client is told, and ends the pull for good.
    Failed(Failure),
    /// The log cannot be read now. A client that was told so would not ask again: it is to come back.
    Away(Over),
}

/// Why there is no page now.
#[derive(Debug)]
pub(super) enum NoPage {
    /// The log cannot be read.
    Over,
    /// Other clients take all room for pages.
    NoRoom,
}

impl From<Over> for NoPage {
    fn from(_: Over) -> NoPage {
        NoPage::Over
    }
}

impl From<NoRoom> for NoPage {
    fn from(_: NoRoom) -> NoPage {
        NoPage::NoRoom
    }
}

/// Where a pull begins: after its cursor, if it is one of this log. From then on the feed has every event that was
/// acknowledged before the pull.
pub(super) async fn begins_after(app: &App, feed: &Feed, cursor: Option<&Cursor>) -> Result<i64, NotBegun> {
    let of_another = |cursor: &Cursor| {
        let (expected, received) = (feed.backend_id().to_owned(), cursor.backend_id.clone());
        NotBegun::Failed(Failure::BackendIdMismatch(OtherBackend { expected, received }))
    };
    if let Some(cursor) = cursor.filter(|cursor| cursor.backend_id != feed.backend_id()) {
        return Err(of_another(cursor));
    }
    let head = app.engine().log_head(feed.object().clone()).await.map_err(|_| NotBegun::Away(Over))?.0;
    // A client that has events past the end has those of a log that went another way, whatever it is called: a file was
    // copied by hand. It has to begin anew; told anything else it would wait for ever, or go on behind a gap.
    if let Some(cursor) = cursor.filter(|cursor| !(0..=head).contains(&cursor.event_sequence_number)) {
        return Err(of_another(cursor));
    }
    feed.reached(head).await;
    Ok(cursor.map_or(0, |cursor| cursor.event_sequence_number))
}

impl LivePull {
    pub(super) fn new(id: RequestId, pull: &Pull, feed: &Feed, after: i64) -> LivePull {
        LivePull { id, is_live: pull.live, sent: feed.reader(after), is_answered: false }
    }

    /// Whether there is a page for it, given where the log ends.
    pub(super) fn is_behind(&self, head: i64) -> bool {
        !self.is_answered || self.sent.load(Ordering::Relaxed) < head
    }

    /// Its next page, which counts as sent, and the room that it takes until it is.
    pub(super) async fn next(&mut self, app: &App, feed: &Feed) -> Result<(Page, Taken), NoPage> {
        let (after, room) = (self.sent.load(Ordering::Relaxed), app.sockets().pages());
        let at_once = || {
            let page = feed.recent_page(after)?;
            let taken = room.try_take(feed.socket_share(), page.text.len())?;
            Some((page, taken))
        };
        let (page, taken) = match at_once() {
            Some(found) => found,
            // Whoever waits for room holds no page.
            None => {
                let mut taken = room.take(feed.socket_share(), PAGE_BYTES_MAX).await?;
                let page = feed.page(app, after).await?;
                taken.shrink(page.text.len());
                (page, taken)
            }
        };
        if page.last == after && page.remaining > 0 {
            return Err(NoPage::Over);
        }
        self.sent.store(page.last, Ordering::Relaxed);
        self.is_answered = true;
        Ok((page, taken))
    }
}

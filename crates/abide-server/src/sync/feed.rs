//! The end of a store's log in memory, shared by everybody who reads it live.
//!
//! One task follows the log and keeps its newest entries, written once as clients get them. Whoever reads keeps what it has
//! and asks for the page after it: from here if it is near the end, from the store if it is not. So a push is read and
//! written once however many listen, and a slow reader holds nothing but a number.

use super::page_room::Share;
use crate::app::App;
use crate::error::ApiError;
use abide_core::log::{LogEntry, Seq};
use abide_core::object::{Incarnation, ObjectKey};
use abide_engine::driver::LogFollower;
use abide_links::event;
use abide_links::sync::limits::{EVENTS_PER_MESSAGE, PAGE_BYTES};
use abide_links::sync::page::{Item, Page};
use abide_links::sync::{Call, Opened, Reply};
use abide_store::view::ObjectView;
use abide_store::{Answer, Read};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Entries that are kept.
const RECENT_ENTRIES: usize = 2_048;
/// And their bytes; the newest is always kept.
const RECENT_BYTES: usize = 1024 * 1024;
/// Bytes that are kept of all stores. A store that gets new entries while there are more keeps few.
const ALL_BYTES: usize = 64 * 1024 * 1024;
/// How many bytes are few.
const FEW_BYTES: usize = 8 * 1024;

/// The feeds of the stores that somebody reads live.
#[derive(Default)]
pub(crate) struct Feeds {
    // Locked for a map operation at a time.
    by_store: Mutex<HashMap<String, Weak<Feed>>>,
    /// Bytes that all of them keep.
    kept: Arc<AtomicUsize>,
}

impl Feeds {
    /// The feed of a store that there is.
    pub(crate) async fn existing(&self, app: &App, store_id: &str) -> Result<Option<Arc<Feed>>, ApiError> {
        match found(app, event::sync(store_id)?).await? {
            Some(_) => self.open(app, store_id).await.map(Some),
            None => Ok(None),
        }
    }

    /// Bytes of the ends of logs that are in memory.
    pub(crate) fn kept_bytes(&self) -> u64 {
        self.kept.load(Ordering::Relaxed) as u64
    }

    /// The feed of a store, which is made if it does not exist.
    pub(crate) async fn open(&self, app: &App, store_id: &str) -> Result<Arc<Feed>, ApiError> {
        let object = event::sync(store_id)?;
        let opened = opened(app, object.clone()).await?;
        let mut feeds = lock(&self.by_store);
        let known = feeds.get(store_id).and_then(Weak::upgrade);
        if let Some(feed) = known.filter(|feed| feed.life == opened.life && !feed.tail.borrow().is_over) {
            return Ok(feed);
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let feed = Feed::follow(app, object, opened, Arc::clone(&self.kept));
        feeds.insert(store_id.to_owned(), Arc::downgrade(&feed));
        Ok(feed)
    }
}

/// A store's object, if there is one: looking makes none.
async fn found(app: &App, object: ObjectKey) -> Result<Option<ObjectView>, ApiError> {
    match app.read(Read::Object(object)).await? {
        Answer::Object(view) => Ok(view),
        other => unreachable!("the store answered about an object with {other:?}"),
    }
}

async fn opened(app: &App, object: ObjectKey) -> Result<Opened, ApiError> {
    match app.ask(object, &Call::Open).await?.decode() {
        Ok(Reply::Opened(opened)) => Ok(opened),
        other => unreachable!("a store that is opened answered {other:?}"),
    }
}

/// How far a log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The number of its last event.
    pub(crate) head: i64,
    /// Whether it will not grow any more: the store was wiped, or cannot be read.
    pub(crate) is_over: bool,
}

/// The end of one store's log.
pub(crate) struct Feed {
    object: ObjectKey,
    backend_id: String,
    life: Incarnation,
    // Locked while a page is put together or entries come in, never over a wait.
    recent: Mutex<Recent>,
    /// Bytes that all feeds keep.
    kept: Arc<AtomicUsize>,
    tail: watch::Sender<Tail>,
    // Locked for a list operation at a time.
    readers: Mutex<Vec<Weak<AtomicI64>>>,
    socket_share: Share,
    body_share: Share,
    /// Bytes of an entry, as those that were read last have them on the average; 0 before any was.
    entry_bytes: AtomicUsize,
    follower: OnceLock<AbortHandle>,
}

#[derive(Default)]
struct Recent {
    items: VecDeque<Item>,
    bytes: usize,
    /// The last page that was put together, with the cursor and the head it was for: most readers want the same.
    page: Option<(i64, i64, Page)>,
}

/// The log that a reader knows is not there any more, or cannot be read now.
#[derive(Debug)]
pub(crate) struct Over;

impl From<Over> for io::Error {
    fn from(_: Over) -> io::Error {
        io::Error::other("the log cannot be read now")
    }
}

impl Feed {
    fn follow(app: &App, object: ObjectKey, opened: Opened, kept: Arc<AtomicUsize>) -> Arc<Feed> {
        let Opened { backend_id, head, life } = opened;
        let follower = app.engine().follow(object.clone(), Seq(head));
        let feed = Arc::new(Feed {
            object,
            backend_id,
            life,
            recent: Mutex::default(),
            kept,
            tail: watch::channel(Tail { head, is_over: false }).0,
            readers: Mutex::default(),
            socket_share: app.sockets().pages().share(),
            body_share: app.sockets().bodies().share(),
            entry_bytes: AtomicUsize::new(0),
            follower: OnceLock::new(),
        });
        let sync = app.services().sync.as_ref().expect("feeds are there only with their service");
        let task = tokio::spawn(keep_up(Arc::downgrade(&feed), life, follower, sync.kept_for));
        feed.follower.get_or_init(|| task.abort_handle());
        feed
    }

    pub(crate) fn object(&self) -> &ObjectKey {
        &self.object
    }

    pub(crate) fn backend_id(&self) -> &str {
        &self.backend_id
    }

    /// What its sockets may take of the room for pages.
    pub(super) fn socket_share(&self) -> &Share {
        &self.socket_share
    }

    /// And answers over HTTP of theirs.
    pub(super) fn body_share(&self) -> &Share {
        &self.body_share
    }

    /// Wakes whoever holds it when the log grows.
    pub(crate) fn tail(&self) -> watch::Receiver<Tail> {
        self.tail.subscribe()
    }

    /// Resolves when the feed has `head`, which is in the store, or is over.
    pub(crate) async fn reached(&self, head: i64) {
        // The sender lives as long as this feed.
        drop(self.tail.subscribe().wait_for(|tail| tail.head >= head || tail.is_over).await);
    }

    /// A place where a live reader notes how far it is.
    pub(crate) fn reader(&self, at: i64) -> Arc<AtomicI64> {
        let place = Arc::new(AtomicI64::new(at));
        let mut readers = lock(&self.readers);
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&place));
        place
    }

    /// How far each live reader is.
    pub(crate) fn readers(&self) -> Vec<i64> {
        let readers = lock(&self.readers);
        readers.iter().filter_map(Weak::upgrade).map(|place| place.load(Ordering::Relaxed)).collect()
    }

    /// The page after `after`.
    pub(crate) async fn page(&self, app: &App, after: i64) -> Result<Page, Over> {
        match self.recent_page(after) {
            Some(page) => Ok(page),
            None => self.read_page(app, after).await,
        }
    }

    /// The page after `after`, from the store.
    async fn read_page(&self, app: &App, after: i64) -> Result<Page, Over> {
        let (entries, head) = self.entries(app, after, EVENTS_PER_MESSAGE).await?;
        let items: Vec<Item> = entries.iter().map(Item::new).collect();
        Ok(Page::fill(&self.backend_id, after, head, &items))
    }

    /// At most `limit` entries after `after`, as many as fit into a page, and where the log ends.
    pub(super) async fn entries(
        &self,
        app: &App,
        after: i64,
        limit: usize,
    ) -> Result<(Vec<LogEntry>, i64), Over> {
        let _turn = app.sockets().reading().await;
        // What does not fit into a page is read for nothing.
        let limit = match self.entry_bytes.load(Ordering::Relaxed) {
            0 => limit,
            bytes => limit.min(PAGE_BYTES / bytes + 1),
        };
        let read = Read::Log { object: self.object.clone(), after: Seq(after), limit };
        match app.read(read).await {
            Ok(Answer::Log(Some(page))) if page.incarnation == self.life => {
                let mut entries = page.entries;
                let all: usize = entries.iter().map(|entry| entry.value.len()).sum();
                if let Some(average) = all.checked_div(entries.len()) {
                    self.entry_bytes.store(average, Ordering::Relaxed);
                }
                let mut bytes = 0;
                let fits = |entry: &&LogEntry| {
                    bytes += entry.value.len();
                    bytes <= PAGE_BYTES
                };
                let count = entries.iter().take_while(fits).count();
                entries.truncate(count.max(1));
                Ok((entries, page.head.0))
            }
            Ok(_) | Err(_) => Err(Over),
        }
    }

    /// The page after `after`, if the newest entries have it: many who want the same share it.
    pub(super) fn recent_page(&self, after: i64) -> Option<Page> {
        let mut recent = lock(&self.recent);
        // Read under the lock: what the head promises is among the items.
        let head = self.tail.borrow().head;
        if let Some((_, _, page)) = recent.page.as_ref().filter(|(a, h, _)| (*a, *h) == (after, head)) {
            return Some(page.clone());
        }
        let first = recent.items.front().map_or(head + 1, |item| item.seq_num);
        if after + 1 < first {
            return None;
        }
        let skip = usize::try_from(after + 1 - first).ok()?;
        let page = Page::fill(&self.backend_id, after, head.max(after), recent.items.iter().skip(skip));
        recent.page = Some((after, head, page.clone()));
        Some(page)
    }

    /// Takes what came; whether it follows on what was there.
    fn extend(&self, entries: &[LogEntry]) -> bool {
        let mut recent = lock(&self.recent);
        let mut head = self.tail.borrow().head;
        for entry in entries {
            if entry.seq.0 != head + 1 {
                return false;
            }
            head = entry.seq.0;
            let item = Item::new(entry);
            recent.bytes += item.text.len();
            self.kept.fetch_add(item.text.len(), Ordering::Relaxed);
            recent.items.push_back(item);
        }
        let is_much = self.kept.load(Ordering::Relaxed) > ALL_BYTES;
        let most = if is_much { FEW_BYTES } else { RECENT_BYTES };
        while recent.items.len() > 1 && (recent.items.len() > RECENT_ENTRIES || recent.bytes > most) {
            let oldest = recent.items.pop_front().map_or(0, |item| item.text.len());
            recent.bytes -= oldest;
            self.kept.fetch_sub(oldest, Ordering::Relaxed);
        }
        recent.page = None;
        self.tail.send_replace(Tail { head, is_over: false });
        true
    }

    /// Keeps nothing: nobody has wanted it for a while.
    fn forget(&self) {
        let Recent { bytes, .. } = std::mem::take(&mut *lock(&self.recent));
        self.kept.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn end(&self) {
        self.tail.send_modify(|tail| tail.is_over = true);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.forget();
        if let Some(follower) = self.follower.get() {
            follower.abort();
        }
    }
}

/// Brings what is appended to the feed for as long as somebody holds it.
/// What came is forgotten when nothing more does: whoever is behind then reads the store.
async fn keep_up(feed: Weak<Feed>, life: Incarnation, mut follower: LogFollower, kept_for: Duration) {
    loop {
        let entries = {
            let mut next = pin!(follower.next());
            match timeout(kept_for, &mut next).await {
                Ok(entries) => entries,
                Err(_) => {
                    feed.upgrade().inspect(|feed| feed.forget());
                    next.await
                }
            }
        };
        let Some(feed) = feed.upgrade() else { return };
        let goes_on = match entries {
            Ok(entries) => follower.life() == Some(life) && feed.extend(&entries),
            Err(error) => {
                tracing::warn!(target: "sync", object = %feed.object, %error, "a log cannot be followed");
                false
            }
        };
        if !goes_on {
            return feed.end();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The live feed: what changed lately, in a ring that readers follow by number.
//!
//! One task listens to the engine and fills the ring. A reader holds a number and nothing else, so a slow one costs
//! nothing: when what it wants has left the ring, it is told to start anew.

use abide_core::name::{Kind, QueueName};
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_engine::{Change, Changes};
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Semaphore, watch};

/// Changes that are kept.
const RING: usize = 4_096;
/// Changes that a reader looks at in one go.
const LOOKS: usize = 512;

/// The ring and those who wait for it to grow.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Tells this feed's numbers from those of a server before it.
    boot: Time,
    // Locked to push a batch, and to copy a page out.
    ring: Mutex<Ring>,
    head: watch::Sender<u64>,
    places: Arc<Semaphore>,
}

#[derive(Debug)]
struct Ring {
    /// The number of the first entry; entries are numbered without a gap.
    first: u64,
    entries: VecDeque<Entry>,
}

/// One change, in the batch that it came with. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// When it became durable.
    pub(crate) at: Time,
    batch: Arc<[Change]>,
    index: usize,
}

impl Entry {
    /// What changed.
    pub(crate) fn change(&self) -> &Change {
        &self.batch[self.index]
    }
}

/// Where a reader is: everything before this number has been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u64);

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Page {
    /// The changes that pass its filter, each with the cursor behind it, and the cursor behind all that was looked at.
    Entries(Vec<(Cursor, Entry)>, Cursor),
    /// What it wants is not kept any more: it goes on from here.
    Lost(Cursor),
}

/// Which changes a reader wants. Each part that is given must fit; a change that has no such part does not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    /// Of jobs and queues.
    pub(crate) queue: Option<QueueName>,
    /// Of jobs or of objects.
    pub(crate) kind: Option<Kind>,
    /// One object.
    pub(crate) object: Option<ObjectKey>,
}

impl Filter {
    fn fits(&self, change: &Change) -> bool {
        let (queue, kind, object) = match change {
            Change::Job(moved) => (Some(moved.queue.as_str()), Some(moved.kind.as_str()), None),
            Change::Queue { queue, .. } => (Some(queue.as_str()), None, None),
            Change::Object { object, .. } | Change::Dead { object, .. } => {
                (None, Some(object.kind.as_str()), Some(object))
            }
            Change::DeadGone { .. } => (None, None, None),
        };
        self.queue.as_ref().is_none_or(|wanted| queue == Some(wanted.as_str()))
            && self.kind.as_ref().is_none_or(|wanted| kind == Some(wanted.as_str()))
            && self.object.as_ref().is_none_or(|wanted| object == Some(wanted))
    }
}

impl Feed {
    /// One that so many may read at a time.
    pub(crate) fn new(boot: Time, readers: usize) -> Feed {
        let ring = Ring { first: 1, entries: VecDeque::new() };
        let places = Arc::new(Semaphore::new(readers));
        Feed { boot, ring: Mutex::new(ring), head: watch::channel(1).0, places }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills the ring until the engine ends.
    pub(crate) async fn fill(&self, mut changes: Receiver<Changes>) {
        loop {
            match changes.recv().await {
                Ok(changes) => self.push(&changes),
                Err(RecvError::Lagged(_)) => self.skip(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn push(&self, Changes { at, changes }: &Changes) {
        let mut ring = self.ring();
        for index in 0..changes.len() {
            if ring.entries.len() == RING {
                ring.entries.pop_front();
                ring.first += 1;
            }
            ring.entries.push_back(Entry { at: *at, batch: Arc::clone(changes), index });
        }
        self.head.send_replace(ring.next());
    }

    /// Something was missed: no reader may go on over the gap.
    fn skip(&self) {
        let mut ring = self.ring();
        ring.first = ring.next() + 1;
        ring.entries.clear();
        self.head.send_replace(ring.next());
    }

    /// A place for a reader, as long as it is held.
    pub(crate) fn places(&self) -> &Arc<Semaphore> {
        &self.places
    }

    /// Where a reader begins that wants only what comes.
    pub(crate) fn head(&self) -> Cursor {
        Cursor(self.ring().next())
    }

    /// Objects that changed lately, the latest first, each once.
    pub(crate) fn changed_objects(&self, most: usize) -> Vec<ObjectKey> {
        let ring = self.ring();
        let mut seen = BTreeSet::new();
        let changed = ring.entries.iter().rev().filter_map(|entry| match entry.change() {
            Change::Object { object, .. } => Some(object),
            Change::Job(_) | Change::Queue { .. } | Change::Dead { .. } | Change::DeadGone { .. } => None,
        });
        changed.filter(|object| seen.insert(*object)).take(most).cloned().collect()
    }

    /// The cursor as text, for `Last-Event-ID`.
    pub(crate) fn id(&self, cursor: Cursor) -> String {
        format!("{}-{}", self.boot, cursor.0)
    }

    /// The cursor of a text; none if it is not one of this feed.
    pub(crate) fn cursor(&self, id: &str) -> Option<Cursor> {
        let (boot, number) = id.split_once('-')?;
        let number = number.parse().ok().filter(|number| *number <= self.ring().next())?;
        (boot.parse() == Ok(self.boot.0)).then_some(Cursor(number))
    }

    /// What comes next; waits until something passes the filter.
    pub(crate) async fn next(&self, mut cursor: Cursor, filter: &Filter) -> Page {
        let mut head = self.head.subscribe();
        loop {
            head.borrow_and_update();
            match self.look(cursor, filter) {
                Page::Entries(found, after) if found.is_empty() => {
                    if after == cursor {
                        // The sender is in this very struct.
                        drop(head.changed().await);
                    }
                    cursor = after;
                }
                page => return page,
            }
        }
    }

    fn look(&self, cursor: Cursor, filter: &Filter) -> Page {
        let ring = self.ring();
        let Some(passed) = cursor.0.checked_sub(ring.first) else { return Page::Lost(Cursor(ring.next())) };
        let passed = usize::try_from(passed).unwrap_or(usize::MAX).min(ring.entries.len());
        let mut after = cursor;
        let mut found = Vec::new();
        for entry in ring.entries.range(passed..).take(LOOKS) {
            after = Cursor(after.0 + 1);
            if filter.fits(entry.change()) {
                found.push((after, entry.clone()));
            }
        }
        Page::Entries(found, after)
    }
}

impl Ring {
    /// The number of the next entry.
    fn next(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{Cursor, Feed, Filter, Page, RING};
    use abide_core::dead::DeadId;
    use abide_core::name::QueueName;
    use abide_core::time::Time;
    use abide_engine::{Change, Changes};

    fn paused(queue: &str) -> Change {
        Change::Queue { queue: QueueName::new(queue).unwrap(), paused: true }
    }

    fn push(feed: &Feed, changes: Vec<Change>) {
        feed.push(&Changes { at: Time(5), changes: changes.into() });
    }

    async fn queues(feed: &Feed, cursor: Cursor, filter: &Filter) -> (Vec<String>, Cursor) {
        match feed.next(cursor, filter).await {
            Page::Entries(found, after) => {
                let name = |change: &Change| match change {
                    Change::Queue { queue, .. } => queue.as_str().to_owned(),
                    other => format!("{other:?}"),
                };
                (found.iter().map(|(_, entry)| name(entry.change())).collect(), after)
            }
            Page::Lost(_) => panic!("lost"),
        }
    }

    #[tokio::test]
    async fn a_reader_goes_on_where_it_was_and_sees_what_it_asked_for() {
        let feed = Feed::new(Time(7), 1);
        let start = feed.head();
        push(&feed, vec![paused("a"), paused("b"), Change::DeadGone { id: DeadId(1) }]);
        push(&feed, vec![paused("c")]);
        let only_b = Filter { queue: Some(QueueName::trusted("b")), ..Filter::default() };
        assert_eq!(queues(&feed, start, &only_b).await.0, ["b"]);
        let (all, after) = queues(&feed, start, &Filter::default()).await;
        assert_eq!(all.len(), 4);
        let resumed = feed.cursor(&feed.id(after)).unwrap();
        push(&feed, vec![paused("d")]);
        assert_eq!(queues(&feed, resumed, &Filter::default()).await.0, ["d"]);
    }

    #[tokio::test]
    async fn who_is_too_far_behind_or_of_another_server_starts_anew() {
        let feed = Feed::new(Time(7), 1);
        let start = feed.head();
        for _ in 0..=RING {
            push(&feed, vec![paused("a")]);
        }
        assert!(matches!(feed.next(start, &Filter::default()).await, Page::Lost(at) if at == feed.head()));
        assert_eq!(feed.ring().entries.len(), RING);
        let current = feed.head();
        feed.skip();
        assert!(matches!(feed.next(current, &Filter::default()).await, Page::Lost(at) if at == feed.head()));
        for id in ["", "7", "6-1", "7-x", "7-99999999", "x-1"] {
            assert_eq!(feed.cursor(id), None, "{id}");
        }
    }
}

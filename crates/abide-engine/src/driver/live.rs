//! Who waits for what becomes durable: live readers of logs, waiters for tickets, listeners to notices.

use super::change::Changes;
use super::{Engine, EngineError};
use crate::machine::Notice;
use abide_core::log::{LogEntry, Seq};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::ticket::{Resolution, Ticket};
use abide_store::{Answer, Read};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::{broadcast, oneshot, watch};

/// Notices a slow listener may be behind before it misses some.
const RING: usize = 1_024;
/// Batches of changes a slow listener may be behind before it misses some.
const CHANGES_RING: usize = 256;
/// Entries a live reader gets at a time.
const PAGE: usize = 256;

/// The waiting parties.
pub(crate) struct Live {
    // Locked for a map operation at a time, by the machine's thread and by whoever begins to wait.
    waiting: Mutex<Waiting>,
    notices: broadcast::Sender<Notice>,
    changes: broadcast::Sender<Changes>,
    /// How far the engine's present is ahead of wall time.
    ahead_ms: AtomicI64,
}

#[derive(Default)]
struct Waiting {
    logs: HashMap<ObjectKey, watch::Sender<u64>>,
    tickets: HashMap<Ticket, Vec<oneshot::Sender<Resolution>>>,
}

impl Live {
    pub(super) fn new() -> Live {
        Live {
            waiting: Mutex::default(),
            notices: broadcast::channel(RING).0,
            changes: broadcast::channel(CHANGES_RING).0,
            ahead_ms: AtomicI64::new(0),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_ahead_ms(&self, ms: i64) {
        self.ahead_ms.store(ms, Ordering::Relaxed);
    }

    pub(super) fn ahead_ms(&self) -> i64 {
        self.ahead_ms.load(Ordering::Relaxed)
    }

    pub(super) fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// Whether somebody listens to changes.
    pub(super) fn wants_changes(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// Passes on what changed.
    pub(super) fn tell_changes(&self, changes: Changes) {
        if !changes.changes.is_empty() {
            // Nobody listening is fine.
            drop(self.changes.send(changes));
        }
    }

    pub(super) fn wait_for_ticket(&self, ticket: &Ticket) -> oneshot::Receiver<Resolution> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting();
        let waiters = waiting.tickets.entry(ticket.clone()).or_default();
        waiters.retain(|waiter| !waiter.is_closed());
        waiters.push(sender);
        receiver
    }

    /// Forgets waiters for a ticket that have given up.
    fn stop_waiting_for(&self, ticket: &Ticket) {
        let mut waiting = self.waiting();
        if let Some(waiters) = waiting.tickets.get_mut(ticket) {
            waiters.retain(|waiter| !waiter.is_closed());
            if waiters.is_empty() {
                waiting.tickets.remove(ticket);
            }
        }
    }

    fn watch_log(&self, object: &ObjectKey) -> watch::Receiver<u64> {
        let mut waiting = self.waiting();
        waiting.logs.retain(|_, sender| sender.receiver_count() > 0);
        waiting.logs.entry(object.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Passes on what became durable.
    pub(super) fn tell(&self, notice: Notice) {
        match &notice {
            Notice::Log(object, ..) => {
                if let Some(sender) = self.waiting().logs.get(object) {
                    sender.send_modify(|grown| *grown += 1);
                }
            }
            Notice::Ticket(ticket, resolution) => {
                for waiter in self.waiting().tickets.remove(ticket).unwrap_or_default() {
                    // Whoever waited may have given up.
                    drop(waiter.send(resolution.clone()));
                }
            }
            Notice::Ready(..)
            | Notice::ReadyAt(_)
            | Notice::TurnFailed { .. }
            | Notice::DeadLetter { .. }
            | Notice::SlowTurn { .. }
            | Notice::StoreFailed(_)
            | Notice::StoreRecovered
            | Notice::ClockJumped { .. }
            | Notice::NoHandler(_) => {}
        }
        // Nobody listening is fine.
        drop(self.notices.send(notice));
    }
}

/// Forgets the waiters for a ticket that have gone, when it goes itself.
pub(super) struct Waiter<'a> {
    live: &'a Live,
    ticket: &'a Ticket,
}

impl<'a> Waiter<'a> {
    pub(super) fn new(live: &'a Live, ticket: &'a Ticket) -> Waiter<'a> {
        Waiter { live, ticket }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.live.stop_waiting_for(self.ticket);
    }
}

/// Reads a log past a cursor and goes on as it grows: in order, each entry once.
pub struct LogFollower {
    engine: Engine,
    object: ObjectKey,
    after: Seq,
    incarnation: Option<Incarnation>,
    grown: watch::Receiver<u64>,
}

impl LogFollower {
    pub(super) fn new(engine: Engine, object: ObjectKey, after: Seq) -> LogFollower {
        let grown = engine.live().watch_log(&object);
        LogFollower { engine, object, after, incarnation: None, grown }
    }

    /// The next entries; waits until there is one. If the object was deleted and begins its log again, the entries of
    /// the new life come from its first.
    pub async fn next(&mut self) -> Result<Vec<LogEntry>, EngineError> {
        loop {
            self.grown.borrow_and_update();
            let (object, after) = (self.object.clone(), self.after);
            let answer = self.engine.read(Read::Log { object, after, limit: PAGE }).await?;
            let Answer::Log(page) = answer else { unreachable!("the store answers about logs in kind") };
            if let Some(page) = page {
                if self.incarnation.is_some_and(|known| known != page.incarnation) {
                    self.incarnation = Some(page.incarnation);
                    self.after = Seq(0);
                    continue;
                }
                self.incarnation = Some(page.incarnation);
                if let Some(last) = page.entries.last() {
                    self.after = last.seq;
                    return Ok(page.entries);
                }
            }
            self.grown.changed().await.map_err(|_| EngineError::Stopped)?;
        }
    }
}

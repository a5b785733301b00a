//! The commit: the one value a turn produces, applied whole or not at all.

use crate::event::Consumes;
use crate::job::NewJob;
use crate::json::Json;
use crate::limits::{COMMIT_BYTES, COMMIT_ITEMS, OverBound, within};
use crate::log::Seq;
use crate::name::{AlarmName, IdempotencyKey, UniqueKey};
use crate::object::{Fence, Incarnation, Life, ObjectKey};
use crate::row::RowWrite;
use crate::ticket::{Resolution, Ticket};
use crate::time::Time;

/// Everything one turn changes.
///
/// A store applies it in this order: the fence is checked, the event consumed, then rows, alarms, follows, log entries,
/// tickets, cancellations, jobs and messages are written, and a deletion comes last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Whose turn.
    pub object: ObjectKey,
    /// What the turn read.
    pub fence: Fence,
    /// The life of the engine that ran the turn.
    pub by: Life,
    /// The turn's `now`.
    pub at: Time,
    /// The event that is over with this commit.
    pub consumes: Consumes,
    /// The call's reply under its idempotency key, if it had one.
    pub keyed_reply: Option<KeyedReply>,
    /// Rows put and deleted, each key at most once.
    pub rows: Vec<RowWrite>,
    /// Alarms set and cleared, each name at most once.
    pub alarms: Vec<AlarmWrite>,
    /// Logs followed and left, each source at most once.
    pub follows: Vec<FollowWrite>,
    /// Entries appended to its own log; the first gets the place after the head that the turn saw.
    pub log: Vec<Json>,
    /// Tickets opened and resolved.
    pub tickets: Vec<TicketWrite>,
    /// Jobs of this object to cancel, by their unique keys.
    pub cancels: Vec<UniqueKey>,
    /// Jobs enqueued; their outcomes come back to this object.
    pub jobs: Vec<NewJob>,
    /// Messages sent.
    pub messages: Vec<Outgoing>,
    /// Whether the object ends with this commit.
    pub ending: Ending,
}

/// Whether a commit ends its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It goes on.
    Stays,
    /// It is deleted: state gone, jobs cancelled, alarms cleared, open tickets gone. Messages still go out.
    Deleted,
}

/// One change of an alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmWrite {
    /// Wake at `at`; replaces an earlier setting of the same name.
    Set {
        /// Which.
        name: AlarmName,
        /// When.
        at: Time,
    },
    /// Do not wake.
    Clear {
        /// Which.
        name: AlarmName,
    },
}

/// One change of what the object follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowWrite {
    /// Follow `source` past `after`. Following it already changes nothing.
    Follow {
        /// Whose log.
        source: ObjectKey,
        /// The last entry not wanted; 0 for all.
        after: Seq,
    },
    /// Follow it no more.
    Leave {
        /// Whose log.
        source: ObjectKey,
    },
}

/// One change of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicketWrite {
    /// The call was answered with this ticket.
    Open(Ticket),
    /// Its answer is here. Resolving one that is not open changes nothing.
    Resolve(Ticket, Resolution),
}

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// For whom.
    pub to: ObjectKey,
    /// Only for this life of the receiver, if given.
    pub to_incarnation: Option<Incarnation>,
    /// What it says.
    pub body: Json,
    /// W3C trace context of whoever caused it.
    pub trace: Option<String>,
}

/// A call's reply, kept so that the same call with the same key gets it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedReply {
    /// The client's key.
    pub key: IdempotencyKey,
    /// A digest of the request: the same key with another request is refused.
    pub request: u64,
    /// The reply.
    pub reply: Reply,
}

/// What a call is answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The answer.
    Now(Json),
    /// The answer comes later, under this ticket.
    Later(Ticket),
}

impl Commit {
    /// A commit that changes nothing yet.
    #[must_use]
    pub fn new(object: ObjectKey, fence: Fence, by: Life, at: Time, consumes: Consumes) -> Commit {
        Commit {
            object,
            fence,
            by,
            at,
            consumes,
            keyed_reply: None,
            rows: Vec::new(),
            alarms: Vec::new(),
            follows: Vec::new(),
            log: Vec::new(),
            tickets: Vec::new(),
            cancels: Vec::new(),
            jobs: Vec::new(),
            messages: Vec::new(),
            ending: Ending::Stays,
        }
    }

    /// Whether an object that did not exist comes to exist by this commit.
    #[must_use]
    pub fn keeps_state(&self) -> bool {
        self.ending == Ending::Stays
            && (self.rows.iter().any(|w| matches!(w, RowWrite::Put { .. }))
                || self.alarms.iter().any(|w| matches!(w, AlarmWrite::Set { .. }))
                || self.follows.iter().any(|w| matches!(w, FollowWrite::Follow { .. }))
                || self.tickets.iter().any(|w| matches!(w, TicketWrite::Open(_)))
                || !self.log.is_empty()
                || !self.jobs.is_empty())
    }

    /// Whether nothing at all would change: such a turn needs no write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self.consumes, Consumes::Call)
            && self.keyed_reply.is_none()
            && self.items() == 0
            && self.ending == Ending::Stays
    }

    /// Rows, alarms, follows, entries, tickets, cancellations, jobs and messages.
    #[must_use]
    pub fn items(&self) -> usize {
        self.rows.len()
            + self.alarms.len()
            + self.follows.len()
            + self.log.len()
            + self.tickets.len()
            + self.cancels.len()
            + self.jobs.len()
            + self.messages.len()
    }

    /// Bytes of what it carries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows = self.rows.iter().map(|w| match w {
            RowWrite::Put { key, row } => key.len() + row.value.len(),
            RowWrite::Delete { key } => key.len(),
        });
        let jobs = self.jobs.iter().map(NewJob::bytes);
        rows.sum::<usize>()
            + jobs.sum::<usize>()
            + self.log.iter().map(Json::len).sum::<usize>()
            + self.messages.iter().map(|m| m.body.len()).sum::<usize>()
    }

    /// Checks the bounds of a commit as a whole.
    pub fn check(&self) -> Result<(), OverBound> {
        within("items in one commit", COMMIT_ITEMS, self.items())?;
        within("bytes in one commit", COMMIT_BYTES, self.bytes())
    }
}

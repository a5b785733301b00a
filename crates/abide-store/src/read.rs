//! The reading verbs.

use crate::view::{JobFilter, JobPage, JobView, LimitView, ObjectView, QueueView, TicketView};
use crate::write::WorkerCard;
use abide_core::commit::KeyedReply;
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::event::{DueAlarm, Message, MessageId};
use abide_core::job::JobId;
use abide_core::log::{LogEntry, Seq};
use abide_core::name::{AlarmName, IdempotencyKey, Kind, LimitKey};
use abide_core::object::{Incarnation, Life, ObjectKey, Version};
use abide_core::row::Row;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_core::why::WhyFacts;

/// One question, answered from one snapshot by the [`Answer`] of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// An object's header and the parts of it that a turn wants.
    Load(Load),
    /// Objects for which messages wait that are not put off, after `after`, ordered by kind and name.
    Inboxes {
        /// The last object seen.
        after: Option<ObjectKey>,
        /// How many.
        limit: usize,
    },
    /// An object's messages after `after` that are not put off, in order of id.
    Messages {
        /// Whose.
        to: ObjectKey,
        /// The last message seen.
        after: Option<MessageId>,
        /// How many.
        limit: usize,
    },
    /// Messages that were put off and are due now, in order of due time and id.
    MessagesDue {
        /// How many.
        limit: usize,
    },
    /// Alarms that are due now, after `after`, ordered by due time, life and name.
    AlarmsDue {
        /// The last one seen.
        after: Option<AlarmCursor>,
        /// How many.
        limit: usize,
    },
    /// When something is due by itself: what an engine sleeps for.
    Timers {
        /// Alarms and put-off events due up to here are known already: only later ones count.
        after: Time,
    },
    /// Objects that follow logs with entries they have not consumed, after `after`, ordered by kind and name.
    Followers {
        /// The last one seen.
        after: Option<ObjectKey>,
        /// How many.
        limit: usize,
    },
    /// The next entries of every log that `follower` is behind on and not put off, at most `limit` of each.
    Entries {
        /// Who follows.
        follower: ObjectKey,
        /// How many of each log.
        limit: usize,
    },
    /// A log past a cursor.
    Log {
        /// Whose.
        object: ObjectKey,
        /// The last entry seen.
        after: Seq,
        /// At most this many, and fewer when they pass [`LOG_PAGE_BYTES`](abide_core::limits::LOG_PAGE_BYTES).
        limit: usize,
    },
    /// What became of a ticket.
    Ticket(Ticket),
    /// A job with its attempts.
    Job(JobId),
    /// Jobs for people.
    Jobs(JobFilter),
    /// What is known about why a job is not running.
    Why(JobId),
    /// Every queue with its policy and counts.
    Queues,
    /// Limits that have a policy or are in use, after `after`, ordered by key.
    Limits {
        /// The last key seen.
        after: Option<LimitKey>,
        /// How many.
        limit: usize,
    },
    /// Objects for people, after `after`, ordered by kind and name.
    Objects {
        /// Only of this kind.
        kind: Option<Kind>,
        /// The last one seen.
        after: Option<ObjectKey>,
        /// How many.
        limit: usize,
    },
    /// Objects for people, those first that began last.
    NewestObjects {
        /// How many.
        limit: usize,
    },
    /// One object for people.
    Object(ObjectKey),
    /// Dead letters of objects, oldest first.
    Dead {
        /// The last one seen.
        after: Option<DeadId>,
        /// How many.
        limit: usize,
    },
    /// Every known worker.
    Workers,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To [`Read::Load`].
    Load(Loaded),
    /// To [`Read::Inboxes`].
    Inboxes(Vec<ObjectKey>),
    /// To [`Read::Messages`].
    Messages(Vec<Message>),
    /// To [`Read::MessagesDue`].
    MessagesDue(Vec<Message>),
    /// To [`Read::AlarmsDue`].
    AlarmsDue(Vec<DueAlarm>),
    /// To [`Read::Timers`].
    Timers(Timers),
    /// To [`Read::Followers`].
    Followers(Vec<ObjectKey>),
    /// To [`Read::Entries`].
    Entries(Vec<FollowPage>),
    /// To [`Read::Log`]: none if the object does not exist.
    Log(Option<LogPage>),
    /// To [`Read::Ticket`]: none if there is no such ticket, or not any more.
    Ticket(Option<TicketView>),
    /// To [`Read::Job`].
    Job(Option<Box<JobView>>),
    /// To [`Read::Jobs`].
    Jobs(JobPage),
    /// To [`Read::Why`].
    Why(Option<Box<WhyFacts>>),
    /// To [`Read::Queues`], ordered by name.
    Queues(Vec<QueueView>),
    /// To [`Read::Limits`].
    Limits(Vec<LimitView>),
    /// To [`Read::Objects`] and [`Read::NewestObjects`].
    Objects(Vec<ObjectView>),
    /// To [`Read::Object`].
    Object(Option<ObjectView>),
    /// To [`Read::Dead`].
    Dead(Vec<DeadLetter>),
    /// To [`Read::Workers`], ordered by id.
    Workers(Vec<WorkerCard>),
}

/// What a turn wants of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Which object.
    pub object: ObjectKey,
    /// Which parts.
    pub wants: Vec<Want>,
    /// Also the reply that was kept under this key.
    pub reply_for: Option<IdempotencyKey>,
}

/// A part of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// One row.
    Row(String),
    /// Rows whose keys start with `prefix`, from `from` on, in bytewise order.
    Scan {
        /// How their keys start.
        prefix: String,
        /// No key before this one.
        from: Option<String>,
        /// How many.
        limit: usize,
    },
    /// When an alarm is set for.
    Alarm(AlarmName),
}

/// The first key that a scan of `prefix` from `from` on could find.
#[must_use]
pub fn first_key<'a>(prefix: &'a str, from: Option<&'a str>) -> &'a str {
    from.map_or(prefix, |from| from.max(prefix))
}

/// An object as it was in one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// None if it does not exist; then every part is empty.
    pub header: Option<Header>,
    /// One for each want.
    pub got: Vec<Got>,
    /// The reply that was kept.
    pub kept: Option<KeyedReply>,
}

/// What every turn needs of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which life.
    pub incarnation: Incarnation,
    /// Its version.
    pub version: Version,
    /// The engine's life that committed it.
    pub by: Life,
    /// The last entry of its log.
    pub log_head: Seq,
    /// The `now` of its last committed turn.
    pub turn_at: Time,
}

/// A part of an object as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    /// The row.
    Row(Option<Row>),
    /// The rows, and whether there are no more after them.
    Scan {
        /// Key and row, in order.
        rows: Vec<(String, Row)>,
        /// Whether the scan reached its end.
        end: bool,
    },
    /// When the alarm is set for.
    Alarm(Option<Time>),
}

/// Where a page of due alarms ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlarmCursor {
    /// Due time of the last one.
    pub due_at: Time,
    /// Its life.
    pub incarnation: Incarnation,
    /// Its name.
    pub name: AlarmName,
}

/// When things are due by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timers {
    /// The earliest alarm later than asked.
    pub alarm_at: Option<Time>,
    /// The earliest message or follow that was put off, later than asked.
    pub message_at: Option<Time>,
    /// The earliest scheduled job or opening limit.
    pub job_at: Option<Time>,
    /// The earliest end of a lease.
    pub lease_at: Option<Time>,
    /// The earliest end of a retention.
    pub prune_at: Option<Time>,
    /// Whether deleted lives wait to be swept.
    pub sweep: bool,
}

/// The next entries of a log for one follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowPage {
    /// The follower's life.
    pub incarnation: Incarnation,
    /// Whose log.
    pub source: ObjectKey,
    /// Which life of the source.
    pub source_incarnation: Incarnation,
    /// The follower's cursor. Back at 0 when the source begins a new life.
    pub cursor: Seq,
    /// Entries past the cursor.
    pub entries: Vec<LogEntry>,
    /// Failed turns so far.
    pub failures: u32,
    /// Unclean exits in which it was running.
    pub crashes: u32,
}

/// A log past a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The owner's life.
    pub incarnation: Incarnation,
    /// The last entry there is.
    pub head: Seq,
    /// Entries past the cursor.
    pub entries: Vec<LogEntry>,
}

//! Events: what a turn runs for.

use crate::job::JobOutcome;
use crate::json::Json;
use crate::log::{LogEntry, Seq};
use crate::name::AlarmName;
use crate::object::{Incarnation, ObjectKey, Version};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What a turn runs for, as the handler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Somebody outside asks and waits for the reply.
    Call {
        /// What they ask.
        body: Json,
    },
    /// Another object sent this.
    Message {
        /// Who; none if it came from outside.
        from: Option<Sender>,
        /// What.
        body: Json,
    },
    /// One of its alarms is due.
    Alarm {
        /// Which.
        name: AlarmName,
        /// When it was set for.
        at: Time,
    },
    /// A job that it enqueued is over.
    Outcome(JobOutcome),
    /// A log that it follows has new entries.
    Entries {
        /// Whose log.
        source: ObjectKey,
        /// Which life of the source.
        source_incarnation: Incarnation,
        /// The entries, in order, without a gap to those before.
        entries: Vec<LogEntry>,
    },
}

/// Who sent a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The object.
    pub object: ObjectKey,
    /// In which of its lives: answer to this one, and a later life does not get what was not meant for it.
    pub incarnation: Incarnation,
}

/// Names one message. Rises with every message of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub i64);

/// A message that waits in the store for the turn that consumes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// For whom.
    pub to: ObjectKey,
    /// Only for this life of the receiver, if given.
    pub to_incarnation: Option<Incarnation>,
    /// Who sent it; none from outside and for outcomes.
    pub from: Option<Sender>,
    /// What it says.
    pub body: MessageBody,
    /// W3C trace context of whoever caused it to be sent; none for outcomes.
    pub trace: Option<String>,
    /// Failed turns so far.
    pub failures: u32,
    /// Unclean exits in which it was running.
    pub crashes: u32,
}

/// What a message carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageBody {
    /// What another object sent.
    Sent(Json),
    /// What became of a job.
    Outcome(JobOutcome),
}

/// An alarm that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueAlarm {
    /// Whose.
    pub object: ObjectKey,
    /// Which life set it.
    pub incarnation: Incarnation,
    /// Which alarm.
    pub name: AlarmName,
    /// When it was set for.
    pub at: Time,
    /// When it is to run: `at`, or later after a failed turn.
    pub due_at: Time,
    /// The version that the setting commit left behind: tells one setting from the next.
    pub set_version: Version,
    /// Failed turns so far.
    pub failures: u32,
    /// Unclean exits in which it was running.
    pub crashes: u32,
}

/// What the commit of a turn takes away: the durable event that it ran for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consumes {
    /// A call: nothing durable.
    Call,
    /// This message.
    Message(MessageId),
    /// This setting of an alarm.
    Alarm {
        /// Which alarm.
        name: AlarmName,
        /// Which setting of it.
        set_version: Version,
    },
    /// The entries of a followed log up to `to`.
    Entries {
        /// Whose log.
        source: ObjectKey,
        /// Which life of the source.
        source_incarnation: Incarnation,
        /// The cursor that the turn started from.
        from: Seq,
        /// The cursor that it leaves.
        to: Seq,
    },
}

/// Names a durable event in the store, for what happens to it outside of a commit: a failed turn, a crash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventRef {
    /// A message.
    Message(MessageId),
    /// One setting of an alarm.
    Alarm {
        /// Whose, in which life.
        incarnation: Incarnation,
        /// Which.
        name: AlarmName,
        /// Which setting.
        set_version: Version,
    },
    /// A follower's next page of a log.
    Entries {
        /// The follower's life.
        incarnation: Incarnation,
        /// Whose log.
        source: ObjectKey,
    },
}

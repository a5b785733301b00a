//! Objects as a service writes them: typed handlers, and their erased form that the engine runs.

use crate::halt::{Halt, Refusal, RefusalClass, TurnError};
use crate::turn::Turn;
use abide_core::commit::Reply;
use abide_core::event::{Event, Sender};
use abide_core::job::JobOutcome;
use abide_core::json::Json;
use abide_core::log::LogEntry;
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A kind of object: what it does for each sort of event. Synchronous and without I/O: everything outside is a job.
pub trait Object: Send + Sync + 'static {
    /// The kind's name.
    const KIND: &'static str;
    /// What callers ask.
    type Call: DeserializeOwned;
    /// What they get.
    type Reply: Serialize;
    /// What other objects send. [`Nothing`] if none do.
    type Message: DeserializeOwned;
    /// What it says no with. [`NoRefusal`] if it never does.
    type Refusal: Refusal;

    /// Somebody outside asks.
    fn call(&self, turn: &mut Turn<'_>, call: Self::Call)
    -> Result<Answer<Self::Reply>, Halt<Self::Refusal>>;

    /// Another object sent something.
    fn message(
        &self,
        _turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        _message: Self::Message,
    ) -> Result<(), Halt<Self::Refusal>> {
        Err(TurnError::Unexpected("messages").into())
    }

    /// One of its alarms is due.
    fn alarm(&self, _turn: &mut Turn<'_>, _name: &str, _at: Time) -> Result<(), Halt<Self::Refusal>> {
        Err(TurnError::Unexpected("alarms").into())
    }

    /// One of its jobs is over.
    fn outcome(&self, _turn: &mut Turn<'_>, _outcome: &JobOutcome) -> Result<(), Halt<Self::Refusal>> {
        Err(TurnError::Unexpected("outcomes of jobs").into())
    }

    /// A log that it follows has new entries.
    fn entries(&self, _turn: &mut Turn<'_>, _entries: &Entries<'_>) -> Result<(), Halt<Self::Refusal>> {
        Err(TurnError::Unexpected("entries of logs").into())
    }

    /// Keys of rows that the event's turn will read: they are loaded together with the object, or, if that is in memory, with
    /// the first row of its that is not.
    fn prefetch(&self, _event: &Event) -> Vec<String> {
        Vec::new()
    }

    /// Whether calls may come from outside over HTTP.
    fn exposure(&self) -> Exposure {
        Exposure::Inside
    }
}

/// Who may call a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Only the program itself.
    Inside,
    /// Whoever reaches the server's object route, too.
    Outside,
}

/// New entries of a followed log.
#[derive(Debug)]
pub struct Entries<'a> {
    /// Whose log.
    pub source: &'a ObjectKey,
    /// Which life of the source: another one begins its log again at 1.
    pub source_incarnation: Incarnation,
    /// In order, without a gap to those before.
    pub entries: &'a [LogEntry],
}

/// What a call is answered with.
#[derive(Debug)]
pub enum Answer<R> {
    /// The answer.
    Now(R),
    /// It comes later, when a turn resolves this ticket.
    Later(Ticket),
}

impl<R> From<R> for Answer<R> {
    fn from(reply: R) -> Answer<R> {
        Answer::Now(reply)
    }
}

/// For kinds that no object sends messages to.
#[derive(Debug, Deserialize)]
pub enum Nothing {}

/// For kinds that never refuse.
#[derive(Debug)]
pub enum NoRefusal {}

impl fmt::Display for NoRefusal {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Refusal for NoRefusal {
    fn code(&self) -> &'static str {
        match *self {}
    }
}

/// How a run of a handler stopped short, erased.
#[derive(Debug)]
pub enum Stop {
    /// Something is to be loaded.
    Miss,
    /// The handler says no.
    Refused(Refused),
    /// The turn cannot go on.
    Failed(TurnError),
}

/// A refusal as the caller gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The code.
    pub code: &'static str,
    /// What sort.
    pub class: RefusalClass,
    /// The sentence.
    pub message: String,
    /// More about it, for programs.
    pub details: Option<Json>,
}

/// A kind of object, erased: what the engine runs.
pub trait Handler: Send + Sync {
    /// Runs one event. The reply counts for calls only.
    fn run(&self, turn: &mut Turn<'_>, event: &Event) -> Result<Reply, Stop>;
    /// Keys to load together with the object, or with the first row that a turn misses.
    fn prefetch(&self, event: &Event) -> Vec<String>;
    /// Who may call it.
    fn exposure(&self) -> Exposure;
}

/// A typed object as a [`Handler`].
pub(crate) struct Typed<O>(pub(crate) O);

impl<O: Object> Handler for Typed<O> {
    fn run(&self, turn: &mut Turn<'_>, event: &Event) -> Result<Reply, Stop> {
        let done = |()| Reply::Now(Json::null());
        match event {
            Event::Call { body } => {
                let call = body.decode().map_err(|e| {
                    Stop::Refused(Refused {
                        code: "bad_request",
                        class: RefusalClass::Invalid,
                        message: e.0,
                        details: None,
                    })
                })?;
                match self.0.call(turn, call).map_err(erase)? {
                    Answer::Now(reply) => Json::encode(&reply).map(Reply::Now).map_err(|e| {
                        Stop::Failed(TurnError::BadValue { what: "the reply".into(), reason: e.0 })
                    }),
                    Answer::Later(ticket) => Ok(Reply::Later(ticket)),
                }
            }
            Event::Message { from, body } => {
                let message = body
                    .decode()
                    .map_err(|e| Stop::Failed(TurnError::BadInput { what: "the message", reason: e.0 }))?;
                self.0.message(turn, from.as_ref(), message).map(done).map_err(erase)
            }
            Event::Alarm { name, at } => self.0.alarm(turn, name.as_str(), *at).map(done).map_err(erase),
            Event::Outcome(outcome) => self.0.outcome(turn, outcome).map(done).map_err(erase),
            Event::Entries { source, source_incarnation, entries } => {
                let entries = Entries { source, source_incarnation: *source_incarnation, entries };
                self.0.entries(turn, &entries).map(done).map_err(erase)
            }
        }
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        self.0.prefetch(event)
    }

    fn exposure(&self) -> Exposure {
        self.0.exposure()
    }
}

fn erase<E: Refusal>(halt: Halt<E>) -> Stop {
    match halt {
        Halt::Miss(_) => Stop::Miss,
        Halt::Refused(refusal) => Stop::Refused(Refused {
            code: refusal.code(),
            class: refusal.class(),
            message: refusal.to_string(),
            details: refusal.details(),
        }),
        Halt::Failed(error) => Stop::Failed(error),
    }
}

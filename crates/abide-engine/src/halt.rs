//! Why a turn stopped before its end.

use abide_core::job::BadJob;
use abide_core::json::{BadJson, Json};
use abide_core::limits::OverBound;
use abide_core::name::BadName;
use std::fmt;

/// Why a handler gave up its turn. `?` makes one from a read that missed, a bound that was passed, or a refusal.
#[derive(Debug)]
pub enum Halt<E> {
    /// A part of the object is not in memory. The engine loads it and runs the turn again; handlers pass this on.
    Miss(Miss),
    /// The handler says no: the caller gets the refusal, and nothing is committed.
    Refused(E),
    /// The turn cannot go on.
    Failed(TurnError),
}

/// A read that could not be answered from memory. What is missing is noted in the turn.
#[derive(Debug)]
pub struct Miss(pub(crate) ());

/// A handler's own error: a closed set of codes, each with a sentence.
pub trait Refusal: fmt::Display + fmt::Debug {
    /// The code: short, stable, snake case.
    fn code(&self) -> &'static str;

    /// What sort of refusal it is.
    fn class(&self) -> RefusalClass {
        RefusalClass::Conflict
    }

    /// More about it, for programs.
    fn details(&self) -> Option<Json> {
        None
    }
}

/// Sorts of refusals: what the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalClass {
    /// The request is wrong: change it.
    Invalid,
    /// What it asks about does not exist.
    NotFound,
    /// It does not fit the object's state.
    Conflict,
    /// The caller may not.
    Forbidden,
    /// Too much of it: later.
    TooMany,
}

/// A turn that cannot go on. On a call it is the reply; on anything else the turn is tried again later.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// Something is larger than its bound.
    #[error(transparent)]
    OverBound(#[from] OverBound),
    /// A name cannot be used.
    #[error(transparent)]
    BadName(#[from] BadName),
    /// A row cannot be read as what the handler expects.
    #[error("row {key:?} cannot be read: {reason}")]
    BadRow {
        /// Which row.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// A row was written by a newer version of the handler. It is left alone.
    #[error("row {key:?} has schema {found}, and this program knows {known}: run a newer one")]
    NewerRow {
        /// Which row.
        key: String,
        /// Its schema.
        found: u16,
        /// The newest this program knows.
        known: u16,
    },
    /// A value could not be written as JSON.
    #[error("{what} cannot be written as JSON: {reason}")]
    BadValue {
        /// Which value.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// What came in cannot be read as what the handler takes.
    #[error("{what} cannot be read: {reason}")]
    BadInput {
        /// What came in.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The handler has no arm for this sort of event.
    #[error("this kind of object takes no {0}")]
    Unexpected(&'static str),
    /// Two things in one turn exclude each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The turn needed more loads than it may.
    #[error("the turn asked for parts of the object {0} times")]
    TooManyMisses(u32),
    /// The handler panicked.
    #[error("the handler panicked: {0}")]
    Panicked(String),
}

impl<E> From<Miss> for Halt<E> {
    fn from(miss: Miss) -> Halt<E> {
        Halt::Miss(miss)
    }
}

impl<E> From<TurnError> for Halt<E> {
    fn from(error: TurnError) -> Halt<E> {
        Halt::Failed(error)
    }
}

impl<E> From<BadName> for Halt<E> {
    fn from(error: BadName) -> Halt<E> {
        Halt::Failed(error.into())
    }
}

impl<E> From<BadJson> for Halt<E> {
    fn from(error: BadJson) -> Halt<E> {
        Halt::Failed(TurnError::BadInput { what: "a JSON value", reason: error.0 })
    }
}

impl<E> From<BadJob> for Halt<E> {
    fn from(error: BadJob) -> Halt<E> {
        match error {
            BadJob::Name(error) => error.into(),
            BadJob::Json(error) => error.into(),
        }
    }
}

impl<E: Refusal> From<E> for Halt<E> {
    fn from(refusal: E) -> Halt<E> {
        Halt::Refused(refusal)
    }
}

/// A read of a turn: missed, or failed.
#[derive(Debug)]
pub enum ReadHalt {
    /// Not in memory.
    Miss(Miss),
    /// There, but not usable.
    Failed(TurnError),
}

impl<E> From<ReadHalt> for Halt<E> {
    fn from(halt: ReadHalt) -> Halt<E> {
        match halt {
            ReadHalt::Miss(miss) => Halt::Miss(miss),
            ReadHalt::Failed(error) => Halt::Failed(error),
        }
    }
}

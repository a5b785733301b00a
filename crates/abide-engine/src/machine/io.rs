//! What goes into the machine and what comes out.

use crate::call::{Call, CallError};
use crate::meter::TurnEnd;
use abide_core::commit::Reply;
use abide_core::event::EventRef;
use abide_core::job::{Finish, JobId, Lease, LeaseRef};
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_core::name::{JobKind, Kind, QueueName};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::ticket::{Resolution, Ticket};
use abide_core::time::Time;
use abide_store::{Answer, Batch, Read, StoreError, Write, Written};

/// Names a call until its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// Names a write that somebody outside asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId(pub u64);

/// Names a write on its way to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteToken(pub u64);

/// Names a read on its way to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReadToken(pub u64);

/// What happens to the machine.
#[derive(Debug)]
pub enum Input {
    /// It begins. `crashed` was running when the last engine on this store died.
    Start {
        /// The event, if one was.
        crashed: Option<EventRef>,
    },
    /// Somebody calls, perhaps in a trace (W3C trace context).
    Call(CallId, Call, Option<String>),
    /// Somebody wants a write done.
    Ask(AskId, Write),
    /// Writes came back, in the order in which they went out.
    Wrote {
        /// Which.
        tokens: Vec<WriteToken>,
        /// What they were, in the same order.
        writes: Vec<Write>,
        /// How it went.
        result: Result<Batch, StoreError>,
    },
    /// A read came back.
    Answered {
        /// Which.
        token: ReadToken,
        /// How it went.
        result: Result<Answer, StoreError>,
    },
    /// The store was opened again after an ambiguous write.
    Reopened,
    /// A job of this process ended its attempt.
    Ended {
        /// Which.
        lease: LeaseRef,
        /// How.
        finish: Finish,
    },
    /// A job of this process says how far it is.
    Progressed {
        /// Which.
        lease: LeaseRef,
        /// What it says.
        note: Json,
    },
    /// A job of this process is through with what its limit keys guard.
    Vacated {
        /// Which.
        lease: LeaseRef,
    },
    /// Wall time and elapsed time disagree by this much more than before.
    ClockJumped {
        /// By how much.
        by_ms: i64,
    },
    /// No new work: the engine is to stop.
    Drain,
}

/// What the machine wants done.
#[derive(Debug)]
pub enum Output {
    /// Write this. Writes are applied in the order in which they come out.
    Write(WriteToken, Write),
    /// Read this.
    Read(ReadToken, Read),
    /// Open the store again; writes that went out before and have not come back must fail.
    Reopen,
    /// Answer a call.
    Reply(CallId, Result<Reply, CallError>),
    /// Answer a write that was asked for.
    Told(AskId, Result<Written, StoreError>),
    /// Run a job in this process, in the pool with this index.
    Run {
        /// Which pool.
        pool: usize,
        /// The job.
        lease: Lease,
    },
    /// Tell a job of this process to stop.
    Stop(JobId),
    /// Something people or live readers may want to know.
    Notice(Notice),
}

/// Something happened. All of it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A log grew to this head.
    Log(ObjectKey, Incarnation, Seq),
    /// A ticket was resolved.
    Ticket(Ticket, Resolution),
    /// Jobs of this queue and kind may be claimed.
    Ready(QueueName, JobKind),
    /// At this time a job becomes ready or a limit opens.
    ReadyAt(Time),
    /// A turn failed.
    TurnFailed {
        /// Whose.
        object: ObjectKey,
        /// Why.
        error: String,
    },
    /// An event became a dead letter.
    DeadLetter {
        /// Whose.
        object: ObjectKey,
        /// Why.
        error: String,
    },
    /// A turn took long.
    SlowTurn {
        /// Whose.
        object: ObjectKey,
        /// How long.
        took_ms: i64,
    },
    /// The store cannot be written for now.
    StoreFailed(StoreError),
    /// The store can be written again.
    StoreRecovered,
    /// The clock jumped, and live leases were granted anew.
    ClockJumped {
        /// By how much.
        by_ms: i64,
    },
    /// Messages wait for a kind that is not registered.
    NoHandler(ObjectKey),
}

/// Sees each run of a handler from outside of the machine: how long it took, and what was running if it never ends.
pub trait Witness: Send {
    /// A run begins, for this durable event or for a call.
    fn begins(&mut self, event: Option<&EventRef>);
    /// It ended. Gives the milliseconds it took.
    fn ended(&mut self) -> i64;
    /// The run that ended was a whole turn of an object of this kind; an alarm's ran so late.
    fn was_turn(&mut self, _: &Kind, _: TurnEnd, _late_ms: Option<i64>) {}
}

/// Sees nothing.
#[derive(Debug, Default)]
pub struct NoWitness;

impl Witness for NoWitness {
    fn begins(&mut self, _: Option<&EventRef>) {}
    fn ended(&mut self) -> i64 {
        0
    }
}

//! What can happen in the world, at its time.

use crate::client::Errand;
use crate::node::NodeLife;
use crate::outside::Act;
use abide_core::event::EventRef;
use abide_core::time::Time;
use abide_engine::machine::{Input, ReadToken, WriteToken};
use abide_store::{Read, Write};

/// One thing on the agenda.
#[derive(Debug)]
pub(crate) enum Happening {
    /// Clients begin the next piece of work.
    Step,
    /// Faults stop.
    Calm,
    /// Somebody looks whether everything is done.
    Look,
    /// Something reaches an engine.
    Arrive(NodeLife, Box<Input>),
    /// An engine runs.
    Run(NodeLife),
    /// An engine's writer takes what waits for it.
    Gather(NodeLife),
    /// A batch reaches the store.
    Apply(NodeLife, BatchUnderWay),
    /// A read reaches the store.
    Read(NodeLife, ReadUnderWay),
    /// The store is opened again.
    Reopen(NodeLife),
    /// An engine starts.
    Start { node: usize, crashed: Option<EventRef> },
    /// An engine that was told to stop has stopped.
    Drained(NodeLife),
    /// An engine goes on after standing still.
    Resume(NodeLife),
    /// A client sends a call, for the first time or again.
    Send(Box<Errand>),
    /// A client stops waiting for the reply to a call.
    Patience(Box<Errand>),
    /// A worker outside acts.
    Outside(Box<Act>),
}

/// Writes on their way.
#[derive(Debug)]
pub(crate) struct BatchUnderWay {
    pub(crate) now: Time,
    pub(crate) tokens: Vec<WriteToken>,
    pub(crate) writes: Vec<Write>,
}

/// A read on its way.
#[derive(Debug)]
pub(crate) struct ReadUnderWay {
    pub(crate) now: Time,
    pub(crate) token: ReadToken,
    pub(crate) read: Read,
}

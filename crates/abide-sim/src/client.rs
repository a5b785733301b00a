//! Clients: they call, wait, lose patience and call again under the same key.

use crate::check::Promise;
use crate::happening::Happening;
use crate::node::NodeLife;
use crate::outcome::{Violation, holds};
use crate::world::World;
use abide_core::commit::Reply;
use abide_engine::machine::{CallId, Input};
use abide_engine::{Call, CallError};
use std::collections::BTreeMap;

/// A call that a client wants made.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    pub(crate) call: Call,
    pub(crate) promise: Promise,
    /// How often it may still go out.
    pub(crate) sends_left: u32,
    /// The call it went out as last.
    pub(crate) last: Option<CallId>,
}

/// Calls under way.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    next: u64,
    keys: u64,
    waiting: BTreeMap<CallId, (NodeLife, Errand)>,
}

impl Clients {
    /// A number for an idempotency key that nobody has used.
    pub(crate) fn next_key(&mut self) -> u64 {
        self.keys += 1;
        self.keys
    }

    /// Somebody who waits for a reply.
    pub(crate) fn waiting(&self) -> Option<String> {
        let (id, (of, errand)) = self.waiting.first_key_value()?;
        Some(format!("call {} to n{} has no reply: {}", id.0, of.node, errand.call.object))
    }

    pub(crate) fn check_answered(&self) -> Result<(), Violation> {
        let waiting = self.waiting();
        holds("every call is answered", waiting.is_none(), || format!("{waiting:?}"))
    }
}

impl World<'_> {
    pub(crate) fn send(&mut self, mut errand: Errand) {
        let Some(of) = self.some_node() else {
            if errand.call.key.is_some() {
                self.happen_in(200, Happening::Send(Box::new(errand)));
            }
            return;
        };
        self.calls.sent(&errand.promise);
        self.clients.next += 1;
        let id = CallId(self.clients.next);
        errand.sends_left = errand.sends_left.saturating_sub(1);
        errand.last = Some(id);
        let delay = self.delays.between(0, 10);
        let input = Input::Call(id, errand.call.clone(), None);
        self.happen_in(delay, Happening::Arrive(of, Box::new(input)));
        if errand.call.key.is_some() {
            let patience = *self.delays.pick(&[0, 5, 40, 3_000, 3_000]);
            self.happen_in(patience, Happening::Patience(Box::new(errand.clone())));
        }
        self.clients.waiting.insert(id, (of, errand));
    }

    /// No reply yet: calls again under the same key, and takes whichever reply comes.
    pub(crate) fn lose_patience(&mut self, errand: Errand) {
        let waits = errand.last.is_some_and(|id| self.clients.waiting.contains_key(&id));
        if waits && errand.sends_left > 0 {
            self.send(errand);
        }
    }

    pub(crate) fn replied(
        &mut self,
        of: NodeLife,
        id: CallId,
        answer: Result<Reply, CallError>,
    ) -> Result<(), Violation> {
        let Some((_, errand)) = self.clients.waiting.remove(&id) else {
            return holds("a call is answered once", false, || {
                format!("n{} answered call {} again", of.node, id.0)
            });
        };
        let error = match answer {
            Ok(reply) => {
                self.counts.one("call: answered");
                if errand.sends_left < 3 && errand.call.key.is_some() {
                    self.counts.one("call: repeated under its key");
                }
                return self.calls.answered(&errand.promise, &reply);
            }
            Err(error) => error,
        };
        let (word, changed_nothing, may_help) = match &error {
            CallError::Refused(_) => ("call: refused", true, false),
            CallError::Failed(_) => ("call: failed", true, true),
            CallError::Overloaded { .. } => ("call: overloaded", true, true),
            CallError::OutcomeUnknown => ("call: outcome unknown", false, true),
            CallError::Store(_) => ("call: failed with the store", true, true),
            CallError::Stopping => ("call: engine was stopping", true, true),
            CallError::UnknownKind(_) | CallError::KeyReused(_) => {
                return holds("calls are understood", false, || error.to_string());
            }
        };
        self.counts.one(word);
        if changed_nothing {
            self.calls.failed(&errand.promise);
        }
        if may_help && errand.call.key.is_some() && errand.sends_left > 0 {
            self.happen_in(100, Happening::Send(Box::new(errand)));
        }
        Ok(())
    }

    /// An engine died: nobody will be answered by it.
    pub(crate) fn lost(&mut self, of: NodeLife) {
        let waiting = std::mem::take(&mut self.clients.waiting);
        let (lost, waiting) = waiting.into_iter().partition(|(_, (at, _))| *at == of);
        self.clients.waiting = waiting;
        let lost: BTreeMap<CallId, (NodeLife, Errand)> = lost;
        for (_, (_, errand)) in lost {
            if errand.call.key.is_some() && errand.sends_left > 0 {
                self.happen_in(150, Happening::Send(Box::new(errand)));
            }
        }
        self.lost_outside(of);
    }
}

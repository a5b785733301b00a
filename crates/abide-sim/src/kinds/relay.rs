//! Relays: objects that keep nothing. What they are called with goes on as a message.

use super::counter::{Addition, Counter};
use abide_core::object::ObjectKey;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Turn, TurnError};
use serde::{Deserialize, Serialize};

pub(crate) struct Relay;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RelayCall {
    pub(crate) counter: String,
    pub(crate) addition: Addition,
}

impl Object for Relay {
    const KIND: &'static str = "relay";
    type Call = RelayCall;
    type Reply = bool;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: RelayCall) -> Result<Answer<bool>, Halt<NoRefusal>> {
        let counter = ObjectKey::new(Counter::KIND, call.counter).map_err(TurnError::from)?;
        turn.send(&counter, &call.addition)?;
        Ok(true.into())
    }
}

//! Scribes: objects with a log whose entries say their own place.

use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Turn};
use serde::{Deserialize, Serialize};

pub(crate) struct Scribe;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ScribeCall {
    Append { count: u32 },
    Delete,
}

impl Object for Scribe {
    const KIND: &'static str = "scribe";
    type Call = ScribeCall;
    type Reply = i64;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, call: ScribeCall) -> Result<Answer<i64>, Halt<NoRefusal>> {
        match call {
            ScribeCall::Append { count } => {
                for _ in 0..count {
                    let place = turn.log_head().0 + 1;
                    turn.append(&place)?;
                }
                Ok(turn.log_head().0.into())
            }
            ScribeCall::Delete => {
                turn.delete_self();
                Ok(0.into())
            }
        }
    }
}

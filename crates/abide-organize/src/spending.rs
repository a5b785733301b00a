//! What a batch has cost, over all its parts.

use abide_core::event::Sender;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, NoRefusal, Object, Turn};
use serde::{Deserialize, Serialize};

const TOTAL: &str = "total";
const FORGET: &str = "forget";

/// `organizer-spend/{batch_id}`: adds up what the parts of a batch cost, so that a cap holds for all of them.
#[derive(Debug, Clone, Copy)]
pub struct Spending {
    /// How long it is kept after the last addition.
    pub retain_ms: i64,
}

/// What is asked: the total, in millionths.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Total;

/// What an organizer sends.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Add {
    /// Millionths.
    pub micros: u64,
}

impl Object for Spending {
    const KIND: &'static str = "organizer-spend";
    type Call = Total;
    type Reply = u64;
    type Message = Add;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, _: Total) -> Result<Answer<u64>, Halt<NoRefusal>> {
        Ok(turn.get::<u64>(TOTAL)?.unwrap_or(0).into())
    }

    fn message(&self, turn: &mut Turn<'_>, _: Option<&Sender>, add: Add) -> Result<(), Halt<NoRefusal>> {
        let total = turn.get::<u64>(TOTAL)?.unwrap_or(0).saturating_add(add.micros);
        turn.put(TOTAL, &total)?;
        Ok(turn.set_alarm(FORGET, turn.now().plus_ms(self.retain_ms))?)
    }

    fn alarm(&self, turn: &mut Turn<'_>, _: &str, _: Time) -> Result<(), Halt<NoRefusal>> {
        turn.delete_self();
        Ok(())
    }
}

//! What a batch has taken, over all its parts.

use crate::paid::Paid;
use abide_core::event::Sender;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, NoRefusal, Object, Record, Turn};
use serde::{Deserialize, Serialize};

/// Everything so far.
const TOTAL: &str = "paid";
const FORGET: &str = "forget";

/// `organizer-spend/{batch_id}`: adds up what the parts of a batch took: a cap holds for all of them, and people are told.
#[derive(Debug, Clone, Copy)]
pub struct Spending {
    /// How long it is kept after the last addition.
    pub retain_ms: i64,
}

/// What is asked: everything so far.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Total;

/// What an organizer sends.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Add {
    /// What a question took.
    pub paid: Paid,
}

impl Record for Paid {}

impl Object for Spending {
    const KIND: &'static str = "organizer-spend";
    type Call = Total;
    type Reply = Paid;
    type Message = Add;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, _: Total) -> Result<Answer<Paid>, Halt<NoRefusal>> {
        Ok(turn.get::<Paid>(TOTAL)?.unwrap_or_default().into())
    }

    fn message(&self, turn: &mut Turn<'_>, _: Option<&Sender>, add: Add) -> Result<(), Halt<NoRefusal>> {
        let total = turn.get::<Paid>(TOTAL)?.unwrap_or_default().plus(add.paid);
        turn.put(TOTAL, &total)?;
        Ok(turn.set_alarm(FORGET, turn.now().plus_ms(self.retain_ms))?)
    }

    fn alarm(&self, turn: &mut Turn<'_>, _: &str, _: Time) -> Result<(), Halt<NoRefusal>> {
        turn.delete_self();
        Ok(())
    }
}

//! What a batch has taken, over all its parts, and what is set aside for questions that are being asked.
//!
//! ```text
//! Reserve ──► set aside ──► asked ──► Add: paid, and no longer set aside
//!                             └─► nobody says what it took ──► counts as spent in full, for the cap
//! ```

use crate::paid::Paid;
use abide_core::event::Sender;
use abide_core::time::Time;
use abide_engine::{Answer, Halt, NoRefusal, Object, Record, Turn};
use serde::{Deserialize, Serialize};

/// Everything so far.
const TOTAL: &str = "paid";
/// What questions may have cost at most of which nobody knows what they took.
const LOST: &str = "lost";
/// What is set aside, by question.
const HELD: &str = "held/";
const FORGET: &str = "forget";
/// Questions that are asked at a time, at most.
const AT_A_TIME: usize = 1_000;
/// After so long nobody says any more what a question took.
const HELD_MS: i64 = 60 * 60 * 1_000;
/// As often as one question is asked at most.
const REQUESTS: u64 = 3;

/// `organizer-spend/{batch_id}`: adds up what the parts of a batch took: a cap holds for all of them, and people are told.
#[derive(Debug, Clone, Copy)]
pub struct Spending {
    /// How long it is kept after the last addition.
    pub retain_ms: i64,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// What the batch has taken so far.
    Total,
    /// Set something aside for a question.
    Reserve {
        /// Which: what was set aside for it before, and never said what it took, counts as spent.
        question: String,
        /// What one request may cost.
        least_micros: u64,
        /// What the batch may.
        cap_micros: u64,
    },
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Ask::Total`].
    Total(Paid),
    /// So much is set aside: not more may be spent.
    Granted {
        /// How much.
        allowance_micros: u64,
    },
    /// Others are being asked, and may leave enough.
    Wait,
    /// The batch may not cost so much.
    Over {
        /// What it has cost, or may have.
        spent_micros: u64,
    },
}

/// What an organizer sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Add {
    /// What a question took.
    pub paid: Paid,
    /// The question for which something was set aside, if it was.
    #[serde(default)]
    pub question: Option<String>,
    /// What requests may have cost at most that were never answered.
    #[serde(default)]
    pub unanswered_micros: u64,
}

impl Record for Paid {}

/// What is set aside for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    micros: u64,
    until: Time,
}

impl Record for Held {}

impl Object for Spending {
    const KIND: &'static str = "organizer-spend";
    type Call = Ask;
    type Reply = Reply;
    type Message = Add;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<Reply>, Halt<NoRefusal>> {
        let reply = match ask {
            Ask::Total => Reply::Total(turn.get::<Paid>(TOTAL)?.unwrap_or_default()),
            Ask::Reserve { question, least_micros, cap_micros } => {
                turn.set_alarm(FORGET, turn.now().plus_ms(self.retain_ms))?;
                reserve(turn, &question, least_micros, cap_micros)?
            }
        };
        Ok(reply.into())
    }

    fn message(&self, turn: &mut Turn<'_>, _: Option<&Sender>, add: Add) -> Result<(), Halt<NoRefusal>> {
        let total = turn.get::<Paid>(TOTAL)?.unwrap_or_default().plus(add.paid);
        turn.put(TOTAL, &total)?;
        if let Some(question) = &add.question {
            turn.delete(&format!("{HELD}{question}"));
            lose(turn, add.unanswered_micros)?;
        }
        Ok(turn.set_alarm(FORGET, turn.now().plus_ms(self.retain_ms))?)
    }

    fn alarm(&self, turn: &mut Turn<'_>, _: &str, _: Time) -> Result<(), Halt<NoRefusal>> {
        turn.delete_self();
        Ok(())
    }
}

fn lose(turn: &mut Turn<'_>, micros: u64) -> Result<(), Halt<NoRefusal>> {
    if micros > 0 {
        let lost = turn.get::<u64>(LOST)?.unwrap_or(0).saturating_add(micros);
        turn.put(LOST, &lost)?;
    }
    Ok(())
}

fn reserve(
    turn: &mut Turn<'_>,
    question: &str,
    least_micros: u64,
    cap_micros: u64,
) -> Result<Reply, Halt<NoRefusal>> {
    let now = turn.now();
    let key = format!("{HELD}{question}");
    let mut held = 0_u64;
    for (other, aside) in turn.scan::<Held>(HELD, None, AT_A_TIME)? {
        if other == key || aside.until <= now {
            turn.delete(&other);
            lose(turn, aside.micros)?;
        } else {
            held = held.saturating_add(aside.micros);
        }
    }
    let paid = turn.get::<Paid>(TOTAL)?.unwrap_or_default().cost_micros;
    let spent_micros = paid.saturating_add(turn.get::<u64>(LOST)?.unwrap_or(0));
    if spent_micros.saturating_add(least_micros) > cap_micros {
        return Ok(Reply::Over { spent_micros });
    }
    let free = cap_micros.saturating_sub(spent_micros.saturating_add(held));
    if free < least_micros {
        return Ok(Reply::Wait);
    }
    let allowance_micros = free.min(least_micros.saturating_mul(REQUESTS));
    turn.put(&key, &Held { micros: allowance_micros, until: now.plus_ms(HELD_MS) })?;
    Ok(Reply::Granted { allowance_micros })
}

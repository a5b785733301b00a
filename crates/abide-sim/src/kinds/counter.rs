//! Counters: every addition leaves a tag, so that additions that were lost or done twice can be told.

use super::strike;
use abide_core::event::Sender;
use abide_engine::halt::RefusalClass;
use abide_engine::{Answer, Halt, Object, Refusal, Turn};
use serde::{Deserialize, Serialize};
use std::fmt;

pub(crate) struct Counter;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum CounterCall {
    /// Adds and leaves the tag.
    Add { by: i64, tag: String, trouble: u8 },
    /// What it counts.
    Read,
    /// Refuses after it has written.
    Refuse,
    /// Fails for sure.
    Fail,
}

/// An addition that comes by message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Addition {
    pub(crate) by: i64,
    pub(crate) tag: String,
}

/// It says no.
#[derive(Debug)]
pub(crate) struct Unwilling;

impl fmt::Display for Unwilling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it does not want to")
    }
}

impl Refusal for Unwilling {
    fn code(&self) -> &'static str {
        "unwilling"
    }

    fn class(&self) -> RefusalClass {
        RefusalClass::Conflict
    }
}

impl Object for Counter {
    const KIND: &'static str = "counter";
    type Call = CounterCall;
    type Reply = i64;
    type Message = Addition;
    type Refusal = Unwilling;

    fn call(&self, turn: &mut Turn<'_>, call: CounterCall) -> Result<Answer<i64>, Halt<Unwilling>> {
        let count = turn.get::<i64>("count")?.unwrap_or(0);
        match call {
            CounterCall::Add { by, tag, trouble } => {
                let count = add(turn, by, &tag)?;
                strike(turn, trouble)?;
                Ok(count.into())
            }
            CounterCall::Read => Ok(count.into()),
            CounterCall::Refuse => {
                turn.put("count", &(count + 1_000_000))?;
                Err(Unwilling.into())
            }
            CounterCall::Fail => {
                turn.put("count", &(count + 1_000_000))?;
                strike(turn, 100)?;
                Ok(count.into())
            }
        }
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _: Option<&Sender>,
        Addition { by, tag }: Addition,
    ) -> Result<(), Halt<Unwilling>> {
        add(turn, by, &tag).map(drop)
    }
}

/// Adds, leaves the tag and gives the count.
fn add(turn: &mut Turn<'_>, by: i64, tag: &str) -> Result<i64, Halt<Unwilling>> {
    let count = turn.get::<i64>("count")?.unwrap_or(0) + by;
    let tag = format!("tag/{tag}");
    let times = turn.get::<i64>(&tag)?.unwrap_or(0);
    turn.put("count", &count)?;
    turn.put(&tag, &(times + 1))?;
    Ok(count)
}

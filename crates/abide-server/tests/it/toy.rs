//! Kinds of objects that the tests call.

use abide_core::job::{JobOutcome, NewJob};
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName};
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_engine::object::{Exposure, NoRefusal};
use abide_engine::{Answer, Halt, Nothing, Object, Refusal, RefusalClass, Turn};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt;

/// An object that does what it is told.
pub(crate) struct Toy;

/// What it is told.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Do {
    /// Answers the same.
    Echo(Value),
    /// Adds to a number and gives it.
    Add(i64),
    /// Puts rows.
    Put(Vec<String>),
    /// Puts so many rows with values of so many bytes under keys that begin so.
    Fill(String, usize, usize),
    /// Appends to its log.
    Append(Value),
    /// Sets an alarm.
    Alarm(String, i64),
    /// Says no.
    Refuse(String),
    /// Panics.
    Panic,
    /// Answers when its job is over.
    Later,
    /// Ends.
    Delete,
}

#[derive(Debug)]
pub(crate) struct No(RefusalClass);

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it does not want to")
    }
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        "unwilling"
    }

    fn class(&self) -> RefusalClass {
        self.0
    }

    fn details(&self) -> Option<Json> {
        (self.0 == RefusalClass::TooMany).then(|| Json::encode(&json!({ "at_most": 3 })).expect("JSON"))
    }
}

fn class(word: &str) -> RefusalClass {
    match word {
        "invalid" => RefusalClass::Invalid,
        "not_found" => RefusalClass::NotFound,
        "forbidden" => RefusalClass::Forbidden,
        "too_many" => RefusalClass::TooMany,
        _ => RefusalClass::Conflict,
    }
}

impl Object for Toy {
    const KIND: &'static str = "toy";
    type Call = Do;
    type Reply = Value;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Do) -> Result<Answer<Value>, Halt<No>> {
        let reply = match call {
            Do::Echo(value) => value,
            Do::Add(number) => {
                let sum = turn.get::<i64>("sum")?.unwrap_or(0) + number;
                turn.put("sum", &sum)?;
                json!(sum)
            }
            Do::Put(keys) => {
                for key in &keys {
                    turn.put(key, key)?;
                }
                json!(keys.len())
            }
            Do::Fill(prefix, count, bytes) => {
                for number in 0..count {
                    turn.put(&format!("{prefix}{number:03}"), &"x".repeat(bytes - 2))?;
                }
                json!(count)
            }
            Do::Append(value) => json!(turn.append(&value)?),
            Do::Alarm(name, at) => {
                turn.set_alarm(&name, Time(at))?;
                Value::Null
            }
            Do::Refuse(word) => return Err(No(class(&word)).into()),
            Do::Panic => panic!("on request"),
            Do::Later => {
                let ticket = turn.open_ticket();
                turn.put("ticket", &ticket.as_str().to_owned())?;
                let (queue, kind) = (QueueName::trusted("slow"), JobKind::trusted("work"));
                turn.enqueue(NewJob::new(queue, kind, Json::null()))?;
                return Ok(Answer::Later(ticket));
            }
            Do::Delete => {
                turn.delete_self();
                Value::Null
            }
        };
        Ok(Answer::Now(reply))
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<No>> {
        if let Some(ticket) = turn.get::<String>("ticket")? {
            turn.resolve(
                &Ticket::trusted(ticket),
                &json!({ "state": outcome.state, "result": outcome.result }),
            )?;
        }
        Ok(())
    }

    fn exposure(&self) -> Exposure {
        Exposure::Outside
    }
}

/// A kind that is not for the outside.
pub(crate) struct Secret;

impl Object for Secret {
    const KIND: &'static str = "secret";
    type Call = Value;
    type Reply = Value;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, _: &mut Turn<'_>, call: Value) -> Result<Answer<Value>, Halt<NoRefusal>> {
        Ok(call.into())
    }
}

//! Kinds of objects that the tests use.

use abide_core::event::Sender;
use abide_core::job::{JobOutcome, NewJob};
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_core::name::{JobKind, QueueName, UniqueKey};
use abide_core::object::ObjectKey;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_engine::halt::{Refusal, RefusalClass, TurnError};
use abide_engine::object::Entries;
use abide_engine::{Answer, Halt, Object, Turn};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt;

/// An object that does what it is told: every sort of write and read.
pub(crate) struct Puppet;

/// What it is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Do {
    Get(String),
    Put(String, Value),
    Add(String, i64),
    Delete(String),
    Scan { prefix: String, after: Option<String>, limit: usize },
    Prefetch(Vec<String>),
    SetAlarm(String, i64),
    ClearAlarm(String),
    Alarm(String),
    Send(String, Box<Do>),
    Enqueue { queue: String, kind: String, key: Option<String> },
    Cancel(String),
    Append(Value),
    Follow(String, i64),
    Leave(String),
    Later,
    Resolve(Value),
    DeleteSelf,
    Refuse,
    Fail,
    Panic,
    Now,
    Uuid,
    Many(Vec<Do>),
}

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
        RefusalClass::Forbidden
    }
}

fn obey(turn: &mut Turn<'_>, what: Do) -> Result<Value, Halt<Unwilling>> {
    match what {
        Do::Get(key) => return Ok(turn.get::<Value>(&key)?.unwrap_or(Value::Null)),
        Do::Put(key, value) => turn.put(&key, &value)?,
        Do::Add(key, by) => {
            let sum = turn.get::<i64>(&key)?.unwrap_or(0) + by;
            turn.put(&key, &sum)?;
            return Ok(json!(sum));
        }
        Do::Delete(key) => turn.delete(&key),
        Do::Scan { prefix, after, limit } => {
            let rows = turn.scan::<Value>(&prefix, after.as_deref(), limit)?;
            return Ok(json!(rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>()));
        }
        Do::Prefetch(keys) => turn.prefetch(keys)?,
        Do::SetAlarm(name, in_ms) => turn.set_alarm(&name, turn.now().plus_ms(in_ms))?,
        Do::ClearAlarm(name) => turn.clear_alarm(&name)?,
        Do::Alarm(name) => return Ok(json!(turn.alarm(&name)?)),
        Do::Send(to, what) => turn.send(&to.parse::<ObjectKey>().map_err(TurnError::from)?, &*what)?,
        Do::Enqueue { queue, kind, key } => {
            let queue = QueueName::new(queue).map_err(TurnError::from)?;
            let kind = JobKind::new(kind).map_err(TurnError::from)?;
            let mut job = NewJob::new(queue, kind, Json::null());
            job.unique_key = key.map(|key| UniqueKey::new(key).expect("a usable key"));
            turn.enqueue(job)?;
        }
        Do::Cancel(key) => turn.cancel(&UniqueKey::new(key).map_err(TurnError::from)?),
        Do::Append(value) => return Ok(json!(turn.append(&value)?)),
        Do::Follow(source, after) => turn.follow(&source.parse().map_err(TurnError::from)?, Seq(after)),
        Do::Leave(source) => turn.leave(&source.parse().map_err(TurnError::from)?),
        Do::Later => unreachable!("answered by call"),
        Do::Resolve(value) => {
            if let Some(ticket) = turn.get::<String>("ticket")? {
                turn.resolve(&Ticket::parse(&ticket).map_err(TurnError::from)?, &value)?;
            }
        }
        Do::DeleteSelf => turn.delete_self(),
        Do::Refuse => return Err(Unwilling.into()),
        Do::Fail => return Err(TurnError::Contradiction("told to fail").into()),
        Do::Panic => panic!("told to panic"),
        Do::Now => return Ok(json!(turn.now())),
        Do::Uuid => return Ok(json!(turn.seed().uuid())),
        Do::Many(all) => {
            let answers: Result<Vec<Value>, _> = all.into_iter().map(|one| obey(turn, one)).collect();
            return Ok(json!(answers?));
        }
    }
    Ok(Value::Null)
}

impl Object for Puppet {
    const KIND: &'static str = "puppet";
    type Call = Do;
    type Reply = Value;
    type Message = Do;
    type Refusal = Unwilling;

    fn call(&self, turn: &mut Turn<'_>, call: Do) -> Result<Answer<Value>, Halt<Unwilling>> {
        if let Do::Later = call {
            let ticket = turn.open_ticket();
            turn.put("ticket", &ticket.as_str().to_owned())?;
            return Ok(Answer::Later(ticket));
        }
        Ok(obey(turn, call)?.into())
    }

    fn message(
        &self,
        turn: &mut Turn<'_>,
        _from: Option<&Sender>,
        message: Do,
    ) -> Result<(), Halt<Unwilling>> {
        obey(turn, message).map(drop)
    }

    fn alarm(&self, turn: &mut Turn<'_>, name: &str, at: Time) -> Result<(), Halt<Unwilling>> {
        if turn.get::<Value>("fail_alarms")?.is_some() {
            return Err(Unwilling.into());
        }
        note(turn, format!("alarm {name} late {}", turn.now().since(at)))
    }

    fn outcome(&self, turn: &mut Turn<'_>, outcome: &JobOutcome) -> Result<(), Halt<Unwilling>> {
        let key = outcome.unique_key.as_ref().map_or("-", |key| key.as_str());
        note(turn, format!("outcome {key} {}", outcome.state))
    }

    fn entries(&self, turn: &mut Turn<'_>, entries: &Entries<'_>) -> Result<(), Halt<Unwilling>> {
        for entry in entries.entries {
            note(turn, format!("entry {} {}", entry.seq.0, entry.value))?;
        }
        Ok(())
    }
}

/// Notes what happened in the row `seen`.
fn note(turn: &mut Turn<'_>, what: String) -> Result<(), Halt<Unwilling>> {
    let mut seen: Vec<String> = turn.get("seen")?.unwrap_or_default();
    seen.push(what);
    Ok(turn.put("seen", &seen)?)
}

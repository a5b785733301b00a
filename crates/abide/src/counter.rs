//! The counter: a durable number, and how often each named increment was applied to it.

use std::fmt;

use abide_core::event::Event;
use abide_engine::object::Exposure;
use abide_engine::{Answer, Halt, Nothing, Object, Refusal, RefusalClass, Turn};
use serde::{Deserialize, Serialize};

/// The row that holds the number.
const VALUE: &str = "value";

/// Objects of the kind `counter`.
pub(crate) struct Counter;

/// What callers ask: `{"add": n, "id": "…"}` or `{"get": true}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    add: Option<i64>,
    id: Option<String>,
    get: Option<bool>,
}

/// What they get.
#[derive(Debug, Serialize)]
pub(crate) struct Reply {
    value: i64,
}

/// Why a counter says no.
#[derive(Debug)]
pub(crate) enum No {
    /// It is not said what to do, or two things are.
    Unclear,
    /// The sum does not fit.
    Overflow,
}

impl fmt::Display for No {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            No::Unclear => r#"send either {"add": n}, with an "id" if you like, or {"get": true}"#,
            No::Overflow => "the sum would not fit into 64 bits",
        })
    }
}

impl Refusal for No {
    fn code(&self) -> &'static str {
        match self {
            No::Unclear => "unclear",
            No::Overflow => "overflow",
        }
    }

    fn class(&self) -> RefusalClass {
        match self {
            No::Unclear => RefusalClass::Invalid,
            No::Overflow => RefusalClass::Conflict,
        }
    }
}

fn id_row(id: &str) -> String {
    format!("id/{id}")
}

impl Object for Counter {
    const KIND: &'static str = "counter";
    type Call = Request;
    type Reply = Reply;
    type Message = Nothing;
    type Refusal = No;

    fn call(&self, turn: &mut Turn<'_>, call: Request) -> Result<Answer<Reply>, Halt<No>> {
        let value = turn.get::<i64>(VALUE)?.unwrap_or(0);
        match call {
            Request { add: Some(number), id, get: None | Some(false) } => {
                let value = value.checked_add(number).ok_or(No::Overflow)?;
                turn.put(VALUE, &value)?;
                if let Some(row) = id.as_deref().map(id_row) {
                    let applied = turn.get::<u64>(&row)?.unwrap_or(0);
                    turn.put(&row, &(applied + 1))?;
                }
                Ok(Reply { value }.into())
            }
            Request { add: None, id: None, get: Some(true) } => Ok(Reply { value }.into()),
            Request { .. } => Err(No::Unclear.into()),
        }
    }

    fn prefetch(&self, event: &Event) -> Vec<String> {
        let mut keys = vec![VALUE.to_owned()];
        if let Event::Call { body } = event
            && let Ok(Request { id: Some(id), .. }) = body.decode()
        {
            keys.push(id_row(&id));
        }
        keys
    }

    fn exposure(&self) -> Exposure {
        Exposure::Outside
    }
}

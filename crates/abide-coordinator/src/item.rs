//! The life of a work item.
//!
//! ```text
//! pending ──begun──► processing ──processed──► completed
//!    ▲                 │  ▲  └──failed, dead letter──► failed
//!    └──again──────────┘  └──dead letter replayed───────┤
//!    └──again───────────────────────────────────────────┘
//! ```
//!
//! Each beginning is an attempt with a number and a proof. What is said about another attempt than the present one, or
//! about an item that is finished, changes nothing.

use crate::mode::Mode;
use crate::stamp::{Stamp, Tag, stamp, time_taken};
use crate::submit::Submit;
use crate::work::{DeadLetter, Status, WorkId, WorkItem, WorkPayload};
use abide_core::json::Json;
use abide_core::time::Time;
use abide_engine::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is said of an item whose job used up its attempts.
pub(crate) const DEAD: &str = "Message failed after all retry attempts";

/// An item as its row has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Item {
    pub(crate) id: WorkId,
    pub(crate) payload: WorkPayload,
    pub(crate) mode: Mode,
    pub(crate) priority: i32,
    pub(crate) attempt: u32,
    /// Known to whoever runs the present attempt, and to nobody else; none before it is begun.
    pub(crate) proof: Option<String>,
    pub(crate) state: State,
    pub(crate) timestamps: Vec<Stamp>,
    pub(crate) created_at: Time,
    pub(crate) updated_at: Time,
}

/// Where an item is, with what is known only there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum State {
    Pending,
    Processing,
    Completed { result: Option<Json> },
    Failed { error: String, dead_letter: Option<DeadLetter> },
}

/// What happens to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// It is sent to the queue or the processor.
    Begun { proof: String },
    /// Its job is done; the processor has not counted it yet.
    Worked { attempt: u32, timestamps: Option<Vec<Stamp>> },
    /// It has its result.
    Processed { attempt: u32, result: Option<Json>, timestamps: Option<Vec<Stamp>> },
    /// It failed.
    Failed { attempt: u32, error: String, timestamps: Option<Vec<Stamp>> },
    /// Its job used up its attempts.
    Died { attempt: u32, dead_letter: DeadLetter },
    /// Somebody wants it to be begun again.
    Again { mode: Option<Mode> },
}

impl Record for Item {
    const SCHEMA: u16 = 2;

    fn upgrade(from: u16, mut old: Value) -> Result<Value, String> {
        match from {
            1 => old["priority"] = 0.into(),
            other => return Err(format!("there is no upgrade from schema {other}")),
        }
        Ok(old)
    }
}

impl Item {
    pub(crate) fn new(submit: Submit, id: WorkId, now: Time) -> Item {
        let Submit { message, delay, timestamps, mode, priority } = submit;
        let payload = WorkPayload { message, delay, timestamps: timestamps.clone() };
        let mut item = Item {
            id,
            payload,
            mode,
            priority,
            attempt: 1,
            proof: None,
            state: State::Pending,
            timestamps,
            created_at: now,
            updated_at: now,
        };
        stamp(&mut item.timestamps, Tag::ServerReceived, now);
        item
    }

    pub(crate) fn status(&self) -> Status {
        match self.state {
            State::Pending => Status::Pending,
            State::Processing => Status::Processing,
            State::Completed { .. } => Status::Completed,
            State::Failed { .. } => Status::Failed,
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self.state {
            State::Pending | State::Processing => false,
            State::Completed { .. } | State::Failed { .. } => true,
        }
    }

    /// The item after `event`; none if the event changes nothing.
    pub(crate) fn after(&self, event: Event, now: Time) -> Option<Item> {
        use State::{Completed, Failed, Pending, Processing};
        match (&self.state, event) {
            (Pending, Event::Begun { proof }) => Some(self.begun(proof, now)),
            (Processing, Event::Worked { attempt, timestamps }) if attempt == self.attempt => {
                Some(self.to(Processing, timestamps, now))
            }
            (Failed { dead_letter: Some(_), .. }, Event::Worked { attempt, timestamps })
                if attempt == self.attempt =>
            {
                Some(self.to(Processing, timestamps, now))
            }
            (Pending | Processing, Event::Processed { attempt, result, timestamps })
                if attempt == self.attempt =>
            {
                Some(self.to(Completed { result }, timestamps, now))
            }
            (Pending | Processing, Event::Failed { attempt, error, timestamps })
                if attempt == self.attempt =>
            {
                Some(self.to(Failed { error, dead_letter: None }, timestamps, now))
            }
            (Processing | Failed { dead_letter: Some(_), .. }, Event::Died { attempt, dead_letter })
                if attempt == self.attempt =>
            {
                Some(self.died(dead_letter, now))
            }
            (Failed { .. }, Event::Again { mode }) => Some(self.again(mode.unwrap_or(self.mode), now)),
            (Processing, Event::Again { mode: Some(mode) }) if mode != self.mode => {
                Some(self.again(mode, now))
            }
            (Pending, Event::Again { mode: Some(mode) }) if mode != self.mode => {
                Some(Item { mode, updated_at: now, ..self.clone() })
            }
            (Pending | Processing | Completed { .. }, Event::Again { .. })
            | (Processing | Completed { .. } | Failed { .. }, Event::Begun { .. })
            | (
                Pending | Processing | Completed { .. } | Failed { .. },
                Event::Worked { .. } | Event::Processed { .. } | Event::Failed { .. } | Event::Died { .. },
            ) => None,
        }
    }

    fn begun(&self, proof: String, now: Time) -> Item {
        let mut item = Item { proof: Some(proof), ..self.to(State::Processing, None, now) };
        let tag = match item.mode {
            Mode::Queue => Tag::QueueEnqueued,
            Mode::Direct => Tag::DirectSend,
        };
        stamp(&mut item.timestamps, tag, now);
        item
    }

    fn died(&self, dead_letter: DeadLetter, now: Time) -> Item {
        let state = State::Failed { error: DEAD.to_owned(), dead_letter: Some(dead_letter) };
        let mut item = self.to(state, None, now);
        stamp(&mut item.timestamps, Tag::ReachedDlq, now);
        item
    }

    fn again(&self, mode: Mode, now: Time) -> Item {
        Item { mode, proof: None, attempt: self.attempt + 1, ..self.to(State::Pending, None, now) }
    }

    fn to(&self, state: State, timestamps: Option<Vec<Stamp>>, now: Time) -> Item {
        let timestamps = timestamps.unwrap_or_else(|| self.timestamps.clone());
        Item { state, timestamps, updated_at: now, ..self.clone() }
    }

    /// Bytes of what it shows, about.
    pub(crate) fn bytes(&self) -> usize {
        let result = match &self.state {
            State::Completed { result } => result.as_ref().map_or(0, Json::len),
            State::Failed { error, .. } => error.len(),
            State::Pending | State::Processing => 0,
        };
        self.payload.message.len() + result + 64 * (8 + self.timestamps.len() + self.payload.timestamps.len())
    }
}

impl From<Item> for WorkItem {
    fn from(item: Item) -> WorkItem {
        let status = item.status();
        let time_taken = if item.is_finished() { time_taken(&item.timestamps) } else { None };
        let Item { id, payload, mode, priority, attempt, timestamps, created_at, updated_at, state, .. } =
            item;
        let (result, error, dead_letter) = match state {
            State::Pending | State::Processing => (None, None, None),
            State::Completed { result } => (result, None, None),
            State::Failed { error, dead_letter } => (None, Some(error), dead_letter),
        };
        WorkItem {
            id,
            payload,
            status,
            priority,
            mode,
            attempt,
            created_at,
            updated_at,
            result,
            error,
            dead_letter,
            timestamps,
            time_taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_core::job::JobId;
    use serde_json::json;

    fn item(state: State) -> Item {
        let submit = Submit::read(&json!({"message": "m", "delay": 0})).unwrap();
        Item { state, attempt: 2, ..Item::new(submit, WorkId("w".into()), Time(1)) }
    }

    fn letter() -> DeadLetter {
        DeadLetter { job: JobId(7), attempt: 4, reason: "no".into() }
    }

    /// Every state against every event: the status and the attempt after it, or nothing.
    #[test]
    fn the_table_of_states_and_events() {
        let failed = |dead_letter| State::Failed { error: "e".into(), dead_letter };
        let states = [
            ("pending", State::Pending),
            ("processing", State::Processing),
            ("completed", State::Completed { result: None }),
            ("failed", failed(None)),
            ("dead", failed(Some(letter()))),
        ];
        let worked = |attempt| Event::Worked { attempt, timestamps: None };
        let processed = |attempt| Event::Processed { attempt, result: None, timestamps: None };
        let fails = |attempt| Event::Failed { attempt, error: "x".into(), timestamps: None };
        let died = |attempt| Event::Died { attempt, dead_letter: letter() };
        let again = |mode| Event::Again { mode };
        let table = [
            // event                       pending         processing      completed failed         dead
            (Event::Begun { proof: "p".into() }, ["processing 2", "-", "-", "-", "-"]),
            (worked(2), ["-", "processing 2", "-", "-", "processing 2"]),
            (worked(1), ["-", "-", "-", "-", "-"]),
            (processed(2), ["completed 2", "completed 2", "-", "-", "-"]),
            (processed(1), ["-", "-", "-", "-", "-"]),
            (fails(2), ["failed 2", "failed 2", "-", "-", "-"]),
            (fails(3), ["-", "-", "-", "-", "-"]),
            (died(2), ["-", "failed 2", "-", "-", "failed 2"]),
            (died(1), ["-", "-", "-", "-", "-"]),
            (again(None), ["-", "-", "-", "pending 3", "pending 3"]),
            (again(Some(Mode::Queue)), ["-", "-", "-", "pending 3", "pending 3"]),
            (again(Some(Mode::Direct)), ["pending 2", "pending 3", "-", "pending 3", "pending 3"]),
        ];
        for (event, expected) in table {
            for ((name, state), expected) in states.iter().zip(expected) {
                let after = item(state.clone()).after(event.clone(), Time(9));
                let shown = after.as_ref().map_or("-".to_owned(), |item| {
                    format!("{} {}", json!(item.status()).as_str().unwrap(), item.attempt)
                });
                assert_eq!(shown, expected, "{name} after {event:?}");
                if let Some(after) = after {
                    assert_eq!(after.updated_at, Time(9));
                }
            }
        }
    }
}

//! Reminders: an object that sleeps until its alarms wake it.

use abide_core::log::Seq;
use abide_core::time::Time;
use abide_engine::object::NoRefusal;
use abide_engine::{Answer, Halt, Nothing, Object, Turn};
use serde::{Deserialize, Serialize};

/// Somebody's reminders. One that rings is an entry of the log.
pub struct Reminders;

/// What it is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Ring with this text after a while.
    Remind {
        /// What to say.
        text: String,
        /// After how many milliseconds.
        in_ms: i64,
    },
    /// Do not ring.
    Forget {
        /// Which, as the list names it.
        id: String,
    },
    /// Change nothing.
    List,
}

/// What it answers.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// Id and text of what has not rung yet, oldest first.
    pub waiting: Vec<(String, String)>,
    /// The last that rang, as a place in the log.
    pub rang: Seq,
}

/// An entry of the log.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rang {
    /// What to say.
    pub text: String,
    /// How long after its time; not 0 if the engine was not running.
    pub late_ms: i64,
}

/// Reminders that a list shows.
const SHOWN: usize = 100;

impl Object for Reminders {
    const KIND: &'static str = "reminders";
    type Call = Ask;
    type Reply = List;
    type Message = Nothing;
    type Refusal = NoRefusal;

    fn call(&self, turn: &mut Turn<'_>, ask: Ask) -> Result<Answer<List>, Halt<NoRefusal>> {
        match ask {
            Ask::Remind { text, in_ms } => {
                let number = turn.get::<u64>("last")?.unwrap_or(0) + 1;
                // Keys are ordered bytewise: with leading zeros that is the order of numbers.
                let id = format!("{number:012}");
                turn.put("last", &number)?;
                turn.put(&format!("waiting/{id}"), &text)?;
                turn.set_alarm(&id, turn.now().plus_ms(in_ms))?;
            }
            Ask::Forget { id } => {
                turn.clear_alarm(&id)?;
                turn.delete(&format!("waiting/{id}"));
            }
            Ask::List => {}
        }
        let rows = turn.scan::<String>("waiting/", None, SHOWN)?;
        let waiting = rows.into_iter().map(|(key, text)| (key.replace("waiting/", ""), text)).collect();
        Ok(List { waiting, rang: turn.log_head() }.into())
    }

    fn alarm(&self, turn: &mut Turn<'_>, id: &str, at: Time) -> Result<(), Halt<NoRefusal>> {
        let key = format!("waiting/{id}");
        if let Some(text) = turn.get::<String>(&key)? {
            turn.append(&Rang { text, late_ms: turn.now().since(at) })?;
            turn.delete(&key);
        }
        Ok(())
    }
}

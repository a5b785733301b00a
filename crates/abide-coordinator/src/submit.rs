//! Submissions: one message or many.

use crate::fields::{self, Fields};
use crate::invalid::Invalid;
use crate::limits::{BATCH_ITEMS, STAMPS_SUBMITTED};
use crate::millis::Millis;
use crate::mode::Mode;
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message to process. Whoever has one knows that it is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Submit {
    pub(crate) message: String,
    pub(crate) delay: Millis,
    pub(crate) timestamps: Vec<Stamp>,
    pub(crate) mode: Mode,
    pub(crate) priority: i32,
}

impl Submit {
    /// `{message, delay, timestamps?, mode?, priority?}`.
    pub fn read(body: &Value) -> Result<Submit, Invalid> {
        let mut fields = Fields::of(body);
        let message = fields.required("message", fields::message);
        let delay = fields.required("delay", fields::delay);
        let timestamps =
            fields.optional("timestamps", Vec::new(), |found| fields::stamps(found, STAMPS_SUBMITTED));
        let mode = fields.optional("mode", Mode::default(), fields::mode);
        let priority = fields.optional("priority", 0, fields::priority);
        let (Some(message), Some(delay), Some(timestamps), Some(mode), Some(priority)) =
            (message, delay, timestamps, mode, priority)
        else {
            return Err(fields.invalid());
        };
        Ok(Submit { message, delay, timestamps, mode, priority })
    }

    /// The same in another mode.
    #[must_use]
    pub fn in_mode(self, mode: Mode) -> Submit {
        Submit { mode, ..self }
    }
}

impl TryFrom<Value> for Submit {
    type Error = Invalid;
    fn try_from(body: Value) -> Result<Submit, Invalid> {
        Submit::read(&body)
    }
}

/// Many messages to process alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Batch {
    messages: Vec<String>,
    delay: Millis,
    mode: Mode,
    priority: i32,
}

impl Batch {
    /// `{messages, delay, mode?, priority?}`.
    pub fn read(body: &Value) -> Result<Batch, Invalid> {
        let mut fields = Fields::of(body);
        let messages = fields.required("messages", |found| fields::messages(found, BATCH_ITEMS));
        let delay = fields.required("delay", fields::delay);
        let mode = fields.optional("mode", Mode::default(), fields::mode);
        let priority = fields.optional("priority", 0, fields::priority);
        let (Some(messages), Some(delay), Some(mode), Some(priority)) = (messages, delay, mode, priority)
        else {
            return Err(fields.invalid());
        };
        Ok(Batch { messages, delay, mode, priority })
    }

    /// One submission for each message.
    pub fn into_submits(self) -> impl Iterator<Item = Submit> {
        let Batch { messages, delay, mode, priority } = self;
        messages.into_iter().map(move |message| Submit {
            message,
            delay: delay.clone(),
            timestamps: Vec::new(),
            mode,
            priority,
        })
    }

    /// The same in another mode.
    #[must_use]
    pub fn in_mode(self, mode: Mode) -> Batch {
        Batch { mode, ..self }
    }
}

impl TryFrom<Value> for Batch {
    type Error = Invalid;
    fn try_from(body: Value) -> Result<Batch, Invalid> {
        Batch::read(&body)
    }
}

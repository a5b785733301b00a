//! Tickets: the answer to a call that needs outside work.

use crate::json::Json;
use crate::name::BadName;
use crate::seed::Seed;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names the answer that will come later. Unguessable, so whoever holds it may ask for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(String);

impl Ticket {
    /// A new ticket out of a turn's seed.
    pub fn draw(seed: &mut Seed) -> Ticket {
        Ticket(seed.hex128())
    }

    /// Checks text from outside.
    pub fn parse(text: &str) -> Result<Ticket, BadName> {
        if text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Ticket(text.to_owned()))
        } else {
            Err(BadName {
                what: "a ticket",
                given: text.chars().take(80).collect(),
                reason: "is not 32 hexadecimal digits".into(),
            })
        }
    }

    /// A ticket that a store wrote earlier.
    #[must_use]
    pub fn trusted(text: String) -> Ticket {
        Ticket(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What became of a ticket's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// The answer.
    Reply(Json),
    /// The work was refused or failed: a code and a sentence.
    Refused {
        /// The refusal's code.
        code: String,
        /// The refusal's sentence.
        message: String,
    },
    /// The object was deleted before it answered.
    Gone,
}

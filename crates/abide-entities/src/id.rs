//! The id of an entity: 26 characters of Crockford's base 32, a ULID if we made it.

use serde::{Deserialize, Serialize};
use std::fmt;

const CHARACTERS: usize = 26;

/// An entity's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntityId(String);

/// Text that is no entity's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an entity's id: 26 characters of 0-9 and A-Z without I, L, O and U")]
pub struct BadId(pub String);

impl EntityId {
    /// Checks text.
    pub fn parse(text: &str) -> Result<EntityId, BadId> {
        if text.len() == CHARACTERS && text.bytes().all(is_crockford) {
            Ok(EntityId(text.to_owned()))
        } else {
            Err(BadId(text.chars().take(80).collect()))
        }
    }

    /// A ULID of a time and 80 random bits.
    #[must_use]
    pub fn made(at_ms: u64, random: u128) -> EntityId {
        EntityId(ulid::Ulid::from_parts(at_ms, random).to_string())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_crockford(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'A'..=b'H' | b'J' | b'K' | b'M' | b'N' | b'P'..=b'T' | b'V'..=b'Z')
}

impl TryFrom<String> for EntityId {
    type Error = BadId;

    fn try_from(text: String) -> Result<EntityId, BadId> {
        EntityId::parse(&text)
    }
}

impl From<EntityId> for String {
    fn from(id: EntityId) -> String {
        id.0
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

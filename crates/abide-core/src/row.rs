//! Rows: an object's private state, a sorted map from key to versioned JSON.

use crate::json::Json;

/// A row as it is stored: JSON text and the schema version it was written with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which shape of the row's type wrote it.
    pub schema: u16,
    /// The value.
    pub value: Json,
}

/// One change of a row in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowWrite {
    /// Insert or replace.
    Put {
        /// The row's key, ordered bytewise.
        key: String,
        /// The new row.
        row: Row,
    },
    /// Remove; a missing row is fine.
    Delete {
        /// The row's key.
        key: String,
    },
}

/// The key that comes next after `key`, whatever keys there are.
#[must_use]
pub fn successor(key: &str) -> String {
    let mut next = String::with_capacity(key.len() + 1);
    next.push_str(key);
    next.push('\0');
    next
}

/// The end of the keys that start with `prefix`: the first key past them, or none if there is no such key.
///
/// Keys are UTF-8 and ordered bytewise, so the last character is raised to its successor.
#[must_use]
pub fn prefix_end(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            '\u{D7FF}' => Some('\u{E000}'),
            c => char::from_u32(c as u32 + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}

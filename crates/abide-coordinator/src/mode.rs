//! Modes: the two ways in which an item is processed.

use serde::{Deserialize, Serialize};

/// How an item is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// By a job: any worker, retried, limited, counted in the queue.
    #[default]
    Queue,
    /// By a message to the processor.
    Direct,
}

impl Mode {
    /// The mode of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Mode> {
        match word {
            "queue" => Some(Mode::Queue),
            "direct" => Some(Mode::Direct),
            _ => None,
        }
    }
}

//! Chunks: what the organizer is asked about at a time, a directory or a part of one.

use abide_core::time::Time;
use abide_engine::Record;
use abide_organize::builtin::stem;
use abide_organize::contract::Operation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the organizer is asked about at a time. The first chunk of a directory that is organized in parts is the question
/// how to do that; the others wait for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// What is asked.
    pub operation: Operation,
    /// About which files.
    pub files: Vec<String>,
    /// Those of them that an earlier run left in no group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<String>,
    /// Where it is.
    pub state: ChunkState,
    /// The id of the request that failed, if it is to be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// Requests that were not answered in time.
    pub timeouts: u32,
    /// Requests that failed.
    pub errors: u32,
}

impl Record for Chunk {}

/// Where a chunk is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ChunkState {
    /// Not sent, or to be sent again.
    Waiting,
    /// An answer is awaited.
    Sent {
        /// By this id.
        chunk_id: String,
        /// Since then.
        sent_at: Time,
        /// Until then.
        due_at: Time,
        /// Whether it is late, and our own organizer was asked how far it is.
        #[serde(default)]
        is_asked: bool,
    },
    /// Answered.
    Done,
    /// Given up.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl ChunkState {
    /// Whether nothing more comes of it.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        match self {
            ChunkState::Waiting | ChunkState::Sent { .. } => false,
            ChunkState::Done | ChunkState::Skipped { .. } => true,
        }
    }
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// It was not answered in time.
    TimedOut,
    /// It failed.
    Failed,
    /// It failed, and whoever was asked says that it will fail again.
    Hopeless,
}

impl Chunk {
    /// One that waits.
    #[must_use]
    pub const fn new(operation: Operation, files: Vec<String>) -> Chunk {
        Chunk {
            operation,
            files,
            former: Vec::new(),
            state: ChunkState::Waiting,
            again: None,
            timeouts: 0,
            errors: 0,
        }
    }

    /// After a request that came to nothing: it waits to be sent again, or is given up. A request that was not answered in
    /// time is repeated once, one that failed until it has failed `attempts` times.
    #[must_use]
    pub fn after(mut self, missed: Missed, attempts: u32, reason: &str) -> Chunk {
        let over = match missed {
            Missed::TimedOut => {
                self.timeouts += 1;
                self.timeouts > 1
            }
            Missed::Failed => {
                self.errors += 1;
                self.errors >= attempts
            }
            Missed::Hopeless => true,
        };
        let next = if over { ChunkState::Skipped { reason: reason.to_owned() } } else { ChunkState::Waiting };
        let before = std::mem::replace(&mut self.state, next);
        self.again = match (missed, before) {
            (Missed::Failed, ChunkState::Sent { chunk_id, .. }) => Some(chunk_id),
            (Missed::Failed | Missed::TimedOut | Missed::Hopeless, _) => None,
        };
        self
    }
}

/// What the organizer said of one chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChunkResult {
    /// The groups.
    pub groups: Vec<GroupResult>,
    /// Files in none.
    pub ungrouped_files: Vec<String>,
    /// How it was decided.
    pub description: String,
    /// When.
    pub timestamp: String,
    /// What was repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_metrics: Option<Value>,
    /// Why it was left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl Record for ChunkResult {}

/// A group of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupResult {
    /// Its name.
    pub group_name: String,
    /// What is in it.
    pub description: String,
    /// Which files.
    pub files: Vec<String>,
}

/// Splits names, which are in order, into parts of at most `most`. A numbered series is split only if it alone is longer, and then
/// not between a file and what was made of it.
#[must_use]
pub fn split(names: &[String], most: usize) -> Vec<Vec<String>> {
    let most = most.max(1);
    let mut parts: Vec<Vec<String>> = Vec::new();
    let mut part: Vec<String> = Vec::new();
    for series in names.chunk_by(|one, next| series_of(one) == series_of(next)) {
        if part.len() + series.len() > most && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        for unit in series.chunk_by(|one, next| stem_of(one) == stem_of(next)) {
            if part.len() + unit.len() > most && !part.is_empty() {
                parts.push(std::mem::take(&mut part));
            }
            for name in unit {
                if part.len() == most {
                    parts.push(std::mem::take(&mut part));
                }
                part.push(name.clone());
            }
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// What a numbered series has in common, with what was made of each of its files and what lies beside it: the words before its
/// last number, whatever is past that (`recto`, `verso`), or what is past it if nothing is before. A name without a number is a
/// series of its own.
fn series_of(name: &str) -> (&str, &str) {
    let stem = stem_of(name);
    let Some(end) = stem.rfind(|c: char| c.is_ascii_digit()) else { return (stem, "") };
    let start = stem[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + stem[at..].chars().next().map_or(1, char::len_utf8));
    let (before, past) = (&stem[..start], &stem[end + 1..]);
    if before.chars().any(char::is_alphabetic) { (before, "") } else { (before, past) }
}

/// A name without what says of which kind it is: `page 1` of `page 1.jpg`, of its text `page 1.jpg.txt` and of `page 1.cr2`.
fn stem_of(name: &str) -> &str {
    let name = stem(name);
    let is_ending = |ending: &str| {
        ending.len() <= 5
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_ending(ending) => stem,
        _ => name,
    }
}

/// `count` names from across the directory, in order.
#[must_use]
pub fn sample(names: &[String], count: usize) -> Vec<String> {
    let count = count.clamp(1, names.len().max(1));
    (0..count).filter_map(|nth| names.get(nth * names.len() / count)).cloned().collect()
}

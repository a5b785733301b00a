//! Chunks: what the organizer is asked about at a time, a directory or a part of one.

use abide_engine::Record;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

//! The queue message that starts a batch.

use crate::limits::{BATCH_ID_BYTES, MESSAGE_BYTES};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Names a batch: the name of its object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BatchId(String);

impl BatchId {
    /// Checks an id: letters, digits, `-`, `_` and `.`, so that it needs no encoding in a URL.
    pub fn new(text: impl Into<String>) -> Result<BatchId, BadMessage> {
        let text = text.into();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if text.is_empty() || text.len() > BATCH_ID_BYTES || !text.chars().all(fits) || text.starts_with('.')
        {
            return Err(BadMessage::BatchId(text.chars().take(80).collect()));
        }
        Ok(BatchId(text))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for BatchId {
    type Error = BadMessage;
    fn try_from(text: String) -> Result<BatchId, BadMessage> {
        BatchId::new(text)
    }
}

impl From<BatchId> for String {
    fn from(id: BatchId) -> String {
        id.0
    }
}

/// A message that cannot start a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// The id cannot be used.
    #[error("{0:?} cannot be a batch_id: use 1 to 128 letters, digits, '-', '_' and '.'")]
    BatchId(String),
    /// It is not what a message is.
    #[error("the queue message cannot be read: {0}")]
    Unreadable(String),
    /// It is longer than a queue carries.
    #[error(
        "the queue message has {0} bytes, and a queue carries {MESSAGE_BYTES}: put node_pis, node_tips and node_versions into \
         the manifest"
    )]
    TooLong(usize),
}

/// What starts a batch. Fields that are not known here are kept and passed on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueueMessage {
    /// Which batch.
    pub batch_id: BatchId,
    /// Where its manifest is.
    pub manifest_r2_key: String,
    /// Where its files are.
    pub r2_prefix: String,
    /// Everything else, as it came: `uploader`, `root_path`, `parent_pi`, `metadata`, `root_pi`, `node_pis`, …
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl QueueMessage {
    /// Reads one.
    pub fn read(body: &Value) -> Result<QueueMessage, BadMessage> {
        let bytes = body.to_string().len();
        if bytes > MESSAGE_BYTES {
            return Err(BadMessage::TooLong(bytes));
        }
        let message = QueueMessage::deserialize(body);
        let message = message.map_err(|error| BadMessage::Unreadable(error.to_string()))?;
        let unusable =
            |field: &str, error: abide_blob::BadKey| BadMessage::Unreadable(format!("{field}: {error}"));
        abide_blob::Key::new(&message.manifest_r2_key).map_err(|error| unusable("manifest_r2_key", error))?;
        let prefix = message.r2_prefix.trim_end_matches('/');
        abide_blob::Key::new(prefix).map_err(|error| unusable("r2_prefix", error))?;
        Ok(message)
    }

    /// Whether somebody else goes on with what was made: `deliver` says so, and nobody who says nothing means no.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.rest.get("deliver") != Some(&Value::Bool(false))
    }

    /// Whether ids of assets follow from the batch, so that the same batch on other data gives the same refs:
    /// `stable_assets` says so. Whoever says nothing gets ids that occur once.
    #[must_use]
    pub fn has_stable_assets(&self) -> bool {
        self.rest.get("stable_assets") == Some(&Value::Bool(true))
    }

    /// `r2_prefix` with its slash, so that `staging/1/` does not begin `staging/10/…`.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{}/", self.r2_prefix.trim_end_matches('/'))
    }
}

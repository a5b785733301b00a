//! The message that starts a batch, in every form that is sent.

use crate::config::ProcessingConfig;
use crate::limits::{MESSAGE_BYTES, NOTE_BYTES};
use crate::prompts::{BadPrompts, CustomPrompts};
use abide_entities::EntityId;
use abide_organize::contract::ExistingGroup;
use abide_preprocess::BatchId;
use abide_preprocess::jobs::Finished;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What starts a batch. One of `pis`, `manifest_r2_key` and a finished preprocessing of the same batch says which
/// directories there are. Fields that are not known here are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IngestMessage {
    /// Which batch.
    pub batch_id: BatchId,
    /// Its topmost entity, if it exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_pi: Option<EntityId>,
    /// Its entities, if they exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pis: Vec<PiNode>,
    /// Entities of directories by path, if they exist or are to be made under these ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_pis: BTreeMap<String, EntityId>,
    /// The entity that the topmost one is put under; 26 zeros for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pi: Option<EntityId>,
    /// Where its manifest is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_r2_key: Option<String>,
    /// Where its files are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r2_prefix: Option<String>,
    /// Whether the manifest is about entities that exist and have new phases to go through.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reprocessing_mode: bool,
    /// Words for the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompts: Option<CustomPrompts>,
    /// The note of every version that the batch makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_note: Option<String>,
    /// The institution in every record of metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub institution: Option<String>,
    /// What the ids of new entities are derived from; `batch_id` if this is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Where further `node_pis` are: in the manifest of the preprocessing, if a message could not carry them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_r2_key: Option<String>,
    /// Everything else, as it came: `uploader`, `root_path`, `metadata`, `total_files`, …
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// An entity of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PiNode {
    /// Which.
    #[serde(alias = "id")]
    pub pi: EntityId,
    /// Its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pi: Option<EntityId>,
    /// Its children.
    #[serde(default)]
    pub children_pi: Vec<EntityId>,
    /// What is to be done with it.
    #[serde(default)]
    pub processing_config: ProcessingConfig,
    /// Groups of it that are there: what belongs to one is added to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub existing_groups: Vec<ExistingGroup>,
    /// Files that somebody put there: they come into no group.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fixed_files: BTreeSet<String>,
    /// Files that an earlier run left in no group: they come into one only together with a file that is new.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub former_files: BTreeSet<String>,
}

/// A message that cannot start a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMessage {
    /// It is longer than a queue carries.
    #[error(
        "the message has {0} bytes, and a queue carries {MESSAGE_BYTES}: put what is long into a manifest"
    )]
    TooLong(usize),
    /// It is not what a message is.
    #[error("the message cannot be read: {0}")]
    Unreadable(String),
    /// Its prompts are too long.
    #[error(transparent)]
    Prompts(#[from] BadPrompts),
    /// Its note is too long.
    #[error("custom_note has {0} bytes, and {NOTE_BYTES} are taken")]
    Note(usize),
    /// It does not say which directories there are.
    #[error("the message names no directories: it needs pis or manifest_r2_key")]
    Nothing,
    /// An entity is named twice.
    #[error("pis names {0} twice")]
    Twice(EntityId),
}

impl IngestMessage {
    /// Reads one that came by a queue or a route.
    pub fn read(body: &Value) -> Result<IngestMessage, BadMessage> {
        let bytes = body.to_string().len();
        if bytes > MESSAGE_BYTES {
            return Err(BadMessage::TooLong(bytes));
        }
        let message = IngestMessage::deserialize(body);
        let message = message.map_err(|error| BadMessage::Unreadable(error.to_string()))?;
        message.check()?;
        if message.is_preprocessed() {
            return Err(BadMessage::Nothing);
        }
        Ok(message)
    }

    /// One about a batch that is preprocessed: its files are asked of the preprocessing.
    pub fn of_preprocessed(finished: &Finished) -> Result<IngestMessage, BadMessage> {
        let message = &finished.message;
        let mut rest = message.rest.clone();
        // The newest ones count, whatever they were at the start.
        for known in ["node_tips", "node_versions"] {
            rest.remove(known);
        }
        rest.insert("batch_id".to_owned(), message.batch_id.as_str().into());
        rest.insert("r2_prefix".to_owned(), message.r2_prefix.as_str().into());
        let read = IngestMessage::deserialize(Value::Object(rest));
        let read = read.map_err(|error| BadMessage::Unreadable(error.to_string()))?;
        read.check()?;
        Ok(IngestMessage { tree_r2_key: finished.has_tree.then(|| message.manifest_r2_key.clone()), ..read })
    }

    /// Whether its files are those of a finished preprocessing of the same batch.
    #[must_use]
    pub fn is_preprocessed(&self) -> bool {
        self.pis.is_empty() && self.manifest_r2_key.is_none()
    }

    fn check(&self) -> Result<(), BadMessage> {
        if let Some(prompts) = &self.custom_prompts {
            prompts.check()?;
        }
        if let Some(note) = self.custom_note.as_ref().filter(|note| note.len() > NOTE_BYTES) {
            return Err(BadMessage::Note(note.len()));
        }
        let mut seen = std::collections::BTreeSet::new();
        match self.pis.iter().find(|node| !seen.insert(&node.pi)) {
            Some(twice) => Err(BadMessage::Twice(twice.pi.clone())),
            None => Ok(()),
        }
    }

    /// What the ids of new entities are derived from.
    #[must_use]
    pub fn id_space(&self) -> &str {
        self.collection.as_deref().unwrap_or(self.batch_id.as_str())
    }

    /// The entity that the topmost one is put under, if there is one.
    #[must_use]
    pub fn parent(&self) -> Option<&EntityId> {
        self.parent_pi.as_ref().filter(|pi| pi.as_str() != crate::ids::ORIGIN)
    }
}

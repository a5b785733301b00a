//! What came of a request, with the fields of both generations.

use super::request::Operation;
use super::status::OrganizerKind;
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Serialize};

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallbackPayload {
    /// Which batch.
    pub batch_id: String,
    /// Which part of it.
    pub chunk_id: String,
    /// What was asked; organizers of the second generation do nothing but organize, and do not say so.
    #[serde(default)]
    pub operation: Operation,
    /// All, some or nothing.
    pub status: CallbackStatus,
    /// To organize: a result for each directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<PiResult>>,
    /// Entities of groups, as the next phases take them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_pis: Vec<NewPi>,
    /// To strategize: what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategize_result: Option<StrategizeResult>,
    /// Counts and time; others need not say.
    #[serde(default)]
    pub summary: Summary,
    /// Who decided; others do not say.
    #[serde(default = "a_model")]
    pub organizer: OrganizerKind,
    /// Which model was asked, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What all of it took.
    #[serde(flatten)]
    pub spend: Spend,
    /// What all parts of the batch took until now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Spend>,
    /// Why there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether asking again may help; others need not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

fn a_model() -> OrganizerKind {
    OrganizerKind::Model
}

/// How much of a request succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallbackStatus {
    /// All of it.
    Success,
    /// Some of it.
    Partial,
    /// Nothing.
    Error,
}

/// What came of a directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PiResult {
    /// Its entity.
    pub pi: EntityId,
    /// Whether it was organized.
    pub status: PiStatus,
    /// Its tip now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_parent_tip: Option<ContentId>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_tip: Option<ContentId>,
    /// Its version now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_parent_version: Option<u32>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_version: Option<u32>,
    /// Groups that got files of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_entities: Option<Vec<GroupEntity>>,
    /// Files of the request that stay in the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungrouped_files: Option<Vec<String>>,
    /// How it was decided, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorganization_description: Option<String>,
    /// What had to be repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llm_metrics: Option<LlmMetrics>,
    /// Why it was left as it is, which is a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// What it took.
    #[serde(flatten)]
    pub spend: Spend,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether asking again may help; others need not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

/// Whether a directory was organized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PiStatus {
    /// It was, or there was nothing to do.
    Success,
    /// It was not.
    Error,
}

/// A group that got files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupEntity {
    /// Its name.
    pub group_name: String,
    /// Its entity.
    pub pi: EntityId,
    /// Its tip when the files were in it; organizers of the second generation do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tip: Option<ContentId>,
    /// Its version then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ver: Option<u32>,
    /// The files of this request that are in it; others may have put more there.
    pub files: Vec<String>,
    /// What they are.
    #[serde(default)]
    pub description: String,
}

/// What had to be repaired in a model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmMetrics {
    /// A sentence for each repair.
    pub validation_warnings: Vec<String>,
    /// How many files the answers left out.
    pub missing_files_count: usize,
    /// Which.
    pub missing_files: Vec<String>,
}

/// An entity of a group, as the next phases take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPi {
    /// The group's.
    pub pi: EntityId,
    /// The directory's.
    pub parent_pi: EntityId,
    /// None: groups are not grouped again.
    #[serde(default)]
    pub children_pi: Vec<EntityId>,
    /// What is to be done with it.
    #[serde(default = "usual")]
    pub processing_config: ProcessingConfig,
}

fn usual() -> ProcessingConfig {
    ProcessingConfig::USUAL
}

/// What is to be done with a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessingConfig {
    /// Text is read off its images.
    #[serde(default)]
    pub ocr: bool,
    /// Its files are grouped.
    #[serde(default)]
    pub reorganize: bool,
    /// It gets a metadata record.
    #[serde(default)]
    pub pinax: bool,
    /// Entities are taken from it.
    #[serde(default)]
    pub cheimarros: bool,
    /// It is described.
    #[serde(default)]
    pub describe: bool,
}

impl ProcessingConfig {
    /// For groups of a directory of which nothing is known.
    pub const USUAL: ProcessingConfig =
        ProcessingConfig { ocr: false, reorganize: false, pinax: true, cheimarros: true, describe: true };

    /// For a group of a directory with this one: its images were read before, and it is not grouped again.
    #[must_use]
    pub const fn of_group(self) -> ProcessingConfig {
        ProcessingConfig { ocr: false, reorganize: false, ..self }
    }
}

/// How a large directory is best grouped in parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StrategizeResult {
    /// Whether the parts go by one plan.
    #[serde(default)]
    pub should_coordinate: bool,
    /// The plan.
    #[serde(default)]
    pub guidance: String,
    /// Why.
    #[serde(default)]
    pub reasoning: String,
}

/// Counts and time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Directories.
    pub total: usize,
    /// Of them organized, or left as they are with good reason.
    pub succeeded: usize,
    /// Of them not.
    pub failed: usize,
    /// From request to callback.
    pub processing_time_ms: i64,
}

/// What questions to a model took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spend {
    /// Requests to it, failed ones included.
    #[serde(default)]
    pub llm_calls: u32,
    /// Tokens.
    #[serde(default)]
    pub tokens: Tokens,
    /// What they cost, by the configured price.
    #[serde(default)]
    pub cost_usd: f64,
}

/// Tokens of questions to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tokens {
    /// Read by it.
    pub prompt: u64,
    /// Written by it.
    pub completion: u64,
    /// Both.
    pub total: u64,
}

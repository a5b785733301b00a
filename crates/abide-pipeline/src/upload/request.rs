//! What a client sends, and whether it can be taken.

use crate::config::ProcessingConfig;
use crate::ids::ORIGIN;
use crate::prompts::CustomPrompts;
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Bytes of `metadata`, written as JSON: it goes along in messages.
const METADATA_BYTES: usize = 8 * 1024;
/// Bytes of a path: a key of staging holds it.
const PATH_BYTES: usize = 800;
/// Bytes of a short text.
const TEXT_BYTES: usize = 500;
/// Files of a batch: as many as its manifest can list.
const FILES: u64 = 1_000_000;

/// How large files and batches may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `MAX_FILE_SIZE`.
    pub file_bytes: u64,
    /// `MAX_BATCH_SIZE`.
    pub batch_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes: 5 << 30, batch_bytes: 100 << 30 }
    }
}

/// What is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadUpload(pub String);

/// `POST /api/batches/init`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Init {
    /// Who uploads.
    pub uploader: String,
    /// Where the files were.
    pub root_path: String,
    /// How many there are.
    pub file_count: u64,
    /// Their bytes.
    pub total_size: u64,
    /// Anything else.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// The entity that the topmost one is put under; 26 zeros for none.
    #[serde(default = "origin")]
    pub parent_pi: EntityId,
    /// Words for the models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_prompts: Option<CustomPrompts>,
}

fn origin() -> EntityId {
    EntityId::parse(ORIGIN).expect("26 zeros are an id")
}

impl Init {
    /// Checks everything that does not depend on others.
    pub fn check(&self, limits: Limits) -> Result<(), BadUpload> {
        let bad = |message: String| Err(BadUpload(message));
        if self.uploader.trim().is_empty() || self.uploader.len() > TEXT_BYTES {
            return bad(format!("uploader has 1 to {TEXT_BYTES} bytes"));
        }
        if self.root_path != "/" {
            check_path("root_path", &self.root_path)?;
        }
        if self.file_count == 0 || self.total_size == 0 {
            return bad("file_count and total_size are at least 1".to_owned());
        }
        if self.total_size > limits.batch_bytes {
            return bad(format!(
                "total_size is {}, and a batch may have {} bytes",
                self.total_size, limits.batch_bytes
            ));
        }
        // Each file has at least one byte.
        let most = FILES.min(self.total_size);
        if self.file_count > most {
            return bad(format!("file_count is {}, and there may be {most} files", self.file_count));
        }
        let metadata = serde_json::to_string(&self.metadata).map_or(0, |text| text.len());
        if metadata > METADATA_BYTES {
            return bad(format!("metadata has {metadata} bytes, and {METADATA_BYTES} are taken"));
        }
        match &self.custom_prompts {
            Some(prompts) => prompts.check().map_err(|error| BadUpload(error.to_string())),
            None => Ok(()),
        }
    }

    /// Whether a file is below the root.
    #[must_use]
    pub fn has(&self, logical_path: &str) -> bool {
        let below = logical_path.strip_prefix(self.root_path.trim_end_matches('/'));
        below.is_some_and(|below| below.starts_with('/'))
    }

    /// The entity that the topmost one is put under, if there is one.
    #[must_use]
    pub fn parent(&self) -> Option<&EntityId> {
        Some(&self.parent_pi).filter(|pi| pi.as_str() != ORIGIN)
    }
}

/// `POST /api/batches/{id}/files/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartFile {
    /// Its name.
    pub file_name: String,
    /// Its bytes.
    pub file_size: u64,
    /// Where it was.
    pub logical_path: String,
    /// What it is said to be.
    pub content_type: String,
    /// Its content id, if known: another content is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cid: Option<String>,
    /// What is to be done with it.
    pub processing_config: Value,
}

impl StartFile {
    /// Checks everything that does not depend on the batch.
    pub fn check(&self, limits: Limits) -> Result<(), BadUpload> {
        let bad = |message: String| Err(BadUpload(message));
        check_path("logical_path", &self.logical_path)?;
        if self.file_name.is_empty() || self.file_name.len() > TEXT_BYTES {
            return bad(format!("file_name has 1 to {TEXT_BYTES} bytes"));
        }
        if self.content_type.is_empty() || self.content_type.len() > TEXT_BYTES {
            return bad(format!("content_type has 1 to {TEXT_BYTES} bytes"));
        }
        if let Some(Err(error)) = self.cid.as_deref().map(ContentId::parse) {
            return bad(format!("cid: {error}"));
        }
        if self.file_size == 0 || self.file_size > limits.file_bytes {
            return bad(format!("file_size is {}: it is 1 to {}", self.file_size, limits.file_bytes));
        }
        let flag = |name: &str| self.processing_config.get(name).is_some_and(Value::is_boolean);
        if let Some(missing) = ["ocr", "describe", "pinax"].into_iter().find(|name| !flag(name)) {
            return bad(format!("processing_config.{missing} is true or false"));
        }
        match serde_json::from_value::<ProcessingConfig>(self.processing_config.clone()) {
            Ok(_) => Ok(()),
            Err(error) => bad(format!("processing_config: {error}")),
        }
    }
}

/// A path starts with a slash and has parts that any file system takes.
fn check_path(field: &str, path: &str) -> Result<(), BadUpload> {
    let shown: String = path.chars().take(120).collect();
    let bad = |reason: &str| Err(BadUpload(format!("{field}: {shown:?} {reason}")));
    let Some(parts) = path.strip_prefix('/') else { return bad("does not start with a slash") };
    if path.len() > PATH_BYTES {
        return bad(&format!("is longer than {PATH_BYTES} bytes"));
    }
    if parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return bad("has a part that is empty, '.' or '..'");
    }
    if path.chars().any(|c| c.is_control() || matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*')) {
        return bad("has a control character or one of < > : \" | ? *");
    }
    Ok(())
}

/// `POST /api/batches/{id}/enqueue-processed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessedBody {
    /// The files now.
    #[serde(default)]
    pub files: Vec<Value>,
    /// The topmost entity; that of the upload if it is not said.
    #[serde(default)]
    pub root_pi: Option<EntityId>,
    /// Entities by path; those of the upload if they are not said.
    #[serde(default)]
    pub node_pis: Option<std::collections::BTreeMap<String, EntityId>>,
}

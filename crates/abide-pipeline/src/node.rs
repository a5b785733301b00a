//! Nodes: the directories of a batch, and their files.

use crate::config::ProcessingConfig;
use abide_engine::Record;
use abide_entities::{ContentId, EntityId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// That a node is a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeType {
    /// The only sort.
    #[default]
    Directory,
}

/// A directory of a batch. Its files and children are rows of their own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// That it is one.
    #[serde(rename = "type")]
    pub kind: NodeType,
    /// Where it is.
    pub path: String,
    /// How deep; 0 for `/`.
    pub depth: u32,
    /// Where its parent is.
    pub parent_path: Option<String>,
    /// The number of it in the batch.
    pub place: u32,
    /// The number of its parent.
    pub parent: Option<u32>,
    /// How many children it has.
    pub children: u32,
    /// What is to be done with it.
    pub processing_config: ProcessingConfig,
    /// Its entity.
    pub pi: Option<EntityId>,
    /// The newest manifest that the batch knows of.
    pub current_tip: Option<ContentId>,
    /// The newest version that the batch knows of.
    pub current_version: Option<u32>,
    /// Whether its entity was there before the batch.
    pub existed: bool,
    /// Files of it that are text.
    pub text_count: u32,
    /// Files of it that stand for something else.
    pub ref_count: u32,
    /// Files of it that are neither.
    pub other_count: u32,
    /// Its entity has its files.
    pub snapshot_published: bool,
    /// Its images are read.
    pub ocr_complete: bool,
    /// Its files are in groups.
    pub reorganization_complete: bool,
    /// It has metadata.
    pub pinax_complete: bool,
    /// It is past the phase that is skipped.
    pub entity_ops_complete: bool,
    /// It has a description.
    pub description_complete: bool,
    /// Nothing is left to do.
    pub processing_complete: bool,
    /// Why phases gave up on it, by phase.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_errors: BTreeMap<String, String>,
    /// Why phases passed it over, by phase.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_skips: BTreeMap<String, String>,
    /// Attempts that failed, by phase.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub retry_counts: BTreeMap<String, u32>,
    /// The chunk that was last sent to the organizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organizer_callback_batch: Option<String>,
    /// Whether an answer of the organizer is awaited.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub organizer_callback_pending: bool,
    /// When that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organizer_callback_sent_at: Option<String>,
    /// Chunks that the organizer has.
    #[serde(skip_serializing_if = "is_zero")]
    pub awaited: u32,
    /// What holds the phase: jobs, or chunks that are not settled.
    #[serde(skip_serializing_if = "is_zero")]
    pub open: u32,
    /// Whether files of it have new content that its entity does not have.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
    /// The file after which the phase goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The last round of its batch in which something came for it or for what is in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub round: u32,
}

impl Record for Node {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
pub(crate) fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Node {
    /// Files that can be put into groups.
    #[must_use]
    pub const fn files(&self) -> u32 {
        self.text_count + self.ref_count
    }

    /// Files of a sort.
    pub fn count(&mut self, kind: FileKind) -> &mut u32 {
        match kind {
            FileKind::Text => &mut self.text_count,
            FileKind::Ref => &mut self.ref_count,
            FileKind::Other => &mut self.other_count,
        }
    }

    /// Its name; that of the batch's root is empty.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// What a file is for the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Text of its own.
    Text,
    /// It stands for bytes that are kept elsewhere.
    Ref,
    /// Anything else: a component that no phase looks into.
    Other,
}

/// Endings of files that are text.
const TEXT_EXTENSIONS: [&str; 21] = [
    "txt", "md", "json", "xml", "html", "htm", "csv", "tsv", "yaml", "yml", "toml", "ini", "cfg", "conf",
    "log", "rst", "tex", "rtf", "asc", "nfo", "eml",
];

impl FileKind {
    /// Of a file with this name.
    #[must_use]
    pub fn of(name: &str) -> FileKind {
        let lower = name.to_lowercase();
        if lower.ends_with(".ref.json") {
            return FileKind::Ref;
        }
        match lower.rsplit_once('.') {
            Some((_, ending)) if TEXT_EXTENSIONS.contains(&ending) => FileKind::Text,
            _ => FileKind::Other,
        }
    }

    /// Whether a component of this name stands for an image that can be read.
    #[must_use]
    pub fn is_image_ref(name: &str) -> bool {
        let lower = name.to_lowercase();
        let image = lower.strip_suffix(".ref.json").unwrap_or_default();
        [".jpg", ".jpeg", ".png", ".webp"].iter().any(|ending| image.ends_with(ending))
    }
}

/// A file of a node: its row, by the node and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Its name, the same as that of its component.
    pub filename: String,
    /// What it is.
    pub kind: FileKind,
    /// Where its bytes are in staging, if they came that way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_key: Option<String>,
    /// Its content, once it is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cid: Option<ContentId>,
    /// Whether its image is to be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ocr: bool,
    /// Whether nothing is left to read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ocr_complete: bool,
    /// Why it was not taken or not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether somebody put it where it is: it is in no group then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// Whether an earlier run left it in no group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub former: bool,
    /// The round of its batch in which it came.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub round: u32,
}

impl Record for FileRecord {}

impl FileRecord {
    /// Whether it stands for an image that is to be read.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.ocr && !self.ocr_complete && FileKind::is_image_ref(&self.filename)
    }

    /// Whether nothing became of it yet.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.cid.is_none() && self.error.is_none()
    }
}

/// A node as the routes show it, with a page of its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeDocument {
    /// The node.
    #[serde(flatten)]
    pub node: Node,
    /// Where its children are; a page of them.
    pub children_paths: Vec<String>,
    /// Files that are text; a page of them.
    pub text_files: Vec<TextRecord>,
    /// Files that stand for something else; a page of them.
    pub refs: Vec<RefRecord>,
    /// What the organizer said, chunk by chunk; a page of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reorganization_result: Vec<crate::chunk::ChunkResult>,
}

/// A text as the routes show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRecord {
    /// Its name.
    pub filename: String,
    /// Where it is in staging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_key: Option<String>,
    /// Why it was not taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A ref as the routes show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefRecord {
    /// Its name.
    pub filename: String,
    /// Where it is in staging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_key: Option<String>,
    /// Whether nothing is left to read.
    pub ocr_complete: bool,
    /// Why it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

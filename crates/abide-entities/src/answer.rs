//! What is answered, as it goes over the wire: each answer carries the names of both generations of clients.

use crate::content::ContentId;
use crate::id::EntityId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// An entity was created or has a new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Which.
    pub id: EntityId,
    /// The same.
    pub pi: EntityId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version.
    pub ver: u32,
    /// Its manifest.
    pub manifest_cid: ContentId,
    /// The same.
    pub tip: ContentId,
    /// Children that know of it, if the request named some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_updated: Option<u32>,
    /// Children that do not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_failed: Option<u32>,
}

/// An entity in one of its versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Which.
    pub id: EntityId,
    /// The same.
    pub pi: EntityId,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it was created.
    pub created_at: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The version.
    pub ver: u32,
    /// When it was made.
    pub ts: String,
    /// Its manifest.
    pub manifest_cid: ContentId,
    /// The manifest of the newest version.
    pub tip: ContentId,
    /// The manifest of the version before.
    pub prev_cid: Option<ContentId>,
    /// Blobs by name.
    pub components: BTreeMap<String, ContentId>,
    /// Anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub properties: Option<Map<String, Value>>,
    /// Its children, in the order in which they came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children_pi: Vec<EntityId>,
    /// Its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_pi: Option<EntityId>,
    /// What it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_pi: Option<EntityId>,
    /// Why this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Where an entity is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolved {
    /// Which.
    pub id: EntityId,
    /// Its newest manifest.
    pub tip: ContentId,
}

/// An entity that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Which.
    pub id: EntityId,
    /// The same.
    pub pi: EntityId,
    /// Files that were deleted because nothing names them any more.
    pub files_deleted: u64,
    /// Their bytes.
    pub bytes_freed: u64,
}

/// Versions of an entity, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// These.
    pub items: Vec<VersionItem>,
    /// Where the next page begins.
    pub next_cursor: Option<ContentId>,
}

/// One version in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionItem {
    /// Its number.
    pub ver: u32,
    /// Its manifest.
    pub cid: ContentId,
    /// When it was made.
    pub ts: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A parent has other children.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyMade {
    /// Which parent.
    pub parent_pi: EntityId,
    /// Its version.
    pub parent_ver: u32,
    /// Its newest manifest.
    pub parent_tip: ContentId,
    /// Children that know of it.
    pub children_updated: u32,
    /// Children that do not exist.
    pub children_failed: u32,
}

impl From<Made> for HierarchyMade {
    fn from(made: Made) -> HierarchyMade {
        HierarchyMade {
            parent_pi: made.id,
            parent_ver: made.ver,
            parent_tip: made.tip,
            children_updated: made.children_updated.unwrap_or(0),
            children_failed: made.children_failed.unwrap_or(0),
        }
    }
}

/// Entities, the one that changed last first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityList {
    /// These.
    pub entities: Vec<Listed>,
    /// How many were asked for.
    pub limit: usize,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// One entity in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Which.
    pub id: EntityId,
    /// Its newest manifest.
    pub tip: ContentId,
    /// More about it, if asked for.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// What a list says about an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its newest version.
    pub ver: u32,
    /// When that was made.
    pub ts: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How many components it has.
    pub component_count: u32,
    /// How many children.
    pub children_count: u64,
}

/// A file that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uploaded {
    /// As the part of the request was called.
    pub name: String,
    /// Its id.
    pub cid: ContentId,
    /// Its bytes.
    pub size: u64,
}

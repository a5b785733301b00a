//! Jobs of uploads.

use crate::upload::calls::FileRow;
use abide_core::object::Incarnation;
use abide_entities::EntityId;
use serde::{Deserialize, Serialize};

/// The queue of everything that uploads ask for.
pub const QUEUE: &str = "ingest";
/// Makes sure that a file is there, from its parts if it has some.
pub const COMPLETE: &str = "ingest.complete";
/// Makes entities of directories.
pub const DISCOVERY: &str = "ingest.discovery";

/// Deletes what is left of an upload.
pub const SWEEP: &str = "ingest.sweep";

/// Delete what is left of an upload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepOrder {
    pub(crate) batch_id: String,
    /// Files that came whole, too.
    pub(crate) is_whole: bool,
}

/// Make sure that a file is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CompleteOrder {
    pub(crate) batch_id: String,
    pub(crate) file: FileRow,
}

/// Make entities of directories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DiscoveryOrder {
    pub(crate) batch_id: String,
    pub(crate) life: Incarnation,
    pub(crate) parent_pi: Option<EntityId>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Discovered {
    pub(crate) root_pi: EntityId,
    /// Entities by path, if they fit a message.
    pub(crate) node_pis: Option<std::collections::BTreeMap<String, EntityId>>,
}

//! What services bring to the server.
//!
//! A service has its routes in `routes/<service>.rs` and its field here: what those routes need beside the engine (keys,
//! buckets, options). A service that is not there has no routes.

use crate::backup::BackupService;
use abide_engine::Telemetry;
use abide_engine::telemetry::LogsOnly;
use std::path::PathBuf;
use std::sync::Arc;

/// The services of a server.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// `/v1/backup`.
    pub backup: Option<BackupService>,
    /// `/coordinator` and `/processor`.
    pub coordinator: Option<CoordinatorService>,
    /// How the server is watched.
    pub watch: Watch,
}

/// The coordinator needs nothing but the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoordinatorService;

/// How a server is watched.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The directory whose size is the store's.
    pub store_dir: Option<PathBuf>,
    /// Where spans of requests come from.
    pub telemetry: Arc<dyn Telemetry>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { store_dir: None, telemetry: Arc::new(LogsOnly) }
    }
}

//! What services bring to the server.
//!
//! A service has its routes in `routes/<service>.rs` and its field here: what those routes need beside the engine (keys,
//! buckets, options). A service that is not there has no routes.

use crate::backup::BackupService;

/// The services of a server.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// `/v1/backup`.
    pub backup: Option<BackupService>,
    /// `/coordinator` and `/processor`.
    pub coordinator: Option<CoordinatorService>,
}

/// The coordinator needs nothing but the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoordinatorService;

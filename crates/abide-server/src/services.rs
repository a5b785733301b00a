//! What services bring to the server.
//!
//! A service has its routes in `routes/<service>.rs` and its field here: what those routes need beside the engine (keys,
//! buckets, options). A service that is not there has no routes.

use crate::backup::BackupService;
use crate::metrics::Family;
use abide_engine::Telemetry;
use abide_engine::telemetry::LogsOnly;
use abide_entities::EntityStore;
use abide_links::auth::Authority;
use abide_links::processor::preview::Preview;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The services of a server.
#[derive(Debug, Clone, Default)]
pub struct Services {
    /// Downloads that run in this process are counted in `/metrics`.
    pub downloads: Option<abide_downloads::Meter>,
    /// `/v1/backup`.
    pub backup: Option<BackupService>,
    /// `/coordinator` and `/processor`.
    pub coordinator: Option<CoordinatorService>,
    /// `/preprocess` and `/asset`.
    pub preprocess: Option<abide_preprocess::Service>,
    /// `/entities`, `/upload`, `/cat`, `/dag`, `/resolve` and `/hierarchy`.
    pub entities: Option<EntitiesService>,
    /// `/organizer`.
    pub organizer: Option<abide_organize::Service>,
    /// `/orchestrator` and `/api/batches`.
    pub pipeline: Option<PipelineService>,
    /// `/collections`.
    pub collections: Option<abide_collections::Shelf>,
    /// `/sync`.
    pub sync: Option<SyncService>,
    /// `/links/api`.
    pub links: Option<LinksService>,
    /// How the server is watched.
    pub watch: Watch,
}

/// The coordinator needs nothing but the engine.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoordinatorService;

/// Entities, ours or those of another server.
#[derive(Clone)]
pub struct EntitiesService {
    /// Who answers.
    pub store: Arc<dyn EntityStore>,
    /// Bytes of one request to `/upload`.
    pub max_upload_bytes: u64,
}

impl fmt::Debug for EntitiesService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntitiesService").field("max_upload_bytes", &self.max_upload_bytes).finish()
    }
}

/// The pipeline, how long the URLs of its uploads are good, and who reads.
#[derive(Debug, Clone)]
pub struct PipelineService {
    /// It.
    pub service: abide_pipeline::Service,
    /// `PRESIGNED_URL_EXPIRY`.
    pub urls_good_for: Duration,
    /// What reads images; if nobody does, why.
    pub reader: Result<String, String>,
    /// Whether that is a model.
    pub reader_is_model: bool,
}

/// The links need the log of their store, which is the sync backend's, and a look at pages.
#[derive(Debug, Clone)]
pub struct LinksService {
    /// Looks at them.
    pub preview: Preview,
}

/// The sync backend needs to know who may see which store.
#[derive(Debug, Clone)]
pub struct SyncService {
    /// Decides.
    pub authority: Arc<Authority>,
    /// Sockets at a time. They are not counted as connections: an idle one costs a file and some KiB.
    pub max_sockets: u32,
    /// How often access of an open socket is asked for again.
    pub recheck: Duration,
    /// How long clients are waited for.
    pub silence: Silence,
    /// How long the end of a log that does not grow is kept in memory.
    pub kept_for: Duration,
}

impl SyncService {
    /// One that takes so many sockets and asks for access so often, and waits for clients as long as the published one expects.
    #[must_use]
    pub fn new(authority: Authority, max_sockets: u32, recheck: Duration) -> SyncService {
        let (authority, silence) = (Arc::new(authority), Silence::default());
        SyncService { authority, max_sockets, recheck, silence, kept_for: Duration::from_secs(60) }
    }
}

/// How long a socket may be silent, and how long a client may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Then it is asked for a sign of life.
    pub ping_after: Duration,
    /// Then it counts as gone: it should have pinged several times, and been pinged twice.
    pub gone_after: Duration,
    /// How long it may take to take a frame.
    pub takes_a_frame: Duration,
}

impl Default for Silence {
    fn default() -> Silence {
        let [ping_after, gone_after, takes_a_frame] = [30, 90, 60].map(Duration::from_secs);
        Silence { ping_after, gone_after, takes_a_frame }
    }
}

/// How a server is watched.
#[derive(Debug, Clone)]
pub struct Watch {
    /// The directory whose size is the store's.
    pub store_dir: Option<PathBuf>,
    /// Where spans of requests come from.
    pub telemetry: Arc<dyn Telemetry>,
    /// What is counted beside the services, for `/metrics`.
    pub beside: Option<Beside>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { store_dir: None, telemetry: Arc::new(LogsOnly), beside: None }
    }
}

/// Counts what no service of this server does itself.
#[derive(Clone)]
pub struct Beside(Arc<dyn Fn() -> Vec<Family> + Send + Sync>);

impl Beside {
    /// What `count` says whenever it is asked.
    #[must_use]
    pub fn new(count: impl Fn() -> Vec<Family> + Send + Sync + 'static) -> Beside {
        Beside(Arc::new(count))
    }

    pub(crate) fn families(&self) -> Vec<Family> {
        (self.0)()
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Beside").finish_non_exhaustive()
    }
}

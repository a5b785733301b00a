//! The service as a whole: what runs the jobs of batches, and what its routes need.

use crate::batch::Batch;
use crate::buckets::Buckets;
use crate::callback::Heard;
use crate::jobs;
use crate::launch::{Fleet, Launcher, Launching};
use crate::limits::ROOM_BYTES;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::phases::{self, Phases};
use crate::places::Places;
use crate::site::Site;
use crate::work::{Finalize, Manifest, Start, Sweep};
use abide_engine::registry::RegisterError;
use abide_engine::{Engine, Registry};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Jobs that read manifests, deliver and empty staging, each at a time.
const SLOTS: usize = 4;

/// Whether workers get URLs or the keys to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// `INPUT_URL` and `OUTPUT_URL`, each for one blob, one attempt and a while.
    Presigned,
    /// `R2_ACCOUNT_ID`, `R2_ACCESS_KEY_ID` and `R2_SECRET_ACCESS_KEY`.
    Bucket,
}

/// What the archive has of originals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Originals {
    /// Their bytes, for good.
    Kept,
    /// References to files of others, if staging has no more: whoever set it up empties the archive before they may be gone.
    Referred,
}

/// What workers are told beside their task.
#[derive(Debug, Clone)]
pub struct Telling {
    /// How they get at bytes.
    pub credentials: Credentials,
    /// The account, the id of its key and the key.
    pub r2: [String; 3],
    /// Where the buckets are, if not at R2 of that account.
    pub r2_endpoint: String,
    /// `R2_BUCKET`.
    pub staging_name: String,
    /// `ARCHIVE_BUCKET`.
    pub archive_name: String,
    /// Where assets are registered, if anywhere.
    pub cdn_api_url: String,
    /// Where they are served, if not by us.
    pub cdn_public_url: String,
    /// `fast`, or nothing.
    pub preset: String,
    /// Dots per inch of pages that are drawn, if not the usual.
    pub pdf_dpi: Option<u16>,
}

impl Default for Telling {
    fn default() -> Telling {
        Telling {
            credentials: Credentials::Presigned,
            r2: Default::default(),
            r2_endpoint: String::new(),
            staging_name: "arke-staging".to_owned(),
            archive_name: "arke-archive".to_owned(),
            cdn_api_url: String::new(),
            cdn_public_url: String::new(),
            preset: String::new(),
            pdf_dpi: None,
        }
    }
}

/// Everything that the service is made from.
pub struct Setup {
    /// How batches behave.
    pub options: Options,
    /// What they go through.
    pub phases: Phases,
    /// Where bytes are.
    pub buckets: Buckets,
    /// What the archive has of originals.
    pub originals: Originals,
    /// What runs workers.
    pub launcher: Launcher,
    /// Workers at a time.
    pub in_flight: usize,
    /// Bytes that stay free on the disks that workers and local buckets write to: below it, workers wait.
    pub room_bytes: u64,
    /// What they are told.
    pub telling: Telling,
    /// Who is told of finished batches: `{worker_url}/api/batches/…`; nobody if it is empty.
    pub worker_url: String,
}

impl Setup {
    /// Everything as it is by default.
    #[must_use]
    pub fn new(buckets: Buckets, launcher: Launcher, in_flight: usize) -> Setup {
        Setup {
            options: Options::new(buckets.signer.clone()),
            phases: phases::ALL,
            buckets,
            originals: Originals::Kept,
            launcher,
            in_flight,
            room_bytes: ROOM_BYTES,
            telling: Telling::default(),
            worker_url: String::new(),
        }
    }
}

/// The service, on its way to an engine or on one. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    buckets: Buckets,
    originals: Originals,
    shares_disk: bool,
    phases: Phases,
    site: watch::Sender<Option<Site>>,
    metrics: Metrics,
    heard: Heard,
    launcher: Launcher,
    fleet: Fleet,
    places: Places,
    hindrance: watch::Sender<Option<String>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("buckets", &self.shared.buckets).finish()
    }
}

impl Service {
    /// Adds the batch object and everything that runs its jobs.
    pub fn register(registry: &mut Registry, setup: Setup) -> Result<Service, RegisterError> {
        let Setup {
            options,
            phases,
            buckets,
            originals,
            launcher,
            in_flight,
            room_bytes,
            telling,
            worker_url,
        } = setup;
        let shares_disk = matches!(launcher, Launcher::Local(_));
        let options = Options { delivers: !worker_url.is_empty(), shares_disk, ..options };
        registry.object(Batch::with_phases(options, phases))?;
        let shared = Shared {
            buckets: buckets.clone(),
            originals,
            shares_disk,
            phases,
            site: watch::channel(None).0,
            metrics: Metrics::default(),
            heard: Heard::default(),
            launcher: launcher.clone(),
            fleet: Fleet::new(in_flight),
            places: Places::new(in_flight),
            hindrance: watch::channel(None).0,
        };
        let service = Service { shared: Arc::new(shared) };
        registry.worker(jobs::MESSAGES, jobs::START, SLOTS, Start(service.clone()))?;
        registry.worker(jobs::QUEUE, jobs::MANIFEST, SLOTS, Manifest(service.clone()))?;
        registry.worker(jobs::QUEUE, jobs::SWEEP, SLOTS, Sweep(service.clone()))?;
        if !worker_url.is_empty() {
            let finalize = Finalize { service: service.clone(), worker_url };
            registry.worker(jobs::QUEUE, jobs::FINALIZE, SLOTS, finalize)?;
        }
        let launching = Launching::new(service.clone(), launcher, room_bytes, telling);
        for phase in phases {
            registry.worker(jobs::QUEUE, phase.tag(), in_flight, launching.clone())?;
        }
        Ok(service)
    }

    /// The engine has started, and workers reach the routes at `url`. Jobs wait for this.
    pub fn begin(&self, engine: Engine, url: impl Into<String>) {
        let url = url.into().trim_end_matches('/').to_owned();
        let site = Site { engine, url };
        self.shared.site.send_replace(Some(site.clone()));
        if matches!(self.shared.launcher, Launcher::Fly(_)) {
            let service = self.clone();
            tokio::spawn(async move { service.keep_machines(&site).await });
        }
    }

    /// Looks after machines that nobody watches, until the engine ends.
    async fn keep_machines(&self, site: &Site) {
        let Launcher::Fly(fly) = &self.shared.launcher else { return };
        tokio::select! {
            () = site.engine.ended() => {}
            () = self.fleet().keep(self, site, fly) => {}
        }
    }

    /// Machines that are there.
    pub(crate) fn fleet(&self) -> &Fleet {
        &self.shared.fleet
    }

    /// Where it runs, once it does.
    pub async fn site(&self) -> Site {
        let mut site = self.shared.site.subscribe();
        // The sender is here as long as we are.
        let begun = site.wait_for(Option::is_some).await.ok().and_then(|site| site.clone());
        match begun {
            Some(site) => site,
            None => std::future::pending().await,
        }
    }

    /// Where bytes are.
    #[must_use]
    pub fn buckets(&self) -> &Buckets {
        &self.shared.buckets
    }

    /// What the archive has of originals.
    pub(crate) fn originals(&self) -> Originals {
        self.shared.originals
    }

    /// What batches go through.
    pub(crate) fn phases(&self) -> Phases {
        self.shared.phases
    }

    /// What workers wait for: room on a disk. They go on by themselves when there is some, and this is nothing again when the
    /// first of them has called back.
    #[must_use]
    pub fn hindrance(&self) -> watch::Receiver<Option<String>> {
        self.shared.hindrance.subscribe()
    }

    /// Whether workers write to the disks of this machine.
    pub(crate) fn shares_disk(&self) -> bool {
        self.shared.shares_disk
    }

    /// Notes what workers wait for, or that nothing is in their way.
    pub(crate) fn note_hindrance(&self, hindrance: Option<&str>) {
        self.shared.hindrance.send_if_modified(|noted| {
            let is_news = noted.as_deref() != hindrance;
            match hindrance {
                Some(hindrance) if noted.is_none() => {
                    tracing::warn!(target: "preprocess", hindrance, "workers wait until there is room");
                }
                None if is_news => tracing::info!(target: "preprocess", "workers go on: there is room"),
                Some(_) | None => {}
            }
            if is_news {
                *noted = hindrance.map(str::to_owned);
            }
            is_news
        });
    }

    /// Who waits for callbacks.
    pub(crate) fn heard(&self) -> &Heard {
        &self.shared.heard
    }

    /// Where workers are.
    pub(crate) fn places(&self) -> &Places {
        &self.shared.places
    }

    /// Before the engine stops: starts no more workers, and lets those of this machine that are at it finish and call back, for
    /// at most so long; then they are stopped, which uses up no attempt. Machines elsewhere go on, and are found again.
    pub async fn wind_down(&self, patience: Duration) {
        if self.shares_disk() {
            self.places().end(patience).await;
        }
    }

    /// What is counted.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }
}

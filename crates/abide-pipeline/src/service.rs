//! The service as a whole: what runs the jobs of batches.

use crate::away::Away;
use crate::options::{Options, Organizer};
use crate::orders;
use crate::pipeline::Pipeline;
use crate::site::Site;
use crate::upload;
use crate::work::{
    Describe, Discover, Dispatch, DispatchAway, Images, Look, Metadata, Ocr, ReadImage, Snapshot, Start,
    What, WriteNode,
};
use abide_blob::Bucket;
use abide_engine::Registry;
use abide_engine::registry::RegisterError;
use std::sync::Arc;
use tokio::sync::watch;

/// Jobs of a kind at a time, over all batches.
const SLOTS: usize = 8;

/// Everything that the service is made from.
pub struct Setup {
    /// How batches behave.
    pub options: Options,
    /// Where files of batches are before they are entities.
    pub staging: Bucket,
    /// Who reads images; if nobody, they are left unread, with that reason.
    pub ocr: Option<Arc<dyn Ocr>>,
    /// Who gets the bytes of images.
    pub images: Arc<dyn Images>,
    /// Who extracts metadata; if nobody, the phase fails for each directory with that reason.
    pub metadata: Option<Arc<dyn Metadata>>,
    /// Who describes; if nobody, the phase fails for each directory with that reason.
    pub describe: Option<Arc<dyn Describe>>,
    /// Images that are read at a time, over all batches.
    pub ocr_slots: usize,
    /// An organizer of somebody else: `ORGANIZER_URL`; ours if it is empty.
    pub organizer_url: String,
    /// The token that it wants, if any.
    pub organizer_token: Option<String>,
    /// Services of somebody else that read, extract or describe; ours where it is empty.
    pub services: ServiceUrls,
    /// More tokens than this of texts and children, and metadata is extracted without what was read off images:
    /// `OCR_TEXT_TOKEN_THRESHOLD`.
    pub ocr_text_token_threshold: usize,
}

/// Where services of somebody else are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceUrls {
    /// Reads images: `OCR_URL`.
    pub ocr: String,
    /// Extracts metadata: `PINAX_URL`.
    pub pinax: String,
    /// Describes: `DESCRIPTION_URL`.
    pub description: String,
}

/// The service, on its way to an engine or on one. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) staging: Bucket,
    pub(crate) ocr: Option<Arc<dyn Ocr>>,
    pub(crate) images: Arc<dyn Images>,
    pub(crate) metadata: Option<Arc<dyn Metadata>>,
    pub(crate) describe: Option<Arc<dyn Describe>>,
    pub(crate) ocr_text_token_threshold: usize,
    limits: upload::Limits,
    site: watch::Sender<Option<Site>>,
}

impl std::fmt::Debug for Service {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("staging", &self.shared.staging).finish()
    }
}

impl Service {
    /// Adds the batch object and everything that runs its jobs.
    pub fn register(registry: &mut Registry, setup: Setup) -> Result<Service, RegisterError> {
        let is_elsewhere = !setup.organizer_url.is_empty();
        let organizer = if is_elsewhere { Organizer::Elsewhere } else { Organizer::Here };
        let limits = setup.options.uploads;
        let urls = setup.services;
        let away = Away {
            ocr: !urls.ocr.is_empty(),
            pinax: !urls.pinax.is_empty(),
            description: !urls.description.is_empty(),
        };
        registry.object(Pipeline::new(Options { organizer, away, ..setup.options }))?;
        let shared = Shared {
            staging: setup.staging,
            ocr: setup.ocr,
            images: setup.images,
            metadata: setup.metadata,
            describe: setup.describe,
            ocr_text_token_threshold: setup.ocr_text_token_threshold,
            limits,
            site: watch::channel(None).0,
        };
        let service = Service { shared: Arc::new(shared) };
        let of = || service.clone();
        registry.worker(orders::MESSAGES, orders::START, SLOTS, Start(of()))?;
        registry.worker(orders::QUEUE, orders::DISCOVER, SLOTS, Discover(of()))?;
        registry.worker(orders::QUEUE, orders::SNAPSHOT, SLOTS, Snapshot(of()))?;
        registry.worker(orders::QUEUE, orders::OCR, setup.ocr_slots.max(1), ReadImage(of()))?;
        registry.worker(orders::QUEUE, orders::LOOK, SLOTS, Look(of()))?;
        let writing = |what| WriteNode { service: of(), what };
        registry.worker(orders::QUEUE, orders::PINAX, SLOTS, writing(What::Record))?;
        registry.worker(orders::QUEUE, orders::DESCRIBE, SLOTS, writing(What::Description))?;
        registry.object(upload::Intake)?;
        registry.worker(upload::QUEUE, upload::COMPLETE, SLOTS, upload::Complete(of()))?;
        registry.worker(upload::QUEUE, upload::DISCOVERY, SLOTS, upload::Discovery(of()))?;
        registry.worker(upload::QUEUE, upload::SWEEP, SLOTS, upload::Sweep(of()))?;
        if away != Away::default() {
            registry.worker(orders::QUEUE, orders::AWAY, SLOTS, DispatchAway(urls))?;
        }
        if is_elsewhere {
            let (organizer_url, token) = (setup.organizer_url, setup.organizer_token);
            let dispatch = Dispatch { service: of(), organizer_url, token };
            registry.worker(orders::QUEUE, orders::DISPATCH, SLOTS, dispatch)?;
        }
        Ok(service)
    }

    /// The engine has started and has these entities. Jobs wait for this.
    pub fn begin(&self, site: Site) {
        self.shared.site.send_replace(Some(site));
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

    /// How large files and batches may be that are uploaded.
    #[must_use]
    pub fn limits(&self) -> upload::Limits {
        self.shared.limits
    }

    /// Where files of batches are before they are entities.
    #[must_use]
    pub fn staging(&self) -> &Bucket {
        &self.shared.staging
    }
}

//! The service on a real engine, with entities, files in a directory, a model over HTTP, and a store that outlives engines.

use abide_blob::Bucket;
use abide_engine::clock::SystemClock;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::answer::Shown;
use abide_entities::request::Create;
use abide_entities::{EntityId, EntityStore, LocalEntities, Pieces};
use abide_llm::{Client, Endpoint, Limiters, Model, Price};
use abide_organize::contract::{CallbackPayload, PiRequest, ProcessReply, ProcessRequest, StatusReply};
use abide_organize::{Options, Service, Site};
use abide_store::memory::MemoryStore;
use abide_store::{Answer, Batch, Read, Reader, Store, StoreError, Write};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use futures_util::stream;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// A store that engines share one after the other, and at whose nth write the engine of the time dies.
#[derive(Clone)]
pub(crate) struct Disk {
    memory: Arc<Mutex<MemoryStore>>,
    writes: Arc<AtomicUsize>,
    dies_at: Arc<AtomicUsize>,
    dead: watch::Sender<bool>,
}

impl Disk {
    fn new() -> Disk {
        Disk {
            memory: Arc::new(Mutex::new(MemoryStore::new())),
            writes: Arc::default(),
            dies_at: Arc::new(AtomicUsize::new(usize::MAX)),
            dead: watch::channel(false).0,
        }
    }

    /// The same disk for the next engine.
    fn next_life(&self) -> Disk {
        self.dies_at.store(usize::MAX, Ordering::SeqCst);
        Disk { dead: watch::channel(false).0, ..self.clone() }
    }
}

fn gone() -> StoreError {
    StoreError::Unavailable("the machine is off".to_owned())
}

impl Store for Disk {
    fn write(&mut self, now: abide_core::time::Time, batch: &[Write]) -> Result<Batch, StoreError> {
        if *self.dead.borrow() {
            return Err(gone());
        }
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        let dies = number >= self.dies_at.load(Ordering::SeqCst);
        // Every second death is after the write reached the disk.
        let written = if dies && number.is_multiple_of(2) {
            Err(gone())
        } else {
            self.memory.lock().unwrap().write(now, batch)
        };
        if dies {
            self.dead.send_replace(true);
            return Err(gone());
        }
        written
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let reader = self.memory.lock().unwrap().reader()?;
        Ok(Box::new(DiskReader { reader, dead: self.dead.subscribe() }))
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        if *self.dead.borrow() { Err(gone()) } else { self.memory.lock().unwrap().reopen() }
    }
}

struct DiskReader {
    reader: Box<dyn Reader>,
    dead: watch::Receiver<bool>,
}

impl Reader for DiskReader {
    fn read(&mut self, now: abide_core::time::Time, read: &Read) -> Result<Answer, StoreError> {
        if *self.dead.borrow() { Err(gone()) } else { self.reader.read(now, read) }
    }
}

/// Somebody who takes callbacks.
pub(crate) struct Orchestrator {
    pub(crate) url: String,
    pub(crate) told: mpsc::UnboundedReceiver<(String, CallbackPayload)>,
}

impl Orchestrator {
    /// One that refuses the first so many.
    pub(crate) async fn start(refuses: usize) -> Orchestrator {
        let (sender, told) = mpsc::unbounded_channel();
        let left = Arc::new(AtomicUsize::new(refuses));
        type Shared = (mpsc::UnboundedSender<(String, CallbackPayload)>, Arc<AtomicUsize>);
        let take = |State((sender, left)): State<Shared>,
                    axum::extract::Path(batch): axum::extract::Path<String>,
                    axum::Json(payload): axum::Json<CallbackPayload>| async move {
            if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                return StatusCode::INTERNAL_SERVER_ERROR;
            }
            drop(sender.send((batch, payload)));
            StatusCode::OK
        };
        let router =
            Router::new().route("/callback/organizer/{batch}", post(take)).with_state((sender, left));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Orchestrator { url, told }
    }

    pub(crate) async fn next(&mut self) -> CallbackPayload {
        let waited = tokio::time::timeout(Duration::from_secs(60), self.told.recv()).await;
        waited.expect("a callback comes").expect("the orchestrator runs").1
    }
}

/// The service, and everything around it.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) service: Service,
    pub(crate) entities: Arc<LocalEntities>,
    disk: Disk,
    options: Options,
    orchestrator_url: String,
    directory: Arc<TempDir>,
}

/// Options with a model at `base_url` that costs a millionth a token.
pub(crate) fn with_model(base_url: &str) -> Options {
    with_model_within(base_url, 30_000)
}

/// The same, for a model that may not answer in time.
pub(crate) fn with_model_within(base_url: &str, timeout_ms: u64) -> Options {
    with_model_of(base_url, timeout_ms, 16)
}

/// The same, for a model that is asked so much at a time.
pub(crate) fn with_model_of(base_url: &str, timeout_ms: u64, concurrency: usize) -> Options {
    let endpoint = Endpoint {
        price: Price { input_micros: 1_000_000, output_micros: 1_000_000 },
        timeout_ms,
        attempts: 2,
        concurrency,
        ..Endpoint::new(base_url, "wanted")
    };
    let client = Client::new(endpoint, &Limiters::default(), Arc::new(SystemClock::new())).unwrap();
    let model: Arc<dyn Model> = Arc::new(client);
    Options { model: Some(model), concurrency, ..Options::builtin() }
}

impl Rig {
    pub(crate) fn start(options: Options, orchestrator_url: &str) -> Rig {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        Rig::on(Disk::new(), directory, options, orchestrator_url)
    }

    fn on(disk: Disk, directory: Arc<TempDir>, options: Options, orchestrator_url: &str) -> Rig {
        let mut registry = Registry::new();
        abide_entities::register(&mut registry).unwrap();
        let service = Service::register(&mut registry, options.clone()).unwrap();
        let engine = Engine::start(Box::new(disk.clone()), registry, EngineOptions::default()).unwrap();
        let bucket = Bucket::directory(&directory.path().join("blobs")).unwrap();
        let entities = LocalEntities::new(engine.clone(), bucket, &directory.path().join("spool")).unwrap();
        let entities = Arc::new(entities);
        let orchestrator_url = orchestrator_url.to_owned();
        service.begin(Site {
            engine: engine.clone(),
            entities: Arc::clone(&entities) as Arc<dyn EntityStore>,
            orchestrator_url: orchestrator_url.clone(),
            token: None,
        });
        Rig { engine, service, entities, disk, options, orchestrator_url, directory }
    }

    /// Writes so far.
    pub(crate) fn writes(&self) -> usize {
        self.disk.writes.load(Ordering::SeqCst)
    }

    /// The engine will die so many writes from now.
    pub(crate) fn die_after(&self, writes: usize) {
        self.disk.dies_at.store(self.writes() + writes, Ordering::SeqCst);
    }

    /// The engine dies now.
    pub(crate) fn kill(&self) {
        self.disk.dead.send_replace(true);
    }

    /// Resolves when the engine has died.
    pub(crate) fn died(&self) -> impl Future<Output = ()> + use<> {
        let mut dead = self.disk.dead.subscribe();
        async move { drop(dead.wait_for(|dead| *dead).await) }
    }

    /// Another engine on the same disk.
    pub(crate) fn again(&self) -> Rig {
        let (disk, directory) = (self.disk.next_life(), Arc::clone(&self.directory));
        Rig::on(disk, directory, self.options.clone(), &self.orchestrator_url)
    }

    /// An entity with these texts.
    pub(crate) async fn directory_of(&self, files: &[(&str, &str)]) -> Shown {
        let mut components = BTreeMap::new();
        for (name, text) in files {
            let pieces: Pieces = Box::pin(stream::iter([Ok(bytes::Bytes::from(text.to_string()))]));
            let uploaded = self.entities.upload((*name).to_owned(), pieces).await.unwrap();
            components.insert((*name).to_owned(), uploaded.cid);
        }
        let made = self.entities.create(Create { components, ..Create::default() }).await.unwrap();
        self.entities.get(&made.id).await.unwrap()
    }

    pub(crate) async fn text(&self, shown: &Shown, name: &str) -> String {
        use futures_util::StreamExt;
        let mut contents = self.entities.cat(shown.components[name], None).await.unwrap();
        let mut bytes = Vec::new();
        while let Some(piece) = contents.pieces.next().await {
            bytes.extend_from_slice(&piece.unwrap());
        }
        String::from_utf8(bytes).unwrap()
    }

    pub(crate) async fn get(&self, id: &EntityId) -> Shown {
        self.entities.get(id).await.unwrap()
    }

    pub(crate) async fn process(&self, request: ProcessRequest) -> ProcessReply {
        self.service.process(request).await.unwrap()
    }

    /// Waits until something is wrong with a request.
    pub(crate) async fn error(&self, batch: &str, chunk: &str) -> String {
        for _ in 0..6_000 {
            if let StatusReply::Found(standing) = self.service.status(batch, chunk).await.unwrap()
                && let Some(error) = standing.error
            {
                return error;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing is wrong with {batch}:{chunk}");
    }

    /// Waits until a request is over.
    pub(crate) async fn finished(&self, batch: &str, chunk: &str) -> abide_organize::contract::Standing {
        for _ in 0..6_000 {
            if let StatusReply::Found(standing) = self.service.status(batch, chunk).await.unwrap()
                && standing.phase.is_final()
            {
                return *standing;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{batch}:{chunk} is not over");
    }
}

/// A request for whole entities.
pub(crate) fn whole(chunk: &str, pis: &[&EntityId]) -> ProcessRequest {
    ProcessRequest {
        batch_id: "batch-1".to_owned(),
        chunk_id: chunk.to_owned(),
        pis: pis.iter().map(|pi| PiRequest::whole((*pi).clone())).collect(),
        ..ProcessRequest::default()
    }
}

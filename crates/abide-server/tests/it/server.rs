//! A server with an engine on a store in memory, on a port of its own.

use crate::client::{Client, Reply};
use crate::toy::{Secret, Toy};
use abide_blob::Bucket;
use abide_engine::clock::SystemClock;
use abide_engine::machine::MachineOptions;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::LocalEntities;
use abide_fetch::{FetchOptions, Fetcher, Guard, Reach};
use abide_links::auth::Authority;
use abide_links::auth::keys::ApiKeys;
use abide_links::processor::{self, preview::Preview};
use abide_links::sync::SyncLog;
use abide_server::{
    Admission, BackupService, Bounds, CoordinatorService, EntitiesService, LinksService, NoBackup,
    ServerOptions, Services, SyncService, WithoutToken, serve, tokens,
};
use abide_store::Store;
use abide_store::memory::MemoryStore;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A port of this machine that is free.
const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

/// Bodies may be this large.
pub(crate) const BODY_BYTES: usize = 64 * 1024;

/// What lets the user in whose server it is.
pub(crate) const LOCAL_TOKEN: &str = "local";

/// Uploads may be this large.
pub(crate) const UPLOAD_BYTES: u64 = 1024 * 1024;

/// Sockets at a time.
pub(crate) const SOCKETS: u32 = 64;

/// How often access of a socket is asked for again.
const RECHECK: Duration = Duration::from_millis(200);

/// Entities with files in `directory`.
fn entities(engine: &Engine, directory: &Path) -> EntitiesService {
    let bucket = Bucket::directory(&directory.join("blobs")).expect("as the test made it");
    let store = LocalEntities::new(engine.clone(), bucket, &directory.join("uploads"));
    EntitiesService { store: Arc::new(store.expect("as the test made it")), max_upload_bytes: UPLOAD_BYTES }
}

/// Collections with images in `directory`.
fn shelf(engine: &Engine, entities: &EntitiesService, directory: &Path) -> abide_collections::Shelf {
    let bucket = |name: &str| Bucket::directory(&directory.join(name)).expect("as the test made it");
    let (staging, archive) = (bucket("staging"), bucket("archive"));
    let buckets = abide_preprocess::Buckets { staging, archive, signer: abide_blob::Signer::new([7; 32]) };
    abide_collections::Shelf::new(engine.clone(), Arc::clone(&entities.store), buckets)
}

/// All of them but the entities, which a server gets with its engine.
pub(crate) fn every_service() -> Services {
    let backup =
        BackupService::new(|path| Err(NoBackup::File(format!("{} is not for tests", path.display()))));
    Services {
        backup: Some(backup),
        coordinator: Some(CoordinatorService),
        preprocess: Some(preprocess_with(nowhere())),
        sync: Some(sync_service(Authority::Open)),
        links: Some(LinksService { preview: Preview::new(fetcher()) }),
        ..Services::default()
    }
}

/// A bucket that nobody asks for anything.
fn nowhere() -> abide_blob::Bucket {
    let options = abide_blob::S3Options {
        bucket: "none".to_owned(),
        endpoint: "http://127.0.0.1:9".to_owned(),
        region: "auto".to_owned(),
        access_key_id: "none".to_owned(),
        secret_access_key: "none".to_owned(),
        path_style: true,
    };
    abide_blob::Bucket::s3(&options).expect("as the test made it")
}

/// A service of preprocessing with this bucket for everything.
pub(crate) fn preprocess_with(bucket: abide_blob::Bucket) -> abide_preprocess::Service {
    let signer = abide_blob::Signer::new([7; 32]);
    let buckets = abide_preprocess::Buckets { staging: bucket.clone(), archive: bucket, signer };
    let local = abide_preprocess::launch::Local {
        program: "false".into(),
        arguments: Vec::new(),
        work_dir: std::env::temp_dir(),
    };
    let launcher = abide_preprocess::launch::Launcher::Local(local);
    let setup = abide_preprocess::Setup::new(buckets, launcher, 1);
    abide_preprocess::Service::register(&mut Registry::new(), setup).expect("as the test made it")
}

/// A pipeline that reads no images and describes nothing.
fn pipeline(registry: &mut Registry, files: &std::path::Path) -> abide_server::PipelineService {
    let staging = abide_blob::Bucket::directory(&files.join("staging")).expect("as the test made it");
    let setup = abide_pipeline::Setup {
        options: abide_pipeline::Options::default(),
        staging,
        ocr: None,
        images: Arc::new(NoImages),
        metadata: None,
        describe: None,
        ocr_slots: 1,
        organizer_url: String::new(),
        organizer_token: None,
        services: abide_pipeline::ServiceUrls::default(),
        ocr_text_token_threshold: 10_000,
    };
    let service = abide_pipeline::Service::register(registry, setup).expect("as the test made it");
    let reader = Err("nobody reads in tests".to_owned());
    let urls_good_for = std::time::Duration::from_secs(60);
    abide_server::PipelineService { service, urls_good_for, reader, reader_is_model: false }
}

struct NoImages;

impl abide_pipeline::work::Images for NoImages {
    fn bytes<'a>(
        &'a self,
        _reference: &'a abide_preprocess::report::RefData,
        _bound: u64,
    ) -> abide_pipeline::work::Doing<'a, bytes::Bytes> {
        Box::pin(async { Err(abide_pipeline::work::WorkError::Never("no images here".to_owned())) })
    }
}

/// Fetches pages of this machine.
fn fetcher() -> Fetcher {
    let clock = Arc::new(SystemClock::new());
    Fetcher::new(Guard::new(Reach::Anywhere), FetchOptions::default(), clock).expect("as the test made it")
}

pub(crate) fn sync_service(authority: Authority) -> SyncService {
    SyncService::new(authority, SOCKETS, RECHECK)
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) services: Services,
    engine: Engine,
    runtime: Runtime,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    /// Removed with the server.
    _directory: TempDir,
}

impl Server {
    pub(crate) fn start() -> Server {
        Server::on(MemoryStore::new(), MachineOptions::default())
    }

    /// One that wants tokens; [`LOCAL_TOKEN`] allows everything.
    pub(crate) fn with_tokens() -> Server {
        let without_token = WithoutToken::MayDoNothing;
        let admission = Admission { without_token, local_token: Some(LOCAL_TOKEN.to_owned()) };
        Server::admitting(MemoryStore::new(), MachineOptions::default(), every_service(), admission)
    }

    /// One of this machine with such services, whose user's commands show [`LOCAL_TOKEN`].
    pub(crate) fn of_this_machine(services: Services) -> Server {
        let admission = Admission { local_token: Some(LOCAL_TOKEN.to_owned()), ..Admission::default() };
        Server::admitting(MemoryStore::new(), MachineOptions::default(), services, admission)
    }

    pub(crate) fn on(store: MemoryStore, machine: MachineOptions) -> Server {
        Server::with(store, machine, every_service())
    }

    pub(crate) fn with(store: MemoryStore, machine: MachineOptions, services: Services) -> Server {
        Server::admitting(store, machine, services, Admission::default())
    }

    /// Another one at the place of this, which was told to stop.
    pub(crate) fn again(&self, store: MemoryStore) -> Server {
        let (machine, admission) = (MachineOptions::default(), Admission::default());
        Server::at(self.address, store, machine, self.services.clone(), admission, Bounds::default())
    }

    /// One of which clients may take so much.
    pub(crate) fn within(bounds: Bounds) -> Server {
        Server::with_bounds(every_service(), bounds)
    }

    /// The same with such services.
    pub(crate) fn with_bounds(services: Services, bounds: Bounds) -> Server {
        let (store, machine, admission) =
            (MemoryStore::new(), MachineOptions::default(), Admission::default());
        Server::at(ANY_PORT.into(), store, machine, services, admission, bounds)
    }

    pub(crate) fn admitting(
        store: MemoryStore,
        machine: MachineOptions,
        services: Services,
        admission: Admission,
    ) -> Server {
        Server::at(ANY_PORT.into(), store, machine, services, admission, Bounds::default())
    }

    /// One on another store.
    pub(crate) fn over(store: impl Store + 'static) -> Server {
        let (machine, admission) = (MachineOptions::default(), Admission::default());
        Server::at(ANY_PORT.into(), store, machine, every_service(), admission, Bounds::default())
    }

    fn at(
        address: SocketAddr,
        store: impl Store + 'static,
        machine: MachineOptions,
        services: Services,
        admission: Admission,
        bounds: Bounds,
    ) -> Server {
        let runtime = Runtime::new().expect("as the test made it");
        let directory = tempfile::tempdir().expect("as the test made it");
        let files = directory.path().to_owned();
        let (address, services, engine, shutdown, served) = runtime.block_on(async move {
            let mut registry = Registry::new();
            registry.object(Toy).expect("as the test made it");
            registry.object(Secret).expect("as the test made it");
            tokens::register(&mut registry).expect("as the test made it");
            abide_coordinator::register(&mut registry, abide_coordinator::Options::default())
                .expect("as the test made it");
            abide_entities::register(&mut registry).expect("as the test made it");
            abide_collections::register(&mut registry).expect("as the test made it");
            registry.object(SyncLog::with_processor()).expect("as the test made it");
            registry.object(ApiKeys).expect("as the test made it");
            let links = processor::Options { fetcher: fetcher(), model: None, metadata_lane: 8, ai_lane: 3 };
            processor::register(&mut registry, links).expect("as the test made it");
            let organizer =
                abide_organize::Service::register(&mut registry, abide_organize::Options::builtin());
            let organizer = organizer.expect("as the test made it");
            let pipeline = pipeline(&mut registry, &files);
            let options = EngineOptions { machine, drain_ms: 1_000, ..EngineOptions::default() };
            let engine = Engine::start(Box::new(store), registry, options).expect("as the test made it");
            let listener = tokio::net::TcpListener::bind(address).await.expect("as the test made it");
            let address = listener.local_addr().expect("as the test made it");
            let (shutdown, told) = oneshot::channel::<()>();
            let entities = entities(&engine, &files);
            organizer.begin(abide_organize::Site {
                engine: engine.clone(),
                entities: Arc::clone(&entities.store),
                orchestrator_url: format!("http://{address}/orchestrator"),
                token: None,
            });
            let site = abide_pipeline::Site { engine: engine.clone(), entities: Arc::clone(&entities.store) };
            pipeline.service.begin(site);
            let (organizer, pipeline) = (Some(organizer), Some(pipeline));
            let collections = Some(shelf(&engine, &entities, &files));
            let services =
                Services { entities: Some(entities), organizer, pipeline, collections, ..services };
            let options =
                ServerOptions { max_body_bytes: BODY_BYTES, services: services.clone(), admission, bounds };
            let serving = serve(listener, engine.clone(), options, async move { drop(told.await) });
            let served = tokio::spawn(serving);
            (address, services, engine, shutdown, served)
        });
        Server {
            address,
            services,
            engine,
            runtime,
            running: Some((shutdown, served)),
            _directory: directory,
        }
    }

    /// Stops the engine under the server, which goes on answering.
    pub(crate) fn stop_engine(&self) {
        self.runtime.block_on(self.engine.clone().stop());
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("as the test made it")
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, line: &str, body: &str) -> Reply {
        self.client().request(line, &[], body).expect("as the test made it")
    }

    /// One request with a token.
    pub(crate) fn ask_as(&self, token: &str, line: &str, body: &str) -> Reply {
        let authorization = format!("Bearer {token}");
        let headers = [("Authorization", authorization.as_str())];
        self.client().request(line, &headers, body).expect("as the test made it")
    }

    /// One request that must succeed.
    pub(crate) fn ok(&self, line: &str, body: &str) -> Value {
        let reply = self.ask(line, body);
        assert!((200..300).contains(&reply.status), "{line} {body}: {reply}");
        reply.json()
    }

    /// One request of the server's user that must succeed.
    pub(crate) fn ok_as_admin(&self, line: &str, body: &str) -> Value {
        let reply = self.ask_as(LOCAL_TOKEN, line, body);
        assert!((200..300).contains(&reply.status), "{line} {body}: {reply}");
        reply.json()
    }

    /// Whether nobody listens any more.
    pub(crate) fn is_closed(&self) -> bool {
        Client::connect(self.address).is_err()
    }

    /// Tells the server to stop; what it gives waits until it has.
    pub(crate) fn tell_to_stop(&mut self) -> impl FnOnce() + use<> {
        let (shutdown, served) = self.running.take().expect("told once");
        shutdown.send(()).expect("it serves until told");
        let handle = self.runtime.handle().clone();
        move || handle.block_on(served).expect("it ends well")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.running.is_some() && !std::thread::panicking() {
            self.tell_to_stop()();
        }
    }
}

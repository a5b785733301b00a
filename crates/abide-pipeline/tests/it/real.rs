//! A real engine with real entities, the real organizer, and scripted readers and writers.

use abide_blob::{Bucket, Key};
use abide_engine::{Engine, EngineOptions, Registry};
use abide_entities::answer::Shown;
use abide_entities::{EntityId, EntityStore, LocalEntities};
use abide_pipeline::contract::*;
use abide_pipeline::{Call, Options, Service, Setup, Site};
use abide_preprocess::report::RefData;
use abide_store::memory::MemoryStore;
use bytes::Bytes;
use futures_util::TryStreamExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// Reads, extracts and describes at once, and counts.
pub(crate) struct Scripted {
    pub(crate) asked: AtomicU64,
    /// Slow images that wait to be read.
    pub(crate) waiting: Semaphore,
    /// Slow images that may be read.
    pub(crate) may_read: Semaphore,
}

impl Default for Scripted {
    fn default() -> Scripted {
        Scripted { asked: AtomicU64::new(0), waiting: Semaphore::new(0), may_read: Semaphore::new(0) }
    }
}

/// What is paid for nothing.
fn dear() -> Spent {
    Spent { cost_usd: 0.25, tokens: 100, model: "scripted".to_owned() }
}

impl Images for Scripted {
    fn bytes<'a>(&'a self, reference: &'a RefData, _bound: u64) -> Doing<'a, Bytes> {
        Box::pin(async move { Ok(Bytes::from(reference.url.clone())) })
    }
}

impl Ocr for Scripted {
    fn read(&self, image: Image) -> Paying<'_, OcrText> {
        Box::pin(async move {
            let url = String::from_utf8_lossy(&image.bytes).into_owned();
            if url.contains("torn") {
                return Err(Undone { why: WorkError::Never("it is torn".to_owned()), spent: dear() });
            }
            if url.contains("slow") {
                self.waiting.add_permits(1);
                self.may_read.acquire().await.unwrap().forget();
            }
            let text = format!("Dear Anna, this is {url}");
            Ok(OcrText { text, by: "scripted".to_owned(), spent: Spent::default() })
        })
    }
}

impl Metadata for Scripted {
    fn extract(&self, request: MetadataRequest) -> Paying<'_, Extracted> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            if request.directory_name == "mute" {
                return Err(Undone { why: WorkError::Never("it says nothing".to_owned()), spent: dear() });
            }
            let title = |record: &Option<Value>| record.as_ref().map(|record| record["title"].clone());
            let children: Vec<Value> =
                request.children.iter().map(|child| json!([child.label, title(&child.what)])).collect();
            let pinax = json!({
                "title": request.directory_name,
                "files": request.files.iter().map(|file| &file.name).collect::<Vec<_>>(),
                "children": children,
                "institution": request.institution,
                "asked": request.custom_prompt,
            });
            Ok(Extracted { pinax, warnings: Vec::new(), spent: Spent::default() })
        })
    }
}

impl Describe for Scripted {
    fn describe(&self, request: DescribeRequest) -> Paying<'_, Described> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let children: Vec<&str> = request.children.iter().map(|child| child.label.as_str()).collect();
            let markdown = format!("# {}\n{}\n", request.directory_name, children.join(", "));
            Ok(Described { markdown, warnings: Vec::new(), spent: Spent::default() })
        })
    }
}

pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) entities: Arc<LocalEntities>,
    pub(crate) staging: Bucket,
    pub(crate) scripted: Arc<Scripted>,
    pub(crate) site: Site,
    pub(crate) service: Service,
    _directory: TempDir,
}

pub(crate) fn rig(options: Options) -> Rig {
    rig_with(options, Some("pipeline".to_owned()), String::new())
}

/// One whose preprocessing tells nobody.
pub(crate) fn rig_that_waits() -> Rig {
    rig_with(Options::default(), None, String::new())
}

/// One whose organizer is somebody else's.
pub(crate) fn rig_elsewhere(options: Options, organizer_url: String) -> Rig {
    rig_with(options, None, organizer_url)
}

fn rig_with(options: Options, tell: Option<String>, organizer_url: String) -> Rig {
    let directory = tempfile::tempdir().unwrap();
    let mut registry = Registry::new();
    abide_entities::register(&mut registry).unwrap();
    let organizing =
        abide_organize::Service::register(&mut registry, abide_organize::Options::builtin()).unwrap();
    let staging = Bucket::directory(&directory.path().join("staging")).unwrap();
    let preprocessing = preprocess(&mut registry, &staging, tell);
    let scripted = Arc::new(Scripted::default());
    let setup = Setup {
        options,
        staging: staging.clone(),
        ocr: Some(scripted.clone()),
        images: scripted.clone(),
        metadata: Some(scripted.clone()),
        describe: Some(scripted.clone()),
        ocr_slots: 8,
        organizer_token: (!organizer_url.is_empty()).then(|| "secret".to_owned()),
        organizer_url,
        services: abide_pipeline::ServiceUrls::default(),
        ocr_text_token_threshold: 10_000,
    };
    let service = Service::register(&mut registry, setup).unwrap();
    let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default()).unwrap();
    let blobs = Bucket::directory(&directory.path().join("blobs")).unwrap();
    let entities = LocalEntities::new(engine.clone(), blobs, &directory.path().join("spool")).unwrap();
    let entities = Arc::new(entities);
    let site = Site { engine: engine.clone(), entities: entities.clone() };
    service.begin(site.clone());
    preprocessing.begin(engine.clone(), "http://127.0.0.1:1/preprocess");
    organizing.begin(abide_organize::Site {
        engine: engine.clone(),
        entities: entities.clone(),
        orchestrator_url: String::new(),
        token: None,
    });
    Rig { engine, entities, staging, scripted, site, service, _directory: directory }
}

/// Preprocessing that has nothing to convert: texts pass through it.
fn preprocess(registry: &mut Registry, staging: &Bucket, tell: Option<String>) -> abide_preprocess::Service {
    use abide_preprocess::launch::{Launcher, Local};
    let signer = abide_blob::Signer::new([7; 32]);
    let buckets = abide_preprocess::Buckets { staging: staging.clone(), archive: staging.clone(), signer };
    let local = Local { program: "false".into(), arguments: Vec::new(), work_dir: std::env::temp_dir() };
    let mut setup = abide_preprocess::Setup::new(buckets, Launcher::Local(local), 1);
    setup.options.tell = tell;
    abide_preprocess::Service::register(registry, setup).unwrap()
}

impl Rig {
    pub(crate) async fn versions(&self, shown: &Shown) -> Vec<abide_entities::answer::VersionItem> {
        self.entities.versions(&shown.id, 1_000, None).await.unwrap().items
    }

    /// Stages files and writes the manifest.
    pub(crate) async fn stage(&self, batch: &str, files: &[(&str, &str)]) {
        let mut directories: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (path, content) in files {
            let key = format!("staging/{batch}{path}");
            let bytes = Bytes::copy_from_slice(content.as_bytes());
            self.staging.put(&Key::new(&key).unwrap(), bytes, "text/plain").await.unwrap();
            let (directory, name) = path.rsplit_once('/').unwrap();
            let file = json!({"r2_key": key, "logical_path": path, "file_name": name, "file_size": content.len(),
                "content_type": "text/plain"});
            let directory = if directory.is_empty() { "/" } else { directory };
            directories.entry(directory.to_owned()).or_default().push(file);
        }
        let directories: Vec<Value> = directories
            .into_iter()
            .map(|(path, files)| json!({"directory_path": path, "processing_config": {}, "files": files}))
            .collect();
        let manifest = json!({"batch_id": batch, "directories": directories}).to_string();
        let key = Key::new(&format!("staging/{batch}/_manifest.json")).unwrap();
        self.staging.put(&key, manifest.into(), "application/json").await.unwrap();
    }

    pub(crate) async fn start(&self, message: Value) {
        let message = IngestMessage::read(&message).unwrap();
        let batch = message.batch_id.to_string();
        let _: Value = self.site.ask(&batch, &Call::Start(Box::new(message))).await.unwrap();
    }

    /// Waits for the end of a batch, each time for the next entry of its log.
    pub(crate) async fn end(&self, batch: &str) -> StatusAnswer {
        let object = abide_core::object::ObjectKey::new("pipeline", batch).unwrap();
        let mut log = self.engine.follow(object, abide_core::log::Seq(0));
        loop {
            // A batch that is still being preprocessed is not known yet.
            if let Ok(status) = self.site.ask::<StatusAnswer>(batch, &Call::Status).await
                && matches!(status.status, Status::Done | Status::Error)
            {
                return status;
            }
            drop(tokio::time::timeout(Duration::from_secs(5), log.next()).await);
        }
    }

    /// The same of one that has so many files by then.
    pub(crate) async fn end_with(&self, batch: &str, files: u64) -> StatusAnswer {
        loop {
            let status = self.end(batch).await;
            if status.files.total == files || status.status == Status::Error {
                return status;
            }
            tokio::task::yield_now().await;
        }
    }

    /// An entity and everything below it, parents first.
    pub(crate) async fn tree(&self, root: &EntityId) -> Vec<Shown> {
        let mut found: Vec<Shown> = Vec::new();
        let mut next = vec![root.clone()];
        while let Some(id) = next.pop() {
            let shown = self.entities.get(&id).await.unwrap();
            next.extend(shown.children_pi.iter().cloned());
            found.push(shown);
        }
        found
    }

    pub(crate) async fn text(&self, shown: &Shown, component: &str) -> String {
        let contents = self.entities.cat(shown.components[component], None).await.unwrap();
        let pieces: Vec<Bytes> = contents.pieces.try_collect().await.unwrap();
        String::from_utf8(pieces.concat()).unwrap()
    }
}

pub(crate) fn reference(name: &str) -> String {
    json!({"url": format!("http://127.0.0.1:1/asset/{name}"), "type": "image/jpeg", "filename": name})
        .to_string()
}

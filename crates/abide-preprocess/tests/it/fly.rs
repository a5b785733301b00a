//! The Fly launcher against a stand-in that checks every request against the documented shape.

mod machines;

use abide_blob::{Bucket, Key, Signer};
use abide_core::object::Incarnation;
use abide_engine::{Engine, EngineOptions, Registry};
use abide_preprocess::calls::{AttemptRef, Call, StartAnswer, StatusAnswer};
use abide_preprocess::launch::{Fly, FlyApp, Launcher};
use abide_preprocess::limits::LAUNCH_ATTEMPTS;
use abide_preprocess::phases::{Phases, tiff::TiffConversion};
use abide_preprocess::{Buckets, Numbers, PhaseSettings, QueueMessage, Report, Service, Setup};
use abide_store::memory::MemoryStore;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the stand-in has seen.
#[derive(Default)]
struct Seen {
    /// Names of machines, in the order of their ids.
    machines: Vec<String>,
    /// What they were told, in the same order.
    envs: Vec<Value>,
    /// How often they were listed.
    lists: u32,
    /// Whether all go on for ever and say nothing.
    all_mute: bool,
    /// So many times they are not destroyed.
    destroy_fails: u32,
    /// The state of machines that ended by themselves, if they did not stop.
    end: Option<&'static str>,
    /// Machines that ended by themselves.
    ended: BTreeSet<String>,
    destroyed: BTreeSet<String>,
    too_many: u32,
    /// Whether the answer to the next start is lost.
    answer_lost: bool,
    /// The start whose answer was lost.
    unnoted: Option<Value>,
    /// The machine that goes on for ever and says nothing.
    mute: Option<&'static str>,
    /// The machine that reports what it never uploaded.
    liar: Option<&'static str>,
    /// Whether none dies.
    all_live: bool,
    /// Whether none makes anything of its file.
    all_fail: bool,
    /// Callbacks that machines make, and those that came.
    said: u32,
    heard: u32,
    /// How often a name was taken.
    conflicts: u32,
    /// Machines that were there at the same time, at most.
    most: usize,
    /// And so many workers were under way by our own count, at most.
    most_in_flight: u64,
    /// What was counted in the end.
    numbers: Option<Numbers>,
    problems: Vec<String>,
}

impl Seen {
    /// Whether a machine of that name is there.
    fn has(&self, body: &Value) -> bool {
        let mut there =
            (1..).zip(&self.machines).filter(|(n, _)| !self.destroyed.contains(&format!("machine{n}")));
        there.any(|(_, name)| body["name"] == json!(name))
    }

    fn machine(&mut self, body: &Value) -> String {
        self.machines.push(body["name"].as_str().unwrap().to_owned());
        self.envs.push(body["config"]["env"].clone());
        self.most = self.most.max(self.machines.len() - self.destroyed.len());
        format!("machine{}", self.machines.len())
    }
}

#[derive(Clone)]
struct StandIn {
    // Locked for one request at a time, never over an await.
    seen: Arc<Mutex<Seen>>,
    service: Service,
}

/// What a machine that is not for TIFFs is told beside the rest.
const FURTHER: &[&str] = &[
    "INPUT_FILE_NAME",
    "INPUT_CONTENT_TYPE",
    "INPUT_FILE_SIZE",
    "INPUT_CID",
    "ARCHIVE_BUCKET",
    "CDN_API_URL",
    "CDN_PUBLIC_URL",
];
/// What a machine of each kind of work is: its app, how its name begins, its memory, and what it is told beside the rest.
const KINDS: [(&str, &str, u32, &[&str]); 3] = [
    ("tiff", "tiff-", 1024, &["OUTPUT_URL"]),
    ("pdf", "pdf-", 2048, FURTHER),
    ("image", "img-", 2048, FURTHER),
];
/// What every machine is told.
const TOLD: [&str; 10] = [
    "TASK_ID",
    "BATCH_ID",
    "INPUT_R2_KEY",
    "R2_BUCKET",
    "CALLBACK_URL",
    "INPUT_URL",
    "UPLOADS_URL",
    "ASSET_ID",
    "MEMORY_MB",
    "TIMEOUT_MS",
];

/// What is wrong with a request that starts a machine.
fn problem(app: &str, headers: &HeaderMap, body: &Value) -> Option<String> {
    if headers.get("authorization").is_none_or(|value| value != "Bearer token-of-a-test") {
        return Some("no bearer token".to_owned());
    }
    let Some((_, begins, memory_mb, told)) = KINDS.iter().find(|kind| kind.0 == app) else {
        return Some(format!("no app {app}"));
    };
    let shape = json!({
        "name": body["name"],
        "region": "ord",
        "config": {
            "image": format!("registry.example/{app}:1"),
            "auto_destroy": true,
            "restart": { "policy": "no" },
            "guest": { "memory_mb": memory_mb, "cpus": 2, "cpu_kind": "shared" },
            "env": body["config"]["env"],
        },
    });
    if *body != shape || !body["name"].as_str().is_some_and(|name| name.starts_with(begins)) {
        return Some(format!("another shape: {body}"));
    }
    let Some(env) = body["config"]["env"].as_object() else {
        return Some(format!("no environment: {body}"));
    };
    // The id of a file's content is told if it is known.
    let is_told = |name: &str| name == "INPUT_CID" || env.get(name).is_some_and(Value::is_string);
    let needed = || TOLD.iter().chain(*told);
    let missing = needed().find(|name| !is_told(name));
    let further = env.keys().find(|name| !needed().any(|needed| needed == name));
    missing.map(|name| format!("no {name}")).or_else(|| further.map(|name| format!("{name} is told, too")))
}

async fn create(
    State(standin): State<StandIn>,
    Path(app): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Json<Value>, (StatusCode, [(&'static str, &'static str); 1])> {
    let (id, mortal, made) = {
        let mut seen = standin.seen.lock().unwrap();
        seen.problems.extend(problem(&app, &headers, &body));
        seen.most_in_flight = seen.most_in_flight.max(standin.service.metrics().numbers().in_flight);
        // More often than a launch is tried.
        if seen.too_many < 2 * LAUNCH_ATTEMPTS {
            seen.too_many += 1;
            return Err((StatusCode::TOO_MANY_REQUESTS, [("retry-after", "0.02")]));
        }
        if seen.answer_lost {
            // The machine is started, and whoever asked for it never hears of it.
            seen.answer_lost = false;
            seen.machine(&body);
            seen.unnoted = Some(body);
            return Err((StatusCode::INTERNAL_SERVER_ERROR, [("x-reason", "the answer is lost")]));
        }
        if seen.has(&body) {
            seen.conflicts += 1;
            return Err((StatusCode::CONFLICT, [("x-reason", "the name is taken")]));
        }
        let made = if seen.liar == body["name"].as_str() { Made::Claimed } else { Made::Uploaded };
        let made = if seen.all_fail { Made::Nothing } else { made };
        (seen.machine(&body), !seen.all_live, made)
    };
    let is_mute = {
        let seen = standin.seen.lock().unwrap();
        seen.all_mute || seen.mute == body["name"].as_str()
    };
    if is_mute {
        return Ok(Json(json!({ "id": id, "state": "created" })));
    }
    // The first machine of the second file dies without a word.
    if mortal && body["name"] == json!("tiff-fly_tiff_0000002") {
        standin.seen.lock().unwrap().ended.insert(id.clone());
    } else {
        standin.seen.lock().unwrap().said += 2;
        work(&standin.service, &body["config"]["env"], made);
    }
    Ok(Json(json!({ "id": id, "state": "created" })))
}

/// What a machine did before it calls back.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Uploaded,
    Claimed,
    Nothing,
}

/// A machine calls back.
fn work(service: &Service, env: &Value, made: Made) {
    let url = env["CALLBACK_URL"].as_str().unwrap().to_owned();
    let key = env["INPUT_R2_KEY"].as_str().unwrap().replace(".tif", ".jpg");
    let name = key.rsplit('/').next().unwrap().to_owned();
    let mut report = json!({ "task_id": env["TASK_ID"], "batch_id": "fly", "status": "success",
        "output_r2_key": key, "output_file_name": name, "output_file_size": 5 });
    if made == Made::Nothing {
        report = json!({ "task_id": env["TASK_ID"], "batch_id": "fly", "status": "error", "error": "not today",
            "retryable": false });
    }
    let staging = service.buckets().staging.clone();
    tokio::spawn(async move {
        if made == Made::Uploaded {
            staging.put(&Key::new(&key).unwrap(), "a jpg".into(), "image/jpeg").await.unwrap();
        }
        // Its first answer is lost on the way, so it says it twice.
        for _ in 0..2 {
            reqwest::Client::new().post(&url).json(&report).send().await.unwrap();
        }
    });
}

/// Lists machines; the one that nobody noted goes on once it is found.
async fn list(State(standin): State<StandIn>) -> Json<Value> {
    let mut seen = standin.seen.lock().unwrap();
    seen.lists += 1;
    if let Some(unnoted) = seen.unnoted.clone() {
        seen.said += 2;
        work(&standin.service, &unnoted["config"]["env"], Made::Uploaded);
    }
    let listed = (1..).zip(seen.machines.iter().zip(&seen.envs)).map(|(number, (name, env))| {
        let (id, config) = (format!("machine{number}"), json!({ "env": env }));
        let state = if seen.destroyed.contains(&id) { "destroyed" } else { "started" };
        json!({ "id": id, "name": name, "state": state, "config": config })
    });
    Json(listed.collect())
}

async fn show(State(standin): State<StandIn>, Path((_, id)): Path<(String, String)>) -> Json<Value> {
    let seen = standin.seen.lock().unwrap();
    let number: usize = id.trim_start_matches("machine").parse().unwrap();
    let is_mute = seen.all_mute || seen.mute == Some(seen.machines[number - 1].as_str());
    // Time runs once a machine has started: only who never says a word runs out of it.
    let state = match (seen.ended.contains(&id), is_mute) {
        (true, _) => seen.end.unwrap_or("stopped"),
        (false, true) => "started",
        (false, false) => "starting",
    };
    Json(json!({ "id": id, "state": state }))
}

async fn destroy(
    State(standin): State<StandIn>,
    Path((_, id)): Path<(String, String)>,
) -> Result<Json<Value>, StatusCode> {
    let mut seen = standin.seen.lock().unwrap();
    if seen.destroy_fails > 0 {
        seen.destroy_fails -= 1;
        return Err(StatusCode::SERVICE_UNAVAILABLE);
    }
    seen.destroyed.insert(id);
    Ok(Json(json!({ "ok": true })))
}

async fn callback(
    State(standin): State<StandIn>,
    Path((batch, task_id)): Path<(String, String)>,
    Query(query): Query<BTreeMap<String, String>>,
    Json(report): Json<Report>,
) -> StatusCode {
    let life = Incarnation(query["life"].parse().unwrap());
    let attempt = AttemptRef { life, task_id, attempt: query["attempt"].parse().unwrap() };
    let called = standin.service.call_back(&batch, attempt, query["signature"].clone(), report).await;
    standin.seen.lock().unwrap().heard += 1;
    called.map_or(StatusCode::FORBIDDEN, |_| StatusCode::OK)
}

fn setup(dir: &std::path::Path, address: std::net::SocketAddr, poll: Duration, timeout_ms: i64) -> Setup {
    let bucket = |name: &str| Bucket::directory(&dir.join(name)).unwrap();
    let buckets =
        Buckets { staging: bucket("staging"), archive: bucket("archive"), signer: Signer::new([1; 32]) };
    let app = |tag: &str| {
        (tag.to_owned(), FlyApp { app: tag.to_owned(), image: format!("registry.example/{tag}:1") })
    };
    let fly = Fly {
        api_base: format!("http://{address}"),
        token: "token-of-a-test".to_owned(),
        region: "ord".to_owned(),
        apps: KINDS.iter().map(|kind| app(kind.0)).collect(),
        poll,
    };
    let mut setup = Setup::new(buckets, Launcher::Fly(fly), 4);
    setup.telling.cdn_api_url = "https://cdn.example/api".to_owned();
    setup.telling.cdn_public_url = "https://cdn.example".to_owned();
    let settings = PhaseSettings { task_timeout_ms: timeout_ms, ..PhaseSettings::DEFAULT };
    setup.options.settings.insert("TIFF_CONVERSION", settings);
    setup
}

/// A file as a manifest lists it.
fn listed(name: &str, content_type: &str) -> Value {
    json!({ "r2_key": format!("staging/fly/{name}"), "logical_path": format!("/{name}"), "file_name": name,
        "file_size": 9, "content_type": content_type })
}

async fn stage(service: &Service, files: Vec<Value>) -> QueueMessage {
    let manifest = json!({ "batch_id": "fly", "directories": [{ "directory_path": "/", "files": files }] });
    let key = Key::new("staging/fly/_manifest.json").unwrap();
    let staging = &service.buckets().staging;
    staging.put(&key, manifest.to_string().into(), "application/json").await.unwrap();
    let message = json!({ "batch_id": "fly", "manifest_r2_key": key.as_str(), "r2_prefix": "staging/fly/" });
    QueueMessage::read(&message).unwrap()
}

/// Fly and our routes, and an engine that uses them until it is stopped.
struct World {
    dir: tempfile::TempDir,
    store: MemoryStore,
    standin: Option<StandIn>,
    seen: Arc<Mutex<Seen>>,
    poll: Duration,
    timeout_ms: i64,
    phases: Phases,
}

/// What runs in a world.
struct Running {
    service: Service,
    engine: Engine,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl World {
    fn new(poll: Duration, timeout_ms: i64, seen: Seen) -> World {
        let (dir, seen) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(seen)));
        World {
            dir,
            store: MemoryStore::new(),
            standin: None,
            seen,
            poll,
            timeout_ms,
            phases: &[&TiffConversion],
        }
    }

    async fn start(&mut self) -> Running {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut registry = Registry::new();
        let setup = setup(self.dir.path(), address, self.poll, self.timeout_ms);
        let setup = Setup { phases: self.phases, ..setup };
        let service = Service::register(&mut registry, setup).unwrap();
        let standin = StandIn { seen: Arc::clone(&self.seen), service: service.clone() };
        let router = Router::new()
            .route("/v1/apps/{app}/machines", post(create).get(list))
            .route("/v1/apps/{app}/machines/{id}", get(show).delete(destroy))
            .route("/preprocess/callback/{batch}/{task}", post(callback))
            .with_state(standin.clone());
        self.standin = Some(standin);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        let engine = Engine::start(Box::new(self.store.clone()), registry, EngineOptions::default()).unwrap();
        service.begin(engine.clone(), format!("http://{address}/preprocess"));
        Running { service, engine, serving }
    }

    /// Waits until this holds.
    async fn until(&self, holds: impl Fn(&Seen) -> bool) {
        let held = async {
            while !holds(&self.seen.lock().unwrap()) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), held).await.unwrap();
    }
}

impl Running {
    async fn submit(&self, count: u32) {
        self.submit_files((1..=count).map(|number| listed(&format!("{number}.tif"), "image/tiff")).collect())
            .await;
    }

    async fn submit_files(&self, files: Vec<Value>) {
        let message = stage(&self.service, files).await;
        let start = Call::Start(Box::new(message));
        self.service.site().await.ask::<StartAnswer>("fly", &start).await.unwrap();
    }

    /// Waits until the batch is at its end.
    async fn end(&self) -> StatusAnswer {
        let site = self.service.site().await;
        loop {
            // One that begins again is gone for a moment.
            if let Ok(status) = site.ask::<StatusAnswer>("fly", &Call::Status).await
                && matches!(status.status.as_str(), "DONE" | "ERROR")
            {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn stop(self) {
        self.engine.stop().await;
        self.serving.abort();
    }
}

/// Takes a batch of so many files through machines, four at a time, that are asked about every `poll`.
async fn run(count: u32, poll: Duration, seen: Seen) -> Seen {
    // One that nobody hears of is past its time at once.
    let timeout_ms = if seen.mute.is_some() { 1 } else { 60_000 };
    let mut world = World::new(poll, timeout_ms, seen);
    let running = world.start().await;
    running.submit(count).await;
    let status = running.end().await;
    let done = ("DONE", u64::from(count));
    assert_eq!((status.status.as_str(), status.inputs.converted), done, "{status:?}");
    if world.seen.lock().unwrap().mute.is_some() {
        world.until(|seen| seen.destroyed.len() == seen.machines.len()).await;
    }
    world.until(|seen| seen.heard == seen.said).await;
    let service = running.service.clone();
    running.stop().await;
    let numbers = Some(service.metrics().numbers());
    Seen { numbers, ..std::mem::take(&mut *world.seen.lock().unwrap()) }
}

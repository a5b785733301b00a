//! The Fly launcher against a stand-in that checks every request against the documented shape.

use abide_blob::{Bucket, Key, Signer};
use abide_core::object::{Incarnation, ObjectKey};
use abide_engine::{Engine, EngineOptions, Registry};
use abide_preprocess::calls::{AttemptRef, Call, StartAnswer, StatusAnswer};
use abide_preprocess::launch::{Fly, FlyApp, Launcher};
use abide_preprocess::limits::LAUNCH_ATTEMPTS;
use abide_preprocess::phases::tiff::TiffConversion;
use abide_preprocess::{Buckets, PhaseSettings, QueueMessage, Report, Service, Setup};
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
    /// Machines that were there at the same time, at most.
    most: usize,
    problems: Vec<String>,
}

impl Seen {
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

/// What is wrong with a request that starts a machine.
fn problem(headers: &HeaderMap, body: &Value) -> Option<String> {
    if headers.get("authorization").is_none_or(|value| value != "Bearer token-of-a-test") {
        return Some("no bearer token".to_owned());
    }
    let env = body["config"]["env"].as_object()?.clone();
    let shape = json!({
        "name": body["name"],
        "region": "ord",
        "config": {
            "image": "registry.example/tiff:1",
            "auto_destroy": true,
            "restart": { "policy": "no" },
            "guest": { "memory_mb": 1024, "cpus": 2, "cpu_kind": "shared" },
            "env": body["config"]["env"],
        },
    });
    if *body != shape {
        return Some(format!("another shape: {body}"));
    }
    let needed =
        ["TASK_ID", "BATCH_ID", "INPUT_R2_KEY", "R2_BUCKET", "CALLBACK_URL", "INPUT_URL", "OUTPUT_URL"];
    let missing = needed.iter().find(|name| !env.get(**name).is_some_and(Value::is_string));
    let secret = env.keys().find(|name| name.contains("SECRET"));
    missing.map(|name| format!("no {name}")).or_else(|| secret.map(|name| format!("{name} is given away")))
}

async fn create(
    State(standin): State<StandIn>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<Json<Value>, (StatusCode, [(&'static str, &'static str); 1])> {
    let (id, mortal, made) = {
        let mut seen = standin.seen.lock().unwrap();
        seen.problems.extend(problem(&headers, &body));
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
        if seen.unnoted.as_ref().is_some_and(|unnoted| unnoted["name"] == body["name"]) {
            return Err((StatusCode::CONFLICT, [("x-reason", "the name is taken")]));
        }
        let made = if seen.liar == body["name"].as_str() { Made::Claimed } else { Made::Uploaded };
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
        work(&standin.service, &body["config"]["env"], made);
    }
    Ok(Json(json!({ "id": id, "state": "created" })))
}

/// What a machine did before it calls back.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Uploaded,
    Claimed,
}

/// A machine calls back.
fn work(service: &Service, env: &Value, made: Made) {
    let url = env["CALLBACK_URL"].as_str().unwrap().to_owned();
    let key = env["INPUT_R2_KEY"].as_str().unwrap().replace(".tif", ".jpg");
    let name = key.rsplit('/').next().unwrap().to_owned();
    let report = json!({ "task_id": env["TASK_ID"], "batch_id": "fly", "status": "success",
        "output_r2_key": key, "output_file_name": name, "output_file_size": 5 });
    let staging = service.buckets().staging.clone();
    tokio::spawn(async move {
        if made == Made::Uploaded {
            staging.put(&Key::new(&key).unwrap(), "a jpg".into(), "image/jpeg").await.unwrap();
        }
        reqwest::Client::new().post(url).json(&report).send().await.unwrap()
    });
}

/// Lists machines; the one that nobody noted goes on once it is found.
async fn list(State(standin): State<StandIn>) -> Json<Value> {
    let mut seen = standin.seen.lock().unwrap();
    seen.lists += 1;
    if let Some(unnoted) = &seen.unnoted {
        work(&standin.service, &unnoted["config"]["env"], Made::Uploaded);
    }
    let listed = (1..).zip(seen.machines.iter().zip(&seen.envs)).map(|(number, (name, env))| {
        let (id, config) = (format!("machine{number}"), json!({ "env": env }));
        let state = if seen.destroyed.contains(&id) { "destroyed" } else { "started" };
        json!({ "id": id, "name": name, "state": state, "config": config })
    });
    Json(listed.collect())
}

async fn show(State(standin): State<StandIn>, Path(id): Path<String>) -> Json<Value> {
    let ended = standin.seen.lock().unwrap().ended.contains(&id);
    Json(json!({ "id": id, "state": if ended { "stopped" } else { "started" } }))
}

async fn destroy(State(standin): State<StandIn>, Path(id): Path<String>) -> Result<Json<Value>, StatusCode> {
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
    match standin.service.call_back(&batch, attempt, query["signature"].clone(), report).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::FORBIDDEN,
    }
}

fn setup(dir: &std::path::Path, address: std::net::SocketAddr, poll: Duration, timeout_ms: i64) -> Setup {
    let bucket = |name: &str| Bucket::directory(&dir.join(name)).unwrap();
    let buckets =
        Buckets { staging: bucket("staging"), archive: bucket("archive"), signer: Signer::new([1; 32]) };
    let app = FlyApp { app: "tiffs".to_owned(), image: "registry.example/tiff:1".to_owned() };
    let fly = Fly {
        api_base: format!("http://{address}"),
        token: "token-of-a-test".to_owned(),
        region: "ord".to_owned(),
        apps: BTreeMap::from([("tiff".to_owned(), app)]),
        poll,
    };
    let mut setup = Setup { phases: &[&TiffConversion], ..Setup::new(buckets, Launcher::Fly(fly), 4) };
    let settings = PhaseSettings { task_timeout_ms: timeout_ms, ..PhaseSettings::DEFAULT };
    setup.options.settings.insert("TIFF_CONVERSION", settings);
    setup
}

async fn stage(service: &Service, count: u32) -> QueueMessage {
    let files: Vec<Value> = (1..=count)
        .map(|number| {
            json!({ "r2_key": format!("staging/fly/{number}.tif"), "logical_path": format!("/{number}.tif"),
                "file_name": format!("{number}.tif"), "file_size": 9, "content_type": "image/tiff" })
        })
        .collect();
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
        World { dir, store: MemoryStore::new(), standin: None, seen, poll, timeout_ms }
    }

    async fn start(&mut self) -> Running {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut registry = Registry::new();
        let setup = setup(self.dir.path(), address, self.poll, self.timeout_ms);
        let service = Service::register(&mut registry, setup).unwrap();
        let standin = StandIn { seen: Arc::clone(&self.seen), service: service.clone() };
        let router = Router::new()
            .route("/v1/apps/tiffs/machines", post(create).get(list))
            .route("/v1/apps/tiffs/machines/{id}", get(show).delete(destroy))
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
        let message = stage(&self.service, count).await;
        let start = Call::Start(Box::new(message));
        self.service.site().await.ask::<StartAnswer>("fly", &start).await.unwrap();
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
    let object = ObjectKey::new("preprocess", "fly").unwrap();
    let mut log = running.engine.follow(object, abide_core::log::Seq(0));
    running.submit(count).await;
    let site = running.service.site().await;
    let status = loop {
        log.next().await.unwrap();
        let status: StatusAnswer = site.ask("fly", &Call::Status).await.unwrap();
        if status.status == "DONE" || status.status == "ERROR" {
            break status;
        }
    };
    let done = ("DONE", u64::from(count));
    assert_eq!((status.status.as_str(), status.inputs.converted), done, "{status:?}");
    if world.seen.lock().unwrap().mute.is_some() {
        world.until(|seen| seen.destroyed.len() == seen.machines.len()).await;
    }
    running.stop().await;
    std::mem::take(&mut *world.seen.lock().unwrap())
}

#[tokio::test]
async fn machines_that_were_started_before_count_and_a_reset_destroys_them() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_mute: true, ..Seen::default() };
    let mut world = World::new(Duration::from_millis(10), 3_600_000, calm);
    let running = world.start().await;
    running.submit(30).await;
    world.until(|seen| seen.machines.len() == 4).await;
    running.stop().await;
    let before = world.seen.lock().unwrap().lists;

    let running = world.start().await;
    // Twice looked at since: whoever wanted to start another has had room, if there was any.
    world.until(|seen| seen.lists >= before + 3).await;
    assert_eq!(world.seen.lock().unwrap().most, 4);
    let site = running.service.site().await;
    site.ask::<abide_preprocess::calls::OkAnswer>("fly", &Call::Reset).await.unwrap();
    world.until(|seen| seen.destroyed.len() == 4).await;
    running.stop().await;
    assert_eq!(world.seen.lock().unwrap().machines.len(), 4);
}

#[tokio::test]
async fn a_machine_that_is_not_destroyed_at_first_is_destroyed_later() {
    let mute = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, mute, destroy_fails: 2, ..Seen::default() };
    let seen = run(1, Duration::from_millis(100), calm).await;
    assert_eq!(seen.destroyed.len(), seen.machines.len());
}

#[tokio::test]
async fn machines_are_asked_for_as_documented_and_a_dead_one_is_replaced() {
    let seen = run(2, Duration::from_millis(20), Seen::default()).await;
    assert_eq!(seen.problems, Vec::<String>::new());
    let mut names = seen.machines.clone();
    names.sort();
    assert_eq!(names, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000002", "tiff-fly_tiff_0000002-2"]);
    assert_eq!(seen.too_many, 2 * LAUNCH_ATTEMPTS, "a 429 uses up no attempt");
    let dead = seen.ended.iter().next().unwrap();
    assert!(seen.destroyed.contains(dead), "what is left of {dead} is destroyed: {:?}", seen.destroyed);
}

#[tokio::test]
async fn no_more_machines_than_the_cap_and_a_callback_makes_room_for_the_next() {
    // Nobody would hear of a machine's end by asking.
    let poll = Duration::from_secs(24 * 60 * 60);
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_live: true, ..Seen::default() };
    let seen = run(30, poll, calm).await;
    assert_eq!((seen.problems, seen.machines.len()), (Vec::new(), 30));
    assert!(seen.most <= 4, "{} at a time", seen.most);
}

#[tokio::test]
async fn a_machine_whose_start_was_not_noted_is_found_by_its_name() {
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, answer_lost: true, ..Seen::default() };
    let seen = run(1, Duration::from_millis(20), calm).await;
    assert_eq!((seen.problems, seen.machines), (Vec::new(), vec!["tiff-fly_tiff_0000001".to_owned()]));
    assert!(seen.destroyed.contains("machine1"), "and no orphan is left: {:?}", seen.destroyed);
}

#[tokio::test]
async fn a_machine_past_its_time_is_destroyed_and_replaced() {
    let mute = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, mute, ..Seen::default() };
    // Asked about seldom enough for the second one to call back before.
    let seen = run(1, Duration::from_millis(500), calm).await;
    assert_eq!(seen.machines, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000001-2"]);
    assert!(seen.destroyed.contains("machine1"), "{:?}", seen.destroyed);
}

#[tokio::test]
async fn what_was_reported_but_not_uploaded_is_made_by_another_attempt() {
    let liar = Some("tiff-fly_tiff_0000001");
    let calm = Seen { too_many: 2 * LAUNCH_ATTEMPTS, all_live: true, liar, ..Seen::default() };
    let seen = run(1, Duration::from_secs(24 * 60 * 60), calm).await;
    assert_eq!(seen.machines, ["tiff-fly_tiff_0000001", "tiff-fly_tiff_0000001-2"]);
}

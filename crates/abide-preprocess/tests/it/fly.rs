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
    fn machine(&mut self, name: &str) -> String {
        self.machines.push(name.to_owned());
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
            seen.machine(body["name"].as_str().unwrap());
            seen.unnoted = Some(body);
            return Err((StatusCode::INTERNAL_SERVER_ERROR, [("x-reason", "the answer is lost")]));
        }
        if seen.unnoted.as_ref().is_some_and(|unnoted| unnoted["name"] == body["name"]) {
            return Err((StatusCode::CONFLICT, [("x-reason", "the name is taken")]));
        }
        let made = if seen.liar == body["name"].as_str() { Made::Claimed } else { Made::Uploaded };
        (seen.machine(body["name"].as_str().unwrap()), !seen.all_live, made)
    };
    if standin.seen.lock().unwrap().mute == body["name"].as_str() {
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
    let seen = standin.seen.lock().unwrap();
    if let Some(unnoted) = &seen.unnoted {
        work(&standin.service, &unnoted["config"]["env"], Made::Uploaded);
    }
    let listed = (1..).zip(&seen.machines);
    let listed = listed.map(|(number, name)| json!({ "id": format!("machine{number}"), "name": name }));
    Json(listed.collect())
}

async fn show(State(standin): State<StandIn>, Path(id): Path<String>) -> Json<Value> {
    let ended = standin.seen.lock().unwrap().ended.contains(&id);
    Json(json!({ "id": id, "state": if ended { "stopped" } else { "started" } }))
}

async fn destroy(State(standin): State<StandIn>, Path(id): Path<String>) -> Json<Value> {
    standin.seen.lock().unwrap().destroyed.insert(id);
    Json(json!({ "ok": true }))
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

/// Takes a batch of so many files through machines, four at a time, that are asked about every `poll`.
async fn run(count: u32, poll: Duration, seen: Seen) -> Seen {
    let dir = tempfile::tempdir().unwrap();
    // One that nobody hears of is past its time at once.
    let timeout_ms = if seen.mute.is_some() { 1 } else { 60_000 };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut registry = Registry::new();
    let service = Service::register(&mut registry, setup(dir.path(), address, poll, timeout_ms)).unwrap();
    let standin = StandIn { seen: Arc::new(Mutex::new(seen)), service: service.clone() };
    let router = Router::new()
        .route("/v1/apps/tiffs/machines", post(create).get(list))
        .route("/v1/apps/tiffs/machines/{id}", get(show).delete(destroy))
        .route("/preprocess/callback/{batch}/{task}", post(callback))
        .with_state(standin.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
    let engine = Engine::start(Box::new(MemoryStore::new()), registry, EngineOptions::default()).unwrap();
    service.begin(engine.clone(), format!("http://{address}/preprocess"));
    let site = service.site().await;
    let message = stage(&service, count).await;
    let object = ObjectKey::new("preprocess", "fly").unwrap();
    let mut log = engine.follow(object, abide_core::log::Seq(0));
    site.ask::<StartAnswer>("fly", &Call::Start(Box::new(message))).await.unwrap();
    let status = loop {
        log.next().await.unwrap();
        let status: StatusAnswer = site.ask("fly", &Call::Status).await.unwrap();
        if status.status == "DONE" || status.status == "ERROR" {
            break status;
        }
    };
    let done = ("DONE", u64::from(count));
    assert_eq!((status.status.as_str(), status.inputs.converted), done, "{status:?}");
    engine.stop().await;
    serving.abort();
    std::mem::take(&mut *standin.seen.lock().unwrap())
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

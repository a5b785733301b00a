//! Tasks that do nothing: what a batch costs beside the work. Machines are asked for at a stand-in for their API, which calls
//! back over HTTP at once, as each machine would; what they are to make is there before they begin.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_blob::{Bucket, Key, Signer};
use abide_core::log::Seq;
use abide_core::object::ObjectKey;
use abide_engine::{Object, Registry};
use abide_preprocess::calls::{Call, StartAnswer, StatusAnswer};
use abide_preprocess::launch::{Fly, FlyApp, Launcher};
use abide_preprocess::phases::tiff::TiffConversion;
use abide_preprocess::{Batch, Buckets, QueueMessage, Service, Setup};
use axum::extract::{Path as At, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bench::{BenchError, expect_equal};
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, runtime};
use crate::services::{Hosted, preprocess as service};

const BATCH: &str = "bench";
/// Machines at the same time.
const IN_FLIGHT: usize = 1_000;

/// How often a machine says that it is done, if nobody hears it.
const CALLBACK_TRIES: usize = 3;

/// What a batch of tasks that do nothing took.
#[derive(Debug, Serialize)]
pub(crate) struct TaskRow {
    pub(super) tasks: u32,
    pub(super) wall_s: f64,
    pub(super) tasks_per_s: f64,
}

/// Takes a batch of `tasks` through a server of this process whose data is below `dir`.
pub(crate) fn run(mut config: Config, dir: &Path, tasks: u32) -> Result<TaskRow, Failure> {
    config.store.data_dir = dir.join("server");
    runtime()?.block_on(async {
        let api = stand_in().await.map_err(BenchError::Io)?;
        make_outputs(dir, tasks).map_err(BenchError::Io)?;
        let mut hosted = Hosted::only(Registry::new());
        let service = service::begin(&mut hosted, setup(dir, api)?, String::new())?;
        let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--data-dir" };
        let host = Host::start(&config, hosted, listen).await?;
        let measured = measure(&service, tasks).await;
        host.stop().await;
        measured
    })
}

fn setup(dir: &Path, api: SocketAddr) -> Result<Setup, Failure> {
    let bucket = |name: &str| Bucket::directory(&dir.join(name));
    let signer = Signer::new([7; 32]);
    let buckets = Buckets { staging: bucket("staging")?, archive: bucket("archive")?, signer };
    let app = FlyApp { app: "nothing".to_owned(), image: "nothing".to_owned() };
    let fly = Fly {
        api_base: format!("http://{api}"),
        token: "none".to_owned(),
        region: "here".to_owned(),
        apps: BTreeMap::from([("tiff".to_owned(), app)]),
        poll: Duration::from_secs(5),
    };
    Ok(Setup { phases: &[&TiffConversion], ..Setup::new(buckets, Launcher::Fly(fly), IN_FLIGHT) })
}

/// What the tasks are said to make: a success is believed only of what is in the bucket.
fn make_outputs(dir: &Path, tasks: u32) -> std::io::Result<()> {
    let folder = dir.join("staging/staging").join(BATCH);
    std::fs::create_dir_all(&folder)?;
    (0..tasks).try_for_each(|number| std::fs::write(folder.join(format!("{number}.jpg")), "x"))
}

async fn measure(service: &Service, tasks: u32) -> Result<TaskRow, Failure> {
    let message = stage(service, tasks).await?;
    let site = service.site().await;
    let object = ObjectKey::new(Batch::KIND, BATCH).map_err(|error| BenchError::Wrong(error.to_string()))?;
    let mut log = site.engine.follow(object, Seq(0));
    let began = Instant::now();
    let started = site.ask::<StartAnswer>(BATCH, &Call::Start(Box::new(message))).await;
    started.map_err(BenchError::Call)?;
    let status = loop {
        log.next().await.map_err(BenchError::Engine)?;
        let status: StatusAnswer = site.ask(BATCH, &Call::Status).await.map_err(BenchError::Call)?;
        match (status.status.as_str(), &status.error) {
            ("DONE", _) => break status,
            (_, Some(error)) => return Err(BenchError::Wrong(error.clone()).into()),
            _ => {}
        }
    };
    let wall_s = began.elapsed().as_secs_f64();
    expect_equal("tasks", u64::from(tasks), status.progress.tasks_completed)?;
    Ok(TaskRow { tasks, wall_s, tasks_per_s: f64::from(tasks) / wall_s })
}

async fn stage(service: &Service, tasks: u32) -> Result<QueueMessage, Failure> {
    let files: Vec<Value> = (0..tasks)
        .map(|number| {
            json!({ "r2_key": format!("staging/{BATCH}/{number}.tif"), "logical_path": format!("/{number}.tif"),
                "file_name": format!("{number}.tif"), "file_size": 1, "content_type": "image/tiff" })
        })
        .collect();
    let manifest = json!({ "batch_id": BATCH, "directories": [{ "directory_path": "/", "files": files }] });
    let key = Key::new("staging/bench/_manifest.json").map_err(abide_blob::BlobError::from)?;
    service.buckets().staging.put(&key, manifest.to_string().into(), "application/json").await?;
    let message =
        json!({ "batch_id": BATCH, "manifest_r2_key": key.as_str(), "r2_prefix": "staging/bench/" });
    QueueMessage::read(&message).map_err(|error| BenchError::Wrong(error.to_string()).into())
}

/// Starts the stand-in for the API of machines.
async fn stand_in() -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/v1/apps/{app}/machines", get(list).post(create))
        .route("/v1/apps/{app}/machines/{id}", get(show).delete(destroy))
        .with_state(Arc::new(Machines::default()));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// The machines that are there.
#[derive(Default)]
struct Machines {
    client: reqwest::Client,
    there: Mutex<BTreeMap<String, Value>>,
}

impl Machines {
    fn there(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An app and a machine of it.
type Named = At<(String, String)>;

async fn list(State(machines): State<Arc<Machines>>) -> Json<Vec<Value>> {
    Json(machines.there().values().cloned().collect())
}

/// A machine that does nothing but call back.
async fn create(State(machines): State<Arc<Machines>>, Json(body): Json<Value>) -> Json<Value> {
    let of = |name: &str| body["config"]["env"][name].as_str().unwrap_or_default().to_owned();
    let key = of("INPUT_R2_KEY").replace(".tif", ".jpg");
    let name = key.rsplit('/').next().unwrap_or_default();
    let report = json!({ "task_id": of("TASK_ID"), "batch_id": of("BATCH_ID"), "status": "success",
        "output_r2_key": key, "output_file_name": name, "output_file_size": 1 });
    let url = of("CALLBACK_URL");
    let client = machines.client.clone();
    // As machines do, it says it again if it was not heard. One that is not taken shows as a batch that does not end.
    tokio::spawn(async move {
        for _ in 0..CALLBACK_TRIES {
            if client.post(&url).json(&report).send().await.is_ok() {
                return;
            }
        }
    });
    let machine =
        json!({ "id": body["name"], "name": body["name"], "state": "started", "config": body["config"] });
    let id = body["name"].as_str().unwrap_or_default().to_owned();
    machines.there().insert(id, machine.clone());
    Json(machine)
}

async fn show(State(machines): State<Arc<Machines>>, At((_, id)): Named) -> Result<Json<Value>, StatusCode> {
    let there = machines.there();
    there.get(&id).cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

async fn destroy(
    State(machines): State<Arc<Machines>>,
    At((_, id)): Named,
) -> Result<Json<Value>, StatusCode> {
    let mut there = machines.there();
    there.remove(&id).map(|_| Json(json!({ "ok": true }))).ok_or(StatusCode::NOT_FOUND)
}

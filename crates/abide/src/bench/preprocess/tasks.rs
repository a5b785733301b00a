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
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::contender::cpu_s;
use crate::bench::{BenchError, expect_equal};
use crate::config::Config;
use crate::failure::Failure;
use crate::host::{Host, Listen, runtime};
use crate::services::{Hosted, preprocess as service};

/// Tasks of a small batch.
const FEW: u32 = 100;
/// Small batches at the same time.
const BATCHES: usize = 10;
/// Machines at the same time.
const IN_FLIGHT: usize = 1_000;

/// How often a machine says that it is done, if nobody hears it.
const CALLBACK_TRIES: u32 = 5;

/// What a batch of tasks that do nothing took, and as many tasks in batches of a hundred.
#[derive(Debug, Serialize)]
pub(crate) struct TaskRow {
    pub(super) tasks: u32,
    pub(super) wall_s: f64,
    pub(super) tasks_per_s: f64,
    /// Processor time of this process for a task: the server, the stand-in for machines, and their callbacks.
    pub(super) cpu_ms_per_task: f64,
    /// The same in batches of a hundred.
    pub(super) cpu_ms_per_task_of_few: f64,
}

/// What batches took together.
struct Taken {
    wall_s: f64,
    cpu_s: f64,
}

/// Takes a batch of `tasks` through a server of this process whose data is below `dir`, between two halves of as many small ones:
/// what the store has grown by meanwhile is in both.
pub(crate) fn run(mut config: Config, dir: &Path, tasks: u32) -> Result<TaskRow, Failure> {
    config.store.data_dir = dir.join("server");
    runtime()?.block_on(async {
        let api = stand_in().await.map_err(BenchError::Io)?;
        let mut hosted = Hosted::only(Registry::new());
        let service = service::begin(&mut hosted, setup(dir, api)?, String::new())?;
        let listen = Listen { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), flag: "--data-dir" };
        let host = Host::start(&config, hosted, listen).await?;
        let measured = row(&service, dir, tasks).await;
        host.stop().await;
        measured
    })
}

async fn row(service: &Service, dir: &Path, tasks: u32) -> Result<TaskRow, Failure> {
    let half = tasks.div_ceil(2 * FEW);
    let few = |from: u32| (from..from + half).map(|number| (format!("few-{number}"), FEW)).collect();
    let before = measure(service, dir, few(0)).await?;
    let Taken { wall_s, cpu_s } = measure(service, dir, vec![("many".to_owned(), tasks)]).await?;
    let after = measure(service, dir, few(half)).await?;
    let per_task = |cpu_s: f64, tasks: u32| cpu_s * 1_000.0 / f64::from(tasks);
    Ok(TaskRow {
        tasks,
        wall_s,
        tasks_per_s: f64::from(tasks) / wall_s,
        cpu_ms_per_task: per_task(cpu_s, tasks),
        cpu_ms_per_task_of_few: per_task(before.cpu_s + after.cpu_s, 2 * half * FEW),
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
fn make_outputs(dir: &Path, batch: &str, tasks: u32) -> std::io::Result<()> {
    let folder = dir.join("staging/staging").join(batch);
    std::fs::create_dir_all(&folder)?;
    (0..tasks).try_for_each(|number| std::fs::write(folder.join(format!("{number}.jpg")), "x"))
}

/// Takes batches through the server, each with its number of tasks.
async fn measure(service: &Service, dir: &Path, batches: Vec<(String, u32)>) -> Result<Taken, Failure> {
    let mut messages = Vec::new();
    for (batch, tasks) in &batches {
        make_outputs(dir, batch, *tasks).map_err(BenchError::Io)?;
        messages.push((stage(service, batch, *tasks).await?, *tasks));
    }
    let (cpu_before, began) = (cpu_s(std::process::id())?, Instant::now());
    let batches = stream::iter(messages).map(|(message, tasks)| through(service, message, tasks));
    batches.buffer_unordered(BATCHES).try_collect::<()>().await?;
    Ok(Taken { wall_s: began.elapsed().as_secs_f64(), cpu_s: cpu_s(std::process::id())? - cpu_before })
}

/// Takes one batch through the server.
async fn through(service: &Service, message: QueueMessage, tasks: u32) -> Result<(), Failure> {
    let site = service.site().await;
    let batch = message.batch_id.as_str().to_owned();
    let object = ObjectKey::new(Batch::KIND, &batch).map_err(|error| BenchError::Wrong(error.to_string()))?;
    let mut log = site.engine.follow(object, Seq(0));
    let started = site.ask::<StartAnswer>(&batch, &Call::Start(Box::new(message))).await;
    started.map_err(BenchError::Call)?;
    let status = loop {
        log.next().await.map_err(BenchError::Engine)?;
        let status: StatusAnswer = site.ask(&batch, &Call::Status).await.map_err(BenchError::Call)?;
        match (status.status.as_str(), &status.error) {
            ("DONE", _) => break status,
            (_, Some(error)) => return Err(BenchError::Wrong(error.clone()).into()),
            _ => {}
        }
    };
    Ok(expect_equal("tasks", u64::from(tasks), status.progress.tasks_completed)?)
}

async fn stage(service: &Service, batch: &str, tasks: u32) -> Result<QueueMessage, Failure> {
    let files: Vec<Value> = (0..tasks)
        .map(|number| {
            json!({ "r2_key": format!("staging/{batch}/{number}.tif"), "logical_path": format!("/{number}.tif"),
                "file_name": format!("{number}.tif"), "file_size": 1, "content_type": "image/tiff" })
        })
        .collect();
    let manifest = json!({ "batch_id": batch, "directories": [{ "directory_path": "/", "files": files }] });
    let prefix = format!("staging/{batch}/");
    let key = Key::new(&format!("{prefix}_manifest.json")).map_err(abide_blob::BlobError::from)?;
    service.buckets().staging.put(&key, manifest.to_string().into(), "application/json").await?;
    let message = json!({ "batch_id": batch, "manifest_r2_key": key.as_str(), "r2_prefix": prefix });
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
    // As machines do, it says it again if it was not heard or is to come later. One that is not taken shows as a batch that
    // does not end.
    tokio::spawn(async move {
        for attempt in 0..CALLBACK_TRIES {
            let heard = client.post(&url).json(&report).send().await;
            if heard.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
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

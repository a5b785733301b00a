//! `abide bench downloads`: a list that enters the queue, and hosts that are kept busy, by commands of their own process.

use std::io::{BufWriter, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_downloads::Artifact;
use abide_engine::Registry;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::rig::Rig;
use super::{BenchError, expect_equal};
use crate::columns::columns;

/// Hosts that files come from.
const HOSTS: usize = 8;
/// How long each takes to answer.
const LATENCY: Duration = Duration::from_millis(50);
/// Downloads at the same time from one of them.
const PER_HOST: u32 = 2;
/// Jobs in one write of the floor.
const BULK: usize = 1_000;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Lines of the list that enters.
    pub(crate) lines: u64,
    /// Files of each host.
    pub(crate) files: u64,
}

/// What was measured.
#[derive(Debug, Serialize)]
pub(crate) struct DownloadFigures {
    lines: u64,
    /// `abide queue import`, from its start to its end.
    enqueue_lines_per_s: f64,
    /// The same jobs, read already, given to an engine: what its store does.
    enqueue_floor_per_s: f64,
    /// The one by the other.
    enqueue_of_floor: f64,
    hosts: usize,
    files_per_host: u64,
    /// `abide queue run`, from the first request to the last answer.
    downloads_s: f64,
    /// If each host always answered as many as it may.
    downloads_ideal_s: f64,
    /// The one by the other.
    downloads_of_ideal: f64,
}

impl DownloadFigures {
    /// The figures beside what they should be, for a person.
    pub(crate) fn table(&self) -> String {
        let rows = [
            ("enqueue_lines_per_s", self.enqueue_lines_per_s, "at least 30,000 of 100,000 lines"),
            ("enqueue_floor_per_s", self.enqueue_floor_per_s, ""),
            ("enqueue_of_floor", self.enqueue_of_floor, ""),
            ("downloads_s", self.downloads_s, ""),
            ("downloads_ideal_s", self.downloads_ideal_s, ""),
            ("downloads_of_ideal", self.downloads_of_ideal, "at most 1.10"),
        ];
        let shown =
            |figure: f64| if figure >= 100.0 { format!("{figure:.0}") } else { format!("{figure:.2}") };
        let rows = rows.map(|(name, figure, aim)| [name.to_owned(), shown(figure), aim.to_owned()]);
        columns(["figure", "measured", "aim"], &rows)
    }
}

/// Measures in fresh directories below `dir`; `tell` hears what is under way.
pub(crate) async fn run(
    dir: &Path,
    extent: Extent,
    tell: impl Fn(&str),
) -> Result<DownloadFigures, BenchError> {
    let Extent { lines, files } = extent;
    tell("a list that enters");
    let enqueue_lines_per_s = import(&dir.join("list"), lines).await?;
    let enqueue_floor_per_s = floor(&dir.join("floor"), lines).await?;
    tell("hosts that are kept busy");
    let took = hosts(&dir.join("hosts"), files).await?;
    let ideal = LATENCY.as_secs_f64() * files.div_ceil(u64::from(PER_HOST)) as f64;
    Ok(DownloadFigures {
        lines,
        enqueue_lines_per_s,
        enqueue_floor_per_s,
        enqueue_of_floor: enqueue_lines_per_s / enqueue_floor_per_s,
        hosts: HOSTS,
        files_per_host: files,
        downloads_s: took.as_secs_f64(),
        downloads_ideal_s: ideal,
        downloads_of_ideal: took.as_secs_f64() / ideal,
    })
}

/// The line of an artifact of many hosts.
fn line(n: u64) -> String {
    let url = format!("https://host-{}.example/papers/{n}.pdf", n % 1_000);
    json!({ "artifact_id": format!("doi:10.1234/bench.{n}"), "url": url, "title": "kept" }).to_string()
}

/// Lines a second that a command enters, which are in the synced store at its end.
async fn import(dir: &Path, lines: u64) -> Result<f64, BenchError> {
    write_list(dir, (0..lines).map(line))?;
    let began = Instant::now();
    let entered = command(dir, "queue import list.jsonl").await?;
    let took = began.elapsed();
    expect_equal("lines that entered", lines, entered["new"].as_u64().unwrap_or_default())?;
    Ok(lines as f64 / took.as_secs_f64())
}

/// Jobs a second of the same lines that an engine enqueues.
async fn floor(dir: &Path, lines: u64) -> Result<f64, BenchError> {
    let parse = |n| Artifact::parse(&line(n)).map_err(|error| BenchError::Wrong(error.to_string()));
    let mut jobs = (0..lines).map(parse).collect::<Result<Vec<_>, _>>()?;
    let rig = Rig::start(dir, Registry::new())?;
    let began = Instant::now();
    while !jobs.is_empty() {
        let rest = jobs.split_off(jobs.len().min(BULK));
        rig.engine.enqueue(std::mem::replace(&mut jobs, rest)).await?;
    }
    let took = began.elapsed();
    rig.stop().await;
    Ok(lines as f64 / took.as_secs_f64())
}

/// How long the hosts were at work on their files, from the first request to the last answer.
async fn hosts(dir: &Path, files: u64) -> Result<Duration, BenchError> {
    let (busy, timer) = (Busy::default(), timer()?);
    let mut addresses = Vec::new();
    for _ in 0..HOSTS {
        addresses.push(host(&busy, &timer).await?);
    }
    let url = |n: u64| format!("http://{}/{n}.txt", addresses[n as usize % HOSTS]);
    let all = files * HOSTS as u64;
    write_list(dir, (0..all).map(|n| json!({ "id": format!("f{n}"), "url": url(n) }).to_string()))?;
    command(dir, "queue import list.jsonl").await?;
    let run = format!("queue run --drain --out files --workers 64 --max-per-host {PER_HOST}");
    let ran = command(dir, &run).await?;
    expect_equal("files that came", all, ran["done"].as_u64().unwrap_or_default())?;
    let (began, ended) = busy.lock().unwrap_or_else(PoisonError::into_inner).ok_or_else(nobody_asked)?;
    Ok(ended - began)
}

fn nobody_asked() -> BenchError {
    BenchError::Wrong("no host was asked for anything".into())
}

/// When all hosts had the first request, and the last answer. Held only to note one.
type Busy = Arc<Mutex<Option<(Instant, Instant)>>>;

/// A host that takes its time. It ends with this process.
async fn host(busy: &Busy, timer: &Timer) -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (busy, timer) = (Arc::clone(busy), timer.clone());
    let file = async move || {
        note(&busy);
        let (done, due) = oneshot::channel();
        let asked = timer.send((Instant::now() + LATENCY, done));
        let answer = if asked.is_ok() && due.await.is_ok() {
            StatusCode::OK
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        note(&busy);
        (answer, "content of a file\n".repeat(20))
    };
    let router = Router::new().route("/robots.txt", get(async || StatusCode::NOT_FOUND)).fallback(get(file));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// Who is to be told when. All wait for the same time, so that whoever came first is told first.
type Timer = std::sync::mpsc::Sender<(Instant, oneshot::Sender<()>)>;

/// A thread that sleeps for those who wait: the timer of an asynchronous runtime would add a millisecond to each answer.
#[expect(
    clippy::disallowed_methods,
    reason = "what is measured is real time, and this is the part that takes it"
)]
fn timer() -> Result<Timer, BenchError> {
    let (door, waiting) = std::sync::mpsc::channel::<(Instant, oneshot::Sender<()>)>();
    let tell = move || {
        for (due, done) in waiting {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if done.send(()).is_err() {
                tracing::debug!(target: "bench", "somebody hung up before the answer");
            }
        }
    };
    std::thread::Builder::new().name("bench-timer".into()).spawn(tell)?;
    Ok(door)
}

fn note(busy: &Busy) {
    let now = Instant::now();
    let mut busy = busy.lock().unwrap_or_else(PoisonError::into_inner);
    let (began, _) = busy.unwrap_or((now, now));
    *busy = Some((began, now));
}

fn write_list(dir: &Path, lines: impl Iterator<Item = String>) -> Result<(), BenchError> {
    std::fs::create_dir_all(dir)?;
    let mut list = BufWriter::new(std::fs::File::create(dir.join("list.jsonl"))?);
    for line in lines {
        writeln!(list, "{line}")?;
    }
    Ok(list.flush()?)
}

/// What a command of this program answers, run in `dir` on data of its own and without anybody's configuration.
async fn command(dir: &Path, arguments: &str) -> Result<Value, BenchError> {
    let ran = tokio::process::Command::new(std::env::current_exe()?)
        .args(arguments.split(' '))
        .args(["--json", "--data-dir", "data"])
        .current_dir(dir)
        .env_clear()
        .env("HOME", dir)
        .env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
        .stdin(Stdio::null())
        .output()
        .await?;
    let wrong = |why: String| BenchError::Wrong(format!("abide {arguments}: {why}"));
    if !ran.status.success() {
        return Err(wrong(String::from_utf8_lossy(&ran.stderr).into_owned()));
    }
    serde_json::from_slice(&ran.stdout).map_err(|error| wrong(error.to_string()))
}

//! What needs a process of its own: memory, system calls, a start after `kill -9`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::alarms::{Ask, ask_all, registry, sleeper};
use super::rig::{Rig, counter};
use super::{BenchError, Figures};
use crate::counter::Counter;

/// What a child process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChildTask {
    /// Opens an empty store and waits.
    Idle,
    /// Touches 10,000 objects and waits.
    TenThousandObjects,
    /// Sets a million alarms and waits.
    MillionAlarms,
    /// Fills a store with 100,000 objects, alarms and ready jobs, and 64 MiB of log, and waits to be killed.
    Fill,
    /// Starts on the filled store and says how long it took.
    Start,
}

/// Far enough in the future for nothing to fire.
const FAR_MS: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Objects, alarms and jobs of the filled store.
const FILLED: u64 = 100_000;

/// A child at work, killed when dropped.
struct Worker {
    child: Child,
    _stdin: ChildStdin,
    said: String,
}

impl Worker {
    /// Starts a child on `dir` and waits for its first line.
    fn start(task: ChildTask, dir: &Path) -> Result<Worker, BenchError> {
        let name = clap::ValueEnum::to_possible_value(&task).map(|value| value.get_name().to_owned());
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "--child", &name.unwrap_or_default(), "--data-dir"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(BenchError::Wrong("a child has no pipes".into()));
        };
        let mut said = String::new();
        BufReader::new(stdout).read_line(&mut said)?;
        if said.is_empty() {
            return Err(BenchError::Wrong(format!("the child for {task:?} failed: {}", child.wait()?)));
        }
        Ok(Worker { child, _stdin: stdin, said })
    }

    fn rss_mib(&self) -> Result<f64, BenchError> {
        rss_mib(self.child.id())
    }

    /// System calls of all its threads in so many seconds, scaled to a minute; none without strace.
    fn syscalls_a_minute(&self, seconds: u32) -> Result<Option<f64>, BenchError> {
        let counted = Command::new("timeout")
            .args([
                "-s",
                "INT",
                &seconds.to_string(),
                "strace",
                "-f",
                "-qq",
                "-c",
                "-p",
                &self.child.id().to_string(),
            ])
            .output();
        let Ok(output) = counted else { return Ok(None) };
        let text = String::from_utf8_lossy(&output.stderr);
        let calls = |line: &str| line.split_whitespace().nth(3).and_then(|calls| calls.parse::<f64>().ok());
        let total = text.lines().find(|line| line.trim_end().ends_with("total")).and_then(calls);
        let quiet = text.trim().is_empty() && output.status.code() != Some(127);
        Ok(total.or(quiet.then_some(0.0)).map(|calls| calls * 60.0 / f64::from(seconds)))
    }
}

/// Memory of a process.
pub(super) fn rss_mib(pid: u32) -> Result<f64, BenchError> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.map(|kib| kib / 1_024.0).ok_or_else(|| BenchError::Wrong("no VmRSS of the child".into()))
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Gone already is as good.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The figures of child processes.
pub(super) async fn measure(dir: &Path, idle_seconds: u32, figures: &mut Figures) -> Result<(), BenchError> {
    let idle = Worker::start(ChildTask::Idle, &dir.join("idle"))?;
    sleep(Duration::from_secs(2)).await;
    figures.rss_idle_mib = Some(idle.rss_mib()?);
    figures.idle_syscalls_60s = idle.syscalls_a_minute(idle_seconds)?;
    drop(idle);
    let touched = Worker::start(ChildTask::TenThousandObjects, &dir.join("touched"))?;
    figures.rss_10k_objects_mib = Some(touched.rss_mib()?);
    drop(touched);
    let alarms = Worker::start(ChildTask::MillionAlarms, &dir.join("alarms"))?;
    figures.alarms_1m_rss_mib = Some(alarms.rss_mib()?);
    drop(alarms);
    let filled = dir.join("filled");
    drop(Worker::start(ChildTask::Fill, &filled)?);
    let started = Worker::start(ChildTask::Start, &filled)?;
    let took_ms = started.said.trim().parse().map_err(|_| BenchError::Wrong(started.said.clone()))?;
    figures.start_100k_objects_ms = Some(took_ms);
    Ok(())
}

/// Does a child's task, says a line, and waits until its parent is gone.
pub(super) async fn run(task: ChildTask, dir: &Path) -> Result<(), BenchError> {
    let began = Instant::now();
    let mut all = registry()?;
    all.object(Counter)?;
    let mut rig = Rig::start(dir, all)?;
    let address = rig.serve().await?;
    let rig = Arc::new(rig);
    match task {
        ChildTask::Idle => {}
        ChildTask::Start => {
            // Ready when a call is durable.
            rig.call(counter("first"), Json::from(json!({"add": 1}))).await?;
        }
        ChildTask::TenThousandObjects => {
            for n in 0..10_000 {
                let object = counter(&format!("c{n}"));
                rig.call(object, Json::from(json!({"add": 1}))).await?;
            }
        }
        ChildTask::MillionAlarms => {
            let at = rig.engine.now().plus_ms(FAR_MS);
            ask_all(&rig, 1_000, move |_| Ask::WakeOften(1_000, at)).await?;
        }
        ChildTask::Fill => fill(&rig).await?,
    }
    let took_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let mut out = std::io::stdout();
    writeln!(out, "{took_ms}")?;
    out.flush()?;
    tracing::debug!(target: "http", %address, "waiting for the parent to end");
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()))
        .await
        .map_err(std::io::Error::other)??;
    Ok(())
}

async fn fill(rig: &Arc<Rig>) -> Result<(), BenchError> {
    let at = rig.engine.now().plus_ms(FAR_MS);
    ask_all(rig, FILLED, move |_| Ask::WakeAt(at)).await?;
    let queue = QueueName::new("bench").expect("a plain name");
    let kind = JobKind::new("noop").expect("a plain name");
    for _ in 0..FILLED / 1_000 {
        let job = || NewJob::new(queue.clone(), kind.clone(), Json::null());
        rig.engine.enqueue((0..1_000).map(|_| job()).collect()).await?;
    }
    // The log of writes is cut at its bound; once more up to it.
    for n in 0..FILLED / 2 {
        rig.call(sleeper(n), Json::encode(&Ask::WakeAt(at.plus_ms(1)))?).await?;
    }
    Ok(())
}

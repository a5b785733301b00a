//! Jobs under load: enqueuing, whole lives, and how soon a job is picked up.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_engine::worker::done;
use abide_engine::{JobContext, Registry};
use abide_store::Write;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::load::{self, Requests, percentiles};
use super::rig::Rig;
use super::{BenchError, Figures, expect_equal};

/// Jobs in one bulk enqueue.
const BULK: usize = 1_000;
/// Jobs whose whole lives are timed.
const LIVES: u64 = 200_000;

fn job() -> NewJob {
    let queue = QueueName::new("bench").expect("a plain name");
    NewJob::new(queue, JobKind::new("noop").expect("a plain name"), Json::null())
}

fn idle_registry() -> Registry {
    Registry::new()
}

fn working_registry(slots: usize) -> Result<Registry, BenchError> {
    let mut registry = Registry::new();
    registry.worker("bench", "noop", slots, |_: JobContext| async { done(&()) })?;
    Ok(registry)
}

/// Jobs a second enqueued one by one over HTTP from 8 connections, and in bulk in the process.
pub(super) async fn enqueue(dir: &Path, measured: Duration, figures: &mut Figures) -> Result<(), BenchError> {
    let mut rig = Rig::start(dir, idle_registry())?;
    let address = rig.serve().await?;
    let requests: Requests = Arc::new(|_, _, buffer| {
        load::post(buffer, "/v1/jobs", r#"{"queue":"bench","kind":"noop","payload":{}}"#);
    });
    let loaded = load::drive(address, 8, measured, requests).await?;
    figures.enqueue_http_8_rps = Some(loaded.rps);
    let began = Instant::now();
    let bulks = 100;
    for _ in 0..bulks {
        rig.engine.enqueue((0..BULK).map(|_| job()).collect()).await?;
    }
    let bulk = (bulks * BULK) as f64 / began.elapsed().as_secs_f64();
    figures.enqueue_bulk_per_s = Some(bulk);
    rig.stop().await;
    let rig = Rig::start(dir, idle_registry())?;
    let expected = loaded.acknowledged + (bulks * BULK) as u64;
    expect_equal("jobs enqueued", expected, ready(&rig).await?)?;
    rig.stop().await;
    Ok(())
}

async fn ready(rig: &Rig) -> Result<u64, BenchError> {
    match rig.engine.read(abide_store::Read::Queues).await? {
        abide_store::Answer::Queues(queues) => Ok(queues.iter().map(|queue| queue.counts.ready).sum()),
        other => Err(BenchError::Wrong(format!("queues were answered with {other:?}"))),
    }
}

/// Jobs a second that are enqueued, claimed and finished, each step durable before the next, history kept.
pub(super) async fn lives(dir: &Path) -> Result<f64, BenchError> {
    lives_of(dir, |_| Vec::new(), LIVES, &[]).await
}

/// As [`lives`], for jobs that carry limit keys and beside what `before` puts into the store first.
pub(super) async fn lives_of(
    dir: &Path,
    keys: impl Fn(u64) -> Vec<LimitKey> + Send + Sync + Copy + 'static,
    lives: u64,
    before: &[Write],
) -> Result<f64, BenchError> {
    let rig = Arc::new(Rig::start(dir, working_registry(512)?)?);
    for write in before {
        rig.engine.write(write.clone()).await?;
    }
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for task in 0..8 {
        let rig = Arc::clone(&rig);
        tasks.spawn(async move {
            for bulk in 0..lives / 8 / 100 {
                let number = |n| (task * (lives / 8)) + bulk * 100 + n;
                let jobs = (0..100).map(|n| NewJob { limit_keys: keys(number(n)), ..job() }).collect();
                rig.engine.enqueue(jobs).await?;
            }
            Ok::<(), BenchError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.map_err(|e| BenchError::Wrong(e.to_string()))??;
    }
    while rig.done("bench").await? < lives {
        if began.elapsed() > Duration::from_secs(120) {
            return Err(BenchError::Wrong("jobs did not end within two minutes".into()));
        }
        sleep(Duration::from_millis(2)).await;
    }
    let rate = lives as f64 / began.elapsed().as_secs_f64();
    rig.engine.stop().await;
    drop(rig);
    let rig = Rig::start(dir, idle_registry())?;
    expect_equal("jobs done", lives, rig.done("bench").await?)?;
    rig.stop().await;
    Ok(rate)
}

/// How soon a job starts after its enqueue was asked for, at 50 jobs a second.
pub(super) async fn pickup(dir: &Path, measured: Duration, figures: &mut Figures) -> Result<(), BenchError> {
    let started: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let mut registry = Registry::new();
    let seen = Arc::clone(&started);
    registry.worker("bench", "noop", 4, move |_: JobContext| {
        let now = Instant::now();
        // Held only to push.
        seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(now);
        async { done(&()) }
    })?;
    let rig = Rig::start(dir, registry)?;
    let mut asked = Vec::new();
    let began = Instant::now();
    while began.elapsed() < measured {
        let at = Instant::now();
        rig.engine.enqueue(vec![job()]).await?;
        asked.push(at);
        sleep(Duration::from_millis(20)).await;
    }
    rig.engine.stop().await;
    let started = started.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    expect_equal("jobs picked up", asked.len() as u64, started.len() as u64)?;
    let micros = asked.iter().zip(started.iter());
    let micros = micros.map(|(at, start)| u32::try_from((*start - *at).as_micros()).unwrap_or(u32::MAX));
    let [p50, p99] = percentiles(micros.collect(), [0.50, 0.99]);
    figures.pickup_p50_ms = Some(p50);
    figures.pickup_p99_ms = Some(p99);
    Ok(())
}

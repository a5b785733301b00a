//! Objects under load: durable read-modify-write over HTTP and in the process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use abide_core::json::Json;
use abide_core::object::ObjectKey;
use abide_core::seed::mix;
use abide_engine::Registry;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::load::{self, Loaded, Requests};
use super::rig::{Rig, counter};
use super::{BenchError, Figures, expect_equal};
use crate::counter::Counter;

fn registry() -> Result<Registry, BenchError> {
    let mut registry = Registry::new();
    registry.object(Counter)?;
    Ok(registry)
}

/// The figures of objects over HTTP.
pub(super) async fn over_http(
    dir: &Path,
    measured: Duration,
    figures: &mut Figures,
) -> Result<(), BenchError> {
    let one = over_http_on(&dir.join("one"), measured, 1, 32).await?;
    figures.object_one_c32_rps = Some(one.rps);
    figures.object_one_p50_ms = Some(one.p50_ms);
    figures.object_one_p99_ms = Some(one.p99_ms);
    let few = over_http_on(&dir.join("c32"), measured, 1_000, 32).await?;
    figures.object_1000_c32_rps = Some(few.rps);
    let many = over_http_on(&dir.join("c128"), measured, 1_000, 128).await?;
    figures.object_1000_c128_rps = Some(many.rps);
    figures.object_1000_c128_p99_ms = Some(many.p99_ms);
    Ok(())
}

async fn over_http_on(
    dir: &Path,
    measured: Duration,
    objects: u64,
    connections: usize,
) -> Result<Loaded, BenchError> {
    let mut rig = Rig::start(dir, registry()?)?;
    let address = rig.serve().await?;
    let requests: Requests = Arc::new(move |connection, n, buffer| {
        let object = mix(connection as u64, n) % objects;
        load::post(buffer, &format!("/v1/objects/counter/c{object}/call"), r#"{"add":1}"#);
    });
    let loaded = load::drive(address, connections, measured, requests).await?;
    rig.stop().await;
    let rig = Rig::start(dir, registry()?)?;
    expect_equal("calls over HTTP", loaded.acknowledged, rig.sum("c", objects).await?)?;
    rig.stop().await;
    Ok(loaded)
}

/// Calls a second from 128 tasks in the process, on 1,000 objects.
pub(super) async fn in_process(dir: &Path, measured: Duration) -> Result<f64, BenchError> {
    let rig = Arc::new(Rig::start(dir, registry()?)?);
    let until = Instant::now() + measured;
    let began = Instant::now();
    let objects: Arc<Vec<ObjectKey>> = Arc::new((0..1_000).map(|n| counter(&format!("c{n}"))).collect());
    let body = Json::from(json!({"add": 1}));
    let mut tasks = JoinSet::new();
    for task in 0..128_u64 {
        let (rig, objects, body) = (Arc::clone(&rig), Arc::clone(&objects), body.clone());
        tasks.spawn(async move {
            let mut calls = 0_u64;
            while Instant::now() < until {
                let object = objects[(mix(task, calls) % 1_000) as usize].clone();
                rig.call(object, body.clone()).await?;
                calls += 1;
            }
            Ok::<u64, BenchError>(calls)
        });
    }
    let calls = total(tasks).await?;
    let rate = calls as f64 / began.elapsed().as_secs_f64();
    rig.engine.stop().await;
    let rig = Rig::start(dir, registry()?)?;
    expect_equal("calls in the process", calls, rig.sum("c", 1_000).await?)?;
    rig.stop().await;
    Ok(rate)
}

/// Objects a second that come to exist, from 128 tasks in the process.
pub(super) async fn new_objects(dir: &Path, measured: Duration) -> Result<f64, BenchError> {
    let rig = Arc::new(Rig::start(dir, registry()?)?);
    let began = Instant::now();
    let until = began + measured;
    let body = Json::from(json!({"add": 1}));
    let mut tasks = JoinSet::new();
    for task in 0..128_u64 {
        let (rig, body) = (Arc::clone(&rig), body.clone());
        tasks.spawn(async move {
            let mut calls = 0_u64;
            while Instant::now() < until {
                rig.call(counter(&format!("new-{task}-{calls}")), body.clone()).await?;
                calls += 1;
            }
            Ok::<u64, BenchError>(calls)
        });
    }
    let calls = total(tasks).await?;
    let rate = calls as f64 / began.elapsed().as_secs_f64();
    rig.engine.stop().await;
    Ok(rate)
}

async fn total(mut tasks: JoinSet<Result<u64, BenchError>>) -> Result<u64, BenchError> {
    let mut sum = 0;
    while let Some(done) = tasks.join_next().await {
        sum += done.map_err(|e| BenchError::Wrong(e.to_string()))??;
    }
    Ok(sum)
}

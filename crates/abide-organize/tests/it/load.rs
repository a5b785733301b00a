//! Many requests at a time: as fast as the model's limit allows.

use crate::rig::{Orchestrator, Rig, whole, with_model_of};
use crate::stand_in::{StandIn, good_after};
use abide_organize::contract::CallbackStatus;
use std::time::Duration;

const ANSWER: Duration = Duration::from_secs(10);
const REQUESTS: usize = 100;
/// What they may take, of what the model's limit allows.
const MOST_SHARE: f64 = 1.05;
/// Memory of the whole process, the model and whoever is told included.
const MOST_KIB: u64 = 128 * 1024;

/// Not part of the gate: it takes time by design, and a release build.
/// `cargo test --release -p abide-organize -- --ignored --nocapture in_flight`. What it prints is held only in such a build.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures time: a minute"]
async fn a_hundred_requests_in_flight() {
    for at_a_time in [REQUESTS, 25] {
        let (took, ideal) = (take(at_a_time).await, ANSWER * (REQUESTS / at_a_time) as u32);
        let share = took.as_secs_f64() / ideal.as_secs_f64();
        let peak = peak_kib();
        println!(
            "{REQUESTS} requests, {at_a_time} at a time with {ANSWER:?} each: {took:?} of {ideal:?} ({share:.3}), {peak:?} KiB at \
             most"
        );
        if !cfg!(debug_assertions) {
            assert!(share <= MOST_SHARE, "{share}");
            assert!(peak.is_none_or(|peak| peak <= MOST_KIB), "{peak:?}");
        }
    }
}

/// What all requests take if the model answers so many at a time.
async fn take(at_a_time: usize) -> Duration {
    let model = StandIn::start(move |question| good_after(question, ANSWER)).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let rig = Rig::start(with_model_of(&model.base_url, 60_000, at_a_time), &orchestrator.url);
    let mut directories = Vec::new();
    for _ in 0..REQUESTS {
        directories.push(rig.directory_of(&[("a1", "x"), ("a2", "y"), ("b1", "z"), ("b2", "w")]).await);
    }
    let began = tokio::time::Instant::now();
    for (chunk, directory) in directories.iter().enumerate() {
        rig.process(whole(&chunk.to_string(), &[&directory.id])).await;
    }
    for _ in 0..REQUESTS {
        assert_eq!(orchestrator.next().await.status, CallbackStatus::Success);
    }
    let took = began.elapsed();
    rig.engine.stop().await;
    took
}

/// The most memory that the process had, where that can be read.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

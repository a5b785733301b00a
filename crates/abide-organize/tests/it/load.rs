//! Many requests at a time: as fast as the model's limit allows.

use crate::rig::{Orchestrator, Rig, whole, with_model};
use crate::stand_in::{StandIn, good_after};
use abide_organize::contract::CallbackStatus;
use std::time::Duration;

/// Not part of the gate: it takes time by design. `cargo test -p abide-organize -- --ignored --nocapture in_flight`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures time"]
async fn a_hundred_requests_in_flight() {
    let (requests, concurrency, answer) = (100, 10, Duration::from_millis(1_000));
    let model = StandIn::start(move |question| good_after(question, answer)).await;
    let mut orchestrator = Orchestrator::start(0).await;
    let options = abide_organize::Options { concurrency, ..with_model(&model.base_url) };
    let rig = Rig::start(options, &orchestrator.url);
    let mut directories = Vec::new();
    for _ in 0..requests {
        directories.push(rig.directory_of(&[("a1", "x"), ("a2", "y"), ("b1", "z"), ("b2", "w")]).await);
    }
    let began = tokio::time::Instant::now();
    for (chunk, directory) in directories.iter().enumerate() {
        rig.process(whole(&chunk.to_string(), &[&directory.id])).await;
    }
    for _ in 0..requests {
        assert_eq!(orchestrator.next().await.status, CallbackStatus::Success);
    }
    let (took, ideal) = (began.elapsed(), answer * (requests / concurrency) as u32);
    println!("{requests} requests took {took:?}; {concurrency} at a time with {answer:?} each are {ideal:?}");
    rig.engine.stop().await;
}

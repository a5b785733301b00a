//! What the pipeline itself costs: with readers and writers that answer at once, on a store in memory.

use crate::real::{reference, rig};
use abide_pipeline::Options;
use abide_pipeline::contract::Status;
use serde_json::json;
use std::time::Duration;
use tokio::time::Instant;

/// Files of each directory: texts, and images that are read.
const FILES: u32 = 50;

/// `cargo test --release -p abide-pipeline -- --ignored --nocapture ten_thousand_files`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes long in a debug build; prints what it took"]
async fn ten_thousand_files() {
    through(20).await;
    let took = through(200).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// `cargo test --release -p abide-pipeline -- --ignored --nocapture a_hundred_thousand_files`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; prints what it took"]
async fn a_hundred_thousand_files() {
    let (few, many) = (through(20).await, through(2_000).await);
    assert!(many < few * 150, "a file of a hundred thousand costs as one of a thousand: {few:?}, {many:?}");
}

/// So many directories through all phases.
async fn through(directories: u32) -> Duration {
    let rig = rig(Options::default());
    let staged: Vec<(String, String)> = (0..directories)
        .flat_map(|d| {
            (0..FILES).map(move |f| match f % 2 {
                0 => (format!("/d{d:04}/letter-{f:03}.txt"), format!("letter {d} {f}")),
                _ => (format!("/d{d:04}/scan-{f:03}.jpg.ref.json"), reference(&format!("{d}-{f}.jpg"))),
            })
        })
        .collect();
    let staged: Vec<(&str, &str)> =
        staged.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    rig.stage("b1", &staged).await;
    let begun = Instant::now();
    rig.start(json!({"batch_id": "b1", "manifest_r2_key": "staging/b1/_manifest.json"})).await;
    let status = rig.end("b1").await;
    let took = begun.elapsed();
    assert_eq!((status.status, status.directories_failed), (Status::Done, 0), "{:?}", status.notes);
    let all = directories * FILES;
    assert_eq!((status.files.published, status.files.ocr_read), (u64::from(all), u64::from(all / 2)));
    println!("{all} files in {directories} directories: {took:?}, {:?} for each file", took / all);
    rig.engine.stop().await;
    took
}

//! What a batch costs with the real binary on its SQLite store and a model that answers at once. Not part of the gate: it is
//! for release builds on a machine with nothing else to do.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::model::Model;
use crate::place::Place;
use crate::served::Served;

/// Files of each directory.
const FILES: u32 = 50;
const BATCH: &str = "cost";

/// `cargo test --release -p abide --test it -- --ignored --nocapture ten_thousand_files`.
#[test]
#[ignore = "measures time: half a minute in a release build"]
fn ten_thousand_files_go_through_all_phases() {
    through(20);
    println!("through all phases in {:?}, of 30 s", through(200));
}

/// `cargo test --release -p abide --test it -- --ignored --nocapture a_hundred_thousand_files`.
#[test]
#[ignore = "measures time: minutes in a release build"]
fn a_file_of_a_hundred_thousand_files_costs_as_one_of_a_thousand() {
    let (few, many) = (through(20), through(2_000));
    println!("{few:?} and {many:?} for a hundred times as many");
}

/// What a batch of so many directories takes.
fn through(directories: u32) -> Duration {
    let model = Model::start();
    let place = Place::new()
        .env("DEEPINFRA_BASE_URL", &model.base_url)
        .env("MODEL_NAME", "writes-1")
        .env("ABIDE_OCR_KIND", "off")
        .env("ABIDE_LOG", "warn");
    stage(&place, directories);
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let message = json!({ "batch_id": BATCH, "manifest_r2_key": "manifests/cost.json" });
    let begun = Instant::now();
    served.ok("POST /orchestrator/queue", &message.to_string());
    let status = loop {
        let status = served.ok(&format!("GET /orchestrator/status/{BATCH}"), "");
        if ["DONE", "ERROR"].contains(&status["status"].as_str().expect("a status")) {
            break status;
        }
        std::thread::park_timeout(Duration::from_millis(50));
    };
    let (took, all) = (begun.elapsed(), directories * FILES);
    assert_eq!((&status["status"], &status["directories_failed"]), (&json!("DONE"), &json!(0)), "{status}");
    assert_eq!(status["files"]["published"], all, "{status}");
    // Each directory has two groups, and all have one above them.
    assert_eq!(status["progress"]["directories_total"], 1 + 3 * directories, "{status}");
    let memory = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap_or_default();
    let memory = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or(" unknown").trim();
    println!("{all} files in {directories} directories: {took:?}, {:?} for each file, {memory}", took / all);
    took
}

/// Files and their manifest, where the server has them in staging.
fn stage(place: &Place, directories: u32) {
    let bucket = place.path("work/data/buckets/staging");
    let mut entries: Vec<Value> = Vec::new();
    for directory in 0..directories {
        let path = format!("/box {directory:04}");
        let folder = bucket.join(format!("staging/{BATCH}{path}"));
        fs::create_dir_all(&folder).expect("a folder");
        let mut files = Vec::new();
        for file in 0..FILES {
            let who = if file % 2 == 0 { "anna" } else { "bruno" };
            let name = format!("{who}_{file:03}.txt");
            let text = format!("Letter {file} of {who} in box {directory}, about the harvest of 1887.\n");
            fs::write(folder.join(&name), &text).expect("a file");
            files.push(json!({
                "r2_key": format!("staging/{BATCH}{path}/{name}"),
                "logical_path": format!("{path}/{name}"),
            }));
        }
        entries.push(json!({ "directory_path": path, "processing_config": {}, "files": files }));
    }
    let manifest = json!({ "batch_id": BATCH, "directories": entries }).to_string();
    fs::create_dir_all(bucket.join("manifests")).expect("a folder");
    fs::write(bucket.join("manifests/cost.json"), manifest).expect("a file");
}

/// `cargo test --release -p abide --test it -- --ignored --nocapture fifty_writers`.
#[test]
#[ignore = "measures time"]
fn fifty_writers_of_one_entity_all_succeed() {
    const HELLO: &str = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e";
    let place = Place::new().env("ABIDE_LOG", "warn");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir data");
    let made = served.ok("POST /entities", "{}");
    let id = made["id"].as_str().expect("an id");
    let begun = Instant::now();
    let most = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..50).map(|writer| {
            let mut client = served.client();
            scope.spawn(move || {
                for attempt in 1.. {
                    let tip = client.request(&format!("GET /resolve/{id}"), &[], "").expect("an answer").json();
                    let body =
                        json!({ "expect_tip": tip["tip"], "components": { format!("by {writer}"): HELLO } });
                    let line = format!("POST /entities/{id}/versions");
                    let reply = client.request(&line, &[], &body.to_string()).expect("an answer");
                    if reply.status == 201 {
                        return attempt;
                    }
                    assert_eq!(reply.json()["error"], "CAS_FAILURE", "{reply}");
                }
                0
            })
        }).collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer that succeeds")).max()
    });
    let took = begun.elapsed();
    println!("50 writers of one entity took {took:?}, {most:?} attempts at most");
    assert_eq!(served.ok(&format!("GET /entities/{id}"), "")["ver"], 51);
}

//! Uploads with the real binary: files over HTTP, real preprocessing, the pipeline with the built-in organizer and
//! descriptions, and deaths in between.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::time::Duration;

use serde_json::{Value, json};

use crate::place::Place;
use crate::scans::{SERVE, files, staging};
use crate::served::Served;

/// Longer than any step takes.
const STEPS: usize = 600;

/// What a signed URL asks for, without its host.
fn path_of(url: &str) -> &str {
    let after = url.split("://").nth(1).unwrap();
    &after[after.find('/').unwrap()..]
}

fn upload(served: &Served, batch: &str, path: &str, text: &str) {
    let file = json!({"file_name": path.rsplit('/').next(), "file_size": text.len(), "logical_path": path,
        "content_type": "text/plain", "processing_config": {"ocr": true, "describe": true, "pinax": true}});
    let started = served.ok(&format!("POST /api/batches/{batch}/files/start"), &file.to_string());
    assert_eq!(started["upload_type"], "simple");
    let put = format!("PUT {}", path_of(started["presigned_url"].as_str().unwrap()));
    assert_eq!(served.ask(&put, &format!("{text} and more")).status, 413, "longer than announced");
    let reply = served.ask(&put, text);
    assert_eq!(reply.status, 200, "{reply}");
    let complete = json!({ "r2_key": started["r2_key"] }).to_string();
    let done = served.ok(&format!("POST /api/batches/{batch}/files/complete"), &complete);
    assert_eq!(done, json!({"success": true}));
    assert_eq!(served.ask(&put, text).status, 409, "what is complete is not replaced");
}

/// Waits for the end of a batch in the pipeline.
fn end(served: &Served, batch: &str) -> Value {
    for _ in 0..STEPS {
        let reply = served.ask(&format!("GET /orchestrator/status/{batch}"), "");
        if reply.status == 200 && ["DONE", "ERROR"].contains(&reply.json()["status"].as_str().unwrap()) {
            return reply.json();
        }
        // Its log would say when; a server that is killed has none to follow.
        std::thread::park_timeout(Duration::from_millis(100));
    }
    panic!("{batch} does not end: {}", served.ask(&format!("GET /orchestrator/status/{batch}"), ""));
}

fn begin(served: &Served) -> String {
    let init = json!({"uploader": "ada", "root_path": "/", "file_count": 8, "total_size": 10_000,
        "custom_prompts": {"general": "Be brief."}});
    let reply = served.ask("POST /api/batches/init", &init.to_string());
    assert_eq!(reply.status, 201, "{reply}");
    let batch = reply.json()["batch_id"].as_str().unwrap().to_owned();
    for who in ["anna", "bertha"] {
        for n in 1..=3 {
            let text = format!("Dear {who}, letter {n} of 188{n} about the harvest and the mill.");
            upload(served, &batch, &format!("/letters/{who}-letter-{n}.txt"), &text);
        }
    }
    upload(served, &batch, "/notes.md", "# Notes\n\nAbout the letters.\n");
    let wrong = json!({"file_name": "x", "file_size": 1, "logical_path": "/x", "content_type": "text/plain",
        "processing_config": {"ocr": true, "describe": true, "pinax": true}});
    let started = served.ok(&format!("POST /api/batches/{batch}/files/start"), &wrong.to_string());
    let withdraw = json!({ "r2_key": started["r2_key"] }).to_string();
    served.ok(&format!("POST /api/batches/{batch}/files/withdraw"), &withdraw);
    batch
}

#[test]
fn files_become_an_organized_and_described_tree() {
    let place = Place::new().env("ABIDE_PREPROCESS_STAGING_KEPT_MS", "0");
    let served = Served::start(&place, SERVE);
    let batch = begin(&served);
    let finalized = served.ok(&format!("POST /api/batches/{batch}/finalize"), "");
    let root = finalized["root_pi"].as_str().unwrap().to_owned();
    let status = end(&served, &batch);
    assert_eq!(
        (status["status"].as_str(), status["directories_failed"].as_u64()),
        (Some("DONE"), Some(0)),
        "{status}"
    );
    assert_eq!(status["root_pi"], json!(root));
    assert_eq!(status["files"]["published"], 7);
    let upload = served.ok(&format!("GET /api/batches/{batch}/status"), "");
    assert_eq!((upload["status"].as_str(), upload["files"].as_array().unwrap().len()), (Some("enqueued"), 7));
    let nodes = served.ok(&format!("GET /orchestrator/batches/{batch}/nodes"), "");
    let paths: Vec<&str> =
        nodes["nodes"].as_array().unwrap().iter().map(|node| node["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"/letters") && paths.len() > 3, "{paths:?}");
    let entity = served.ok(&format!("GET /entities/{root}"), "");
    for component in ["notes.md", "pinax.json", "description.md"] {
        assert!(entity["components"][component].is_string(), "{component}: {entity}");
    }
    let description = entity["components"]["description.md"].as_str().unwrap();
    let description = served.ask(&format!("GET /cat/{description}"), "");
    assert!(description.body.starts_with("# "), "{description}");
    is_emptied(&place);
}

/// Waits until nothing is in staging.
fn is_emptied(place: &Place) {
    let staging = staging(place);
    for _ in 0..STEPS {
        if files(&staging).is_empty() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
    panic!("staging is not emptied although the pipeline is through: {:?}", files(&staging));
}

/// A server that delivers to itself over HTTP reads what it delivered to the end, and then empties its staging.
#[test]
fn finished_batches_may_be_delivered_to_the_server_itself() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let place = Place::new()
        .env("ABIDE_PREPROCESS_STAGING_KEPT_MS", "0")
        .env("WORKER_URL", &format!("http://{free}"));
    let served = Served::start(&place, &format!("serve --listen {free}"));
    let batch = begin(&served);
    served.ok(&format!("POST /api/batches/{batch}/finalize"), "");
    let status = end(&served, &batch);
    assert_eq!(
        (status["status"].as_str(), status["files"]["failed"].as_u64()),
        (Some("DONE"), Some(0)),
        "{status}"
    );
    assert_eq!(status["files"]["published"], 7);
    assert_eq!(served.ok(&format!("GET /api/batches/{batch}/status"), "")["status"], "enqueued");
    is_emptied(&place);
}

/// Killed again and again, it makes the same tree under the same ids.
#[test]
fn a_killed_server_goes_on() {
    let place = Place::new();
    let mut served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let batch = begin(&served);
    served.ok(&format!("POST /api/batches/{batch}/finalize"), "");
    for _ in 0..4 {
        served.kill();
        served = Served::start(&place, "serve --listen 127.0.0.1:0");
    }
    let status = end(&served, &batch);
    assert_eq!(
        (status["status"].as_str(), status["directories_failed"].as_u64()),
        (Some("DONE"), Some(0)),
        "{status}"
    );
    let nodes = served.ok(&format!("GET /orchestrator/batches/{batch}/nodes"), "");
    let entities = served.ok("GET /entities?limit=1000", "");
    assert_eq!(
        nodes["nodes"].as_array().unwrap().len(),
        entities["entities"].as_array().unwrap().len(),
        "each directory has one entity, and there are no others"
    );
}

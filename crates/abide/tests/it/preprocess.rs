//! Preprocessing with the real binary: a folder, and batches by queue message, with workers that are processes and call
//! back over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::Place;
use crate::served::Served;

/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A TIFF of one colour gradient, uncompressed.
fn tiff(width: u32, height: u32, seed: u32) -> Vec<u8> {
    let entries = 10_u32;
    let bits_at = 8 + 2 + entries * 12 + 4;
    let bytes = width * height * 3;
    let fields: [(u16, u16, u32, u32); 10] = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 3, bits_at),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (273, 4, 1, bits_at + 6),
        (277, 3, 1, 3),
        (278, 4, 1, height),
        (279, 4, 1, bytes),
        (284, 3, 1, 1),
    ];
    let mut file = b"II*\0\x08\0\0\0\x0a\0".to_vec();
    for (tag, kind, count, value) in fields {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(count.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend([0; 4]);
    file.extend([8, 0, 8, 0, 8, 0]);
    file.extend((0..bytes).map(|at| ((at / 3 + seed * 31) % 251) as u8));
    file
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn is_jpeg(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(&[0xff, 0xd8]) && bytes.ends_with(&[0xff, 0xd9]))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// What is in a folder, byte by byte.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    files(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_folder_becomes_images_and_each_file_that_does_not_is_named() {
    let place = Place::new();
    let source = place.path("work/scans");
    for (index, name) in ["a.tif", "box 1/Größe.TIFF", "box 1/c.tif"].into_iter().enumerate() {
        write(&source.join(name), &tiff(64, 48, index as u32));
    }
    write(&source.join("wide.tif"), &tiff(300, 30, 9));
    write(&source.join("broken.tif"), b"II*\0 and nothing else");
    write(&source.join("notes.txt"), b"words");
    let before = contents(&source);

    let dry = place.run("preprocess scans --out web --dry-run");
    assert_eq!((dry.code, dry.stdout.as_str()), (Some(0), ""), "{}", dry.stderr);
    assert!(dry.stderr.starts_with("6 files, "), "{}", dry.stderr);
    assert!(!place.path("work/web").exists());

    let run = place.run("preprocess scans --out web --preset fast --json");
    assert_eq!(run.code, Some(4), "{}{}", run.stdout, run.stderr);
    let summary: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(summary["converted"], json!(4), "{summary}");
    assert_eq!(summary["failed"][0]["file"], json!("broken.tif"));
    assert!(summary["failed"][0]["reason"].as_str().unwrap().starts_with("TIFF_CONVERSION: "), "{summary}");
    assert_eq!(summary["passed_through"][0]["file"], json!("notes.txt"), "{summary}");
    for name in ["a.jpg", "box 1/Größe.jpg", "box 1/c.jpg", "wide.jpg", "variants/thumb/wide.jpg"] {
        assert!(
            is_jpeg(&place.path("work/web").join(name)),
            "{name} of {:?}",
            files(&place.path("work/web"))
        );
    }
    assert_eq!(contents(&source), before, "the source is as it was");

    let again = place.run("preprocess scans --out web --preset fast --json");
    let repeated: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((again.code, &repeated), (Some(4), &summary), "{}", again.stderr);

    let inside = place.run("preprocess scans --out scans/web");
    assert_eq!(inside.code, Some(2), "{}", inside.stderr);
}

/// Brings a batch of TIFFs to the staging of a server, and gives its queue message.
fn stage(place: &Place, batch: &str, count: u32) -> Value {
    let staging = place.path("work/data/buckets/staging");
    let mut entries = Vec::new();
    for index in 0..count {
        let key = format!("staging/{batch}/folder/image{index:03}.tiff");
        let bytes = tiff(32, 24, index);
        write(&staging.join(&key), &bytes);
        let name = format!("image{index:03}.tiff");
        entries.push(json!({ "r2_key": key, "logical_path": format!("/folder/{name}"), "file_name": name,
            "file_size": bytes.len(), "content_type": "image/tiff" }));
    }
    let directory =
        json!({ "directory_path": "/folder", "processing_config": { "ocr": true }, "files": entries });
    let manifest =
        json!({ "batch_id": batch, "total_files": count, "total_bytes": 1, "directories": [directory] });
    let key = format!("staging/{batch}/_manifest.json");
    write(&staging.join(&key), manifest.to_string().as_bytes());
    json!({ "batch_id": batch, "manifest_r2_key": key, "r2_prefix": format!("staging/{batch}/"), "uploader": "a test",
        "root_path": "/folder", "total_files": count, "total_bytes": 1, "uploaded_at": "2025-01-15T10:30:00.000Z",
        "finalized_at": "2025-01-15T10:30:00.000Z", "metadata": {} })
}

/// Follows a batch live until its status is what is waited for.
fn follow(served: &Served, batch: &str, enough: impl Fn(&Value) -> bool) -> Value {
    // The message is on its way through the queue.
    while served.ask(&format!("GET /preprocess/status/{batch}"), "").status == 404 {}
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /preprocess/batches/{batch}/events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    for line in BufReader::new(stream).lines() {
        let line = line.unwrap();
        let Some(status) = line.strip_prefix("data: ") else { continue };
        let status: Value = serde_json::from_str(status).unwrap();
        if enough(&status) {
            return status;
        }
    }
    panic!("the events of {batch} ended");
}

/// An answer, byte by byte.
fn fetch(served: &Served, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Follows a batch to its end.
fn wait(served: &Served, batch: &str) -> Value {
    follow(served, batch, |status| ["DONE", "ERROR"].contains(&status["status"].as_str().unwrap()))
}

const SERVE: &str = "serve --listen 127.0.0.1:0 --data-dir data";

fn place_of_a_server() -> Place {
    Place::new().env("ABIDE_LAUNCHER_PRESET", "fast").env("ABIDE_LOG", "warn")
}

#[test]
fn a_queue_message_takes_a_tiff_to_its_ref_and_its_image_is_served() {
    let place = place_of_a_server();
    let served = Served::start(&place, SERVE);
    let message = stage(&place, "batch_abc", 1);
    let queued = served.ask("POST /preprocess/queue", &message.to_string());
    assert_eq!(queued.status, 202, "{queued}");
    let status = wait(&served, "batch_abc");
    assert_eq!(status["status"], json!("DONE"), "{status}");
    assert_eq!(status["error"], Value::Null);
    let files = served.ok("GET /preprocess/batches/batch_abc/files", "");
    let names: Vec<_> = files["output"].as_array().unwrap().iter().map(|file| &file["file_name"]).collect();
    assert_eq!(names, [&json!("image000.tiff"), &json!("image000.jpg.ref.json")], "{files}");
    assert_eq!(files["output"][0]["preprocessor_tags"], json!(["TiffConverter:source"]));
    let tasks = served.ok("GET /preprocess/batches/batch_abc/tasks?phase=IMAGE_PROCESSING", "");
    let url = tasks["tasks"][0]["ref_data"]["url"].as_str().unwrap();
    let path = url.split_once(&served.address.to_string()).unwrap().1.to_owned();
    let image = fetch(&served, &format!("{path}/thumb"));
    let head_end = image.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    assert!(image.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&image[..head_end]));
    assert!(image[head_end + 4..].starts_with(&[0xff, 0xd8]), "a JPEG is served");

    let forged = "POST /preprocess/callback/batch_abc/batch_abc_tiff_0000001?life=1&attempt=1&signature=00";
    let refused = served.ask(forged, r#"{"status":"error","error":"no"}"#);
    assert_eq!(refused.status, 403, "{refused}");
    assert_eq!(served.ask("POST /preprocess/queue", r#"{"batch_id":"x"}"#).status, 400);
    assert_eq!(served.ok("GET /preprocess/health", "")["service"], json!("arke-preprocessing-orchestrator"));
}

#[test]
fn a_batch_of_more_than_a_hundred_ends_whole_although_its_server_is_killed() {
    let place = place_of_a_server();
    let mut served = Served::start(&place, SERVE);
    let message = stage(&place, "many", 104);
    assert_eq!(served.ask("POST /preprocess/queue", &message.to_string()).status, 202);
    for at in [10, 60] {
        follow(&served, "many", |status| completed(status) >= at);
        served.kill();
        served = Served::start(&place, SERVE);
        // A message that comes again changes nothing.
        assert_eq!(served.ask("POST /preprocess/queue", &message.to_string()).status, 202);
    }
    let status = wait(&served, "many");
    assert_eq!(status["inputs"]["converted"], json!(104), "{status}");
    let counts = json!({ "tasks_total": 104, "tasks_completed": 104, "tasks_failed": 0 });
    for phase in ["TIFF_CONVERSION", "IMAGE_PROCESSING"] {
        let found = status["phases"].as_array().unwrap().iter().find(|found| found["phase"] == json!(phase));
        for (name, value) in counts.as_object().unwrap() {
            assert_eq!(&found.unwrap()[name], value, "{phase}: {status}");
        }
    }
    let jpegs = files(&place.path("work/data/buckets/staging/staging/many/folder"));
    assert_eq!(jpegs.iter().filter(|path| path.extension().is_some_and(|end| end == "jpg")).count(), 104);
}

/// Tasks that are completed in all phases.
fn completed(status: &Value) -> u64 {
    let phases = status["phases"].as_array().unwrap();
    phases.iter().filter_map(|phase| phase["tasks_completed"].as_u64()).sum()
}

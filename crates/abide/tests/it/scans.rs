//! Scans and documents, brought to the staging of a server as a batch, and the way of a batch to its end.
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

pub(crate) const SERVE: &str = "serve --listen 127.0.0.1:0 --data-dir data";

/// A place for a server that makes JPEGs quickly.
pub(crate) fn place_of_a_server() -> Place {
    Place::new().env("ABIDE_LAUNCHER_PRESET", "fast").env("ABIDE_LOG", "warn")
}

/// Where a server without further words has its staging.
pub(crate) fn staging(place: &Place) -> PathBuf {
    place.path("work/data/buckets/staging")
}

/// A TIFF of one colour gradient, uncompressed.
pub(crate) fn tiff(width: u32, height: u32, seed: u32) -> Vec<u8> {
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

/// A JPEG of a few pixels.
pub(crate) const JPEG: &[u8] = include_bytes!("../../../abide-media/fuzz-corpus/image/jpeg");

pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub(crate) fn is_jpeg(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(&[0xff, 0xd8]) && bytes.ends_with(&[0xff, 0xd9]))
}

/// Every file in a folder.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// What a name is said to be.
fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("tif" | "tiff") => "image/tiff",
        Some("pdf") => "application/pdf",
        Some("jpg") => "image/jpeg",
        Some("png") => "image/png",
        Some("webp") => "image/webp",
        _ => "application/octet-stream",
    }
}

/// Brings files to a staging that is a directory, with their manifest, and gives the queue message of their batch.
pub(crate) fn stage_files(staging: &Path, batch: &str, files: &[(String, Vec<u8>)]) -> Value {
    let prefix = format!("staging/{batch}/");
    let mut entries = Vec::new();
    for (name, bytes) in files {
        let key = format!("{prefix}folder/{name}");
        write(&staging.join(&key), bytes);
        entries.push(json!({ "r2_key": key, "logical_path": format!("/folder/{name}"), "file_name": name,
            "file_size": bytes.len(), "content_type": content_type(name) }));
    }
    let directory =
        json!({ "directory_path": "/folder", "processing_config": { "ocr": true }, "files": entries });
    let count = files.len();
    let manifest =
        json!({ "batch_id": batch, "total_files": count, "total_bytes": 1, "directories": [directory] });
    let key = format!("{prefix}_manifest.json");
    write(&staging.join(&key), manifest.to_string().as_bytes());
    json!({ "batch_id": batch, "manifest_r2_key": key, "r2_prefix": prefix, "uploader": "a test",
        "root_path": "/folder", "total_files": count, "total_bytes": 1, "uploaded_at": "2025-01-15T10:30:00.000Z",
        "finalized_at": "2025-01-15T10:30:00.000Z", "metadata": {} })
}

/// Brings a batch of TIFFs to the staging of a server, and gives its queue message.
pub(crate) fn stage(place: &Place, batch: &str, count: u32) -> Value {
    let files: Vec<_> =
        (0..count).map(|index| (format!("image{index:03}.tiff"), tiff(32, 24, index))).collect();
    stage_files(&staging(place), batch, &files)
}

/// Sends a queue message.
pub(crate) fn send(served: &Served, message: &Value) {
    let queued = served.ask("POST /preprocess/queue", &message.to_string());
    assert_eq!(queued.status, 202, "{queued}");
}

/// Follows a batch live until its status is what is waited for.
pub(crate) fn follow(served: &Served, batch: &str, enough: impl Fn(&Value) -> bool) -> Value {
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

/// Follows a batch to its end.
pub(crate) fn wait(served: &Served, batch: &str) -> Value {
    follow(served, batch, |status| ["DONE", "ERROR"].contains(&status["status"].as_str().unwrap()))
}

/// Tasks that are over in all phases.
pub(crate) fn over(status: &Value) -> u64 {
    let phases = status["phases"].as_array().unwrap();
    let count = |phase: &Value, name: &str| phase[name].as_u64().unwrap();
    phases.iter().map(|phase| count(phase, "tasks_completed") + count(phase, "tasks_failed")).sum()
}

/// Every item of a list of a batch, page by page.
pub(crate) fn all(served: &Served, path: &str, items: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = served.ok(&format!("GET {path}?limit=500{after}"), "");
        found.extend(page[items].as_array().unwrap().iter().cloned());
        match &page["next"] {
            Value::String(next) => after = format!("&after={next}"),
            _ => return found,
        }
    }
}

/// The names of a batch's files as they are delivered.
pub(crate) fn names(served: &Served, batch: &str) -> Vec<String> {
    let files = all(served, &format!("/preprocess/batches/{batch}/files"), "output");
    files.iter().map(|file| file["file_name"].as_str().unwrap().to_owned()).collect()
}

/// An answer, byte by byte: its head, and its body.
pub(crate) fn fetch(served: &Served, path: &str) -> (String, Vec<u8>) {
    fetch_with(served, path, "")
}

/// The same, for a request with these lines in its head.
pub(crate) fn fetch_with(served: &Served, path: &str, lines: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let body = bytes.split_off(head_end + 4);
    (String::from_utf8(bytes).unwrap(), body)
}

/// The image of an asset in a variant, as the server gives it.
pub(crate) fn image(served: &Served, asset: &str, variant: &str) -> Vec<u8> {
    let (head, body) = fetch(served, &format!("/asset/{asset}/{variant}"));
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body
}

/// The asset that a task's ref names.
pub(crate) fn asset_of(task: &Value) -> String {
    task["ref_data"]["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// A program by which a server is told to start its workers.
pub(crate) fn script(place: &Place, name: &str, text: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = place.path(name);
    write(&path, text.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A place whose workers are noted, each when it begins.
pub(crate) fn noted(place: Place) -> Place {
    let text = format!(
        "#!/bin/sh\necho \"$1 ${{INPUT_R2_KEY#staging/*/}}\" >> '{}'\nexec '{}' worker \"$@\"\n",
        place.path("runs").display(),
        env!("CARGO_BIN_EXE_abide")
    );
    let program = script(&place, "noting", &text);
    place.env("ABIDE_LAUNCHER_COMMAND", program.to_str().unwrap())
}

/// Workers that began: what each did, and with which file.
pub(crate) fn runs(place: &Place) -> Vec<String> {
    fs::read_to_string(place.path("runs")).unwrap_or_default().lines().map(str::to_owned).collect()
}

//! A server whose disk is full.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use abide_fetch::testing::{Server, reply};
use serde_json::{Value, json};

use crate::place::Place;
use crate::served::Served;

/// A small disk, as long as it is wanted.
struct SmallDisk {
    dir: PathBuf,
}

impl SmallDisk {
    /// None if this user may not mount.
    fn mount(dir: &Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(dir).expect("a folder");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(dir).output();
        mount.ok()?.status.success().then(|| SmallDisk { dir: dir.into() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A folder that stays mounted does no harm.
        drop(Command::new("umount").arg("-l").arg(&self.dir).status());
    }
}

#[test]
fn a_server_with_a_full_disk_is_not_ready_and_loses_nothing() {
    let place = Place::new();
    let Some(disk) = SmallDisk::mount(&place.path("work/disk")) else {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    };
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir disk/data");
    served.ok("GET /ready", "");
    served.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","unique_key":"before"}"#);
    // As large as the disk, so it is full before this is written.
    drop(std::fs::write(disk.dir.join("ballast"), vec![0_u8; 4 << 20]));
    let large = json!({ "queue": "q", "kind": "k", "payload": "x".repeat(250_000) }).to_string();
    let refused = served.ask("POST /v1/jobs", &large);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (507, &json!("store_full")), "{refused}");
    let ready = served.ask("GET /ready", "");
    assert_eq!((ready.status, &ready.json()["error"]["code"]), (507, &json!("store_full")), "{ready}");
    served.ok("GET /health", "");
    // What only reads does not mind.
    let stats = place.run("queue stats q --data-dir disk/data");
    assert_eq!(stats.code, Some(0), "{stats}");
    let doctor = place.run("doctor --data-dir disk/data");
    assert!(doctor.code == Some(1) && doctor.stdout.contains("full"), "{doctor}");
    std::fs::remove_file(disk.dir.join("ballast")).expect("it was written in part");
    assert_eq!(served.ok("POST /v1/jobs", &large)["job"], json!(2), "what was refused is not there");
    assert_eq!(served.ok("GET /v1/queues/q", "")["counts"]["ready"], json!(2));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn downloads_wait_for_room_and_go_on_by_themselves() {
    let files = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        path => reply(200, &[], path.as_bytes()),
    });
    let place = Place::new()
        .env("ABIDE_FETCH_ALLOW_PRIVATE", "true")
        .env("ABIDE_DOWNLOADS_OUT", "disk/files")
        .env("ABIDE_DOWNLOADS_RESERVE_BYTES", "2000000");
    let Some(disk) = SmallDisk::mount(&place.path("work/disk")) else {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    };
    let lines = ["a", "b"].map(|id| json!({ "id": id, "url": files.url("/x") }).to_string()).join("\n");
    let place = place.file("work/list.jsonl", &lines);
    assert_eq!(place.run("queue import list.jsonl").code, Some(0));
    std::fs::write(disk.dir.join("ballast"), vec![0_u8; 3_000_000]).expect("room for it");
    let doctor = place.run("doctor --listen 127.0.0.1:0");
    assert!(doctor.code == Some(0) && doctor.stdout.contains("to stay free: downloads wait"), "{doctor}");

    let mut run = place
        .command("queue run --drain --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let lines = BufReader::new(run.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let said = lines.take_while(|line| !line.contains("\"waits\"")).count();
    std::fs::remove_file(disk.dir.join("ballast")).expect("it is there");
    let ended = run.wait_with_output().expect("it ends");
    let ran: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert!(ended.status.success(), "after {said} lines: {ran}");
    assert_eq!((&ran["done"], &ran["to_retry"], &ran["handed_back"]), (&json!(2), &json!(0), &json!(0)));
    let job: Value = serde_json::from_str(&place.run("job show 1 --json").stdout).expect("JSON");
    assert_eq!((&job["failures"], job["attempts"].as_array().map(Vec::len)), (&json!(0), Some(1)), "{job}");
}

//! A server whose disk is full.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

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
    std::fs::remove_file(disk.dir.join("ballast")).expect("it was written in part");
    assert_eq!(served.ok("POST /v1/jobs", &large)["job"], json!(2), "what was refused is not there");
    assert_eq!(served.ok("GET /v1/queues/q", "")["counts"]["ready"], json!(2));
    assert_eq!(served.terminate().0, Some(0));
}

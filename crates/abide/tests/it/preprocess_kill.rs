//! `kill -9` of the server and of its workers at random moments of a batch: it finishes, each output once, counters exact.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has failed")]

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::place::Place;
use crate::scans::{
    SERVE, all, files, follow, is_jpeg, over, place_of_a_server, send, stage_files, staging, tiff, wait,
};
use crate::served::Served;

#[test]
fn a_batch_ends_whole_although_server_and_workers_are_killed() {
    is_whole_after_kills(60, 3, 1);
}

#[test]
#[ignore = "takes many minutes: four thousand processes"]
fn a_batch_of_two_thousand_ends_whole_although_server_and_workers_are_killed_ten_times() {
    is_whole_after_kills(2_000, 10, 2);
}

/// A server that is killed takes its workers with it: one that went on would be in the way of who does its task anew.
#[test]
fn a_worker_ends_when_its_launcher_is_gone() {
    // Nobody answers here, so it would wait.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let place = Place::new()
        .env("TASK_ID", "t")
        .env("BATCH_ID", "b")
        .env("INPUT_R2_KEY", "a.tif")
        .env("INPUT_URL", &url)
        .env("CALLBACK_URL", &url)
        .env("LIFELINE", "stdin");
    let mut worker = place.command("worker tiff").stdin(Stdio::piped()).spawn().unwrap();
    let asked = silent.accept().unwrap();
    assert_eq!(worker.try_wait().unwrap(), None, "it waits");
    drop(worker.stdin.take());
    assert_eq!(worker.wait().unwrap().code(), Some(1));
    drop(asked);
}

/// SplitMix64.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Processes that a process started and that are not over.
fn children(of: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parent = |id: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // After the name, which may hold anything: a state, then the parent.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    ids.filter(|id| parent(*id) == Some(of)).collect()
}

/// Kills a worker of the server, if one runs. It may have ended meanwhile.
fn kill_a_worker(served: &Served) {
    if let Some(worker) = children(served.pid()).first() {
        drop(Command::new("kill").args(["-KILL", &worker.to_string()]).output());
    }
}

fn is_whole_after_kills(count: u32, kills: u64, mut seed: u64) {
    let place = place_of_a_server().env("ABIDE_PREPROCESS_TASK_ATTEMPTS", "10");
    let scans: Vec<_> = (0..count).map(|index| (format!("{index:05}.tif"), tiff(16, 12, index))).collect();
    let message = stage_files(&staging(&place), "killed", &scans);
    let tasks = u64::from(count) * 2;
    let mut served = Served::start(&place, SERVE);
    send(&served, &message);
    for kill in 0..kills {
        // Somewhere in its part of the way; between notes of progress, for as long as a few requests take.
        let (from, to) = (tasks * kill / (kills + 1), tasks * (kill + 1) / (kills + 1));
        let at = from + draw(&mut seed) % (to - from).max(1);
        let status = follow(&served, "killed", |status| over(status) >= at);
        for _ in 0..draw(&mut seed) % 20 {
            served.ok("GET /health", "");
        }
        kill_a_worker(&served);
        for _ in 0..draw(&mut seed) % 5 {
            served.ok("GET /health", "");
        }
        println!("killed at {} of {tasks}", over(&status));
        served.kill();
        served = Served::start(&place, SERVE);
        // A message that comes again changes nothing.
        send(&served, &message);
    }
    let status = wait(&served, "killed");
    check_counters(&status, count);
    check_outputs(&served, &staging(&place).join("staging/killed/folder"), count);
    let assets = blobs(&place.path("work/data/buckets/archive/assets"));
    assert_eq!(assets.len(), count as usize, "each image is archived once: {assets:?}");
    let originals = blobs(&place.path("work/data/buckets/archive/archive/killed"));
    assert_eq!(originals.len(), count as usize, "and so is its original");
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");
}

/// Blobs of a local bucket. What was half written when the server was killed stays beside them as `NAME#1`, which is no blob.
fn blobs(dir: &Path) -> Vec<PathBuf> {
    let is_blob = |path: &PathBuf| !path.to_str().is_some_and(|path| path.contains('#'));
    files(dir).into_iter().filter(is_blob).collect()
}

fn check_counters(status: &Value, count: u32) {
    assert_eq!((&status["status"], &status["error"]), (&json!("DONE"), &Value::Null), "{status}");
    let phase = |name: &str, count: u32| json!({ "phase": name, "tasks_total": count, "tasks_completed": count, "tasks_failed": 0, "in_flight": 0 });
    let phases =
        [phase("TIFF_CONVERSION", count), phase("PDF_SPLITTING", 0), phase("IMAGE_PROCESSING", count)];
    assert_eq!(status["phases"], json!(phases), "{status}");
    let inputs = json!({ "total": count, "open": 0, "converted": count, "passed_through": 0, "failed": 0 });
    assert_eq!(status["inputs"], inputs, "{status}");
}

fn check_outputs(served: &Served, folder: &Path, count: u32) {
    let outputs = all(served, "/preprocess/batches/killed/files", "output");
    let keys: BTreeSet<&str> = outputs.iter().map(|file| file["r2_key"].as_str().unwrap()).collect();
    assert_eq!((outputs.len(), keys.len()), (count as usize * 2, count as usize * 2), "each key once");
    let made = |end: &str| {
        let files = files(folder).into_iter();
        files.filter(|path| path.to_str().is_some_and(|path| path.ends_with(end))).collect::<Vec<_>>()
    };
    let jpegs = made(".jpg");
    assert_eq!((jpegs.len(), made(".ref.json").len()), (count as usize, count as usize));
    assert!(jpegs.iter().all(|path| is_jpeg(path)), "each is whole");
    let tasks = all(served, "/preprocess/batches/killed/tasks", "tasks");
    assert_eq!(tasks.len(), count as usize * 2);
    assert!(tasks.iter().all(|task| task["status"] == json!("completed")));
}

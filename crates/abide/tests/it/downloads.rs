//! Downloads by the command line: interrupted, repeated, refused; and the store under load, copied.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use abide_fetch::testing::{Act, Request, Server, head, reply};
use serde_json::{Value, json};

use crate::feed::Feed;
use crate::place::Place;
use crate::served::Served;

/// More than what is synced at a time.
const FILE_BYTES: usize = 17 << 20;
/// What arrives of it before the connection stalls.
const ARRIVED_BYTES: usize = FILE_BYTES - 1_000;

fn place() -> Place {
    Place::new().env("ABIDE_FETCH_ALLOW_PRIVATE", "true").env("ABIDE_JOBS_LEASE_MS", "1000")
}

fn ok(place: &Place, arguments: &str) -> Value {
    let run = place.run(&format!("{arguments} --json"));
    assert_eq!(run.code, Some(0), "{arguments}: {run}");
    serde_json::from_str(&run.stdout).expect("JSON")
}

fn enter(place: &Place, id: &str, url: &str) {
    let mut command = place.command("queue enqueue");
    let entered = command.args([id, &json!({ "url": url }).to_string()]).output().expect("the binary starts");
    assert!(entered.status.success(), "{entered:?}");
}

/// A run of the queue that goes on by itself. Killed when dropped.
struct Running(Child);

impl Running {
    fn start(place: &Place, arguments: &str) -> Running {
        let mut command = place.command(arguments);
        Running(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts"),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits until `is_so`.
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    // Nothing is ever sent.
    let (_sender, never) = channel::<()>();
    while !is_so() {
        assert!(never.recv_timeout(Duration::from_millis(10)).is_err());
    }
}

/// Bytes that differ everywhere.
fn content() -> Vec<u8> {
    (0..FILE_BYTES).map(|n| (n * 31 + n / 251) as u8).collect()
}

/// Stalls near the end of the whole file, and has the rest for whoever asks for it.
fn stalling(request: &Request, body: &[u8]) -> Act {
    let whole = body.len().to_string();
    let from = request.header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
    match (request.path.as_str(), from.and_then(|from| from.parse::<usize>().ok())) {
        ("/robots.txt", _) => reply(404, &[], b""),
        (_, None) => {
            let mut bytes = head(200, &[("Content-Length", &whole), ("ETag", "\"v1\"")]);
            bytes.extend_from_slice(&body[..ARRIVED_BYTES]);
            Act::RawThenHold(bytes)
        }
        (_, Some(from)) => {
            let range = format!("bytes {from}-{}/{whole}", body.len() - 1);
            reply(206, &[("Content-Range", &range), ("ETag", "\"v1\"")], &body[from..])
        }
    }
}

fn has_synced_notes(out: &Path) -> bool {
    let notes = std::fs::read_dir(out.join(".abide")).into_iter().flatten().flatten();
    notes.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json")).any(|entry| {
        let notes = std::fs::read(entry.path()).unwrap_or_default();
        serde_json::from_slice::<Value>(&notes).is_ok_and(|notes| notes["durable"].as_u64() > Some(0))
    })
}

#[test]
fn a_killed_run_is_taken_over_and_its_file_goes_on_where_it_stopped() {
    let place = place();
    killed_run(&place, "queue run --drain --out files", "restarted");
}

#[test]
fn a_killed_run_of_a_few_jobs_costs_no_attempt_either() {
    let place = place();
    killed_run(&place, "queue run --max-jobs 1 --out files", "restarted");
    assert_eq!(ok(&place, "job show 1")["failures"], 0);
}

#[test]
fn beside_a_server_the_lease_of_a_killed_run_expires_and_another_takes_it_over() {
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    killed_run(&place, "queue run --drain --out files", "expired");
    assert_eq!(served.terminate().0, Some(0));
}

/// Kills a run in the middle of a file, whose attempt then has this end, and lets another finish it.
fn killed_run(place: &Place, arguments: &str, end: &str) {
    let body = content();
    let served = body.clone();
    let files = Server::start(move |request| stalling(request, &served));
    enter(place, "big", &files.url("/big.bin"));
    let run = Running::start(place, arguments);
    until(|| has_synced_notes(&place.path("work/files")));

    // Other commands work beside it.
    let counts = ok(place, "queue stats");
    assert_eq!(
        (&counts["in_progress"], &counts["queued"], &counts["rate"]),
        (&json!(1), &json!(0), &json!(null))
    );
    assert_eq!(ok(place, "job list --state running")["jobs"][0]["unique_key"], "big");
    drop(run);

    assert_eq!(ok(place, "queue run --drain --out files")["done"], 1);
    let job = ok(place, "job show 1");
    let ends = (&job["attempts"][0]["end"], &job["attempts"][1]["end"]);
    assert_eq!(ends, (&json!(end), &json!("done")), "{job}");
    let resumed = files.requests().pop().expect("a request");
    let resumed_from = job["result"]["resumed_from"].as_u64().expect("a number");
    assert_eq!(resumed.header("if-range"), Some("\"v1\""));
    assert_eq!(resumed.header("range"), Some(format!("bytes={resumed_from}-").as_str()));
    assert!(resumed_from > 0);
    assert!(
        std::fs::read(place.path("work/files/big.bin")).is_ok_and(|file| file == body),
        "the file is whole"
    );
}

#[test]
fn a_run_beside_a_server_outlives_it() {
    let files = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        path => reply(200, &[], path.as_bytes()),
    });
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    enter(&place, "a", &files.url("/a"));
    let mut run = Running::start(&place, "queue run --json --max-jobs 2 --out files");
    let stderr = run.0.stderr.take().expect("it is piped");
    let mut said = BufReader::new(stderr).lines().map(|line| line.expect("text"));
    let mut hears = |message: &str| assert!(said.any(|line| line == message), "it did not say {message}");
    until(|| ok(&place, "queue stats")["done"] == 1);
    served.kill();
    hears(r#"{"server":"away"}"#);
    // Another port, another token.
    let _served = Served::start(&place, "serve --listen 127.0.0.1:0");
    hears(r#"{"server":"back"}"#);
    enter(&place, "b", &files.url("/b"));
    assert_eq!(run.0.wait().expect("a child").code(), Some(0));
    assert_eq!(ok(&place, "queue stats")["done"], 2);
}

#[test]
fn a_run_goes_on_without_its_server_when_none_takes_its_place() {
    let files = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        "/slow" => Act::RawThenHold(head(200, &[("Content-Length", "10")])),
        path => reply(200, &[], path.as_bytes()),
    });
    let place = place().env("ABIDE_DOWNLOADS_WORKERS", "0").env("ABIDE_DOWNLOADS_SERVER_AWAY_MS", "0");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    enter(&place, "a", &files.url("/a"));
    enter(&place, "slow", &files.url("/slow"));
    let mut run = Running::start(&place, "queue run --out files");
    until(|| ok(&place, "queue stats")["done"] == 1 && files.paths().contains(&"/slow".to_owned()));
    assert_eq!(served.terminate().0, Some(0));
    // Entered through the run, which owns the directory now, or before it does.
    enter(&place, "b", &files.url("/b"));
    until(|| ok(&place, "queue stats")["done"] == 2);
    let attempts = ok(&place, "job show 3")["attempts"].clone();
    let worker = &attempts.as_array().and_then(|attempts| attempts.last()).expect("an attempt")["worker"];
    assert!(worker.as_str().expect("a name").starts_with("engine-"), "{worker}");
    let slow = ok(&place, "job show 2");
    assert_eq!(
        (&slow["attempts"][0]["end"], &slow["failures"]),
        (&json!("handed_back"), &json!(0)),
        "{slow}"
    );
    assert!(run.0.try_wait().expect("a child").is_none(), "it still runs");
}

#[test]
fn a_server_that_is_told_to_stop_lets_work_finish_or_hands_it_back() {
    let files = Server::start(|request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        _ => Act::RawThenHold(head(200, &[("Content-Length", "10")])),
    });
    let place = place().env("ABIDE_SERVER_DRAIN_MS", "2000");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let mut feed = Feed::of(&served);
    let item =
        served.ok("POST /coordinator/c/queue", r#"{"message":"m","delay":300}"#)["workItem"]["id"].clone();
    feed.until(|data| data["to"] == "running");
    enter(&place, "slow", &files.url("/slow"));
    until(|| files.paths().contains(&"/slow".to_owned()));
    let (code, stderr) = served.terminate();
    assert_eq!(code, Some(0), "{stderr}");

    let jobs = ok(&place, "job list");
    let jobs = [&jobs["jobs"][1], &jobs["jobs"][0]];
    let states = jobs.map(|job| (job["kind"].clone(), job["state"].clone(), job["failures"].clone()));
    let expected = [("process", "done"), ("download", "ready")]
        .map(|(kind, state)| (json!(kind), json!(state), json!(0)));
    assert_eq!(states, expected);
    assert_eq!(ok(&place, &format!("job show {}", jobs[1]["job"]))["attempts"][0]["end"], "handed_back");
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    let item = format!("GET /coordinator/c/queue/{}", item.as_str().expect("an id"));
    until(|| served.ok(&item, "")["workItem"]["status"] == "completed");
}

#[test]
fn a_server_counts_its_downloads_by_resolver_and_reason() {
    let files = Server::start(|request| match request.path.as_str() {
        "/a" => reply(200, &[], b"hello"),
        _ => reply(404, &[], b""),
    });
    let lines = [
        json!({ "id": "a", "url": files.url("/a"), "resolver_hint": "arxiv" }),
        json!({ "id": "gone", "url": files.url("/gone") }),
    ];
    let place = place().file("work/list.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    let served = Served::start(&place, "serve --listen 127.0.0.1:0");
    ok(&place, "queue import list.jsonl");
    until(|| ok(&place, "queue stats")["queued"] == 0 && ok(&place, "queue stats")["in_progress"] == 0);
    let metrics = served.ask("GET /metrics", "").body;
    for line in [
        r#"contentdownload_attempts_total{resolver="arxiv",status="200",reason="ok",verb="GET"} 1"#,
        r#"contentdownload_attempts_total{resolver="",status="404",reason="http-error",verb="GET"} 1"#,
        r#"contentdownload_outcomes_total{resolver="arxiv",outcome="success",reason="ok"} 1"#,
        r#"contentdownload_outcomes_total{resolver="",outcome="error",reason="http-error"} 1"#,
        r#"contentdownload_bytes_total{resolver="arxiv"} 5"#,
        r#"contentdownload_http_latency_ms_count{resolver="arxiv",verb="GET"} 1"#,
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in {metrics}");
    }
    assert!(!metrics.contains("contentdownload_retries_total{"), "{metrics}");
}

#[test]
fn a_second_run_asks_whether_a_file_has_changed() {
    let files = Server::start(|request| match (request.path.as_str(), request.header("if-none-match")) {
        ("/robots.txt", _) => reply(404, &[], b""),
        (_, Some("\"v1\"")) => reply(304, &[], b""),
        (_, _) => reply(200, &[("ETag", "\"v1\"")], b"hello"),
    });
    let line = json!({ "id": "a", "url": files.url("/a.txt") }).to_string();
    let place = place().file("work/list.jsonl", &line);
    for (data_dir, done, skipped) in [("one", 1, 0), ("two", 0, 1)] {
        ok(&place, &format!("queue import list.jsonl --data-dir {data_dir}"));
        let ran = ok(&place, &format!("queue run --drain --out files --data-dir {data_dir}"));
        assert_eq!((&ran["done"], &ran["skipped"]), (&json!(done), &json!(skipped)), "{ran}");
    }
    assert_eq!(ok(&place, "job show 1 --data-dir two")["reason"], "not-modified");
}

#[test]
fn what_fails_is_tried_again_until_it_is_an_error_and_then_with_fresh_attempts() {
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    let files = Server::start(move |request| match request.path.as_str() {
        "/robots.txt" => reply(404, &[], b""),
        _ if well.load(Ordering::SeqCst) => reply(200, &[], b"x"),
        _ => reply(500, &[], b""),
    });
    let place = place().env("ABIDE_DOWNLOADS_RETRY_BACKOFF_MS", "0");
    enter(&place, "a", &files.url("/a.txt"));
    let run = place.run("queue run --drain");
    assert_eq!(run.code, Some(4), "{run}");
    // What was tried three times is one job, and none is left.
    assert!(run.stdout.contains("\n0 done, 0 skipped, 1 failed; 0 B in "), "{run}");
    assert!(run.stderr.contains("error: 1 download failed: "), "{run}");
    let job = ok(&place, "job show 1");
    let reason = format!("backoff: {} answered 500", files.address);
    assert_eq!((&job["state"], &job["reason"]), (&json!("failed"), &json!(reason)), "{job}");
    let ends: Vec<_> =
        job["attempts"].as_array().unwrap().iter().map(|attempt| attempt["end"].clone()).collect();
    assert_eq!(ends, ["error"; 3], "{job}");
    assert_eq!(ok(&place, "queue stats")["error"], 1);

    is_well.store(true, Ordering::SeqCst);
    assert_eq!(ok(&place, "queue retry-failed --dry-run")["retried"], 0);
    assert_eq!(ok(&place, "queue retry-failed")["retried"], 1);
    assert_eq!(ok(&place, "queue run --drain")["done"], 1);
    assert_eq!(ok(&place, "queue retry-failed")["failed"], 0);
}

#[test]
fn a_backup_made_under_load_has_all_that_was_acknowledged_before_it() {
    let place = Place::new();
    let served = Served::start(&place, "serve --listen 127.0.0.1:0 --data-dir one");
    let (entered, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (count, over, mut client) = (Arc::clone(&entered), Arc::clone(&is_over), served.client());
    let load = std::thread::spawn(move || {
        for n in 1.. {
            if over.load(Ordering::SeqCst) {
                return;
            }
            let job =
                json!({ "queue": "q", "kind": "k", "unique_key": n.to_string(), "payload": n }).to_string();
            assert_eq!(client.request("POST /v1/jobs", &[], &job).expect("an answer").status, 201);
            count.store(n, Ordering::SeqCst);
        }
    });
    until(|| entered.load(Ordering::SeqCst) > 100);
    let before = entered.load(Ordering::SeqCst);
    ok(&place, "backup copy.db --data-dir one");
    let after = entered.load(Ordering::SeqCst);
    until(|| entered.load(Ordering::SeqCst) > after + 10);
    is_over.store(true, Ordering::SeqCst);
    load.join().expect("the load");

    assert_eq!(place.run("restore copy.db --data-dir two").code, Some(0));
    let jobs = |dir: &str| {
        ok(&place, &format!("job list --limit 1000 --data-dir {dir}"))["jobs"].as_array().unwrap().clone()
    };
    let (all, kept) = (jobs("one"), jobs("two"));
    assert!((before..=after + 1).contains(&kept.len()), "{before} <= {} <= {after}", kept.len());
    assert!(all.ends_with(&kept), "what is in the backup is what the server has");
    assert_eq!(ok(&place, "queue stats q --data-dir two")["queued"], kept.len());
    assert_eq!(place.run("doctor --listen 127.0.0.1:0 --data-dir two").code, Some(0));
}

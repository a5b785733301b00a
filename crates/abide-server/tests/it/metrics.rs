//! The numbers say what was done.

use crate::server::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Samples by their name and labels.
fn scrape(server: &Server) -> BTreeMap<String, f64> {
    let reply = server.ask("GET /metrics", "");
    assert_eq!(reply.status, 200, "{reply}");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let lines = reply.body.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

/// Leases one job of the queue `q`.
fn lease(server: &Server) -> Value {
    let ask = r#"{"worker":"w","queues":["q"],"kinds":["k"],"wait_ms":30000}"#;
    server.ok("POST /v1/lease", ask)["leases"][0].clone()
}

fn finish(server: &Server, lease: &Value, end: Value) {
    let mut body = json!({ "attempt": lease["attempt"], "token": lease["token"] });
    body.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
    server.ok(&format!("POST /v1/jobs/{}/finish", lease["job"]), &body.to_string());
}

/// Does a known amount of everything that jobs can do.
fn work(server: &Server) {
    for _ in 0..5 {
        server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","max_attempts":2}"#);
    }
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","unique_key":"u","delay_ms":3600000}"#);
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","unique_key":"u"}"#);
    finish(server, &lease(server), json!({ "end": "done", "result": 1 }));
    finish(server, &lease(server), json!({ "end": "skipped", "reason": "nothing to do" }));
    let failing = lease(server);
    finish(server, &failing, json!({ "end": "error", "reason": "no", "retry": { "after_ms": 0 } }));
    finish(server, &lease(server), json!({ "end": "error", "reason": "no", "retry": "never" }));
    finish(server, &lease(server), json!({ "end": "handed_back" }));
    let running = lease(server);
    assert_eq!(running["queue"], json!("q"));
    server.ok("POST /v1/jobs/6/cancel", "");
}

#[test]
fn jobs_are_counted_by_queue_and_state() {
    let server = Server::start();
    work(&server);
    let seen = scrape(&server);
    let expected = [
        (r#"abide_jobs_enqueued_total{queue="q"}"#, 6.0),
        (r#"abide_jobs_started_total{queue="q"}"#, 6.0),
        (r#"abide_jobs_retried_total{queue="q"}"#, 1.0),
        (r#"abide_lease_expiries_total{queue="q"}"#, 0.0),
        (r#"abide_jobs_finished_total{queue="q",state="done"}"#, 1.0),
        (r#"abide_jobs_finished_total{queue="q",state="skipped"}"#, 1.0),
        (r#"abide_jobs_finished_total{queue="q",state="failed"}"#, 1.0),
        (r#"abide_jobs_finished_total{queue="q",state="cancelled"}"#, 1.0),
        (r#"abide_attempts_total{queue="q",end="error"}"#, 2.0),
        (r#"abide_attempts_total{queue="q",end="handed_back"}"#, 1.0),
        (r#"abide_job_wait_seconds_count{queue="q"}"#, 6.0),
        (r#"abide_job_run_seconds_count{queue="q"}"#, 5.0),
        (r#"abide_jobs{queue="q",state="running"}"#, 1.0),
        (r#"contentdownload_jobs_completed_total{queue="q"}"#, 2.0),
        (r#"contentdownload_jobs_failed_total{queue="q"}"#, 1.0),
        (r#"contentdownload_jobs_inflight{queue="q"}"#, 1.0),
        (
            r#"contentdownload_queue_depth{queue="q"}"#,
            1.0 + seen[r#"abide_jobs{queue="q",state="scheduled"}"#],
        ),
    ];
    for (name, value) in expected {
        assert_eq!(seen.get(name), Some(&value), "{name} in {seen:#?}");
    }
}

#[test]
fn turns_commits_and_requests_are_counted() {
    let server = Server::start();
    for _ in 0..3 {
        server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    }
    server.ok("POST /v1/objects/toy/a/call", r#"{"echo":1}"#);
    assert_eq!(server.ask("POST /v1/objects/toy/a/call", r#"{"refuse":"conflict"}"#).status, 409);
    assert_eq!(server.ask("POST /v1/objects/toy/a/call", r#""panic""#).status, 500);
    assert_eq!(server.ask("GET /nowhere/at/all", "").status, 404);
    assert_eq!(server.ask("BREW /health", "").status, 405);
    let seen = scrape(&server);
    let expected = [
        (r#"abide_turns_total{kind="toy",result="changed"}"#, 3.0),
        (r#"abide_turns_total{kind="toy",result="answered"}"#, 1.0),
        (r#"abide_turns_total{kind="toy",result="refused"}"#, 1.0),
        (r#"abide_turns_total{kind="toy",result="failed"}"#, 1.0),
        (r#"abide_turn_seconds_count{kind="toy"}"#, 6.0),
        ("abide_commits_total", 3.0),
        ("abide_commits_refused_total", 0.0),
        ("abide_calls_waiting", 0.0),
        ("abide_dead_letters", 0.0),
        (
            r#"abide_http_requests_total{method="POST",route="/v1/objects/{kind}/{name}/call",status="200"}"#,
            4.0,
        ),
        (
            r#"abide_http_requests_total{method="POST",route="/v1/objects/{kind}/{name}/call",status="409"}"#,
            1.0,
        ),
        (r#"abide_http_requests_total{method="GET",route="unknown",status="404"}"#, 1.0),
        (r#"abide_http_requests_total{method="OTHER",route="/health",status="405"}"#, 1.0),
    ];
    for (name, value) in expected {
        assert_eq!(seen.get(name), Some(&value), "{name} in {seen:#?}");
    }
    let batches = seen["abide_batch_writes_count"];
    assert!(seen["abide_batch_writes_sum"] >= 3.0 && seen["abide_batch_seconds_count"] == batches);
    assert!(seen["process_resident_memory_bytes"] > 1_000_000.0 && seen["process_open_fds"] > 3.0);
}

#[test]
fn an_alarm_that_is_overdue_is_late() {
    let server = Server::start();
    server.ok("POST /v1/objects/toy/a/call", r#"{"alarm":["ring",1]}"#);
    // A toy does not know the alarm, so its turns fail, and nothing durable tells of the first one.
    let late = loop {
        let seen = scrape(&server);
        if seen["abide_alarm_lateness_seconds_count"] > 0.0 {
            break seen;
        }
    };
    assert!(late[r#"abide_alarm_lateness_seconds_bucket{le="3600"}"#] == 0.0);
    assert!(late["abide_alarm_lateness_seconds_sum"] > 1_000_000_000.0);
}

#[test]
fn limits_at_capacity_are_counted_by_class() {
    let server = Server::start();
    server.ok("PUT /v1/limits/host:a", r#"{"concurrency":1}"#);
    server.ok("PUT /v1/limits/host:b", r#"{"concurrency":1}"#);
    for _ in 0..3 {
        server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","limit_keys":["host:a"]}"#);
    }
    let held = lease(&server);
    let seen = scrape(&server);
    assert_eq!(seen[r#"abide_limits_at_capacity{class="host"}"#], 1.0);
    assert!(seen[r#"abide_limit_waiting_jobs{class="host"}"#] >= 1.0);
    finish(&server, &held, json!({ "end": "done" }));
    server.ok("POST /v1/queues/q/pause", "");
    let seen = scrape(&server);
    assert_eq!(seen[r#"abide_limits_at_capacity{class="host"}"#], 0.0);
    assert_eq!(seen[r#"abide_queue_paused{queue="q"}"#], 1.0);
}

//! Jobs: enqueue, list, show, why, cancel, retry.

use crate::server::Server;
use serde_json::{Value, json};

fn job(key: &str) -> String {
    json!({ "queue": "q", "kind": "k", "unique_key": key }).to_string()
}

#[test]
fn a_job_enters_once_by_its_key() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("POST /v1/jobs", &job("a")), @r#"
    201
    location: /v1/jobs/1
    {"job":1,"duplicate":false}
    "#);
    insta::assert_snapshot!(server.ask("POST /v1/jobs", &job("a")), @r#"
    200
    location: /v1/jobs/1
    {"job":1,"duplicate":true}
    "#);
    let many = format!(r#"{{"jobs":[{},{},{}]}}"#, job("a"), job("b"), job("b"));
    insta::assert_snapshot!(server.ask("POST /v1/jobs", &many), @r#"
    200
    {"jobs":[{"job":1,"duplicate":true},{"job":2,"duplicate":false},{"job":2,"duplicate":true}]}
    "#);
    assert_eq!(server.ok("POST /v1/jobs", r#"{"jobs":[]}"#), json!({ "jobs": [] }));
}

#[test]
fn a_bad_job_is_named_and_nothing_enters() {
    let server = Server::start();
    let many = format!(r#"{{"jobs":[{},{{"queue":"Q","kind":"k"}}]}}"#, job("a"));
    insta::assert_snapshot!(server.ask("POST /v1/jobs", &many), @r#"
    400
    {"error":{"code":"bad_request","message":"jobs[1]: the body cannot be read as the JSON that is expected here: a queue's name \"Q\" may have only a-z, 0-9, '-', '_' and '.', and starts with a letter or digit at line 1 column 12","retryable":false}}
    "#);
    for (part, sentence) in [
        (r#""run_at":1,"delay_ms":1"#, "run_at and delay_ms exclude each other: give one"),
        (r#""delay_ms":-1"#, "delay_ms is -1: give 0 to 315619200000"),
        (r#""max_attempts":0"#, "max_attempts is 0: a job has at least 1 attempt"),
    ] {
        let reply = server.ask("POST /v1/jobs", &format!(r#"{{"queue":"q","kind":"k",{part}}}"#));
        assert_eq!((reply.status, reply.json()["error"]["message"].as_str()), (400, Some(sentence)));
    }
    let reply = server.ask("POST /v1/jobs", r#"{"queue":"q","kind":"k","prioritty":1}"#);
    assert!(reply.status == 400 && reply.body.contains("unknown field `prioritty`"), "{reply}");
    let keys: Vec<String> = (0..9).map(|n| format!("k{n}")).collect();
    let reply =
        server.ask("POST /v1/jobs", &json!({ "queue": "q", "kind": "k", "limit_keys": keys }).to_string());
    assert_eq!(reply.status, 413, "{reply}");
    let keyed = server.client().request("POST /v1/jobs", &[("Idempotency-Key", "x")], &job("a")).unwrap();
    assert!(keyed.status == 400 && keyed.body.contains("unique_key"), "{keyed}");
    assert_eq!(server.ok("GET /v1/jobs", ""), json!({ "jobs": [], "next": null }));
}

#[test]
fn a_job_keeps_what_it_was_given() {
    let server = Server::start();
    let document = json!({
        "queue": "q", "kind": "k", "payload": { "url": "http://example.org/", "n": 1.50 }, "priority": 7,
        "run_at": 99_999_999_999_999_i64, "unique_key": "a", "limit_keys": ["host:example.org"], "max_attempts": 9,
        "backoff": { "base_ms": 1, "cap_ms": 2 },
    });
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [("traceparent", trace)];
    let reply = server.client().request("POST /v1/jobs", &headers, &document.to_string()).unwrap();
    assert_eq!(reply.status, 201, "{reply}");
    let shown = server.ok("GET /v1/jobs/1", "");
    for field in
        ["queue", "kind", "payload", "priority", "run_at", "unique_key", "limit_keys", "max_attempts"]
    {
        assert_eq!(shown[field], document[field], "{field}");
    }
    assert_eq!((&shown["state"], &shown["trace"]), (&json!("scheduled"), &json!(trace)));
    assert_eq!(shown.get("attempts"), None, "none has ended");
}

#[test]
fn jobs_are_listed_newest_first_by_filter() {
    let server = Server::start();
    let jobs: Vec<Value> = [("q", "a"), ("q", "b"), ("r", "a"), ("q", "a")]
        .iter()
        .map(|(queue, kind)| json!({ "queue": queue, "kind": kind }))
        .collect();
    server.ok("POST /v1/jobs", &json!({ "jobs": jobs }).to_string());
    server.ok("POST /v1/jobs/1/cancel", "");
    let list = |query: &str| {
        let page = server.ok(&format!("GET /v1/jobs{query}"), "");
        let jobs = page["jobs"].as_array().unwrap().iter().map(|job| job["job"].as_i64().unwrap());
        (jobs.collect::<Vec<_>>(), page["next"].as_i64())
    };
    assert_eq!(list(""), (vec![4, 3, 2, 1], None));
    assert_eq!(list("?queue=q"), (vec![4, 2, 1], None));
    assert_eq!(list("?queue=q&kind=a"), (vec![4, 1], None));
    assert_eq!(list("?state=cancelled"), (vec![1], None));
    let (first, next) = list("?queue=q&limit=2");
    assert_eq!((first, next.is_some()), (vec![4, 2], true));
    assert_eq!(list(&format!("?queue=q&limit=2&after={}", next.unwrap())), (vec![1], None));
    server.ok("POST /v1/objects/toy/a/call", r#""later""#);
    assert_eq!(list("?owner=toy/a"), (vec![5], None));
}

#[test]
fn why_says_every_cause_in_words() {
    let server = Server::start();
    let sentences = |job: i64| {
        let why = server.ok(&format!("GET /v1/jobs/{job}/why"), "");
        let causes = why["causes"].as_array().unwrap().iter();
        let text = |cause: &Value| {
            format!("{}: {}", cause["cause"].as_str().unwrap(), cause["sentence"].as_str().unwrap())
        };
        causes.map(text).collect::<Vec<_>>().join("\n")
    };
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","limit_keys":["host:a"]}"#);
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k","run_at":99999999999999}"#);
    server.ok("PUT /v1/limits/host:a", r#"{"concurrency":1}"#);
    server.ok("POST /v1/jobs", r#"{"queue":"other","kind":"k","limit_keys":["host:a"]}"#);
    let leased =
        server.ok("POST /v1/lease", r#"{"worker":"w","queues":["other"],"kinds":["k"],"lease_ms":60000}"#);
    assert!(sentences(3).ends_with(" unless it is renewed."), "{}", sentences(3));
    let mut note = json!({ "attempt": 1, "progress": { "waits": "the tape is rewound" } });
    note["token"] = leased["leases"][0]["token"].clone();
    server.ok("POST /v1/jobs/3/progress", &note.to_string());
    assert!(
        sentences(3).ends_with(" unless it is renewed. It waits: the tape is rewound."),
        "{}",
        sentences(3)
    );
    server.ok("POST /v1/queues/q/pause", "");
    insta::assert_snapshot!(sentences(1), @"
    queue_paused: The queue q is paused. Resume it to let its jobs start.
    no_worker: No worker takes jobs of the kind k from the queue q. Start one.
    concurrency: The limit host:a allows 1 at a time and 1 run now; nothing waits before it at it.
    ");
    let later = sentences(2);
    assert!(later.starts_with("scheduled: Its time has not come: it may start in "), "{later}");
    server.ok("POST /v1/jobs/2/cancel", "");
    insta::assert_snapshot!(sentences(2), @"ended: It is cancelled: nothing is left to do.");
    assert_eq!(server.ask("GET /v1/jobs/99/why", "").status, 404);
    assert_eq!(server.ok("GET /v1/jobs/1/why", "")["causes"][0]["queue"], json!("q"));
}

#[test]
fn cancel_and_retry_move_a_job_or_say_why_not() {
    let server = Server::start();
    server.ok("POST /v1/jobs", &job("a"));
    insta::assert_snapshot!(server.ask("POST /v1/jobs/1/retry", ""), @r#"
    409
    {"error":{"code":"wrong_state","message":"job 1: the job is ready: only one that is over can be retried","retryable":false}}
    "#);
    assert_eq!(server.ok("POST /v1/jobs/1/cancel", ""), json!({ "job": 1, "state": "cancelled" }));
    insta::assert_snapshot!(server.ask("POST /v1/jobs/1/cancel", ""), @r#"
    409
    {"error":{"code":"wrong_state","message":"job 1: the job is cancelled already","retryable":false}}
    "#);
    assert_eq!(server.ok("POST /v1/jobs/1/retry", ""), json!({ "job": 1, "state": "ready" }));
    insta::assert_snapshot!(server.ask("POST /v1/jobs/99/cancel", ""), @r#"
    404
    {"error":{"code":"unknown_job","message":"job 99: there is no such job","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("GET /v1/jobs/99", ""), @r#"
    404
    {"error":{"code":"unknown_job","message":"there is no job 99","retryable":false}}
    "#);
}

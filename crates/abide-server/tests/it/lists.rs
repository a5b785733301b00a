//! Lists for people, and doing something with all that match.

use crate::dead::with_dead_letters;
use crate::server::Server;
use abide_engine::machine::MachineOptions;
use serde_json::{Value, json};

fn ids(page: &Value) -> Vec<i64> {
    page["jobs"].as_array().unwrap().iter().map(|job| job["job"].as_i64().unwrap()).collect()
}

/// Three jobs with keys, of which the first has failed for good.
fn with_jobs() -> Server {
    let server = Server::start();
    let job = |kind: &str, key: &str| json!({ "queue": "q", "kind": kind, "unique_key": key, "limit_keys": ["h:a"] });
    for (kind, key) in [("k", "a/1"), ("other", "a/2"), ("other", "b/1")] {
        server.ok("POST /v1/jobs", &job(kind, key).to_string());
    }
    let ask = json!({ "worker": "w", "queues": ["q"], "kinds": ["k"] }).to_string();
    let lease = server.ok("POST /v1/lease", &ask)["leases"][0].clone();
    let end = json!({
        "attempt": lease["attempt"], "token": lease["token"], "end": "error", "reason": "404", "retry": "never",
    });
    server.ok(&format!("POST /v1/jobs/{}/finish", lease["job"]), &end.to_string());
    server
}

#[test]
fn jobs_are_filtered() {
    let server = with_jobs();
    let created = server.ok("GET /v1/jobs/2", "")["created_at"].as_i64().unwrap();
    let cases = [
        ("", vec![3, 2, 1]),
        ("unique_prefix=a/", vec![2, 1]),
        ("limit_key=h:a&state=ready", vec![3, 2]),
        ("limit_key=h:b", vec![]),
        ("state=failed&queue=q&kind=k", vec![1]),
        ("finished_from=0", vec![1]),
        ("finished_until=1", vec![]),
        (&*format!("created_until={}", created + 1_000_000), vec![3, 2, 1]),
        (&*format!("created_from={}", created + 1_000_000), vec![]),
    ];
    for (query, expected) in cases {
        let page = server.ok(&format!("GET /v1/jobs?{query}"), "");
        assert_eq!((ids(&page), &page["next"]), (expected, &json!(null)), "{query}");
        let rows = page["jobs"].as_array().unwrap();
        assert!(rows.iter().all(|row| row.get("attempts").is_none()), "{query}: attempts are not in lists");
    }
    assert_eq!(server.ok("GET /v1/jobs/1", "")["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(server.ask("GET /v1/jobs?colour=red", "").status, 400);
}

#[test]
fn matching_dead_letters_of_jobs_are_retried() {
    let server = with_jobs();
    let none = server.ok("POST /v1/jobs/retry?kind=other", "");
    assert_eq!(none, json!({ "retried": [], "next": null }));
    assert_eq!(server.ok("POST /v1/jobs/retry?queue=q", ""), json!({ "retried": [1], "next": null }));
    assert_eq!(server.ok("GET /v1/jobs/1", "")["state"], json!("ready"));
    assert_eq!(server.ask("POST /v1/jobs/retry?state=done", "").status, 400);
}

#[test]
fn matching_dead_letters_of_objects_are_replayed_and_dropped_page_by_page() {
    let server = Server::on(with_dead_letters(5), MachineOptions::default());
    assert_eq!(server.ok("GET /v1/dead?kind=somebody", "")["dead"], json!([]));
    assert_eq!(server.ok("GET /v1/dead?event=alarm", "")["dead"], json!([]));
    let page = server.ok("POST /v1/dead/drop?kind=nobody&event=message&limit=2", "");
    assert_eq!(page, json!({ "ids": [1, 2], "became": "dropped", "next": 2 }));
    let page = server.ok("POST /v1/dead/drop?limit=2&after=3", "");
    assert_eq!(page, json!({ "ids": [4, 5], "became": "dropped", "next": null }));
    let page = server.ok("POST /v1/dead/replay?name=a", "");
    assert_eq!(page, json!({ "ids": [3], "became": "replayed", "next": null }));
}

#[test]
fn what_nobody_can_mean_is_refused() {
    let server = Server::start();
    let job = |more: &str| format!(r#"{{"queue":"q","kind":"k",{more}}}"#);
    let rates = json!({ "rates": vec!["1/s"; 17] }).to_string();
    let cases = [
        ("POST /v1/jobs", job(r#""limit_keys":["host:*"]"#), "host:* is a class of limit keys"),
        ("POST /v1/jobs", job(r#""backoff":{"base_ms":1,"cap_ms":9999999999999}"#), "backoff is 1 ms up to"),
        ("POST /v1/jobs", job(r#""payload":"\ud800""#), "half of a surrogate pair"),
        ("POST /v1/jobs", job(r#""payload":"\ude00\ud83d""#), "half of a surrogate pair"),
        ("POST /v1/jobs", job(r#""payload":"\ud83dx\ude00""#), "half of a surrogate pair"),
        (
            "PUT /v1/queues/q",
            r#"{"backoff":{"base_ms":9999999999999,"cap_ms":1}}"#.into(),
            "backoff is 9999999999999",
        ),
        ("PUT /v1/limits/a", rates, "17 rates are given"),
        ("POST /v1/jobs", job(r#""payload":{"x":1e999}"#), "number out of range"),
        ("POST /v1/jobs", job(r#""delay_ms":9223372036854775807"#), "delay_ms is 9223372036854775807"),
        ("POST /v1/jobs", job(r#""run_at":9223372036854775807"#), "run_at is 9223372036854775807"),
        (
            "GET /v1/jobs?owner=nobody",
            String::new(),
            "owner is \\\"nobody\\\": name an object by kind and name",
        ),
        ("GET /v1/jobs?owner=a%2F", String::new(), "owner: an object's name"),
        ("GET /v1/objects?after=zz", String::new(), "after is \\\"zz\\\": name an object by kind and name"),
    ];
    for (line, body, sentence) in cases {
        let reply = server.ask(line, &body);
        assert!(reply.status == 400 && reply.body.contains(sentence), "{body}: {reply}");
    }
    let whole = server.ask("POST /v1/jobs", &job(r#""payload":"\ud83d\ude00 \\ud800 \"""#));
    assert_eq!(whole.status, 201, "{whole}");
}

#[test]
fn limits_say_what_waits_and_why() {
    let server = Server::start();
    server.ok("PUT /v1/limits/host:a", r#"{"concurrency":1}"#);
    server.ok("PUT /v1/limits/host:b", r#"{"concurrency":1}"#);
    let jobs = vec![json!({ "queue": "q", "kind": "k", "limit_keys": ["host:a"] }); 3];
    server.ok("POST /v1/jobs", &json!({ "jobs": jobs }).to_string());
    server.ok("POST /v1/lease", r#"{"worker":"w","queues":["q"],"kinds":["k"],"max":3}"#);
    let page = server.ok("GET /v1/limits?waiting=true", "");
    assert_eq!(page["limits"].as_array().unwrap().len(), 1, "{page}");
    let limit = &page["limits"][0];
    assert_eq!(
        (&limit["key"], &limit["in_use"], &limit["waiting"]),
        (&json!("host:a"), &json!(1), &json!(2))
    );
    assert_eq!(limit["blocked"], json!({ "by": "concurrency", "limit": 1 }));
    assert_eq!(limit["why"], json!("As many run as it allows at a time: 1."));
}

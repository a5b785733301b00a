//! Queues and their policies.

use crate::server::Server;
use serde_json::json;

#[test]
fn a_queue_begins_with_its_first_job_or_policy() {
    let server = Server::start();
    assert_eq!(server.ok("GET /v1/queues", ""), json!({ "queues": [] }));
    insta::assert_snapshot!(server.ask("GET /v1/queues/q", ""), @r#"
    404
    {"error":{"code":"unknown_queue","message":"there is no queue q: it begins with its first job or policy","retryable":false}}
    "#);
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    insta::assert_snapshot!(server.ask("GET /v1/queues/q", ""), @r#"
    200
    {"queue":"q","policy":{"paused":false,"max_attempts":3,"backoff":{"base_ms":1000,"cap_ms":600000},"retain_ms":2592000000,"retain_failed_ms":null,"forget_keys_after_ms":null},"counts":{"scheduled":0,"ready":1,"running":0,"done":0,"skipped":0,"failed":0,"cancelled":0},"finished_last_minute":0,"rate":0.0}
    "#);
}

#[test]
fn a_policy_is_set_as_a_whole() {
    let server = Server::start();
    let set = server.ok("PUT /v1/queues/q", r#"{"max_attempts":9,"retain_ms":null}"#);
    assert_eq!((&set["policy"]["max_attempts"], &set["policy"]["retain_ms"]), (&json!(9), &json!(null)));
    let set = server.ok("PUT /v1/queues/q", "{}");
    assert_eq!(set["policy"]["max_attempts"], json!(3));
    for bad in [r#"{"max_attempts":0}"#, r#"{"retain_ms":-1}"#, r#"{"max_atempts":1}"#, "[]", ""] {
        assert_eq!(server.ask("PUT /v1/queues/q", bad).status, 400, "{bad}");
    }
}

#[test]
fn a_paused_queue_gives_out_nothing() {
    let server = Server::start();
    server.ok("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#);
    assert_eq!(server.ok("POST /v1/queues/q/pause", "")["policy"]["paused"], json!(true));
    let ask = r#"{"worker":"w","queues":["q"],"kinds":["k"]}"#;
    assert_eq!(server.ok("POST /v1/lease", ask), json!({ "leases": [] }));
    std::thread::scope(|scope| {
        let poll = scope.spawn(|| server.ok("POST /v1/lease", &ask.replace('}', r#","wait_ms":30000}"#)));
        assert_eq!(server.ok("POST /v1/queues/q/resume", "")["policy"]["paused"], json!(false));
        assert_eq!(poll.join().unwrap()["leases"].as_array().unwrap().len(), 1);
    });
}

//! Calls of objects and answers that come later.

use crate::server::Server;
use abide_engine::machine::MachineOptions;
use abide_store::memory::MemoryStore;
use serde_json::json;

#[test]
fn the_process_lives_and_the_engine_is_ready() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("GET /health", ""), @r#"
    200
    {"status":"ok"}
    "#);
    insta::assert_snapshot!(server.ask("GET /ready", ""), @r#"
    200
    {"status":"ready"}
    "#);
}

#[test]
fn a_call_is_answered_with_the_object_s_reply() {
    let server = Server::start();
    assert_eq!(server.ok("POST /v1/objects/toy/a/call", r#"{"add":2}"#), json!(2));
    assert_eq!(server.ok("POST /v1/objects/toy/a/call", r#"{"add":3}"#), json!(5));
    assert_eq!(server.ok("POST /v1/objects/toy/b/call", r#"{"add":1}"#), json!(1));
    let reply = server.ask("POST /v1/objects/toy/a/call", r#"{"echo":{"b":1.50,"a":[]}}"#);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/json")));
}

#[test]
fn names_may_have_any_characters() {
    let server = Server::start();
    for (encoded, name) in [
        ("a%2Fb", "a/b"),
        ("%2E%2E", ".."),
        ("caf%C3%A9", "café"),
        ("a%20b%3Fc%23d%25", "a b?c#d%"),
        ("plus+plus", "plus+plus"),
        ("call", "call"),
    ] {
        server.ok(&format!("POST /v1/objects/toy/{encoded}/call"), r#"{"add":1}"#);
        let shown = server.ok(&format!("GET /v1/objects/toy/{encoded}"), "");
        assert_eq!((&shown["name"], &shown["version"]), (&json!(name), &json!(1)), "{encoded}");
    }
}

#[test]
fn only_exposed_kinds_are_called() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("POST /v1/objects/secret/a/call", "null"), @r#"
    404
    {"error":{"code":"unknown_kind","message":"no object of the kind secret can be called from outside","retryable":false}}
    "#);
    insta::assert_snapshot!(server.ask("POST /v1/objects/nothing/a/call", "null"), @r#"
    404
    {"error":{"code":"unknown_kind","message":"no object of the kind nothing can be called from outside","retryable":false}}
    "#);
}

#[test]
fn a_refusal_keeps_the_object_s_code_and_class() {
    let server = Server::start();
    for (class, status) in
        [("invalid", 400), ("not_found", 404), ("conflict", 409), ("forbidden", 403), ("too_many", 429)]
    {
        let reply = server.ask("POST /v1/objects/toy/a/call", &format!(r#"{{"refuse":"{class}"}}"#));
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["refusal"]), (status, &json!("unwilling")), "{reply}");
        assert_eq!(reply.header("retry-after").is_some(), status == 429, "{reply}");
    }
    let detailed = server.ask("POST /v1/objects/toy/a/call", r#"{"refuse":"too_many"}"#).json();
    assert_eq!(detailed["error"]["details"], json!({ "at_most": 3 }));
    insta::assert_snapshot!(server.ask("POST /v1/objects/toy/a/call", r#"{"refuse":"conflict"}"#), @r#"
    409
    {"error":{"code":"refused","message":"it does not want to","retryable":false,"refusal":"unwilling"}}
    "#);
    insta::assert_snapshot!(server.ask("POST /v1/objects/toy/a/call", r#"{"subtract":1}"#), @r#"
    400
    {"error":{"code":"refused","message":"unknown variant `subtract`, expected one of `echo`, `add`, `put`, `fill`, `append`, `alarm`, `refuse`, `panic`, `later`, `delete` at line 1 column 11","retryable":false,"refusal":"bad_request"}}
    "#);
}

#[test]
fn a_panic_is_a_failed_call() {
    let server = Server::start();
    insta::assert_snapshot!(server.ask("POST /v1/objects/toy/a/call", r#""panic""#), @r#"
    500
    {"error":{"code":"turn_failed","message":"the call failed and changed nothing: the handler panicked: on request","retryable":false}}
    "#);
    assert_eq!(server.ok("POST /v1/objects/toy/a/call", r#"{"add":1}"#), json!(1));
}

#[test]
fn a_repeated_call_with_its_key_changes_nothing() {
    let server = Server::start();
    let call = |key: &str, body: &str| {
        server.client().request("POST /v1/objects/toy/a/call", &[("Idempotency-Key", key)], body).unwrap()
    };
    assert_eq!(call("k1", r#"{"add":1}"#).json(), json!(1));
    assert_eq!(call("k1", r#"{"add":1}"#).json(), json!(1));
    assert_eq!(call("k2", r#"{"add":1}"#).json(), json!(2));
    insta::assert_snapshot!(call("k1", r#"{"add":2}"#), @r#"
    422
    {"error":{"code":"key_reused","message":"the idempotency key k1 was used for another request: give each request a key of its own","retryable":false}}
    "#);
    assert_eq!(server.ok("POST /v1/objects/toy/a/call", r#"{"add":0}"#), json!(2));
    let long = "k".repeat(600);
    assert_eq!(call(&long, "{}").status, 400);
    let twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")];
    let reply = server.client().request("POST /v1/objects/toy/a/call", &twice, r#"{"add":1}"#).unwrap();
    assert_eq!(reply.status, 400, "{reply}");
}

#[test]
fn too_many_calls_are_told_when_to_come_back() {
    let server =
        Server::on(MemoryStore::new(), MachineOptions { inbox_calls: 0, ..MachineOptions::default() });
    let reply = server.ask("POST /v1/objects/toy/a/call", r#"{"add":1}"#);
    let error = &reply.json()["error"];
    assert_eq!(
        (reply.status, &error["code"], &error["retryable"]),
        (429, &json!("overloaded"), &json!(true))
    );
    assert!(reply.header("retry-after").is_some_and(|seconds| seconds.parse::<u32>().is_ok()), "{reply}");
}

/// Runs the one job of the queue `slow` as a worker outside would.
fn finish_the_job(server: &Server) {
    let ask = r#"{"worker":"w","queues":["slow"],"kinds":["work"],"wait_ms":10000}"#;
    let leases = server.ok("POST /v1/lease", ask);
    let lease = &leases["leases"][0];
    let finish = json!({ "attempt": lease["attempt"], "token": lease["token"], "end": "done", "result": 42 });
    server.ok(&format!("POST /v1/jobs/{}/finish", lease["job"]), &finish.to_string());
}

#[test]
fn an_answer_that_comes_later_has_a_ticket() {
    let server = Server::start();
    let reply = server.ask("POST /v1/objects/toy/a/call", r#""later""#);
    let ticket = reply.json()["ticket"].as_str().unwrap().to_owned();
    let shown = reply.to_string().replace(&ticket, "<ticket>");
    insta::assert_snapshot!(shown, @r#"
    202
    location: /v1/tickets/<ticket>
    {"ticket":"<ticket>","state":"open"}
    "#);
    let location = reply.header("location").unwrap();
    assert_eq!(server.ask(&format!("GET {location}"), "").status, 202);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.ask(&format!("GET {location}?wait_ms=30000"), ""));
        finish_the_job(&server);
        let reply = waiter.join().unwrap();
        assert_eq!((reply.status, reply.json()), (200, json!({ "state": "done", "result": 42 })));
    });
    assert_eq!(server.ask(&format!("GET {location}"), "").status, 200);
}

#[test]
fn a_call_may_wait_for_its_answer() {
    let server = Server::start();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.ask("POST /v1/objects/toy/a/call?wait_ms=30000", r#""later""#));
        finish_the_job(&server);
        let reply = call.join().unwrap();
        assert_eq!((reply.status, reply.json()), (200, json!({ "state": "done", "result": 42 })));
    });
}

#[test]
fn a_ticket_of_a_deleted_object_is_gone() {
    let server = Server::start();
    let reply = server.ask("POST /v1/objects/toy/a/call", r#""later""#);
    let location = reply.header("location").unwrap();
    server.ok("POST /v1/objects/toy/a/call", r#""delete""#);
    insta::assert_snapshot!(server.ask(&format!("GET {location}"), ""), @r#"
    410
    {"error":{"code":"gone","message":"the object was deleted before it answered: call it again","retryable":false}}
    "#);
    assert_eq!(server.ask("GET /v1/objects/toy/a", "").status, 404);
}

#[test]
fn draining_ends_waits() {
    let mut server = Server::start();
    let mut waiter = server.client();
    let head =
        "POST /v1/objects/toy/a/call?wait_ms=30000 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n\r\n";
    waiter.send(format!("{head}\"later\"").as_bytes()).unwrap();
    while server.ask("GET /v1/objects/toy/a", "").status == 404 {}
    let wait_for_end = server.tell_to_stop();
    let reply = waiter.read().unwrap();
    assert_eq!(reply.status, 202, "{reply}");
    wait_for_end();
    assert!(server.is_closed());
}

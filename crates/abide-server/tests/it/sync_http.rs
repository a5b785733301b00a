//! The sync protocol over HTTP, and a store's log for other programs.

use crate::server::Server;
use crate::sync::Blind;
use crate::wire::{Wire, event};
use abide_store::Read;
use abide_store::memory::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn ask(server: &Server, request: &Value) -> Value {
    server.ok("POST /sync?storeId=s&transport=http", &request.to_string())
}

fn request(tag: &str, payload: Value) -> Value {
    json!({"_tag": "Request", "id": "0", "tag": tag, "payload": payload, "headers": []})
}

#[test]
fn ping_push_and_errors_are_answered_with_an_array() {
    let server = Server::start();
    assert_eq!(
        ask(&server, &request("SyncHttpRpc.Ping", json!({"storeId": "s"}))),
        json!([{"_tag": "Exit", "requestId": "0", "exit": {"_tag": "Success", "value": {"_tag": "SyncMessage.Pong"}}}])
    );
    let push = request(
        "SyncHttpRpc.Push",
        json!({"storeId": "s", "batch": [event(1, "n")], "backendId": {"_tag": "None"}}),
    );
    assert_eq!(
        ask(&server, &push),
        json!([{"_tag": "Exit", "requestId": "0", "exit": {"_tag": "Success", "value": {}}}])
    );
    assert_eq!(ask(&server, &push)[0]["exit"]["cause"]["error"]["_tag"], "ServerAheadError");
    let other = request("SyncHttpRpc.Push", json!({"storeId": "other", "batch": [event(1, "n")]}));
    assert_eq!(ask(&server, &other)[0]["exit"]["cause"]["error"]["_tag"], "UnknownError");
}

#[test]
fn what_a_socket_takes_is_taken_over_http_to_the_letter() {
    let server = Server::start();
    // A text that was cut in the middle of a character, as programs in JavaScript do.
    let args = r#"{"title": "cut \ud83d", "n": 1.50}"#;
    let push = r#"{"_tag":"Request","id":"1","tag":"SyncHttpRpc.Push","payload":{"storeId":"s","batch":[{"name":"n","args":ARGS,"seqNum":1,"parentSeqNum":0,"clientId":"c","sessionId":"s"}],"backendId":{"_tag":"None"}}}"#;
    let line = "POST /sync?storeId=s&transport=http";
    let pushed = server.ok(line, &push.replace("ARGS", args));
    assert_eq!(pushed[0]["exit"]["_tag"], "Success", "{pushed}");
    let pull = request("SyncHttpRpc.Pull", json!({"storeId": "s", "cursor": {"_tag": "None"}}));
    let pulled = server.ask(line, &pull.to_string());
    assert!(pulled.body.contains(args), "{pulled}");
    let large = push.replace("ARGS", &format!("\"{}\"", "x".repeat(1024 * 1024)));
    let refused = server.ask(line, &large);
    assert_eq!(
        (refused.status, refused.header("access-control-allow-origin")),
        (413, Some("*")),
        "{refused}"
    );
}

#[test]
fn requests_that_are_none_are_told_why() {
    let server = Server::start();
    let cases = [
        ("GET /sync", "", 200, "sync endpoint"),
        ("GET /sync?storeId=s", "", 400, "Invalid path"),
        ("GET /sync?storeId=s&transport=ws", "", 426, "Upgrade"),
        ("POST /sync?storeId=s&transport=ws", "{}", 400, "transport=ws"),
        ("POST /sync?storeId=s&transport=http", "{}", 400, "not a frame"),
        ("POST /sync?storeId=s&transport=http", r#"{"_tag":"Ping"}"#, 400, "not one Request"),
        ("POST /sync?storeId=&transport=http", "{}", 400, "is empty"),
        ("POST /sync?storeId=s&transport=http&payload=%257B", "{}", 400, "not JSON"),
    ];
    for (line, body, status, says) in cases {
        let reply = server.ask(line, body);
        assert_eq!(reply.status, status, "{line}: {reply}");
        assert!(reply.body.contains(says), "{line}: {reply}");
    }
}

#[test]
fn a_log_shows_its_head_and_its_live_pulls() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("0"), "s", true, None);
    wire.page();
    let shown = server.ok("GET /sync/s", "");
    assert_eq!((&shown["head"], &shown["livePulls"], &shown["lag"]), (&json!(0), &json!(1), &json!(0)));
}

#[test]
fn reading_makes_no_store() {
    let server = Server::start();
    let ping = request("SyncHttpRpc.Ping", json!({"storeId": "s"})).to_string();
    let cases = [
        ("GET /sync/s", "", 404, "no store \\\"s\\\" yet"),
        ("GET /sync/s/events", "", 404, "no store"),
        ("GET /sync?storeId=s&transport=ws", "", 426, "Upgrade"),
        ("POST /sync?storeId=s&transport=http", "{}", 400, "not a frame"),
        ("POST /sync?storeId=s&transport=http", &ping, 200, "Pong"),
        ("GET /links/api/links", "", 200, "\"total\":0"),
        ("GET /links/api/links?q=word", "", 200, "\"total\":0"),
        ("GET /links/api/links/a", "", 404, "a"),
        ("POST /links/api/links/a/reprocess", "", 404, "a"),
    ];
    for (line, body, status, says) in cases {
        let reply =
            server.client().request(line, &[("x-livestore-store-id", "s")], body).expect("it is answered");
        assert!(reply.status == status && reply.body.contains(says), "{line}: {reply}");
    }
    let mut tail = server.client();
    assert_eq!(tail.request("GET /sync/s/tail", &[], "").unwrap().status, 200);
    for kind in ["sync", "links"] {
        assert_eq!(server.ok(&format!("GET /v1/objects?kind={kind}"), "")["objects"], json!([]), "{kind}");
    }
    let append = json!({"events": [{"name": "first"}], "clientId": "c", "sessionId": "s", "key": "k"});
    server.ok("POST /sync/s/events", &append.to_string());
    while !tail.line().unwrap().contains("\"first\"") {}
    assert_eq!(server.ok("GET /sync/s", "")["head"], 1);
}

#[test]
fn an_author_inside_is_numbered_and_a_repeated_key_changes_nothing() {
    let server = Server::start();
    let mut wire = Wire::open(&server, "s");
    wire.push(json!("1"), "s", &[event(1, "n")], None);
    wire.next();
    let append = json!({"events": [{"name": "a", "args": 1}, {"name": "b", "args": 2}],
        "clientId": "me", "sessionId": "now", "key": "k"});
    for _ in 0..2 {
        let reply = server.ok("POST /sync/s/events", &append.to_string());
        assert_eq!(reply, json!({"appended": {"head": 3}}));
    }
    for (field, value) in [("events", json!([{"name": "c"}])), ("clientId", json!("you"))] {
        let mut other = append.clone();
        other[field] = value;
        let refused = server.ask("POST /sync/s/events", &other.to_string());
        let code = &refused.json()["error"]["code"];
        assert_eq!((refused.status, code), (422, &json!("key_reused")), "{refused}");
    }
    wire.pull(json!("2"), "s", false, None);
    assert_eq!(wire.page().0, [1, 2, 3]);
}

#[test]
fn a_pull_over_http_gets_every_page_at_once_and_an_export_every_event() {
    let server = Server::start();
    let events: Vec<Value> = (0..250).map(|n| json!({"name": "n", "args": n})).collect();
    let append = json!({"events": events, "clientId": "me", "sessionId": "now", "key": "k"});
    server.ok("POST /sync/s/events", &append.to_string());
    let pulled =
        ask(&server, &request("SyncHttpRpc.Pull", json!({"storeId": "s", "cursor": {"_tag": "None"}})));
    let frames = pulled.as_array().unwrap();
    let (exit, chunks) = frames.split_last().unwrap();
    assert_eq!((&exit["_tag"], &exit["exit"]["_tag"]), (&json!("Exit"), &json!("Success")));
    let pages = chunks.iter().flat_map(|chunk| chunk["values"].as_array().unwrap());
    let batches: Vec<&Vec<Value>> = pages.map(|page| page["batch"].as_array().unwrap()).collect();
    assert_eq!(batches.iter().map(|batch| batch.len()).collect::<Vec<_>>(), [100, 100, 50]);
    let numbers = batches.into_iter().flatten().map(|item| item["eventEncoded"]["seqNum"].as_i64().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=250).collect::<Vec<_>>());

    let export = server.ask("GET /sync/s/events?after=240", "");
    assert_eq!(export.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = export.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected: Vec<Value> = (241..=250)
        .map(|n| {
            json!({"name": "n", "args": n - 1, "seqNum": n, "parentSeqNum": n - 1, "clientId": "me", "sessionId": "now"})
        })
        .collect();
    assert_eq!(lines, expected);
}

/// That a request failed in the one form that clients of HTTP outlast, after whatever came before.
fn fails(server: &Server, request: &Value, says: &str) {
    let frames = ask(server, request);
    let exit = &frames.as_array().expect("frames").last().expect("an end")["exit"];
    assert_eq!(exit["cause"]["error"]["_tag"], "UnknownError", "{frames}");
    assert!(
        exit["cause"]["error"]["cause"]["message"].as_str().is_some_and(|m| m.contains(says)),
        "{frames}"
    );
}

#[test]
fn a_log_that_cannot_be_read_now_is_told_of_in_frames() {
    let pull = request("SyncHttpRpc.Pull", json!({"storeId": "s", "cursor": {"_tag": "None"}}));
    let to_objects: fn(&Read) -> bool = |read| matches!(read, Read::Object(_));
    let to_logs: fn(&Read) -> bool = |read| matches!(read, Read::Log { .. });
    for to in [to_objects, to_logs] {
        let is_blind = Arc::new(AtomicBool::new(false));
        let server = Server::over(Blind { store: MemoryStore::new(), is_blind: Arc::clone(&is_blind), to });
        let append = json!({"events": [{"name": "n"}], "clientId": "c", "sessionId": "s", "key": "k"});
        server.ok("POST /sync/s/events", &append.to_string());
        is_blind.store(true, Ordering::SeqCst);
        fails(&server, &pull, "cannot be read now");
        is_blind.store(false, Ordering::SeqCst);
        assert_eq!(ask(&server, &pull)[1]["exit"]["_tag"], "Success");
    }
}

#[test]
fn requests_to_an_engine_that_stops_are_answered_in_frames() {
    let server = Server::start();
    server.stop_engine();
    let batch = json!({"storeId": "s", "batch": [event(1, "n")], "backendId": {"_tag": "None"}});
    fails(&server, &request("SyncHttpRpc.Push", batch), "stopping");
    let pull = json!({"storeId": "s", "cursor": {"_tag": "None"}});
    fails(&server, &request("SyncHttpRpc.Pull", pull), "stopping");
}

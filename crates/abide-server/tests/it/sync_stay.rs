//! Who was let in once and goes on reading: tails, and what they cost.

use crate::client::Client;
use crate::server::{LOCAL_TOKEN, SOCKETS, Server, every_service, sync_service};
use crate::wire::{Wire, event};
use abide_engine::machine::MachineOptions;
use abide_links::auth::Authority;
use abide_server::{Admission, Services, Silence, SyncService, WithoutToken};
use abide_store::memory::MemoryStore;
use serde_json::{Value, json};
use std::time::Duration;

fn checked() -> Server {
    let sync = sync_service(Authority::Checked { tokens: None });
    let services = Services { sync: Some(sync), ..every_service() };
    Server::of_this_machine(services)
}

/// Begins a tail of `acme` and reads its head.
fn tail(server: &Server, key: Option<&str>) -> Client {
    let mut client = server.client();
    let shown = key.map(|key| format!("Bearer {key}"));
    let headers: Vec<(&str, &str)> = shown.iter().map(|shown| ("Authorization", shown.as_str())).collect();
    let reply = client.request("GET /sync/acme/tail?after=0", &headers, "").unwrap();
    assert_eq!(reply.status, 200, "{reply}");
    client
}

/// Lines of a tail up to the first that `is_it`.
fn lines(client: &mut Client, is_it: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let line = client.line().unwrap();
        lines.push(line);
        if lines.last().is_some_and(|line| is_it(line)) {
            return lines;
        }
    }
}

fn append(server: &Server, key: &str, name: &str) -> Value {
    let body = json!({"events": [{"name": name}], "clientId": "c", "sessionId": "s", "key": name});
    let reply = server.ask_as(key, "POST /sync/acme/events", &body.to_string());
    assert_eq!(reply.status, 200, "{reply}");
    reply.json()
}

#[test]
fn a_tail_ends_when_its_key_is_revoked_and_says_why() {
    let server = checked();
    let made = |org: &str| server.ok_as_admin("POST /links/keys", &json!({ "org": org }).to_string());
    let (revoked, kept) = (made("acme"), made("acme"));
    let key = |made: &Value| made["key"].as_str().unwrap().to_owned();
    append(&server, &key(&kept), "first");
    let mut tail = tail(&server, Some(&key(&revoked)));
    lines(&mut tail, |line| line.contains("\"first\""));
    server.ok_as_admin(&format!("DELETE /links/keys/{}", revoked["id"].as_str().unwrap()), "");
    let rest = lines(&mut tail, |line| line.starts_with("event: denied"));
    append(&server, &key(&kept), "second");
    assert!(!rest.concat().contains("second"), "{rest:?}");
    assert!(lines(&mut tail, |line| line.starts_with("data: ")).concat().contains("Access denied"));
}

#[test]
fn a_tail_ends_when_the_servers_token_that_opened_it_is_revoked() {
    let admission =
        Admission { without_token: WithoutToken::MayDoNothing, local_token: Some(LOCAL_TOKEN.to_owned()) };
    let sync = sync_service(Authority::Checked { tokens: None });
    let services = Services { sync: Some(sync), ..every_service() };
    let server = Server::admitting(MemoryStore::new(), MachineOptions::default(), services, admission);
    let made = server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", r#"{"role":"admin","label":"t"}"#).json();
    let mut revoked = tail(&server, made["token"].as_str());
    let mut kept = tail(&server, Some(LOCAL_TOKEN));
    append(&server, LOCAL_TOKEN, "first");
    lines(&mut revoked, |line| line.contains("\"first\""));
    let line = format!("DELETE /v1/tokens/{}", made["id"].as_str().unwrap());
    assert_eq!(server.ask_as(LOCAL_TOKEN, &line, "").status, 200);
    lines(&mut revoked, |line| line.starts_with("event: denied"));
    assert!(lines(&mut revoked, |line| line.starts_with("data: ")).concat().contains("revoked"));
    append(&server, LOCAL_TOKEN, "second");
    lines(&mut kept, |line| line.contains("\"second\""));
}

#[test]
fn a_client_that_never_pauses_is_asked_for_access_like_everybody() {
    let server = checked();
    let made = server.ok_as_admin("POST /links/keys", r#"{"org": "acme"}"#);
    let key = made["key"].as_str().unwrap();
    let query = format!("storeId=acme&transport=ws&payload=%257B%2522apiKey%2522%253A%2522{key}%2522%257D");
    let mut wire = Wire::with(&server, &query).unwrap_or_else(|error| panic!("{error:?}"));
    let flood = wire.flood();
    server.ok_as_admin(&format!("DELETE /links/keys/{}", made["id"].as_str().unwrap()), "");
    // What was sent and not read may take the close frame with it.
    wire.closed();
    drop(wire);
    assert!(flood.join().unwrap());
}

#[test]
fn a_tail_is_counted_as_a_socket() {
    let server = Server::start();
    let _tails: Vec<Client> = (0..SOCKETS).map(|_| tail(&server, None)).collect();
    let refused = server.ask("GET /sync/acme/tail", "");
    assert!(refused.status == 429 && refused.body.contains("no more sockets"), "{refused}");
    assert_eq!(Wire::with(&server, "storeId=s&transport=ws").err().map(|refused| refused.0), Some(429));
}

#[test]
fn an_append_has_no_other_fields_and_no_empty_names() {
    let server = Server::start();
    let good = json!({"events": [{"name": "n", "args": 1}], "clientId": "c", "sessionId": "s", "key": "k"});
    let mut cases = Vec::new();
    for (field, value) in [("clientId", json!("")), ("sessionId", json!("")), ("more", json!(1))] {
        let mut bad = good.clone();
        bad[field] = value;
        cases.push((field, bad));
    }
    for event in [json!({"name": "", "args": 1}), json!({"name": "n", "more": 1})] {
        let mut bad = good.clone();
        bad["events"][0] = event;
        cases.push(("an event", bad));
    }
    for (what, bad) in cases {
        let reply = server.ask("POST /sync/s/events", &bad.to_string());
        assert_eq!(reply.status, 400, "{what}: {reply}");
    }
    server.ok("POST /sync/s/events", &good.to_string());
}

#[test]
fn whoever_has_events_that_the_log_has_not_is_told_and_not_left_behind_a_gap() {
    let server = Server::start();
    let read = |line: &str, seen: Option<&str>| {
        let headers: Vec<(&str, &str)> = seen.map(|seen| ("Last-Event-ID", seen)).into_iter().collect();
        server.client().request(line, &headers, "").unwrap()
    };
    let early = read("GET /sync/s/tail?after=1", None);
    assert!(early.status == 400 && early.body.contains("ends at 0"), "{early}");
    server.ok(
        "POST /sync/s/events",
        r#"{"events": [{"name": "a"}, {"name": "b"}], "clientId": "c", "sessionId": "s", "key": "k"}"#,
    );
    for (line, seen, says) in [
        ("GET /sync/s/tail?after=3", None, "event 3 is not in the log, which ends at 2"),
        ("GET /sync/s/tail?after=-1", None, "event -1"),
        ("GET /sync/s/tail", Some("99"), "event 99"),
        ("GET /sync/s/tail", Some("second"), "last-event-id is"),
        ("GET /sync/s/events?after=3", None, "event 3"),
    ] {
        let refused = read(line, seen);
        assert!(refused.status == 400 && refused.body.contains(says), "{line} {seen:?}: {refused}");
    }
    assert_eq!(read("GET /sync/s/events?after=2", None).body, "");
    let mut tail = server.client();
    let began = tail.request("GET /sync/s/tail?after=0", &[("Last-Event-ID", "1")], "").unwrap();
    assert_eq!(began.status, 200, "{began}");
    let lines = lines(&mut tail, |line| line.starts_with("data: "));
    assert!(lines.concat().contains("id: 2"), "what was seen counts more than the address: {lines:?}");
}

/// A server whose sync service is changed by `how`.
fn changed(how: impl FnOnce(&mut SyncService)) -> Server {
    let mut sync = sync_service(Authority::Open);
    how(&mut sync);
    let services = Services { sync: Some(sync), ..every_service() };
    Server::with(MemoryStore::new(), MachineOptions::default(), services)
}

#[test]
fn a_socket_that_is_silent_is_asked_for_a_sign_of_life_and_then_closed_with_1001() {
    let server = changed(|sync| {
        let [ping_after, gone_after] = [100, 5_000].map(Duration::from_millis);
        sync.silence = Silence { ping_after, gone_after, ..sync.silence };
    });
    let mut wire = Wire::open(&server, "s");
    // It stays for as long as it answers, which is longer than it may be silent.
    for _ in 0..60 {
        wire.pinged();
    }
    wire.send(&json!({"_tag": "Ping"}));
    assert_eq!(wire.next(), json!({"_tag": "Pong"}));
    assert_eq!(wire.closed_in_silence(), 1001);
}

#[test]
fn what_nobody_wants_any_more_is_not_kept_in_memory_and_comes_from_the_store() {
    let server = changed(|sync| sync.kept_for = Duration::from_millis(20));
    let kept = |server: &Server| -> u64 {
        let metrics = server.ask("GET /metrics", "").body;
        let line = metrics.lines().find_map(|line| line.strip_prefix("abide_sync_kept_bytes "));
        line.and_then(|bytes| bytes.parse().ok()).expect("a number")
    };
    let mut wire = Wire::open(&server, "s");
    wire.pull(json!("0"), "s", true, None);
    wire.page();
    wire.push(json!("1"), "s", &[event(1, "n"), event(2, "n")], None);
    let mut seen = 0;
    while seen < 2 {
        seen += wire.next()["values"][0]["batch"].as_array().map_or(0, Vec::len);
    }
    while kept(&server) > 0 {}
    let mut late = Wire::open(&server, "s");
    late.pull(json!("0"), "s", true, None);
    assert_eq!(late.page().0, [1, 2]);
    late.push(json!("1"), "s", &[event(3, "n")], None);
    while late.next()["_tag"] != "Chunk" {}
    drop((wire, late));
    while kept(&server) > 0 {}
}

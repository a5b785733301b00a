//! Tokens and roles: who may use which route.

use crate::client::Reply;
use crate::events::Events;
use crate::server::{LOCAL_TOKEN, Server};
use abide_server::{Role, routes};
use serde_json::{Value, json};

/// A new token: its secret and its id.
fn token(server: &Server, role: &str) -> (String, String) {
    let body = json!({ "role": role, "label": "of a test" }).to_string();
    let made = server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", &body);
    assert_eq!(made.status, 201, "{made}");
    let text = |name: &str| made.json()[name].as_str().expect("as it is documented").to_owned();
    (text("token"), text("id"))
}

/// The code of an answer that says who may not, if it does.
fn refusal(reply: &Reply) -> Option<(u16, String)> {
    let code = serde_json::from_str::<Value>(&reply.body).ok()?["error"]["code"].as_str()?.to_owned();
    ["unauthorized", "forbidden"].contains(&code.as_str()).then_some((reply.status, code))
}

#[test]
fn every_route_wants_its_role() {
    let server = Server::with_tokens();
    let tokens = ["read", "operate", "admin"].map(|role| token(&server, role).0);
    let unauthorized = Some((401, "unauthorized".to_owned()));
    let forbidden = Some((403, "forbidden".to_owned()));
    for route in routes(&Server::start().services) {
        let line = format!("{} {}", route.method, route.path.replace(['{', '}'], ""));
        let proves_itself = route.path.starts_with("/coordinator/") && route.role == Role::Anyone;
        let expected = match route.role {
            Role::Anyone if !proves_itself => [None, None, None, None],
            Role::Read => [unauthorized.clone(), None, None, None],
            Role::Anyone | Role::Operate => [unauthorized.clone(), forbidden.clone(), None, None],
            Role::Admin => [unauthorized.clone(), forbidden.clone(), forbidden.clone(), None],
        };
        let [read, operate, admin] = &tokens;
        let answers = [
            server.ask(&line, ""),
            server.ask_as(read, &line, ""),
            server.ask_as(operate, &line, ""),
            server.ask_as(admin, &line, ""),
        ];
        assert_eq!(answers.each_ref().map(refusal), expected, "{line}: {answers:?}");
    }
}

#[test]
fn a_token_is_shown_once_and_revoked_at_once() {
    let server = Server::with_tokens();
    let (secret, id) = token(&server, "read");
    assert!(secret.starts_with("abide_") && secret.len() == 70, "{secret}");
    assert_eq!(server.ask_as(&secret, "GET /v1/queues", "").status, 200);
    let listed = server.ask_as(LOCAL_TOKEN, "GET /v1/tokens", "");
    let entry = &listed.json()["tokens"][0];
    assert_eq!(
        (&entry["id"], &entry["role"], &entry["label"]),
        (&json!(id), &json!("read"), &json!("of a test"))
    );
    assert!(!listed.body.contains(&secret[6..]) && entry.get("secret_sha256").is_none(), "{listed}");
    let revoked = server.ask_as(LOCAL_TOKEN, &format!("DELETE /v1/tokens/{id}"), "");
    assert_eq!(revoked.json(), json!({ "id": id, "became": "revoked" }));
    let refused = server.ask_as(&secret, "GET /v1/queues", "");
    assert_eq!(refusal(&refused), Some((401, "unauthorized".to_owned())), "{refused}");
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(server.ask_as(&secret, "GET /health", "").status, 401, "a token that is shown must be right");
    assert_eq!(server.ask_as(LOCAL_TOKEN, &format!("DELETE /v1/tokens/{id}"), "").status, 404);
}

#[test]
fn a_revoked_token_gets_nothing_more_from_requests_that_are_open() {
    let server = Server::with_tokens();
    let (reader, reader_id) = token(&server, "read");
    let (worker, worker_id) = token(&server, "operate");
    let mut events = Events::open(&server, "/v1/events", &format!("Authorization: Bearer {reader}\r\n"));
    assert!(events.next().is_some_and(|event| event.data["at"].is_i64()), "it begins");
    let kept_from_them = std::thread::scope(|scope| {
        let poll = scope.spawn(|| {
            let ask = json!({ "worker": "w", "queues": ["q"], "kinds": ["k"], "wait_ms": 20_000 });
            server.ask_as(&worker, "POST /v1/lease", &ask.to_string())
        });
        let later = json!({ "queue": "q", "kind": "k", "delay_ms": 3_600_000 }).to_string();
        let later = server.ask_as(LOCAL_TOKEN, "POST /v1/jobs", &later).json()["job"].clone();
        let why = || server.ask_as(LOCAL_TOKEN, &format!("GET /v1/jobs/{later}/why"), "").json();
        while why()["causes"].as_array().expect("as it is documented").len() > 1 {
            std::thread::yield_now();
        }
        for id in [reader_id, worker_id] {
            assert_eq!(server.ask_as(LOCAL_TOKEN, &format!("DELETE /v1/tokens/{id}"), "").status, 200);
        }
        let job = json!({ "queue": "q", "kind": "k" }).to_string();
        let job = server.ask_as(LOCAL_TOKEN, "POST /v1/jobs", &job).json()["job"].clone();
        let refused = poll.join().unwrap();
        assert_eq!(refusal(&refused), Some((401, "unauthorized".to_owned())), "{refused}");
        let shown = server.ask_as(LOCAL_TOKEN, &format!("GET /v1/jobs/{job}"), "").json();
        assert_eq!(shown["state"], json!("ready"), "nobody has it");
        job
    });
    // What changed before may still come; then the stream ends.
    while let Some(event) = events.next() {
        assert_ne!(event.data["job"], kept_from_them);
    }
}

#[test]
fn what_proves_somebody_is_hidden_however_it_is_written() {
    let server = Server::with_tokens();
    let (reader, _) = token(&server, "read");
    let job = r#"{"queue":"q","kind":"k","payload":{"pr\u006fof":"SECRET","other":1}}"#;
    let job = server.ask_as(LOCAL_TOKEN, "POST /v1/jobs", job).json()["job"].clone();
    let shown = server.ask_as(&reader, &format!("GET /v1/jobs/{job}"), "");
    assert_eq!(shown.json()["payload"], json!({ "other": 1 }), "{shown}");
}

#[test]
fn bad_tokens_are_refused() {
    let server = Server::with_tokens();
    for header in ["Bearer", "Bearer ", "Basic bG9jYWw=", "local", "Bearer local2", "Bearer loca"] {
        let reply = server.client().request("GET /v1/queues", &[("Authorization", header)], "").unwrap();
        assert_eq!(refusal(&reply), Some((401, "unauthorized".to_owned())), "{header}: {reply}");
    }
    let twice = [("Authorization", "Bearer local"), ("Authorization", "Bearer local")];
    assert_eq!(server.client().request("GET /v1/queues", &twice, "").unwrap().status, 401);
    for (body, status) in [
        (json!({ "role": "anyone" }), 400),
        (json!({ "role": "read", "label": "x".repeat(201) }), 400),
        (json!({ "role": "read", "label": "a\nb" }), 400),
        (json!({}), 400),
    ] {
        let reply = server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", &body.to_string());
        assert_eq!(reply.status, status, "{body}: {reply}");
    }
}

#[test]
fn without_tokens_loopback_is_open_and_still_holds_a_token_to_its_role() {
    let server = Server::start();
    let made = server.ok("POST /v1/tokens", r#"{"role":"read"}"#);
    let secret = made["token"].as_str().unwrap();
    assert_eq!(server.ask("POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#).status, 201);
    assert_eq!(server.ask_as(secret, "GET /v1/jobs", "").status, 200);
    assert_eq!(server.ask_as(secret, "POST /v1/jobs", r#"{"queue":"q","kind":"k"}"#).status, 403);
    let head = "GET /v1/queues HTTP/1.1\r\nHost: abide.example.org\r\n";
    for (more, status) in [("", 403), (&*format!("Authorization: Bearer {secret}\r\n"), 200)] {
        let mut client = server.client();
        client.send(format!("{head}{more}\r\n").as_bytes()).unwrap();
        assert_eq!(client.read().unwrap().status, status, "{more}");
    }
}

#[test]
fn tokens_are_called_by_nobody_and_their_fingerprints_are_hidden_from_readers() {
    let server = Server::with_tokens();
    let (reader, _) = token(&server, "read");
    let call = server.ask_as(LOCAL_TOKEN, "POST /v1/objects/tokens/all/call", r#""list""#);
    assert_eq!((call.status, &call.json()["error"]["code"]), (404, &json!("unknown_kind")));
    let rows = "GET /v1/objects/tokens/all/rows";
    assert!(!server.ask_as(&reader, rows, "").body.contains("sha256"));
    assert!(server.ask_as(LOCAL_TOKEN, rows, "").body.contains("secret_sha256"));
}

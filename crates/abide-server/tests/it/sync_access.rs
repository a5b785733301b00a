//! One organization never sees another's log, whichever route it tries.

use crate::server::{LOCAL_TOKEN, Server, every_service, sync_service};
use crate::wire::{Wire, event};
use abide_core::time::Clock;
use abide_engine::clock::SystemClock;
use abide_engine::machine::MachineOptions;
use abide_links::auth::jwt::{Audience, Claims, sign_with_private_key, sign_with_secret};
use abide_links::auth::{Authority, JwtKeys, Verifier};
use abide_server::{Admission, Role, Services, WithoutToken, routes};
use abide_store::memory::MemoryStore;
use serde_json::json;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NOT_A_MEMBER: &str = "Access denied: not a member of this organization";

/// Made for this test, and used nowhere else.
const PRIVATE_KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIPTxo+G5VZIz+Abes1Gxqa+NsRBX1jv22s9+deBp6eLv
-----END PRIVATE KEY-----
";
const PUBLIC_KEY: &str = "\
-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAwHdFybTE4ByRx0VM9w1njblj1Z1jXpRqRiujMmjHPqc=
-----END PUBLIC KEY-----
";

fn services() -> Services {
    let keys = JwtKeys::Secret(SECRET.to_owned());
    let verifier = Verifier::new(&keys, Some("me".to_owned()), Some("me".to_owned()))
        .expect("a key that is long enough");
    Services {
        sync: Some(sync_service(Authority::Checked { tokens: Some(Box::new(verifier)) })),
        ..every_service()
    }
}

fn server() -> Server {
    Server::of_this_machine(services())
}

fn claims(org: &str) -> Claims {
    Claims {
        sub: "user".to_owned(),
        org_id: org.to_owned(),
        exp: 4_000_000_000,
        nbf: None,
        iat: None,
        iss: Some("me".to_owned()),
        aud: Some(Audience::One("me".to_owned())),
        email: None,
    }
}

fn token(claims: &Claims) -> String {
    sign_with_secret(claims, SECRET).expect("claims that can be signed")
}

/// The payload as the published client sends it: encoded twice.
fn query(store: &str, token: &str) -> String {
    format!("storeId={store}&transport=ws&payload=%257B%2522authToken%2522%253A%2522{token}%2522%257D")
}

#[test]
fn a_member_gets_in_and_its_socket_is_for_its_store_alone() {
    let server = server();
    let mut wire =
        Wire::with(&server, &query("acme", &token(&claims("acme")))).unwrap_or_else(|e| panic!("{e:?}"));
    wire.push(json!("1"), "acme", &[event(1, "n")], None);
    assert_eq!(wire.next()["exit"]["_tag"], "Success");
    for other in ["other", ""] {
        wire.pull(json!("2"), other, true, None);
        assert_eq!(wire.next()["exit"]["cause"]["error"]["_tag"], "UnknownError");
        wire.push(json!("3"), other, &[event(1, "n")], None);
        assert_eq!(wire.next()["exit"]["cause"]["error"]["_tag"], "UnknownError");
    }
}

#[test]
fn everybody_else_is_refused_with_400_and_the_reason() {
    let server = server();
    let refused = |token: &str| Wire::with(&server, &query("acme", token)).err().expect("it is refused");
    assert_eq!(refused(&token(&claims("other"))), (400, NOT_A_MEMBER.to_owned()));
    let cases = [
        (Claims { exp: 1_000_000_000, ..claims("acme") }, "expired"),
        (Claims { nbf: Some(3_900_000_000), ..claims("acme") }, "not valid yet"),
        (Claims { iss: Some("you".to_owned()), ..claims("acme") }, "issuer"),
        (Claims { iss: None, ..claims("acme") }, "issuer"),
        (Claims { aud: Some(Audience::Many(vec!["you".to_owned()])), ..claims("acme") }, "audience"),
        (Claims { sub: String::new(), ..claims("acme") }, "subject"),
    ];
    for (claims, says) in cases {
        let (status, text) = refused(&token(&claims));
        assert!(status == 400 && text.contains(says), "{says}: {status} {text}");
    }
    let forged = sign_with_secret(&claims("acme"), "another secret that is as long as it").unwrap();
    // With the algorithm "none", and with no claim in it but signed.
    let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.e30.";
    let empty = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.svo3sQiBr6VRrugrrB1OoHS7Y-c0pzdPFYhCfjX7elM";
    for (bad, says) in [
        (forged.as_str(), "not signed with the key of this server"),
        ("x", "no JSON Web Token"),
        (unsigned, "in a way that is not taken here"),
        (empty, "it has no sub"),
        ("lb_0123456789abcdef_00", "no such API key"),
    ] {
        let (status, text) = refused(bad);
        assert!(status == 400 && text.contains(says), "{bad}: {status} {text}");
    }
    let nothing = Wire::with(&server, "storeId=acme&transport=ws").err().expect("it is refused");
    assert!(nothing.0 == 400 && nothing.1.contains("no token"), "{nothing:?}");
}

#[test]
fn no_sync_route_shows_a_store_to_another_organization() {
    let server = server();
    let stranger = format!("Bearer {}", token(&claims("other")));
    let member = format!("Bearer {}", token(&claims("acme")));
    let body = r#"{"events":[],"clientId":"c","sessionId":"s","key":"k"}"#;
    let mut tried = 0;
    for route in routes(&services()).iter().filter(|route| route.path.starts_with("/sync/{store}")) {
        assert_eq!(route.role, Role::Anyone);
        let line = format!("{} {}", route.method, route.path.replace("{store}", "acme"));
        for (headers, status) in [(vec![("Authorization", stranger.as_str())], 403), (vec![], 401)] {
            let reply = server.client().request(&line, &headers, body).unwrap();
            assert!(reply.status == status && reply.body.contains("Access denied"), "{line}: {reply}");
        }
        tried += 1;
    }
    assert_eq!(tried, 4);
    let reply = server.client().request("GET /sync/acme", &[("Authorization", &member)], "").unwrap();
    assert_eq!(reply.status, 404, "there is none yet, which members may know: {reply}");
    let pull =
        json!({"_tag": "Request", "id": "0", "tag": "SyncHttpRpc.Pull", "payload": {"storeId": "acme"}});
    let line = format!("POST /sync?{}", query("acme", &token(&claims("other"))).replace("=ws", "=http"));
    let reply = server.ask(&line, &pull.to_string());
    assert_eq!((reply.status, reply.body.as_str()), (400, NOT_A_MEMBER));
}

#[test]
fn no_links_route_shows_a_store_to_another_organization() {
    let server = server();
    let stranger = format!("Bearer {}", token(&claims("other")));
    let body = |path: &str| match path {
        "/links/api/import" => r#"{"urls": ["http://localhost/"]}"#,
        "/links/api/links/batch-update" => r#"{"ids": ["a"], "changes": {}}"#,
        "/links/api/links/{id}" => r#"{"state": "inbox"}"#,
        _ => r#"{"url": "http://localhost/"}"#,
    };
    let mut tried = 0;
    for route in routes(&services()).iter().filter(|route| route.path.starts_with("/links/api/")) {
        assert_eq!(route.role, Role::Anyone);
        let query = if route.path == "/links/api/metadata" { "?url=http://localhost/" } else { "" };
        let line = format!("{} {}{query}", route.method, route.path.replace("{id}", "a"));
        let store = ("x-livestore-store-id", "acme");
        let shown = vec![("Authorization", stranger.as_str()), store];
        for (headers, status, code) in
            [(shown, 403, "access_denied"), (vec![store], 401, "unauthorized"), (vec![], 401, "unauthorized")]
        {
            let reply = server.client().request(&line, &headers, body(route.path)).unwrap();
            assert!(reply.status == status && reply.body.contains(code), "{line}: {reply}");
        }
        tried += 1;
    }
    assert_eq!(tried, 10);
    assert_eq!(server.ask("GET /v1/objects?kind=links", "").json()["objects"], json!([]));
}

#[test]
fn an_api_key_opens_its_organization_by_every_door_until_it_is_revoked() {
    let server = server();
    let made = server.ok_as_admin("POST /links/keys", r#"{"org": "acme", "source": "extension"}"#);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let listed = server.ok_as_admin("GET /links/keys", "");
    assert!(listed["keys"][0]["id"] == id && !listed.to_string().contains(key), "{listed}");
    let saved = server.ask_as(key, "POST /links/api/links", r#"{"url": "http://localhost:1/"}"#);
    assert_eq!((saved.status, &saved.json()["link"]["source"]), (200, &json!("extension")), "{saved}");
    assert_eq!(server.ask_as(key, "GET /sync/acme", "").status, 200);
    assert_eq!(server.ask_as(key, "GET /sync/other", "").status, 403);
    let query = |store: &str| {
        format!("storeId={store}&transport=ws&payload=%257B%2522apiKey%2522%253A%2522{key}%2522%257D")
    };
    let mut wire = Wire::with(&server, &query("acme")).unwrap_or_else(|error| panic!("{error:?}"));
    wire.pull(json!("0"), "acme", false, None);
    assert!(wire.page().0.len() >= 2);
    assert_eq!(Wire::with(&server, &query("other")).err().map(|refused| refused.0), Some(400));
    assert_eq!(wire.next()["exit"]["_tag"], "Success");
    wire.pull(json!("1"), "acme", true, None);
    wire.page();
    server.ok_as_admin(&format!("DELETE /links/keys/{id}"), "");
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1008), "an open socket is asked again");
    for line in ["GET /sync/acme", "GET /links/api/links"] {
        assert_eq!(server.ask_as(key, line, "").status, 401, "{line}");
    }
    assert_eq!(Wire::with(&server, &query("acme")).err().map(|refused| refused.0), Some(400));
}

#[test]
fn tokens_of_the_server_open_stores_only_to_admins() {
    let admission =
        Admission { without_token: WithoutToken::MayDoNothing, local_token: Some(LOCAL_TOKEN.to_owned()) };
    let server = Server::admitting(MemoryStore::new(), MachineOptions::default(), services(), admission);
    let append = r#"{"events":[{"name":"n","args":1}],"clientId":"c","sessionId":"s","key":"k"}"#;
    assert_eq!(server.ask_as(LOCAL_TOKEN, "POST /sync/acme/events", append).status, 200);
    assert_eq!(server.ask_as(LOCAL_TOKEN, "POST /links/keys", r#"{"org": "acme"}"#).status, 200);
    let link = r#"{"url": "http://localhost:1/private-page"}"#;
    assert_eq!(server.ask_as(LOCAL_TOKEN, "POST /links/api/links", link).status, 200);
    let jobs = "GET /v1/jobs?queue=links-fetch";
    // The link is answered for when it is in the log; its job comes a moment later.
    while !server.ask_as(LOCAL_TOKEN, jobs, "").body.contains("private-page") {}
    for role in ["read", "operate"] {
        let made =
            server.ask_as(LOCAL_TOKEN, "POST /v1/tokens", &format!(r#"{{"role":"{role}","label":"t"}}"#));
        let token = made.json()["token"].as_str().unwrap().to_owned();
        for line in [
            "GET /sync/acme",
            "GET /links/api/links",
            "GET /links/keys",
            "GET /v1/objects/sync/acme/log",
            "GET /v1/objects/sync/acme/rows",
            "GET /v1/objects/links/acme/rows",
            "GET /v1/objects/apikey/any/rows",
        ] {
            let reply = server.ask_as(&token, line, "");
            assert_eq!(reply.status, 403, "{role} {line}: {reply}");
            assert!(reply.body.contains(&format!("the role {role}")), "{line}: {reply}");
        }
        let listed = server.ask_as(&token, jobs, "");
        let job = listed.json()["jobs"][0]["job"].clone();
        let shown = server.ask_as(&token, &format!("GET /v1/jobs/{job}"), "");
        for reply in [listed, shown] {
            assert!(reply.status == 200 && !reply.body.contains("private-page"), "{role}: {reply}");
        }
    }
    assert_eq!(server.ask_as(LOCAL_TOKEN, "GET /v1/objects/sync/acme/log", "").status, 200);
    assert_eq!(server.ask("GET /sync/acme", "").status, 401);
}

#[test]
fn being_on_this_machine_is_not_enough_where_stores_ask_who_somebody_is() {
    let (closed, open) = (server(), Server::start());
    let link = r#"{"url": "http://localhost:1/private-page"}"#;
    closed.ok_as_admin("POST /links/api/links", link);
    open.ok("POST /links/api/links", link);
    let jobs = "GET /v1/jobs?queue=links-fetch";
    // The link is answered for when it is in the log; its job comes a moment later.
    while !closed.ok_as_admin(jobs, "").to_string().contains("private-page") {}
    let lease = r#"{"worker": "w", "queues": ["links-fetch"], "kinds": ["fetch"]}"#;
    let key = r#"{"org": "local"}"#;
    for (line, body) in [
        ("GET /v1/objects/sync/local/log", ""),
        ("GET /v1/objects/sync/local/rows", ""),
        ("GET /v1/objects/links/local/rows", ""),
        ("GET /links/keys", ""),
        ("POST /links/keys", key),
        ("POST /v1/tokens", r#"{"role": "admin", "label": "t"}"#),
        ("POST /v1/lease", lease),
    ] {
        let refused = closed.ask(line, body);
        assert!(refused.status == 403 && refused.body.contains("needs a token"), "{line}: {refused}");
        open.ok(line, body);
    }
    let listed = closed.ok(jobs, "");
    let shown = closed.ok(&format!("GET /v1/jobs/{}", listed["jobs"][0]["job"]), "");
    assert!(!listed.to_string().contains("private") && !shown.to_string().contains("private"), "{shown}");
    // What is nobody's stays open to programs of this machine.
    closed.ok("POST /v1/jobs", r#"{"queue": "q", "kind": "k"}"#);
}

#[test]
fn a_token_that_is_signed_with_a_private_key_is_checked_with_its_public_key() {
    let keys = JwtKeys::PublicKey(PUBLIC_KEY.as_bytes().to_vec());
    let verifier = Verifier::new(&keys, Some("me".to_owned()), Some("me".to_owned())).expect("a public key");
    let authority = Authority::Checked { tokens: Some(Box::new(verifier)) };
    let services = Services { sync: Some(sync_service(authority)), ..every_service() };
    let server = Server::with(MemoryStore::new(), MachineOptions::default(), services);
    let signed = |org| sign_with_private_key(&claims(org), PRIVATE_KEY.as_bytes()).expect("a private key");
    assert_eq!(server.ask_as(&signed("acme"), "GET /links/api/links", "").status, 200);
    assert_eq!(server.ask_as(&signed("other"), "GET /sync/acme", "").status, 403);
    assert_eq!(server.ask_as(&token(&claims("acme")), "GET /sync/acme", "").status, 401);
    // The public key is no secret: who signs with it as one has signed nothing.
    let confused = sign_with_secret(&claims("acme"), PUBLIC_KEY).expect("claims that can be signed");
    assert_eq!(server.ask_as(&confused, "GET /sync/acme", "").status, 401);
}

#[test]
fn a_socket_is_closed_with_1008_when_its_token_expires() {
    let server = server();
    let now_ms = SystemClock::new().now().0;
    let short = Claims { exp: now_ms.div_euclid(1_000) + 2, ..claims("acme") };
    let mut wire =
        Wire::with(&server, &query("acme", &token(&short))).unwrap_or_else(|error| panic!("{error:?}"));
    wire.pull(json!("0"), "acme", true, None);
    wire.page();
    assert_eq!(wire.closed().map(|frame| u16::from(frame.code)), Some(1008));
}

#[test]
fn pages_of_other_sites_may_ask_only_where_tokens_are_asked_for() {
    let foreign = [("Origin", "https://example.org")];
    let open = Server::start();
    let reply = open.client().request("OPTIONS /sync", &foreign, "").unwrap();
    assert_eq!(reply.status, 403, "{reply}");
    let checked = server();
    let reply = checked.client().request("OPTIONS /sync", &foreign, "").unwrap();
    assert_eq!((reply.status, reply.header("access-control-allow-origin")), (204, Some("*")));
}
